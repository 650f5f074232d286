/* tensor/arena.c - segregated free lists with boundary merging, bookkeeping on the host. */
#include "tensor/arena.h"

#include <string.h>

/* Functions of AddressSanitizer's runtime, by which the arena says which of its bytes hold no value. Both exist in
 * every program compiled with AddressSanitizer, even if the library was not, so that a pointer kept over a reset is
 * found in the user's own kernels; in other programs both are NULL. */
extern void __asan_poison_memory_region(const volatile void *bytes, size_t n) __attribute__((weak));
extern void __asan_unpoison_memory_region(const volatile void *bytes, size_t n) __attribute__((weak));

/* From now on, AddressSanitizer ends the program with a report if it touches these bytes. */
static void poison(const void *bytes, size_t n) {
    if (__asan_poison_memory_region)
        __asan_poison_memory_region(bytes, n);
}

static void unpoison(const void *bytes, size_t n) {
    if (__asan_unpoison_memory_region)
        __asan_unpoison_memory_region(bytes, n);
}

enum { ALIGNMENT = 64, BINS = 64 * 4, LEAST_SLAB = 1 << 20, MOST_SHARED = 1 << 24 /* bytes of a slab for several */ };

/* A stretch of a slab. prev and next are its neighbours in address order; bin links join free chunks of similar
 * size. */
typedef struct mo_chunk {
    struct slab *slab;
    size_t offset, size;
    bool free;
    struct mo_chunk *prev, *next, *bin_prev, *bin_next;
} chunk;

typedef struct slab {
    char *data;
    size_t size;
    struct slab *next;
} slab;

struct mo_arena {
    mo_context *ctx;
    bool on_host; /* slabs are host memory: free chunks are poisoned under AddressSanitizer */
    slab *slabs;
    size_t total; /* bytes of all slabs */
    chunk *bins[BINS];
    uint64_t filled[BINS / 64]; /* bit b: bins[b] is not empty */
    mo_host_arena *host;        /* memory of the chunk, storage and slab structs */
    chunk *spare_chunks;
    mo_storage *spare_storages; /* linked through `data` */
};

/* Four bins for each power of two: the two bits after the size's leading bit choose the bin. */
static int bin_of(size_t size) {
    int high = 63 - __builtin_clzll(size | 1);
    return high < 2 ? 0 : high * 4 + (int)(size >> (high - 2) & 3);
}

static void bin_insert(mo_arena *a, chunk *c) {
    int b = bin_of(c->size);
    c->free = true;
    c->bin_prev = NULL;
    c->bin_next = a->bins[b];
    if (c->bin_next)
        c->bin_next->bin_prev = c;
    a->bins[b] = c;
    a->filled[b / 64] |= 1ull << (b % 64);
}

static void bin_remove(mo_arena *a, chunk *c) {
    int b = bin_of(c->size);
    if (c->bin_prev)
        c->bin_prev->bin_next = c->bin_next;
    else
        a->bins[b] = c->bin_next;
    if (c->bin_next)
        c->bin_next->bin_prev = c->bin_prev;
    if (!a->bins[b])
        a->filled[b / 64] &= ~(1ull << (b % 64));
    c->free = false;
}

static chunk *new_chunk(mo_arena *a) {
    chunk *c = a->spare_chunks;
    if (!c)
        return mo_host_arena_alloc(a->host, sizeof *c);
    a->spare_chunks = c->next;
    memset(c, 0, sizeof *c);
    return c;
}

static void spare_chunk(mo_arena *a, chunk *c) {
    c->next = a->spare_chunks;
    a->spare_chunks = c;
}

static bool add_slab(mo_arena *a, size_t size) {
    slab *s = mo_host_arena_alloc(a->host, sizeof *s);
    chunk *c = s ? new_chunk(a) : NULL;
    if (!c)
        return false;
    s->data = mo_device_alloc(a->ctx, size);
    if (!s->data)
        return false;
    s->size = size;
    s->next = a->slabs;
    a->slabs = s;
    a->total += size;
    c->slab = s;
    c->size = size;
    bin_insert(a, c);
    if (a->on_host)
        poison(s->data, size);
    return true;
}

/* Of the first 64 chunks in the size's own bin, returns the smallest of at least `size` bytes; else any chunk of the
 * next bin that is not empty, or NULL. */
static chunk *find_chunk(mo_arena *a, size_t size) {
    int b = bin_of(size);
    chunk *best = NULL;
    int looks = 64; /* bounds the search when many chunks have nearly this size */
    for (chunk *c = a->bins[b]; c && looks--; c = c->bin_next)
        if (c->size >= size && (!best || c->size < best->size))
            best = c;
    if (best)
        return best;
    for (int w = (b + 1) / 64; w < BINS / 64; w++) {
        uint64_t bits = a->filled[w];
        if (w == (b + 1) / 64)
            bits &= ~0ull << ((b + 1) % 64);
        if (bits)
            return a->bins[w * 64 + __builtin_ctzll(bits)];
    }
    return NULL;
}

/* Cuts c to `size` bytes and puts the rest into a bin. Returns false on failure. */
static bool split(mo_arena *a, chunk *c, size_t size) {
    if (c->size - size < ALIGNMENT)
        return true;
    chunk *rest = new_chunk(a);
    if (!rest)
        return false;
    rest->slab = c->slab;
    rest->offset = c->offset + size;
    rest->size = c->size - size;
    rest->prev = c;
    rest->next = c->next;
    if (rest->next)
        rest->next->prev = rest;
    c->next = rest;
    c->size = size;
    bin_insert(a, rest);
    return true;
}

static mo_storage *new_storage(mo_arena *a) {
    mo_storage *S = a->spare_storages;
    if (!S)
        return mo_host_arena_alloc(a->host, sizeof *S);
    a->spare_storages = S->data;
    memset(S, 0, sizeof *S);
    return S;
}

mo_storage *mo_arena_storage(mo_arena *a, size_t bytes) {
    if (bytes > SIZE_MAX / 2) {
        mo_fail(a->ctx, MO_MEMORY, "out of memory: %zu bytes asked of a tape", bytes);
        return NULL;
    }
    size_t size = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (!size)
        size = ALIGNMENT;
    chunk *c = find_chunk(a, size);
    if (!c) {
        size_t shared = a->total < LEAST_SLAB ? LEAST_SLAB : a->total < MOST_SHARED ? a->total : MOST_SHARED;
        shared = a->on_host && !mo_has_room(a->ctx, shared) ? size : shared; /* the last room is not for several */
        if (!add_slab(a, size > shared ? size : shared))
            return NULL;
        c = find_chunk(a, size);
    }
    mo_storage *S = new_storage(a);
    if (!S)
        return NULL;
    bin_remove(a, c);
    if (!split(a, c, size))
        return NULL;
    a->ctx->counters.tape_live += (int64_t)c->size;
    if (a->ctx->counters.tape_live > a->ctx->counters.tape_peak)
        a->ctx->counters.tape_peak = a->ctx->counters.tape_live;
    if (a->on_host) /* the padding up to the size of c stays poisoned */
        unpoison(c->slab->data + c->offset, bytes);
    *S = (mo_storage){
        .ctx = a->ctx, .data = c->slab->data + c->offset, .bytes = bytes, .references = 1, .arena = a, .chunk = c};
    return S;
}

/* Joins c with its successor, and takes the successor out of its bin. */
static void merge_next(mo_arena *a, chunk *c) {
    chunk *n = c->next;
    bin_remove(a, n);
    c->size += n->size;
    c->next = n->next;
    if (c->next)
        c->next->prev = c;
    spare_chunk(a, n);
}

void mo_arena_free(mo_arena *a, mo_storage *S) {
    chunk *c = S->chunk;
    a->ctx->counters.tape_live -= (int64_t)c->size;
    if (a->on_host)
        poison(c->slab->data + c->offset, c->size);
    if (c->next && c->next->free)
        merge_next(a, c);
    if (c->prev && c->prev->free) {
        chunk *p = c->prev;
        bin_remove(a, p);
        p->size += c->size;
        p->next = c->next;
        if (p->next)
            p->next->prev = p;
        spare_chunk(a, c);
        c = p;
    }
    bin_insert(a, c);
    S->data = a->spare_storages;
    a->spare_storages = S;
}

static void free_slabs(mo_arena *a) {
    for (slab *s = a->slabs; s; s = s->next) {
        if (a->on_host)
            unpoison(s->data, s->size);
        mo_device_free(a->ctx, s->data, s->size);
    }
    a->slabs = NULL;
    a->total = 0;
    memset(a->bins, 0, sizeof a->bins);
    memset(a->filled, 0, sizeof a->filled);
    a->spare_chunks = NULL;
    a->spare_storages = NULL;
    mo_host_arena_reset(a->host);
}

void mo_arena_reset(mo_arena *a) {
    if (!a->slabs || !a->slabs->next)
        return;
    size_t total = a->total;
    free_slabs(a);
    mo_status before = a->ctx->status;
    if (!add_slab(a, total)) /* no memory for one big slab: slabs grow step by step again */
        a->ctx->status = before;
}

mo_arena *mo_arena_create(mo_context *ctx) {
    mo_arena *a = mo_host_alloc(ctx, sizeof *a);
    if (!a)
        return NULL;
    a->ctx = ctx;
    a->on_host = ctx->device == MO_CPU;
    a->host = mo_host_arena_create(ctx);
    if (!a->host) {
        mo_host_free(ctx, a, sizeof *a);
        return NULL;
    }
    return a;
}

void mo_arena_release(mo_arena *a) {
    if (!a)
        return;
    free_slabs(a);
    mo_host_arena_release(a->host);
    mo_host_free(a->ctx, a, sizeof *a);
}
