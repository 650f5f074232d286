/* tensor/backend.h - the kernel table every device fills (library internal).
 *
 * One table per float type; kernels are named by what they compute and see only views. Unless a comment says otherwise
 * a view may have any strides (0 broadcasts an input), outputs never overlap inputs, and empty views are legal. Kernels
 * cannot fail: numerical failure is reported through an `info` view, which the op reads. The CPU is the reference. */
#ifndef MO_BACKEND_H
#define MO_BACKEND_H

#include "tensor/check.h"

/* y = f(x), elementwise; a and b are the function's parameters. */
typedef enum mo_map1 {
    MO_MAP_NEG,
    MO_MAP_EXP,
    MO_MAP_LOG,
    MO_MAP_SQRT,
    MO_MAP_RELU,
    MO_MAP_ABS,
    MO_MAP_SQUARE,
    MO_MAP_SIN,
    MO_MAP_COS,
    MO_MAP_LOG1P,
    MO_MAP_ERF,
    MO_MAP_TANH,
    MO_MAP_SIGMOID,
    MO_MAP_SOFTPLUS,
    MO_MAP_GELU,
    MO_MAP_SIGN,
    MO_MAP_STEP,       /* x > 0 ? 1 : 0 */
    MO_MAP_SCALE,      /* a x + b */
    MO_MAP_POW,        /* x^a */
    MO_MAP_CLAMP,      /* min(max(x, a), b) */
    MO_MAP_CLAMP_MASK, /* a <= x <= b ? 1 : 0 */
    MO_MAP_LEAKY_RELU, /* x > 0 ? x : a x */
    MO_MAP_LEAKY_STEP, /* x > 0 ? 1 : a */
    MO_MAP_GELU_SLOPE, /* d gelu / dx */
    MO_MAP_GELU_CURVE  /* d2 gelu / dx2 */
} mo_map1;

/* y = f(x1, x2), elementwise. */
typedef enum mo_map2 {
    MO_MAP_ADD,
    MO_MAP_SUB,
    MO_MAP_MUL,
    MO_MAP_DIV,
    MO_MAP_RELU_MASK, /* x2 > 0 ? x1 : 0 */
    MO_MAP_DIV_OR_0,  /* x2 == 0 ? 0 : x1 / x2 */
    MO_MAP_MAX,
    MO_MAP_MIN,
    MO_MAP_GREATER_EQUAL, /* x1 >= x2 ? 1 : 0 */
    MO_MAP_POWER          /* x1^x2 */
} mo_map2;

typedef enum mo_reduction { MO_REDUCE_SUM, MO_REDUCE_MAX, MO_REDUCE_SUM_OF_SQUARES } mo_reduction;

/* C = epilogue(alpha A B + beta C): A [.., m, k], B [.., k, n], C [.., m, n] contiguous in its last axis; batch axes of
 * A and B broadcast to the batch axes of C through strides of 0. Transposed operands are views. The epilogue runs in
 * this order, each part only if its data is not NULL: add `bias`: [n], or [.., n] with one bias per matrix of the
 * batch; add `addend` [.., m, n], for which only kernels of the CPU ask (cpu/hop.c); if `relu`, clip at zero. row_sums
 * [.., m] receives the sums of the rows of A: if A is the transposed adjoint of a layer's output, row_sums is the
 * gradient of the layer's bias, and C the gradient of its weights. */
typedef struct mo_gemm {
    mo_view A, B, C;
    double alpha, beta;
    mo_view bias, addend;
    bool relu;
    mo_view row_sums;
} mo_gemm;

/* ---- sizes of views ---- */

static inline int64_t ceil_div(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

/* The product of the sizes of the first `axes` axes of v. */
static inline int64_t leading(const mo_view *v, int axes) {
    int64_t product = 1;
    for (int i = 0; i < axes; i++)
        product *= v->shape[i];
    return product;
}

/* The number of matrices in A [.., m, n]. */
static inline int64_t matrix_count(const mo_view *A) {
    return leading(A, A->ndim - 2);
}

/* The length of a row (the last axis); a scalar is one row of one element. */
static inline int64_t row_length(const mo_view *x) {
    return x->ndim ? x->shape[x->ndim - 1] : 1;
}

static inline int64_t row_count(const mo_view *x) {
    return x->ndim ? leading(x, x->ndim - 1) : 1;
}

/* The number of elements of one entry along the first axis. */
static inline int64_t entry_length(const mo_view *x) {
    int64_t length = 1;
    for (int i = 1; i < x->ndim; i++)
        length *= x->shape[i];
    return length;
}

/* v with contiguous strides and with broadcast batch axes (stride 0) cut to size 1: the layout of a copy without
 * repeats. */
static inline mo_view packed_view(const mo_view *v) {
    mo_view P = *v;
    int64_t stride = 1;
    for (int i = v->ndim - 1; i >= 0; i--) {
        bool repeats = i < v->ndim - 2 && v->stride[i] == 0;
        P.shape[i] = repeats ? 1 : v->shape[i];
        P.stride[i] = repeats ? 0 : stride;
        stride *= P.shape[i];
    }
    return P;
}

/* The row_sums of a product as the output view of a reduction of A over its last axis. */
static inline mo_view row_sums_view(const mo_gemm *g) {
    mo_view sums = g->A;
    sums.data = g->row_sums.data;
    for (int i = 0; i < sums.ndim; i++)
        sums.stride[i] = i < sums.ndim - 1 ? g->row_sums.stride[i] : 0;
    return sums;
}

/* Attention over K hops (ops/layers/hop_attention.c has the formulas): H [K, n, d], W [m, 2 d], b [m], v [1, m], c [1];
 * results Y [n, d], a [n, K] and P [K, n, m]. The adjoint reads H, W, v, a, P and Y_bar, and writes the gradients of H,
 * W, b, v and c. query [n, m] and, for the adjoint, scratch [mo_attention_scratch] are memory that the kernels
 * overwrite. All but W are contiguous. */
typedef struct mo_attention {
    mo_view H, W, b, v, c, Y, a, P;
    mo_view Y_bar, H_bar, W_bar, b_bar, v_bar, c_bar;
    mo_view query, scratch;
} mo_attention;

enum { MO_MOST_ATTENDED = 32 /* hops */, MO_ATTENTION_ROWS = 64 /* rows of each hop in one part of a sum over rows */ };

/* The elements of `scratch`: D and z of all hops (hop_attention.c), and partial sums of v_bar, b_bar and c_bar. */
static inline int64_t mo_attention_scratch(int64_t K, int64_t n, int64_t m) {
    return K * n * (m + 1) + (n / MO_ATTENTION_ROWS + 1) * (2 * m + 1);
}

/* X = A^-1 B by A = L L^T: A and L [.., n, n], B and X [.., n, m], contiguous, with equal leading axes; info as for
 * potrf; X is NaN for a matrix without a factor. A.data NULL: L is an input, and info is not written. */
typedef struct mo_spd_system {
    mo_view A, B, L, X, info;
} mo_spd_system;

/* A sparse matrix [n, m]: row_pointer int64 [n + 1], column int32, values real. */
typedef struct mo_csr_view {
    mo_view row_pointer, column, values;
} mo_csr_view;

static inline bool mo_triangle_is_lower(mo_triangle triangle) {
    return triangle == MO_LOWER || triangle == MO_LOWER_TRANSPOSED;
}

static inline bool mo_triangle_is_transposed(mo_triangle triangle) {
    return triangle == MO_LOWER_TRANSPOSED || triangle == MO_UPPER_TRANSPOSED;
}

/* The factors of one AdamW step, float64 in device memory: m = beta1 m + rest1 g, v = beta2 v + rest2 g^2,
 * p = keep p - rate m / (sqrt(v) root + epsilon). */
typedef enum mo_adamw_factor {
    MO_ADAMW_BETA1,
    MO_ADAMW_BETA2,
    MO_ADAMW_REST1,
    MO_ADAMW_REST2,
    MO_ADAMW_KEEP,
    MO_ADAMW_RATE,
    MO_ADAMW_ROOT,
    MO_ADAMW_EPSILON,
    MO_ADAMW_FACTORS
} mo_adamw_factor;

/* The kernels of one float type: at most 40 functions. */
typedef struct mo_kernels {
    void (*gemm)(mo_context *ctx, const mo_gemm *g);
    /* The products g[0] .. g[n - 1], as if in this order. No product reads the C of another one, except that several
     * may add to the same C (beta). So products whose C do not overlap can run at once. May be NULL: ops call gemm for
     * each. */
    void (*gemms)(mo_context *ctx, const mo_gemm *g, int n);
    /* Y = X X^T: X [.., n, d] of unit stride along rows or along columns, Y [.., n, n] contiguous. May be NULL: ops
     * call gemm then. */
    void (*gram)(mo_context *ctx, const mo_view *X, const mo_view *Y);
    /* A [.., n, n] contiguous: its lower triangle becomes L with A = L L^T, its strict upper triangle zero. info int32
     * [batch]: 0: factored; i > 0: leading minor i is not positive; -1: A holds a value that is not finite. */
    void (*potrf)(mo_context *ctx, const mo_view *A, const mo_view *info);
    /* B := op(T)^-1 B in place; T [.., n, n], B [.., n, m] contiguous; the batch axes of T broadcast. Only the triangle
     * of T that `triangle` names is read. */
    void (*trsm)(mo_context *ctx, mo_triangle triangle, const mo_view *T, const mo_view *B);
    /* Factors A and solves for X in one call. Returns false, having done nothing, if the caller must use potrf and trsm
     * for systems of X's shape. If X.data is NULL, only returns this answer. The pointer may be NULL; callers then use
     * potrf and trsm. */
    bool (*solve_spd)(mo_context *ctx, const mo_spd_system *s);
    /* LU with partial pivoting in place; pivot int32 [.., n]; info int32 [batch]: i > 0: U(i,i) is 0; -1: A is not
     * finite; -2: the estimated reciprocal condition is below the machine epsilon. */
    void (*getrf)(mo_context *ctx, const mo_view *A, const mo_view *pivot, const mo_view *info);
    /* B := op(A)^-1 B in place from the LU of getrf. */
    void (*getrs)(mo_context *ctx, bool transposed, const mo_view *LU, const mo_view *pivot, const mo_view *B);
    /* A [.., n, n] symmetric, contiguous: becomes its eigenvectors in columns; w [.., n] in rising order. info as
     * LAPACK's; -1: A is not finite. */
    void (*syevd)(mo_context *ctx, const mo_view *A, const mo_view *w, const mo_view *info);
    /* A [.., m, n], m >= n, contiguous: becomes Q (thin), R [.., n, n] upper, diagonal >= 0. info as for syevd. */
    void (*qr)(mo_context *ctx, const mo_view *A, const mo_view *R, const mo_view *info);
    /* A [.., k, n], k <= n, contiguous, = U diag(s) V^T: becomes V^T, of orthonormal rows; U [.., k, k] orthogonal, s
     * [.., k] falling. info as for syevd. */
    void (*svd)(mo_context *ctx, const mo_view *A, const mo_view *U, const mo_view *s, const mo_view *info);

    void (*map1)(mo_context *ctx, mo_map1 f, double a, double b, const mo_view *x, const mo_view *y);
    /* y may be x1 itself. */
    void (*map2)(mo_context *ctx, mo_map2 f, const mo_view *x1, const mo_view *x2, const mo_view *y);
    /* y = c != 0 ? x1 : x2; c uint8 or real */
    void (*where)(mo_context *ctx, const mo_view *c, const mo_view *x1, const mo_view *x2, const mo_view *y);
    /* y has the axes of x, with stride 0 along reduced axes; every element of y is written once. The order of summation
     * depends on the shape alone. An empty sum is 0. */
    void (*reduce)(mo_context *ctx, mo_reduction kind, const mo_view *x, const mo_view *y);
    /* x [.., m] contiguous, index int64 [..]: the position of the first largest entry of each row. */
    void (*argmax)(mo_context *ctx, const mo_view *x, const mo_view *index);
    void (*cumsum)(mo_context *ctx, bool reversed, const mo_view *x, const mo_view *y); /* last axis, contiguous */
    /* Sorts each row in falling order, ties by position; order int64 receives the positions. x contiguous. */
    void (*argsort)(mo_context *ctx, const mo_view *x, const mo_view *order);

    /* From softmax to l2_normalize, a row is the last axis; x and y are contiguous. */
    void (*softmax)(mo_context *ctx, bool log, const mo_view *x, const mo_view *y);
    /* The adjoint of softmax, from its value y: x_bar = y (y_bar - <y, y_bar>). log: the adjoint of log softmax,
     * x_bar = y_bar - exp(y) sum(y_bar). */
    void (*softmax_adjoint)(mo_context *ctx, bool log, const mo_view *y, const mo_view *y_bar, const mo_view *x_bar);
    void (*logsumexp)(mo_context *ctx, const mo_view *x, const mo_view *y); /* y [..] */
    void (*layer_norm)(mo_context *ctx, double epsilon, const mo_view *x, const mo_view *y);
    void (*l2_normalize)(
        mo_context *ctx, double epsilon, const mo_view *x, const mo_view *y); /* x / max(|x|, epsilon) */
    /* y = scale x / max(|x|, epsilon), scale a scalar. May be NULL, like its adjoint: ops then compose them. */
    void (*scale_unit)(mo_context *ctx, double epsilon, const mo_view *x, const mo_view *scale, const mo_view *y);
    /* The adjoint of scale_unit: x_bar, and scale_bar [..], each row's contribution to the adjoint of scale. Rows of
     * y_bar [n, m] may lie more than m elements apart. */
    void (*scale_unit_adjoint)(mo_context *ctx, double epsilon, const mo_view *x, const mo_view *scale,
        const mo_view *y_bar, const mo_view *x_bar, const mo_view *scale_bar);
    /* loss[i] = -sum_c t_ic log softmax(x_i)_c, t = (1 - s) target + s / C; target int64 [n] or real [n, C];
     * contiguous. */
    void (*cross_entropy)(
        mo_context *ctx, double smoothing, const mo_view *x, const mo_view *target, const mo_view *loss);
    /* The adjoint of the mean of the cross_entropy losses: x_bar = (softmax(x) sum_c t_ic - t) mean_bar / n, mean_bar a
     * scalar. May be NULL: ops compose it then. */
    void (*cross_entropy_adjoint)(mo_context *ctx, double smoothing, const mo_view *x, const mo_view *target,
        const mo_view *mean_bar, const mo_view *x_bar);

    /* y[i] = x[index[i]]: x [n, ..], index int64 [m], y [m, ..]; x and y contiguous. */
    void (*gather_rows)(mo_context *ctx, const mo_view *x, const mo_view *index, const mo_view *y);
    /* y[index[i]] += x[i] in rising i; y [n, ..] is zeroed first. */
    void (*scatter_add_rows)(mo_context *ctx, const mo_view *x, const mo_view *index, const mo_view *y);
    /* y[s] = sum of the rows offset[s] .. offset[s+1]-1 of x (mean: divided by their count); offset int64 [S + 1]. */
    void (*segment_sum)(mo_context *ctx, bool mean, const mo_view *x, const mo_view *offset, const mo_view *y);
    /* The adjoint of segment_sum: y[i] = x[segment of row i] (mean: divided by the segment's count). */
    void (*segment_spread)(mo_context *ctx, bool mean, const mo_view *x, const mo_view *offset, const mo_view *y);
    /* y[.., j] = x[.., index[.., j]]; contiguous */
    void (*take_along)(mo_context *ctx, const mo_view *x, const mo_view *index, const mo_view *y);
    /* y = 0, then y[.., index[.., j]] += x[.., j] in rising j; x.data NULL: x is all ones */
    void (*put_along)(mo_context *ctx, const mo_view *x, const mo_view *index, const mo_view *y);
    /* Y = A X: X [m, d], Y [n, d] contiguous in the last axis. */
    void (*spmm)(mo_context *ctx, const mo_csr_view *A, const mo_view *X, const mo_view *Y);

    void (*hop_attention)(mo_context *ctx, const mo_attention *g);
    void (*hop_attention_adjoint)(mo_context *ctx, const mo_attention *g);

    /* mask[i] = 0 with probability rate, else 1 / (1 - rate), drawn at random position r + i; contiguous. */
    void (*dropout_mask)(mo_context *ctx, double rate, const mo_random *r, const mo_view *mask);
    /* Uniform in [a, b), or normal with mean a and standard deviation b; element i is drawn at random position r + i;
     * contiguous. */
    void (*random)(mo_context *ctx, bool normal, double a, double b, const mo_random *r, const mo_view *y);

    /* n contiguous gradients g. squares float64 [n] receives the sum of squares of each gradient, rounded to the type
     * of g. scale float64 [2]: scale[0] is the norm of all gradients together, the root of the sum of squares, added in
     * order; scale[1] is min(1, bound / (norm + 1e-6)), or 1 if bound is 0. */
    void (*gradient_norm)(
        mo_context *ctx, double bound, int n, const mo_view *g, const mo_view *squares, const mo_view *scale);
    /* One step of n parameters, each contiguous: updates moments m, v and parameter p in place, with the gradient g
     * times scale[1]. Changes nothing if an earlier check has failed. Loshchilov and Hutter 2019. */
    void (*adamw)(mo_context *ctx, const mo_view *factors, const mo_view *scale, int n, const mo_view *g,
        const mo_view *m, const mo_view *v, const mo_view *p);
} mo_kernels;

/* Page-locked host memory, from which copies to the device can be queued. */
typedef struct mo_pinned {
    void *data;
    size_t bytes;
    void *mark; /* the backend's event, which the device reaches once it has done the queued copies */
} mo_pinned;

typedef struct mo_backend {
    size_t size; /* bytes of this struct: a shared object from another build is refused */
    const char *name;
    bool (*open)(mo_context *ctx); /* fills ctx->backend_state; raises and returns false on failure */
    void (*close)(mo_context *ctx);
    void *(*alloc)(mo_context *ctx, size_t bytes); /* 64-byte aligned; NULL on failure, without raising */
    void (*free)(mo_context *ctx, void *block, size_t bytes);
    /* Writes the bytes of device memory that this process holds, and the bytes still free. NULL: errors about memory do
     * not name these numbers. */
    void (*memory)(mo_context *ctx, size_t *held, size_t *left);
    /* Waits, then gives back the memory that no tensor or tape uses. */
    void (*trim)(mo_context *ctx);
    /* Returns the largest use of device memory in bytes, including the libraries' own; `restart` sets this record to
     * the present use. NULL: no record. */
    size_t (*peak)(const mo_context *ctx, bool restart);
    /* Writes the name of the device to text, or returns the reason why there is no device. NULL: the device is always
     * there. */
    const char *(*describe)(char *text, size_t bytes);
    int (*devices)(void); /* the number of devices; NULL: one */
    /* Writes the libraries that the backend computes with to text; works without a device. NULL: none to name. */
    void (*libraries)(char *text, size_t bytes);
    void (*upload)(mo_context *ctx, void *device, const void *host, size_t bytes);
    void (*download)(mo_context *ctx, void *host, const void *device, size_t bytes);
    /* Returns false, without raising, if there is no page-locked memory. If pin, unpin, send and sent are NULL, copies
     * from any memory are done at once. */
    bool (*pin)(mo_context *ctx, size_t bytes, mo_pinned *p);
    void (*unpin)(mo_context *ctx, mo_pinned *p); /* waits for the copies out of p first */
    /* Queues a copy of the bytes at p->data + offset; they must not change until `sent` returns. */
    void (*send)(mo_context *ctx, void *device, const mo_pinned *p, size_t offset, size_t bytes);
    void (*sent)(mo_context *ctx, const mo_pinned *p); /* waits for the copies out of p, not for other work */
    void (*zero)(mo_context *ctx, void *device, size_t bytes);
    /* y = x between any two dtypes and strides of equal shape */
    void (*copy)(mo_context *ctx, const mo_view *x, const mo_view *y);
    void (*fill)(mo_context *ctx, double value, const mo_view *y);
    /* Queues a check of values on the device; the next download raises its error. NULL: values are checked at once, on
     * the host. */
    void (*check)(mo_context *ctx, const mo_check *check);
    void (*wait)(mo_context *ctx); /* waits for all work, raises as a download does; NULL: no work is ever pending */
    /* stream: the vendor's handle of the stream in which work is queued. order: if theirs_first, work that the context
     * queues from here on begins once the stream `other` has done its present work; otherwise new work of `other`
     * begins once the context's present work is done. NULL: work is done at once. */
    void *(*stream)(mo_context *ctx);
    void (*order)(mo_context *ctx, void *other, bool theirs_first);
    /* Work queued between capture_begin and capture_end is stored instead of done, and is done at each replay. A replay
     * `ahead` steps after the captured step draws from random streams whose numbers are `ahead * streams` larger. The
     * functions return false or NULL if they raised. If they are NULL, the device cannot capture. */
    bool (*capture_begin)(mo_context *ctx, int64_t streams);
    void *(*capture_end)(mo_context *ctx);
    /* Returns false, without raising, if memory has been given back since the capture: the capture's buffers may be
     * gone. */
    bool (*capture_replay)(mo_context *ctx, void *capture, int64_t ahead);
    void (*capture_release)(mo_context *ctx, void *capture);
    const mo_kernels *f32, *f64;
} mo_backend;

extern const mo_backend mo_backend_cpu;

/* The backend of a device; opens its shared object if it has one. Returns NULL if there is no backend, and writes the
 * reason to text as one line. */
const mo_backend *mo_backend_of(mo_device device, char *text, size_t bytes);

/* The kernels of a float type; raises MO_UNSUPPORTED and returns NULL for other types. */
const mo_kernels *mo_kernels_of(mo_context *ctx, mo_dtype dtype);

#endif
