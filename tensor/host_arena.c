/* tensor/host_arena.c - bump allocation of small host objects, kept for reuse over resets. */
#include "tensor/arena.h"

#include <string.h>

typedef struct block {
    struct block *next;
    size_t size, used; /* bytes after this header */
} block;

struct mo_host_arena {
    mo_context *ctx;
    block *first, *current;
};

enum { FIRST_BLOCK = 1 << 14, LAST_DOUBLING = 1 << 24 };

mo_host_arena *mo_host_arena_create(mo_context *ctx) {
    mo_host_arena *arena = mo_host_alloc(ctx, sizeof *arena);
    if (arena)
        arena->ctx = ctx;
    return arena;
}

/* Inserts a block behind the current one. Returns NULL on failure. */
static block *insert_block(mo_host_arena *arena, size_t size) {
    block *b = mo_host_alloc(arena->ctx, sizeof *b + size);
    if (!b)
        return NULL;
    b->size = size;
    if (arena->current) {
        b->next = arena->current->next;
        arena->current->next = b;
    } else {
        arena->first = b;
    }
    return b;
}

static block *add_block(mo_host_arena *arena, size_t bytes) {
    size_t size = FIRST_BLOCK;
    if (arena->current)
        size = arena->current->size < LAST_DOUBLING ? 2 * arena->current->size : arena->current->size;
    return insert_block(arena, size < bytes || !mo_has_room(arena->ctx, sizeof(block) + size) ? bytes : size);
}

void *mo_host_arena_alloc(mo_host_arena *arena, size_t bytes) {
    bytes = (bytes + 15) / 16 * 16;
    block *b = arena->current;
    while (b && b->size - b->used < bytes && b->next) { /* blocks kept by earlier resets */
        b = b->next;
        arena->current = b;
    }
    if (!b || b->size - b->used < bytes) {
        b = add_block(arena, bytes);
        if (!b)
            return NULL;
        arena->current = b;
    }
    void *p = (char *)(b + 1) + b->used;
    b->used += bytes;
    memset(p, 0, bytes);
    return p;
}

size_t mo_host_arena_bytes(const mo_host_arena *arena) {
    size_t bytes = sizeof *arena;
    for (const block *b = arena->first; b; b = b->next)
        bytes += sizeof *b + b->size;
    return bytes;
}

/* The bytes of all blocks without their headers. */
static size_t room(const mo_host_arena *arena) {
    size_t bytes = 0;
    for (const block *b = arena->first; b; b = b->next)
        bytes += b->size;
    return bytes;
}

void mo_host_arena_match(mo_host_arena *arena, const mo_host_arena *other) {
    size_t have = room(arena), want = room(other);
    mo_status before = arena->ctx->status;
    /* The arena gets no more bytes than `other` has: otherwise two arenas, each matched to the other in turn, would
     * grow forever. */
    if (have < want && !insert_block(arena, want - have))
        arena->ctx->status = before;
    if (!arena->current)
        arena->current = arena->first;
}

void mo_host_arena_reset(mo_host_arena *arena) {
    for (block *b = arena->first; b; b = b->next)
        b->used = 0;
    arena->current = arena->first;
}

mo_host_mark mo_host_arena_mark(const mo_host_arena *arena) {
    return (mo_host_mark){arena->current, arena->current ? arena->current->used : 0};
}

void mo_host_arena_rewind(mo_host_arena *arena, mo_host_mark mark) {
    block *b = mark.block;
    if (!b) {
        mo_host_arena_reset(arena);
        return;
    }
    b->used = mark.used;
    arena->current = b;
    for (b = b->next; b; b = b->next)
        b->used = 0;
}

void mo_host_arena_release(mo_host_arena *arena) {
    if (!arena)
        return;
    for (block *b = arena->first, *next; b; b = next) {
        next = b->next;
        mo_host_free(arena->ctx, b, sizeof *b + b->size);
    }
    mo_host_free(arena->ctx, arena, sizeof *arena);
}
