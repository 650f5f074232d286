/* tensor/cuda/device.cu - the backend's memory: a stream-ordered pool, scratch, and copies that pass through
 * page-locked memory; order with other libraries' streams, and sums with other processes. */
#include "tensor/cuda/kernels.h"

#include <cstdlib>

constexpr size_t first_staging = (size_t)1 << 20, last_staging = (size_t)64 << 20;

static mo_code code_of(const char *failure, mo_code other) {
    return strncmp(failure, "no memory", strlen("no memory")) == 0 ? MO_MEMORY : other;
}

bool cuda_ok(mo_context *ctx, const char *what, const char *failure) {
    if (failure)
        mo_fail(ctx, code_of(failure, MO_IO), "cuda: %s: %s", what, seam_reason(seam_of(ctx), failure));
    return !failure;
}

static void cuda_close(mo_context *ctx) {
    cuda_state *state = state_of(ctx);
    if (!state)
        return;
    if (state->s) {
        capture_close(ctx);
        seam_wait(state->s);
        checks_close(ctx);
    }
    if (state->s)
        cuda_give(ctx, state->scratch, state->scratch_bytes);
    if (state->staging)
        seam_unpin(state->staging);
    if (state->s)
        seam_close(state->s);
    free(state);
    ctx->backend_state = nullptr;
}

/* Reads MOCHI_CUDA_LIBRARIES, with which measurements and tests overrule the choice between a library and a kernel. */
static bool read_libraries(mo_context *ctx, overrule *use) {
    const char *word = getenv("MOCHI_CUDA_LIBRARIES");
    *use = BY_RULE;
    if (!word || !strcmp(word, "rule"))
        return true;
    *use = strcmp(word, "always") ? NEVER : ALWAYS;
    if (*use == NEVER && strcmp(word, "never") != 0)
        mo_fail(ctx, MO_INVALID, "cuda: MOCHI_CUDA_LIBRARIES is '%s', expected rule, always or never", word);
    return mo_ok(ctx);
}

static bool cuda_open(mo_context *ctx) {
    overrule libraries;
    if (!read_libraries(ctx, &libraries))
        return false;
    cuda_state *state = static_cast<cuda_state *>(calloc(1, sizeof(cuda_state)));
    if (!state) {
        mo_fail(ctx, MO_MEMORY, "out of memory: %zu bytes of host memory", sizeof(cuda_state));
        return false;
    }
    ctx->backend_state = state;
    state->libraries = libraries;
    char text[512];
    seam_choice which = {ctx->index, (size_t)ctx->device_memory};
    const char *failure = seam_open(&state->s, &which, text, sizeof text);
    state->staging = failure ? nullptr : seam_pin(first_staging); /* before seam_open, seam_pin would use device 0 */
    state->staging_bytes = first_staging;
    if (!failure && state->staging && checks_open(ctx))
        return true;
    if (failure)
        mo_fail(ctx, code_of(failure, MO_UNSUPPORTED),
            "cuda: no device to compute on: %s; leave out --device cuda to compute on the CPU", failure);
    else
        mo_fail(ctx, MO_MEMORY, "cuda: no memory for what a context needs, %zu bytes of it page-locked", first_staging);
    cuda_close(ctx);
    return false;
}

static void *cuda_alloc(mo_context *ctx, size_t bytes) {
    return not_capturing(ctx, "memory was asked for") ? seam_allocate(seam_of(ctx), bytes) : nullptr;
}

static void cuda_free(mo_context *ctx, void *block, size_t bytes) {
    (void)bytes;
    not_capturing(ctx, "memory was given back");
    state_of(ctx)->moves++;
    seam_release(seam_of(ctx), block);
}

static void cuda_memory(mo_context *ctx, size_t *held, size_t *left) {
    seam_memory(seam_of(ctx), held, left);
}

/* Scratch is given back first, so that the pool's blocks around it are whole. */
static void cuda_trim(mo_context *ctx) {
    cuda_state *state = state_of(ctx);
    if (!not_capturing(ctx, "memory was given back"))
        return;
    checks_wait(ctx);
    cuda_give(ctx, state->scratch, state->scratch_bytes);
    state->scratch = nullptr;
    state->scratch_bytes = state->staging_used = 0;
    void *smaller = state->staging_bytes > first_staging ? seam_pin(first_staging) : nullptr;
    if (smaller) {
        seam_unpin(state->staging);
        state->staging = smaller;
        state->staging_bytes = first_staging;
    }
    cuda_ok(ctx, "memory cannot be given back", seam_trim(state->s));
}

static size_t cuda_peak(const mo_context *ctx, bool restart) {
    return state_of(ctx) ? seam_peak(seam_of(ctx), restart) : 0;
}

void *cuda_take(mo_context *ctx, size_t bytes) {
    void *block = cuda_alloc(ctx, bytes);
    if (!block)
        return nullptr;
    ctx->counters.allocations++;
    ctx->counters.bytes_live += (int64_t)bytes;
    if (ctx->counters.bytes_live > ctx->counters.bytes_peak)
        ctx->counters.bytes_peak = ctx->counters.bytes_live;
    return block;
}

void cuda_give(mo_context *ctx, void *block, size_t bytes) {
    if (!block)
        return;
    cuda_free(ctx, block, bytes);
    ctx->counters.bytes_live -= (int64_t)bytes;
}

void *cuda_scratch(mo_context *ctx, size_t bytes) {
    cuda_state *state = state_of(ctx);
    if (state->scratch && bytes <= state->scratch_bytes)
        return state->scratch;
    cuda_give(ctx, state->scratch, state->scratch_bytes);
    size_t size = bytes > 2 * state->scratch_bytes ? bytes : 2 * state->scratch_bytes;
    state->scratch = cuda_take(ctx, size);
    state->scratch_bytes = state->scratch ? size : 0;
    if (!state->scratch) {
        size_t held = 0, left = 0;
        seam_memory(state->s, &held, &left);
        mo_fail(
            ctx, MO_MEMORY, "out of memory: %zu bytes of scratch asked of cuda, %zu held, %zu free", size, held, left);
    }
    return state->scratch;
}

/* ---- copies ---- */

/* Returns page-locked memory that no queued copy uses, and sets *wanted to its size, at most the *wanted bytes asked
 * for. Waits only if too little of this memory is unused, so that the small uploads of a step do not wait. */
static char *find_staging(mo_context *ctx, size_t *wanted) {
    cuda_state *state = state_of(ctx);
    size_t bytes = *wanted < last_staging ? *wanted : last_staging;
    if (bytes > state->staging_bytes - state->staging_used) {
        checks_wait(ctx);
        state->staging_used = 0;
        void *larger = bytes > state->staging_bytes ? seam_pin(bytes) : nullptr;
        if (larger) {
            seam_unpin(state->staging);
            state->staging = larger;
            state->staging_bytes = bytes;
        }
    }
    size_t left = state->staging_bytes - state->staging_used, taken = (bytes + 255) / 256 * 256;
    char *room = static_cast<char *>(state->staging) + state->staging_used;
    state->staging_used += taken < left ? taken : left;
    *wanted = bytes < left ? bytes : left;
    return room;
}

static void cuda_upload(mo_context *ctx, void *device, const void *host, size_t bytes) {
    cuda_state *state = state_of(ctx);
    for (size_t at = 0; at < bytes && mo_ok(ctx);) {
        size_t piece = bytes - at;
        char *room = state->capture ? capture_constants(ctx, piece) : find_staging(ctx, &piece);
        if (!room)
            return;
        memcpy(room, (const char *)host + at, piece);
        seam_upload(state->s, (char *)device + at, room, piece);
        at += piece;
    }
}

static void cuda_download(mo_context *ctx, void *host, const void *device, size_t bytes) {
    cuda_state *state = state_of(ctx);
    if (bytes)
        memset(host, 0, bytes); /* the caller sees zeros after a failure */
    for (size_t at = 0; at < bytes && not_capturing(ctx, "a value was read") && mo_ok(ctx);) {
        size_t piece = bytes - at;
        char *room = find_staging(ctx, &piece);
        seam_download(state->s, room, (const char *)device + at, piece);
        checks_wait(ctx);
        memcpy((char *)host + at, room, piece);
        state->staging_used = 0;
        at += piece;
    }
}

static void cuda_zero(mo_context *ctx, void *device, size_t bytes) {
    if (bytes)
        seam_fill(seam_of(ctx), device, 0, bytes);
}

/* ---- queued copies out of the caller's page-locked memory. An event after the last copy shows when the memory may be
 * written again: with two such buffers a thread fills one while the other is being copied. ---- */

static seam_event *mark_of(const mo_pinned *p) {
    return static_cast<seam_event *>(p->mark);
}

static bool pin_cuda(mo_context *ctx, size_t bytes, mo_pinned *p) {
    void *data = seam_pin(bytes);
    seam_event *mark = data ? seam_event_create(seam_of(ctx)) : nullptr;
    if (data && !mark)
        seam_unpin(data);
    *p = {mark ? data : nullptr, bytes, mark};
    return mark != nullptr;
}

/* Waits even if the context has an error, as a copy may still be running. */
static void unpin_cuda(mo_context *ctx, mo_pinned *p) {
    (void)ctx;
    seam_event_wait(mark_of(p));
    seam_event_release(mark_of(p));
    seam_unpin(p->data);
}

static void send_cuda(mo_context *ctx, void *device, const mo_pinned *p, size_t offset, size_t bytes) {
    if (!not_capturing(ctx, "page-locked memory was sent"))
        return;
    seam_upload(seam_of(ctx), device, static_cast<const char *>(p->data) + offset, bytes);
    seam_event_record(seam_of(ctx), mark_of(p));
}

static void sent_cuda(mo_context *ctx, const mo_pinned *p) {
    const char *failure = seam_event_wait(mark_of(p));
    if (mo_ok(ctx))
        cuda_ok(ctx, "the device stopped", failure);
}

/* ---- other libraries' streams ---- */

static void *cuda_stream(mo_context *ctx) {
    return seam_stream(seam_of(ctx));
}

static void cuda_order(mo_context *ctx, void *other, bool theirs_first) {
    if (not_capturing(ctx, "another stream was put in order with it"))
        seam_order(seam_of(ctx), other, theirs_first);
}

extern "C" MO_API const mo_backend mo_backend_cuda;
const mo_backend mo_backend_cuda = {
    .size = sizeof(mo_backend),
    .name = "cuda",
    .open = cuda_open,
    .close = cuda_close,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .memory = cuda_memory,
    .trim = cuda_trim,
    .peak = cuda_peak,
    .describe = seam_describe,
    .devices = seam_count,
    .libraries = seam_libraries,
    .upload = cuda_upload,
    .download = cuda_download,
    .pin = pin_cuda,
    .unpin = unpin_cuda,
    .send = send_cuda,
    .sent = sent_cuda,
    .zero = cuda_zero,
    .copy = copy_cuda,
    .fill = fill_cuda,
    .check = check_cuda,
    .wait = checks_wait,
    .stream = cuda_stream,
    .order = cuda_order,
    .capture_begin = capture_begin_cuda,
    .capture_end = capture_end_cuda,
    .capture_replay = capture_replay_cuda,
    .capture_release = capture_release_cuda,
    .f32 = &kernels_cuda_f32,
    .f64 = &kernels_cuda_f64,
};
