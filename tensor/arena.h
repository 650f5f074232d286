/* tensor/arena.h - device memory of one tape: a free list over a few big slabs (library internal).
 *
 * Freed chunks merge with their neighbours, so that backward can reuse the memory of consumed values. Bookkeeping lives
 * in host memory (the slabs can be on a device). A large tensor that finds no room gets a slab of its own size; slabs
 * for small ones grow with the tape. A reset replaces them by one slab of the summed size, so that the same shapes,
 * computed again after the reset, ask the system for no memory. Under AddressSanitizer, bytes of host memory that
 * belong to no storage are poisoned. */
#ifndef MO_ARENA_H
#define MO_ARENA_H

#include "tensor/objects.h"

typedef struct mo_arena mo_arena;

mo_arena *mo_arena_create(mo_context *ctx);
/* Makes a storage with one reference, uninitialised, 64-byte aligned. Returns NULL on failure. */
mo_storage *mo_arena_storage(mo_arena *arena, size_t bytes);
/* Returns a chunk and its storage to the arena; called by mo_storage_release. */
void mo_arena_free(mo_arena *arena, mo_storage *S);
/* Replaces several slabs by one of their summed size. Every storage of the arena must have been released. */
void mo_arena_reset(mo_arena *arena);
void mo_arena_release(mo_arena *arena);

/* Zeroed host memory for nodes and headers, freed all at once. mo_host_arena_alloc returns NULL on failure. */
typedef struct mo_host_arena mo_host_arena;
mo_host_arena *mo_host_arena_create(mo_context *ctx);
void *mo_host_arena_alloc(mo_host_arena *arena, size_t bytes);
/* Makes `arena` hold at least as many bytes as `other`, if memory allows; raises nothing. Call it only right after a
 * reset. */
void mo_host_arena_match(mo_host_arena *arena, const mo_host_arena *other);
size_t mo_host_arena_bytes(const mo_host_arena *arena); /* the bytes that the arena holds */
void mo_host_arena_reset(mo_host_arena *arena);
/* A position in a host arena; going back to it frees all that was allocated since. */
typedef struct mo_host_mark {
    void *block;
    size_t used;
} mo_host_mark;
mo_host_mark mo_host_arena_mark(const mo_host_arena *arena);
void mo_host_arena_rewind(mo_host_arena *arena, mo_host_mark mark);
void mo_host_arena_release(mo_host_arena *arena);

#endif
