/* tensor/cuda/reduce.cu - sums, maxima and sums of squares over any axes, in an order that depends on the shape alone.
 *
 * The reduced elements of each result are cut into pieces. A team sums each piece in double: one thread if neighbouring
 * results are contiguous in memory; a warp if the reduced axes are; a block if there are few results. If there are
 * several pieces, a warp adds them. */
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/loop_nest.h"

/* Elements of a piece per thread of its team: 16 rounds of 8 loads. With shorter pieces, more sums would need a second
 * launch, which joins the pieces. */
constexpr int64_t thread_piece = 128;

struct reduction {
    int64_t kind;         /* mo_reduction */
    cuda_nest<2> kept;    /* x and y */
    cuda_nest<2> reduced; /* strides of x; the strides of y are 0 */
    int64_t pieces;
    int64_t team; /* threads that sum a piece: 1, 32 or block_threads */
};

__device__ static double start_value(int64_t kind) {
    return kind == MO_REDUCE_MAX ? -INFINITY : 0;
}

__device__ static double join(int64_t kind, double a, double b) {
    if (kind == MO_REDUCE_MAX)
        return b > a || b != b ? b : a; /* a NaN stays */
    return a + b;
}

__device__ static double join_warp(int64_t kind, double value) {
    for (int d = 16; d > 0; d /= 2)
        value = join(kind, value, __shfl_down_sync(whole_warp, value, d));
    return value;
}

/* Joins the elements first, first + step .. below last. flat: a single axis is reduced, so that positions take no
 * division, and eight loads are in flight. */
template <bool flat, typename real>
__device__ static double piece_value(const reduction &p, const real *x, int64_t first, int64_t last, int64_t step) {
    constexpr int together = flat ? 8 : 1;
    int64_t stride = p.reduced.stride[0][0];
    double value = start_value(p.kind);
    for (int64_t r = first; r < last; r += together * step) {
        real term[together];
        for (int u = 0; u < together; u++) {
            int64_t from = r + u * step < last ? r + u * step : r, at[2] = {from * stride, 0};
            if (!flat)
                loop_nest_seek(p.reduced, from, at);
            term[u] = x[at[0]];
        }
        for (int u = 0; u < together; u++) { /* elements behind the end change nothing */
            double t = r + u * step < last ? (double)term[u] : start_value(p.kind);
            value = join(p.kind, value, p.kind == MO_REDUCE_SUM_OF_SQUARES ? t * t : t);
        }
    }
    return value;
}

/* The value of the whole team in its first thread. */
__device__ static double join_team(const reduction &p, double value) {
    __shared__ double of_warp[block_threads / 32];
    if (p.team == 1)
        return value;
    value = join_warp(p.kind, value);
    if (p.team == 32)
        return value;
    __syncthreads();
    if (lane_of() == 0)
        of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    for (unsigned w = 1; threadIdx.x == 0 && w < block_threads / 32; w++)
        value = join(p.kind, value, of_warp[w]);
    return value;
}

/* If a thread sums a piece, item i is piece i / results of result i % results; otherwise piece i % pieces of result
 * i / pieces. */
template <typename real> static __global__ void reduce_kernel(reduction p, const real *x, real *y, double *partial) {
    unsigned team = (unsigned)p.team, own = threadIdx.x % team, teams = block_threads / team;
    int64_t items = p.kept.total * p.pieces;
    for (int64_t i = (int64_t)blockIdx.x * teams + threadIdx.x / team; i < items; i += (int64_t)gridDim.x * teams) {
        bool single = team == 1;
        int64_t k = single ? i % p.kept.total : i / p.pieces, piece = single ? i / p.kept.total : i % p.pieces;
        int64_t at[2], first = p.reduced.total * piece / p.pieces, last = p.reduced.total * (piece + 1) / p.pieces;
        loop_nest_seek(p.kept, k, at);
        double value = p.reduced.ndim <= 1 ? piece_value<true>(p, x + at[0], first + own, last, team)
                                           : piece_value<false>(p, x + at[0], first + own, last, team);
        value = join_team(p, value);
        if (own == 0 && p.pieces > 1)
            partial[k * p.pieces + piece] = value;
        else if (own == 0)
            y[at[1]] = (real)value;
    }
}

template <typename real> static __global__ void join_kernel(reduction p, const double *partial, real *y) {
    for (int64_t k = first_warp(); k < p.kept.total; k += warp_step()) {
        double value = start_value(p.kind);
        for (int64_t piece = lane_of(); piece < p.pieces; piece += 32)
            value = join(p.kind, value, partial[k * p.pieces + piece]);
        value = join_warp(p.kind, value);
        int64_t at[2];
        loop_nest_seek(p.kept, k, at);
        if (lane_of() == 0)
            y[at[1]] = (real)value;
    }
}

/* The axes of x that y keeps, or the axes that are reduced. */
static cuda_nest<2> axes_of(const mo_view *x, const mo_view *y, bool kept) {
    mo_view a = *x, b = *y;
    a.ndim = b.ndim = 0;
    for (int i = 0; i < x->ndim; i++)
        if ((y->stride[i] != 0) == kept && x->shape[i] != 1) {
            a.shape[a.ndim] = b.shape[b.ndim] = x->shape[i];
            a.stride[a.ndim++] = x->stride[i];
            b.stride[b.ndim++] = y->stride[i];
        }
    return loop_nest_of({&a, &b});
}

static int64_t innermost(const cuda_nest<2> &N) {
    return N.ndim ? std::abs(N.stride[0][N.ndim - 1]) : INT64_MAX;
}

/* How many threads sum a piece. A block takes rows too long for a round of a warp's loads where warps would leave most
 * of the device idle, and columns so few that their strides cost less than one thread's rounds. */
static int64_t team_of(const reduction &p) {
    bool rows = innermost(p.reduced) <= innermost(p.kept);
    bool few_rows = rows && p.reduced.total > 256 && p.kept.total < 1024;
    bool few_columns = !rows && p.reduced.total >= 64 && p.reduced.total <= 4096 && p.kept.total <= 32;
    return few_rows || few_columns ? block_threads : rows && p.reduced.total >= 32 ? 32 : 1;
}

template <typename real> void reduce_cuda(mo_context *ctx, mo_reduction kind, const mo_view *x, const mo_view *y) {
    reduction p = {kind, axes_of(x, y, true), axes_of(x, y, false), 1, 1};
    if (p.kept.total == 0)
        return;
    p.team = team_of(p);
    p.pieces = most(1, ceil_div(p.reduced.total, p.team * thread_piece));
    double *partial = nullptr;
    int64_t items = p.kept.total * p.pieces;
    if (p.pieces > 1) {
        partial = static_cast<double *>(cuda_scratch(ctx, (size_t)items * sizeof(double)));
        if (!partial)
            return;
    }
    real *out = static_cast<real *>(y->data);
    mo_launch(reduce_kernel<real>, blocks_for(p.team * items), dim3(block_threads), 0, seam_of(ctx), p,
        static_cast<const real *>(x->data), out, partial);
    if (p.pieces > 1)
        mo_launch(join_kernel<real>, blocks_for(32 * p.kept.total), dim3(block_threads), 0, seam_of(ctx), p,
            static_cast<const double *>(partial), out);
}

template void reduce_cuda<float>(mo_context *, mo_reduction, const mo_view *, const mo_view *);
template void reduce_cuda<double>(mo_context *, mo_reduction, const mo_view *, const mo_view *);
