/* tensor/cuda/device.h - the backend's state in a context, and declarations that its kernels share. */
#ifndef MO_CUDA_DEVICE_H
#define MO_CUDA_DEVICE_H

#include "tensor/cuda/launch.h"

#include <cmath>
#include <cstdint>
#include <cstring>

extern "C" {
#include "tensor/objects.h"
}

/* The error that a check writes on the device; `now`: the number of steps that a replay is ahead of the captured
 * step. */
struct found_error {
    int64_t found, slot, position, value, before, ahead, now;
};

/* The checks that a context has queued and whose results it has not yet read (checks.cu). */
struct cuda_checks {
    mo_note *notes;
    int count;
    bool replayed;              /* a capture was replayed whose checks have not been read */
    found_error *device, *host; /* `host` is page-locked */
};

constexpr int most_notes = 1024; /* most checks between two waits, and in one capture */

struct cuda_capture;

/* How MOCHI_CUDA_LIBRARIES overrules a rule: whether the vendor's library or our kernel is called if both can compute
 * the same. */
enum overrule { BY_RULE, ALWAYS, NEVER };

struct cuda_state {
    seam *s;
    overrule libraries;
    void *scratch; /* device memory for kernels */
    size_t scratch_bytes;
    void *staging; /* page-locked memory, through which copies from and to the host pass */
    size_t staging_bytes, staging_used;
    cuda_checks checks;
    cuda_capture *capture, *captures; /* the capture being made; the captures that can be replayed */
    int64_t captures_made;
    uint64_t moves; /* number of blocks of device memory given back */
};

inline cuda_state *state_of(const mo_context *ctx) {
    return static_cast<cuda_state *>(ctx->backend_state);
}

inline seam *seam_of(const mo_context *ctx) {
    return state_of(ctx)->s;
}

/* Whether to try the library first: `rule`, unless MOCHI_CUDA_LIBRARIES overrules it. */
inline bool library_first(const mo_context *ctx, bool rule) {
    overrule use = state_of(ctx)->libraries;
    return use == ALWAYS || (use == BY_RULE && rule);
}

/* Raises the vendor's error text (NULL: no error) after `what`, the call's name. Returns whether there was no error. */
bool cuda_ok(mo_context *ctx, const char *what, const char *failure);

/* Allocates device memory that mo_counters counts; NULL on failure. Raises only in a capture, which it ends. cuda_give
 * takes the same size. */
void *cuda_take(mo_context *ctx, size_t bytes);
void cuda_give(mo_context *ctx, void *block, size_t bytes);

/* Returns device memory, 256-byte aligned, that is valid until the next call of cuda_scratch; NULL after raising
 * MO_MEMORY. Kernels that are queued later may use it again without waiting, as they are on the same stream. */
void *cuda_scratch(mo_context *ctx, size_t bytes);

inline int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

inline int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* ---- checks ---- */

bool checks_open(mo_context *ctx); /* returns false if there is no memory */
void checks_close(mo_context *ctx);
/* Waits until all queued work has run, and raises the first error that a check or the device has found. */
void checks_wait(mo_context *ctx);
void check_cuda(mo_context *ctx, const mo_check *check);

/* ---- captured steps, kept as CUDA graphs (capture.cu) ---- */

constexpr size_t captured_uploads = (size_t)1 << 20; /* most bytes of constants in one capture */

struct cuda_capture {
    seam_graph *graph;
    mo_note *notes; /* the notes of the checks in this capture */
    int count;
    int64_t number, streams;
    uint64_t moves;  /* moves_of (capture.cu) when the graph was made */
    char *constants; /* page-locked: the values that every replay uploads */
    size_t used;
    cuda_capture *next;
};

bool capture_begin_cuda(mo_context *ctx, int64_t streams);
void *capture_end_cuda(mo_context *ctx);
bool capture_replay_cuda(mo_context *ctx, void *capture, int64_t ahead);
void capture_release_cuda(mo_context *ctx, void *capture);

/* Returns whether no capture is being made. If one is, raises that it cannot hold `what`, and ends it. */
bool not_capturing(mo_context *ctx, const char *what);
/* Page-locked memory that lives as long as the capture being made; NULL after raising if there is no more. */
char *capture_constants(mo_context *ctx, size_t bytes);
/* The capture with this number; NULL if there is none. */
cuda_capture *find_capture(mo_context *ctx, int64_t number);
/* Ends the capture being made, without a graph. */
void capture_close(mo_context *ctx);

/* How kernels in a capture find their step: *ahead steps after the captured one; each step advances random streams by
 * `streams`. */
struct moving_steps {
    const int64_t *ahead; /* on the device; NULL: no capture is being made */
    int64_t streams;
};
moving_steps steps_of(mo_context *ctx);

/* ---- loops in kernels ---- */

constexpr unsigned block_threads = 256;
constexpr int64_t most_blocks = 1 << 15; /* if there are more items than threads, a thread takes several */

/* The number of blocks for `items` items, one item per thread. */
inline dim3 blocks_for(int64_t items, unsigned threads = block_threads) {
    return dim3((unsigned)least(ceil_div(items, threads), most_blocks));
}

/* The first item of a thread, and the step to its next item. */
__device__ inline int64_t first_item() {
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ inline int64_t item_step() {
    return (int64_t)gridDim.x * blockDim.x;
}

/* first_item and item_step if an item, such as a row, takes a warp. */
__device__ inline int64_t first_warp() {
    return ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 32;
}

__device__ inline int64_t warp_step() {
    return (int64_t)gridDim.x * blockDim.x / 32;
}

__device__ inline int lane_of() {
    return (int)(threadIdx.x % 32);
}

/* The values of 16 bytes, which a thread loads at once. */
template <typename real> struct __align__(16) pack {
    static constexpr int width = 16 / sizeof(real);
    real value[width];
};

/* The i-th 16 bytes of x; `aligned`: the address of x is a multiple of 16 bytes. */
template <typename real> __device__ inline pack<real> pack_at(bool aligned, const real *x, int64_t i) {
    pack<real> p;
    if (aligned)
        p = reinterpret_cast<const pack<real> *>(x)[i];
    for (int k = 0; k < pack<real>::width && !aligned; k++)
        p.value[k] = x[i * pack<real>::width + k];
    return p;
}

constexpr unsigned whole_warp = 0xffffffff;
constexpr unsigned row_threads = 128; /* four warps, one for each of four rows */

inline dim3 blocks_for_rows(int64_t rows) {
    return blocks_for(rows, row_threads / 32);
}

/* Returns to every lane the sum over the lanes of a warp, added as a fixed tree. */
template <typename T> __device__ inline T warp_sum(T x) {
    for (int d = 16; d > 0; d /= 2)
        x += __shfl_xor_sync(whole_warp, x, d);
    return x;
}

template <typename T> __device__ inline T warp_max(T x) {
    for (int d = 16; d > 0; d /= 2) {
        T other = __shfl_xor_sync(whole_warp, x, d);
        x = other > x ? other : x;
    }
    return x;
}

#endif
