/* tensor/cuda/fits/svm_dual.cu - the dual of the Crammer-Singer machine (tensor/fits.h), one block per item of the
 * batch. The steps are those that cpu/fits/svm_face.c explains, on all rows, with sums in fixed trees. Every thread
 * takes every decision, from values that the whole block has reduced. */
#include "tensor/cuda/fits/svm_item.h"
#include "tensor/cuda/kernels.h"

#include <cfloat>

constexpr int svm_rounds = 5000, svm_idle = 50, svm_stuck = 100, svm_sweeps = 4, svm_first_steps = 16,
              svm_walk_steps = 64, svm_vectors = 6;
constexpr double svm_least_length = 1e-3;

/* All items; a step of 0: all items share one value. */
template <typename real> struct svm_batch {
    int64_t batch, n, classes, K_step, Y_step, lambda_step;
    const real *K, *Y, *lambda;
    real *alpha, *violation, *work;
};

/* ---- steps ---- */

/* Starts conjugate gradients: r = the projection of the gradient onto the face, p = r, v = Kv = 0. */
template <typename real> __device__ static void svm_start(const svm_item<real> &s) {
    for (int64_t i = threadIdx.x; i < s.N; i += svm_threads)
        s.r[i] = s.F[i] - s.Y[i];
    __syncthreads();
    svm_onto_face(s, s.r);
    for (int64_t i = threadIdx.x; i < s.N; i += svm_threads) {
        s.v[i] = s.Kv[i] = 0;
        s.p[i] = s.r[i];
    }
    __syncthreads();
}

/* Finds v and Kv, the minimum over the face, by conjugate gradients. Returns true if they converged at least to the
 * rounding of logits of magnitude `size`. */
template <typename real>
__device__ static bool svm_minimise_face(const svm_item<real> &s, int64_t limit, double epsilon, double size) {
    svm_start(s);
    double rr = svm_dot(s.r, s.r, s.N), noise = 8 * epsilon * size;
    double target = fmax(rr * (16 * epsilon * epsilon), (double)s.N * noise * noise);
    for (int64_t k = 0; k < limit && rr > target; k++) {
        svm_apply(s, s.p, s.Kp);
        double curvature = svm_dot(s.p, s.Kp, s.N), pp = svm_dot(s.p, s.p, s.N);
        bool flat = !(curvature > 16 * epsilon * pp * (double)(s.K[0] / s.lambda));
        if (flat && k > 0)
            return false;
        real a = flat ? (real)(1e6 / sqrt(pp)) : (real)(rr / curvature); /* curvature 0: as far as the face goes */
        for (int64_t i = threadIdx.x; i < s.N; i += svm_threads) {
            s.v[i] += a * s.p[i];
            s.Kv[i] += a * s.Kp[i];
        }
        __syncthreads();
        svm_onto_face(s, s.Kp);
        for (int64_t i = threadIdx.x; i < s.N; i += svm_threads)
            s.r[i] -= a * s.Kp[i];
        __syncthreads();
        double next = svm_dot(s.r, s.r, s.N);
        if (flat)
            return false;
        for (int64_t i = threadIdx.x; i < s.N; i += svm_threads)
            s.p[i] = s.r[i] + (real)(next / rr) * s.p[i];
        __syncthreads();
        rr = next;
    }
    return rr <= target;
}

/* Moves along v until an alpha becomes 0. */
template <typename real> __device__ static void svm_follow(const svm_item<real> &s) {
    double shortest = 1;
    for (int64_t i = threadIdx.x; i < s.N; i += svm_threads)
        if (s.v[i] < 0 && (double)(-s.alpha[i] / s.v[i]) < shortest)
            shortest = (double)(-s.alpha[i] / s.v[i]);
    shortest = -svm_join(-shortest, true);
    for (int64_t i = threadIdx.x; i < s.N; i += svm_threads) {
        bool stops = s.v[i] < 0 && (double)(-s.alpha[i] / s.v[i]) <= shortest;
        real x = s.alpha[i] + (real)shortest * s.v[i];
        s.alpha[i] = x > 0 && !stops ? x : (real)0;
    }
    __syncthreads();
}

/* p = (alpha + length v projected onto the simplices) - alpha; returns true if the projection changes nothing. */
template <typename real> __device__ static bool svm_project(const svm_item<real> &s, real length) {
    double cut = 0;
    for (int64_t i = threadIdx.x / 32; i < s.n; i += svm_warps) {
        const real *alpha = s.alpha + i * s.classes, *v = s.v + i * s.classes;
        real *p = s.p + i * s.classes, low = 0;
        for (int64_t c = lane_of(); c < s.classes; c += 32) {
            p[c] = alpha[c] + length * v[c];
            low = p[c] < low ? p[c] : low;
        }
        low = -warp_max(-low);
        real threshold = low < 0 ? svm_threshold(p, s.classes) : (real)0;
        cut = low < 0 ? 1 : cut;
        for (int64_t c = lane_of(); c < s.classes; c += 32)
            p[c] = (p[c] > threshold ? p[c] - threshold : (real)0) - alpha[c];
    }
    return svm_join(cut, true) == 0;
}

/* Moves to the projection of a point on v if the objective is lower there: many alpha may become 0 at once. Else moves
 * until the first alpha becomes 0. Returns true if it took all of v. */
template <typename real> __device__ static bool svm_search(const svm_item<real> &s) {
    for (real length = 1; length > (real)svm_least_length; length /= 4) {
        bool whole = svm_project(s, length);
        if (!whole) {
            double fall = 0;
            svm_apply(s, s.p, s.Kp);
            for (int64_t i = threadIdx.x; i < s.N; i += svm_threads)
                fall += (double)s.p[i] * ((double)s.F[i] - (double)s.Y[i]);
            fall = svm_join(fall, false);
            if (!(svm_dot(s.p, s.Kp, s.N) / 2 <= 0.999 * fall))
                continue;
        }
        for (int64_t i = threadIdx.x; i < s.N; i += svm_threads) {
            real x = s.alpha[i] + s.p[i];
            s.alpha[i] = x > 0 && s.p[i] != -s.alpha[i] ? x : (real)0;
        }
        __syncthreads();
        return whole && length == 1;
    }
    svm_follow(s);
    return false;
}

/* The largest g of a row less the least g with alpha > 0, the maximum over rows; size: the largest logit. */
template <typename real> __device__ static double svm_violation(const svm_item<real> &s, double *size) {
    double worst = 0, largest = 1;
    for (int64_t i = threadIdx.x; i < s.n; i += svm_threads) {
        double top = -INFINITY, low = INFINITY;
        for (int64_t k = i * s.classes; k < (i + 1) * s.classes; k++) {
            double F = s.F[k], g = (double)(s.F[k] - s.Y[k]);
            if (!(fabs(g) < INFINITY)) /* comparisons would miss a NaN */
                worst = INFINITY;
            top = g > top ? g : top;
            low = s.alpha[k] > 0 && g < low ? g : low;
            largest = fabs(F) > largest ? fabs(F) : largest;
        }
        if (s.K[i * s.n + i] > 0 && top - low > worst)
            worst = top - low;
    }
    *size = svm_join(largest, true);
    return svm_join(worst, true);
}

/* F = K (Y - alpha) / lambda */
template <typename real> __device__ static void svm_refresh(const svm_item<real> &s) {
    for (int64_t i = threadIdx.x; i < s.N; i += svm_threads)
        s.p[i] = s.Y[i] - s.alpha[i];
    __syncthreads();
    svm_apply(s, s.p, s.F);
}

/* Returns a negative number if it converged: to the exact solution of its face, or as close as rounding allows. Else
 * returns the remaining violation. */
template <typename real> __device__ static double svm_minimise(const svm_item<real> &s) {
    const double epsilon = sizeof(real) == 8 ? DBL_EPSILON : (double)FLT_EPSILON;
    int64_t steps = svm_first_steps;
    double smallest = INFINITY, size = 1;
    bool stuck = false; /* until it walks each face to its end: svm_fit.c */
    for (int round = 0, idle = 0; round < svm_rounds; round++) {
        for (int sweep = 0; sweep < svm_sweeps; sweep++)
            for (int64_t i = 0; i < s.n; i++)
                svm_update_row(s, i);
        bool exact = svm_minimise_face(s, steps, epsilon, size), inside = svm_search(s);
        stuck = stuck || idle > svm_stuck;
        for (int64_t i = 0; stuck && !inside && i < s.N; i++) {
            svm_refresh(s);
            exact = svm_minimise_face(s, svm_walk_steps, epsilon, size);
            inside = svm_search(s);
        }
        svm_refresh(s);
        double left = svm_violation(s, &size);
        if (!(left < INFINITY))
            return INFINITY;
        idle = left < smallest / 2 ? 0 : idle + 1;
        if (inside && (exact || idle) && left <= 1e4 * epsilon * size)
            return -1;
        if (idle > svm_idle && smallest <= sqrt(epsilon) * size)
            return -1;
        smallest = left < smallest ? left : smallest;
        int64_t more = 2 * steps, most_steps = 2 * s.N + svm_first_steps;
        steps = inside ? (more < most_steps ? more : most_steps) : svm_first_steps;
    }
    return smallest;
}

template <typename real> static __global__ void svm_kernel(svm_batch<real> g) {
    for (int64_t b = blockIdx.x; b < g.batch; b += gridDim.x) {
        int64_t N = g.n * g.classes;
        svm_item<real> s = {};
        s.n = g.n, s.classes = g.classes, s.N = N;
        s.K = g.K + b * g.K_step, s.Y = g.Y + b * g.Y_step, s.lambda = g.lambda[b * g.lambda_step];
        s.alpha = g.alpha + b * N;
        real *work = g.work + b * svm_vectors * N;
        s.F = work, s.v = work + N, s.Kv = work + 2 * N, s.r = work + 3 * N, s.p = work + 4 * N, s.Kp = work + 5 * N;
        for (int64_t i = threadIdx.x; i < N; i += svm_threads) {
            s.alpha[i] = s.Y[i];
            s.F[i] = 0;
        }
        __syncthreads();
        double left = s.lambda > 0 ? svm_minimise(s) : (double)INFINITY;
        if (threadIdx.x == 0)
            g.violation[b] = (real)left;
        __syncthreads();
    }
}

static int64_t item_stride(const mo_view *v) {
    return v->shape[0] == 1 ? 0 : entry_length(v);
}

template <typename real> void svm_dual_cuda(mo_context *ctx, const mo_svm_dual *g) {
    svm_batch<real> p = {};
    p.batch = g->Y.shape[0], p.n = g->Y.shape[1], p.classes = g->Y.shape[2];
    p.K_step = item_stride(&g->K), p.Y_step = item_stride(&g->Y), p.lambda_step = item_stride(&g->lambda);
    p.K = static_cast<const real *>(g->K.data), p.Y = static_cast<const real *>(g->Y.data);
    p.lambda = static_cast<const real *>(g->lambda.data);
    p.alpha = static_cast<real *>(g->alpha.data), p.violation = static_cast<real *>(g->violation.data);
    p.work = static_cast<real *>(cuda_scratch(ctx, (size_t)(p.batch * svm_vectors * p.n * p.classes) * sizeof(real)));
    if (p.work)
        mo_launch(svm_kernel<real>, blocks_for(p.batch, 1), dim3(svm_threads), 0, seam_of(ctx), p);
}

template void svm_dual_cuda<float>(mo_context *, const mo_svm_dual *);
template void svm_dual_cuda<double>(mo_context *, const mo_svm_dual *);
