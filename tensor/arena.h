/* tensor/arena.h - device memory of one tape: a free list over a few big slabs (library internal).
 *
 * Freed chunks merge with their neighbours, so that backward can reuse what it has consumed. Bookkeeping lives in host
 * memory (the slabs may be on a device). Slabs grow geometrically; a reset joins them into one of the summed size, so
 * that at fixed shapes nothing is asked of the system from the second round on. */
#ifndef MO_ARENA_H
#define MO_ARENA_H

#include "tensor/storage.h"

typedef struct mo_arena mo_arena;

mo_arena *mo_arena_create(mo_context *ctx);
/* A storage with one reference, uninitialised, 64-byte aligned. NULL on failure. */
mo_storage *mo_arena_storage(mo_arena *arena, size_t bytes);
/* Gives a chunk and its storage back; called by mo_storage_release. */
void mo_arena_free(mo_arena *arena, mo_storage *S);
/* Requires that all storages have been released. */
void mo_arena_reset(mo_arena *arena);
void mo_arena_release(mo_arena *arena);

/* Host memory freed all at once: nodes and headers. Zeroed. NULL on failure. */
typedef struct mo_host_arena mo_host_arena;
mo_host_arena *mo_host_arena_create(mo_context *ctx);
void *mo_host_arena_alloc(mo_host_arena *arena, size_t bytes);
void mo_host_arena_reset(mo_host_arena *arena);
/* A position, and the way back to it: what was allocated since is free again. */
typedef struct mo_host_mark {
    void *block;
    size_t used;
} mo_host_mark;
mo_host_mark mo_host_arena_mark(const mo_host_arena *arena);
void mo_host_arena_rewind(mo_host_arena *arena, mo_host_mark mark);
void mo_host_arena_release(mo_host_arena *arena);

#endif
