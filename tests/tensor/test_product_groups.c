/* tests/tensor/test_product_groups.c - products queued as a group on CUDA have the same bits as products queued one by
 * one, in every math mode: operands that several products share, whole, transposed and in part; epilogues; sums into
 * one C; batches with a bias per matrix; rows of 1, 7 and 513; sizes that differ or are 0. In float64 they equal the
 * CPU's. Skipped if there is no CUDA device. */
#include "ops/inside.h"
#include "ops/rules/layers.h"
#include "ops/rules/shapes.h"
#include "tests/drawn.h"

enum { PRODUCTS = 25, N = 48, D = 40, M = 24, ODD = 513, ROOM = 4 * N * D, SUMS = 4 * D };

/* The tensors of a group: X [N, D], W [M, 2 D], G [N, M], bias [M], O [14, ODD]; and room for each product's result and
 * row sums. */
typedef struct group {
    mo_tape *t;
    mo_tensor *X, *W, *G, *bias, *O, *C[PRODUCTS], *sums[PRODUCTS];
    mo_gemm product[PRODUCTS];
    int n;
} group;

static mo_view flat(mo_tensor *T, int64_t first, int64_t rows, int64_t columns) {
    mo_view v = mo_tensor_view(T);
    v.data = (char *)v.data + first * (int64_t)mo_dtype_size(v.dtype);
    v.ndim = 2;
    v.shape[0] = rows, v.shape[1] = columns;
    v.stride[0] = columns, v.stride[1] = 1;
    return v;
}

/* Adds a product C = A B over the last two axes. */
static mo_gemm *add(group *g, mo_view A, mo_view B) {
    mo_gemm *p = &g->product[g->n++];
    *p = (mo_gemm){.A = A, .B = B, .alpha = 1, .C = flat(g->C[g->n - 1], 0, A.shape[A.ndim - 2], B.shape[B.ndim - 1])};
    return p;
}

static mo_view sums_of(group *g, int64_t n) {
    mo_view v = flat(g->sums[g->n - 1], 0, 1, n);
    v.ndim = 1;
    v.shape[0] = n, v.stride[0] = 1;
    return v;
}

static void make(group *g, mo_context *ctx, mo_dtype real) {
    *g = (group){.t = mo_tape_create(ctx, MO_EVAL)};
    g->X = drawn(g->t, real, 1, 2, (int64_t[]){N, D});
    g->W = drawn(g->t, real, 2, 2, (int64_t[]){M, 2 * D});
    g->G = drawn(g->t, real, 3, 2, (int64_t[]){N, M});
    g->bias = drawn(g->t, real, 4, 1, (int64_t[]){M});
    g->O = mo_scale(g->t, drawn(g->t, real, 6, 2, (int64_t[]){14, ODD}), 1.0 / 16, 0);
    for (int i = 0; i < PRODUCTS; i++) {
        g->C[i] = drawn(g->t, real, 5, 1, (int64_t[]){ROOM});
        g->sums[i] = mo_full(g->t, real, 1, (int64_t[]){SUMS}, 7);
    }
    mo_view X = mo_tensor_view(g->X), W = mo_tensor_view(g->W), G = mo_tensor_view(g->G);
    mo_view left = mo_window(W, 1, 0, D), right = mo_window(W, 1, D, D), head = mo_window(X, 0, 0, 9);
    mo_gemm *p =
        add(g, X, mo_swap_view(left)); /* a layer; the next takes its first rows by the other half of the weights */
    p->bias = mo_tensor_view(g->bias);
    p->relu = true;
    add(g, head, mo_swap_view(right));
    p = add(g, mo_swap_view(G), X); /* the gradients of that layer */
    p->row_sums = sums_of(g, M);
    add(g, G, left);
    p = add(g, mo_window(G, 0, 0, 9), right); /* adds a second product to the same C */
    p->C = mo_window(g->product[3].C, 0, 0, 9);
    p->beta = 1;
    p->alpha = -0.5;
    add(g, X, mo_swap_view(X));
    mo_view inner = mo_window(X, 1, 1, D - 1); /* no address is a multiple of 16 bytes */
    add(g, mo_window(inner, 0, 1, 7), mo_swap_view(inner));
    p = add(g, mo_window(X, 1, 0, 0), mo_swap_view(mo_window(left, 1, 0, 0))); /* no terms: beta C + bias */
    p->beta = 0.25;
    p->bias = mo_tensor_view(g->bias);
    p = add(g, mo_window(X, 0, 0, 0), mo_swap_view(left));                  /* no rows */
    p = add(g, mo_swap_view(mo_window(G, 0, 0, 0)), mo_window(X, 0, 0, 0)); /* no terms, with row sums, which are 0 */
    p->row_sums = sums_of(g, M);
    mo_view batch = {X.data, X.dtype, 3, {4, N / 4, D}, {N / 4 * D, D, 1}}; /* a batch; below by a matrix that it
                                                                             * shares, and by one matrix each */
    p = add(g, mo_swap_view(batch), batch);                                 /* with row sums for each matrix */
    p->C = (mo_view){mo_tensor_view(g->C[g->n - 1]).data, X.dtype, 3, {4, D, D}, {D * D, D, 1}};
    p->row_sums = sums_of(g, 4 * D);
    p->row_sums.ndim = 2;
    p->row_sums.shape[0] = 4, p->row_sums.shape[1] = D;
    p->row_sums.stride[0] = D, p->row_sums.stride[1] = 1;
    add(g, batch, (mo_view){left.data, left.dtype, 3, {4, D, M}, {0, 1, 2 * D}})->C =
        (mo_view){mo_tensor_view(g->C[g->n - 1]).data, X.dtype, 3, {4, N / 4, M}, {N / 4 * M, M, 1}};
    add(g, batch, (mo_view){X.data, X.dtype, 3, {4, D, N / 4}, {N / 4 * D, 1, D}})->C =
        (mo_view){mo_tensor_view(g->C[g->n - 1]).data, X.dtype, 3, {4, N / 4, N / 4}, {N / 4 * N / 4, N / 4, 1}};
}

/* Adds batches with a bias for each matrix: the bias is part of a row of G. In the second batch all matrices share the
 * weight, but the differing biases forbid joining their rows. */
static void add_biased(group *g) {
    mo_view X = mo_tensor_view(g->X), W = mo_tensor_view(g->W), G = mo_tensor_view(g->G);
    for (int i = 0; i < 3; i++) {
        mo_view batch = {X.data, X.dtype, 3, {4, N / 4, D}, {N / 4 * D, D, 1}};
        mo_view weights = {W.data, W.dtype, 3, {4, D, M / 4}, {i == 1 ? 0 : M / 4 * 2 * D, 1, 2 * D}};
        mo_gemm *p = add(g, batch, weights);
        p->C = (mo_view){p->C.data, X.dtype, 3, {4, N / 4, M / 4}, {N / 4 * M / 4, M / 4, 1}};
        p->bias = (mo_view){G.data, G.dtype, 2, {4, M / 4}, {M / 4, i == 2 ? 2 : 1}};
        p->relu = i != 1;
    }
}

/* Adds products of one matrix O of odd width: whole, transposed, its first rows and columns, as a batch, as one long
 * row. */
static void add_odd(group *g) {
    mo_view O = mo_tensor_view(g->O), seven = mo_window(O, 0, 0, 7), narrow = mo_window(O, 1, 0, 7);
    mo_view row = mo_window(O, 0, 0, 1), column = mo_window(O, 1, 0, 1), line = flat(g->O, 0, 1, 14 * ODD);
    mo_view batch = {O.data, O.dtype, 3, {2, 7, ODD}, {7 * ODD, ODD, 1}};
    add(g, O, mo_swap_view(O));
    add(g, mo_swap_view(O), narrow);
    add(g, mo_window(O, 0, 0, 3), mo_swap_view(row));
    add(g, column, row);
    add(g, line, mo_swap_view(line));
    add(g, mo_window(mo_window(O, 1, 1, 7), 0, 1, 5), mo_swap_view(narrow)); /* none of its rows starts at a multiple of
                                                                              * 16 bytes */
    mo_gemm *p = add(g, batch, (mo_view){O.data, O.dtype, 3, {2, ODD, 7}, {7 * ODD, 1, ODD}});
    p->C = (mo_view){p->C.data, O.dtype, 3, {2, 7, 7}, {49, 7, 1}};
    p = add(g, batch, (mo_view){O.data, O.dtype, 3, {2, ODD, 7}, {0, 1, ODD}});
    p->C = (mo_view){p->C.data, O.dtype, 3, {2, 7, 7}, {49, 7, 1}};
    p = add(g, mo_window(batch, 2, 0, 1), (mo_view){seven.data, O.dtype, 3, {2, 1, 9}, {0, ODD, 1}});
    p->C = (mo_view){p->C.data, O.dtype, 3, {2, 7, 9}, {63, 9, 1}};
}

/* Reads every result into `out`, with all of its room: beyond the result nothing may have been written. */
static void results(mo_context *ctx, mo_dtype real, bool together, double *out) {
    static float narrow[ROOM];
    group g;
    make(&g, ctx, real);
    add_biased(&g);
    add_odd(&g);
    assert_int_equal(g.n, PRODUCTS);
    if (together)
        mo_multiply(ctx, g.product, g.n);
    for (int i = 0; i < g.n && !together; i++)
        mo_multiply(ctx, &g.product[i], 1);
    for (int i = 0; i < 2 * g.n; i++) {
        mo_tensor *T = i % 2 ? g.sums[i / 2] : g.C[i / 2];
        int64_t n = mo_numel(T);
        if (mo_tensor_read(T, real == MO_F64 ? (void *)out : narrow, (size_t)n * mo_dtype_size(real)) != MO_OK)
            fail_msg("%s", mo_context_status(ctx)->message);
        for (int64_t k = 0; k < n && real == MO_F32; k++)
            out[k] = narrow[k];
        out += n;
    }
    mo_tape_release(g.t);
}

enum { RESULTS = PRODUCTS * (ROOM + SUMS) };

static double single[RESULTS], grouped[RESULTS], again[RESULTS], cpu[RESULTS];

static void compare(const char *what, const double *got, const double *want, double tolerance) {
    for (int i = 0; i < RESULTS; i++)
        if (!(fabs(got[i] - want[i]) <= tolerance))
            fail_msg("%s: product %d, value %d is %.9g, expected %.9g", what, i / (ROOM + SUMS), i % (ROOM + SUMS),
                got[i], want[i]);
}

TEST(a_group_is_its_products_one_by_one) {
    static const char *const libraries[] = {"rule", "never"};
    static const char *const modes[] = {"fp32", "tf32", "bf16"};
    int compared = 0;
    mo_context_release(device_context(MO_CUDA));
    HELD(mo_context) *host = device_context(MO_CPU);
    results(host, MO_F64, false, cpu);
    for (int k = 0; k < 6; k++) {
        int mode = k / 2;
        HELD(mo_context) *ctx = cuda_context(libraries[k % 2], (mo_math)mode);
        assert_true(mo_ok(ctx));
        for (int wide = 0; wide < 2; wide++) {
            mo_dtype real = wide ? MO_F64 : MO_F32;
            results(ctx, real, false, single);
            results(ctx, real, true, grouped);
            results(ctx, real, true, again);
            compare(modes[mode], grouped, single, 0);
            compare("the same group again", again, grouped, 0);
            compare("the CPU's", grouped, cpu, wide ? 1e-12 : mode == MO_MATH_BF16 ? 0.3 : 0.1);
            compared++;
        }
    }
    print_message("%d groups of %d products\n", compared, PRODUCTS);
}
