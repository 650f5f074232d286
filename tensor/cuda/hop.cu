/* tensor/cuda/hop.cu - attention over hops and its adjoint (ops/layers/hop_attention.c has the formulas): products of
 * all hops at once, and one kernel, with a block for each row, for everything between the products. */
#include "tensor/cuda/kernels.h"
#include "tensor/cuda/map.h"
#include "tensor/cuda/row.h"

template <typename real> struct attended {
    int64_t K, n, d, m;
    const real *H, *query, *v, *c;
    real *P, *a, *Y;
};

template <typename real> struct attended_bar {
    int64_t K, n, d, m;
    const real *H, *v, *a, *P, *Y_bar;
    real *H_bar, *z, *D, *E;
};

/* K sums over the threads of a block. put_sum: each warp w writes the sum of its lanes' k-th values to part[w][k];
 * sum_of_lane: lane k of a warp adds these up and so has the k-th sum of the block. */
template <typename real> struct block_sums { real part[row_threads / 32][MO_MOST_ATTENDED]; };

template <typename real> __device__ static void put_sum(block_sums<real> *s, int k, real value) {
    value = warp_sum(value);
    if (lane_of() == 0)
        s->part[threadIdx.x / 32][k] = value;
}

template <typename real> __device__ static real sum_of_lane(const block_sums<real> *s, int64_t K) {
    real sum = 0;
    for (unsigned w = 0; w < row_threads / 32 && lane_of() < K; w++)
        sum += s->part[w][lane_of()];
    return sum;
}

/* The softmax of the values x of lanes 0 .. K - 1, with the same shift as in row.h. */
template <typename real> __device__ static real lane_softmax(real x, int64_t K) {
    real shift = warp_max(lane_of() < K && x > -INFINITY ? x : (real)-INFINITY);
    real e = lane_of() < K ? exp_of(x - (shift == -INFINITY ? (real)0 : shift)) : (real)0;
    return (real)((double)e / warp_sum((double)e));
}

/* Threads take 16 bytes of a row at a time: d = 512 in float32 is one load per thread. There are as few stores as
 * possible, because the compiler must assume that a later load reads the address of a store, and so cannot move the
 * load before the store. Which thread adds which element follows from the row's length, at any address. */
template <typename real> constexpr int in_group = 16 / sizeof(real);

/* row := relu(row + query) for a row of products. Returns the thread's part of the score. */
template <typename real> __device__ static real relu_and_score(int64_t m, real *row, const real *query, const real *v) {
    constexpr int width = in_group<real>;
    real score = 0;
    for (int64_t j = width * threadIdx.x; j < m; j += width * blockDim.x) {
        neighbours<real, width> x = load_part<width>(row + j, m - j), q = load_part<width>(query + j, m - j);
        neighbours<real, width> of_score = load_part<width>(v + j, m - j);
        for (int e = 0; e < width; e++) {
            real sum = x.value[e] + q.value[e];
            x.value[e] = sum < 0 ? (real)0 : sum;
            score += x.value[e] * of_score.value[e];
        }
        store_part(row + j, x, m - j);
    }
    return score;
}

/* Computes P, a and Y. Before the call p.P holds the products H_k W_k^T; query is H_0 W_q^T + b. */
template <typename real> static __global__ void attend_kernel(attended<real> p) {
    __shared__ block_sums<real> sums;
    __shared__ real weight[MO_MOST_ATTENDED];
    constexpr int width = in_group<real>;
    for (int64_t i = blockIdx.x; i < p.n; i += gridDim.x) {
        for (int k = 0; k < p.K; k++)
            put_sum(&sums, k, relu_and_score(p.m, p.P + (k * p.n + i) * p.m, p.query + i * p.m, p.v));
        __syncthreads();
        if (threadIdx.x < 32) {
            weight[lane_of()] = lane_softmax(sum_of_lane(&sums, p.K) + p.c[0], p.K);
            if (lane_of() < p.K)
                p.a[i * p.K + lane_of()] = weight[lane_of()];
        }
        __syncthreads();
        for (int64_t j = width * threadIdx.x; j < p.d; j += width * blockDim.x) {
            neighbours<real, width> sum = {};
            for (int k = 0; k < p.K; k++) {
                neighbours<real, width> h = load_part<width>(p.H + (k * p.n + i) * p.d + j, p.d - j);
                for (int e = 0; e < width; e++)
                    sum.value[e] += weight[k] * h.value[e];
            }
            store_part(p.Y + i * p.d + j, sum, p.d - j);
        }
    }
}

/* H_bar := weight y_bar for one row. Returns the thread's part of <y_bar, h>. */
template <typename real>
__device__ static real scale_and_dot(int64_t d, real weight, const real *y_bar, const real *h, real *H_bar) {
    constexpr int width = in_group<real>;
    real dot = 0;
    for (int64_t j = width * threadIdx.x; j < d; j += width * blockDim.x) {
        neighbours<real, width> y = load_part<width>(y_bar + j, d - j), x = load_part<width>(h + j, d - j);
        for (int e = 0; e < width; e++) {
            dot += y.value[e] * x.value[e];
            y.value[e] *= weight;
        }
        store_part(H_bar + j, y, d - j);
    }
    return dot;
}

/* Computes columns j .. of row i of D for all hops, and of E, the sum of D over hops. */
template <typename real>
__device__ static void mask_slopes(const attended_bar<real> &p, int64_t i, int64_t j, const real *slope) {
    constexpr int width = in_group<real>;
    neighbours<real, width> v = load_part<width>(p.v + j, p.m - j), sum = {};
    for (int k = (int)p.K - 1; k >= 0; k--) {
        int64_t at = (k * p.n + i) * p.m + j;
        neighbours<real, width> D = load_part<width>(p.P + at, p.m - j);
        for (int e = 0; e < width; e++) {
            D.value[e] = D.value[e] > 0 ? slope[k] * v.value[e] : (real)0;
            sum.value[e] += D.value[e];
        }
        store_part(p.D + at, D, p.m - j);
    }
    store_part(p.E + i * p.m + j, sum, p.m - j);
}

/* Computes z, D, E, and H_bar as far as it comes through Y. */
template <typename real> static __global__ void attend_adjoint_kernel(attended_bar<real> p) {
    __shared__ block_sums<real> sums;
    __shared__ real slope[MO_MOST_ATTENDED];
    constexpr int width = in_group<real>;
    for (int64_t i = blockIdx.x; i < p.n; i += gridDim.x) {
        for (int k = 0; k < p.K; k++) {
            int64_t row = (k * p.n + i) * p.d;
            put_sum(&sums, k, scale_and_dot(p.d, p.a[i * p.K + k], p.Y_bar + i * p.d, p.H + row, p.H_bar + row));
        }
        __syncthreads();
        if (threadIdx.x < 32) {
            real weight = lane_of() < p.K ? p.a[i * p.K + lane_of()] : (real)0, dot = sum_of_lane(&sums, p.K);
            slope[lane_of()] = weight * (dot - warp_sum(weight * dot));
            if (lane_of() < p.K)
                p.z[lane_of() * p.n + i] = slope[lane_of()];
        }
        __syncthreads();
        for (int64_t j = width * threadIdx.x; j < p.m; j += width * blockDim.x)
            mask_slopes(p, i, j, slope);
    }
}

/* A matrix [rows, columns] in v's memory from element `first` on, rows `step` apart. */
static mo_view matrix_at(const mo_view *v, int64_t first, int64_t rows, int64_t columns, int64_t step) {
    mo_view M = {};
    M.data = static_cast<char *>(v->data) + first * (int64_t)(v->dtype == MO_F64 ? sizeof(double) : sizeof(float));
    M.dtype = v->dtype;
    M.ndim = 2;
    M.shape[0] = rows, M.shape[1] = columns;
    M.stride[0] = step, M.stride[1] = 1;
    return M;
}

/* Half 0 or 1 of the columns of W [m, 2 d], which has any strides. */
static mo_view half_of(const mo_view *W, int64_t half) {
    mo_view M = *W;
    M.shape[1] /= 2;
    M.data = matrix_at(W, half * M.shape[1] * M.stride[1], 0, 0, 0).data;
    return M;
}

static mo_view swapped(mo_view M) {
    std::swap(M.shape[0], M.shape[1]);
    std::swap(M.stride[0], M.stride[1]);
    return M;
}

/* C = A B + beta C; row_sums, unless NULL, receives the sums of A's rows. */
static mo_gemm product_of(mo_view A, mo_view B, mo_view C, double beta, const mo_view *row_sums) {
    mo_gemm g = {};
    g.A = A, g.B = B, g.C = C;
    g.alpha = 1, g.beta = beta;
    if (row_sums)
        g.row_sums = *row_sums;
    return g;
}

template <typename real> void hop_attention_cuda(mo_context *ctx, const mo_attention *g) {
    int64_t K = g->H.shape[0], n = g->H.shape[1], d = g->H.shape[2], m = g->W.shape[0];
    mo_gemm products[] = {
        product_of(matrix_at(&g->H, 0, n, d, d), swapped(half_of(&g->W, 0)), g->query, 0, nullptr),
        product_of(
            matrix_at(&g->H, 0, K * n, d, d), swapped(half_of(&g->W, 1)), matrix_at(&g->P, 0, K * n, m, m), 0, nullptr),
    };
    products[0].bias = g->b;
    gemms_cuda<real>(ctx, products, 2);
    attended<real> p = {K, n, d, m, static_cast<const real *>(g->H.data), static_cast<const real *>(g->query.data),
        static_cast<const real *>(g->v.data), static_cast<const real *>(g->c.data), static_cast<real *>(g->P.data),
        static_cast<real *>(g->a.data), static_cast<real *>(g->Y.data)};
    mo_launch(attend_kernel<real>, blocks_for(n, 1), dim3(row_threads), 0, seam_of(ctx), p);
}

template <typename real> void hop_attention_adjoint_cuda(mo_context *ctx, const mo_attention *g) {
    int64_t K = g->H.shape[0], n = g->H.shape[1], d = g->H.shape[2], m = g->W.shape[0];
    mo_view D = matrix_at(&g->scratch, 0, K * n, m, m), z = matrix_at(&g->scratch, K * n * m, 1, K * n, K * n);
    attended_bar<real> p = {K, n, d, m, static_cast<const real *>(g->H.data), static_cast<const real *>(g->v.data),
        static_cast<const real *>(g->a.data), static_cast<const real *>(g->P.data),
        static_cast<const real *>(g->Y_bar.data), static_cast<real *>(g->H_bar.data), static_cast<real *>(z.data),
        static_cast<real *>(D.data), static_cast<real *>(g->query.data)};
    mo_launch(attend_adjoint_kernel<real>, blocks_for(n, 1), dim3(row_threads), 0, seam_of(ctx), p);
    mo_view rows = matrix_at(&g->H, 0, K * n, d, d), first = matrix_at(&g->H, 0, n, d, d);
    const mo_gemm products[] = {
        product_of(z, matrix_at(&g->P, 0, K * n, m, m), g->v_bar, 0, &g->c_bar),
        product_of(swapped(D), rows, half_of(&g->W_bar, 1), 0, nullptr),
        product_of(swapped(g->query), first, half_of(&g->W_bar, 0), 0, &g->b_bar),
        product_of(D, half_of(&g->W, 1), matrix_at(&g->H_bar, 0, K * n, d, d), 1, nullptr),
        product_of(g->query, half_of(&g->W, 0), matrix_at(&g->H_bar, 0, n, d, d), 1, nullptr),
    };
    gemms_cuda<real>(ctx, products, 5);
}

template void hop_attention_cuda<float>(mo_context *, const mo_attention *);
template void hop_attention_cuda<double>(mo_context *, const mo_attention *);
template void hop_attention_adjoint_cuda<float>(mo_context *, const mo_attention *);
template void hop_attention_adjoint_cuda<double>(mo_context *, const mo_attention *);
