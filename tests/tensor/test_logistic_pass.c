/* tests/tensor/test_logistic_pass.c - logits, sums over rows and products with a Hessian against plain loops in double,
 * at any thread count, to the last bit. */
#include "tensor/fits.h"
#include "tests/tensor/cpu_views.h"

typedef struct sizes {
    int64_t n, d, C;
    bool intercept;
} sizes;

/* E[c] = [X | 1]_i V, and sum_j |X_ij V_jc|, for one row. */
static void row_logits(const sizes *z, const mo_logistic_pass *g, int64_t i, double *E, double *size) {
    for (int64_t c = 0; c < z->C; c++) {
        E[c] = z->intercept ? element(&g->V, z->d * z->C + c) : 0;
        size[c] = fabs(E[c]);
        for (int64_t j = 0; j < z->d; j++) {
            double term = element(&g->X, i * z->d + j) * element(&g->V, j * z->C + c);
            E[c] += term;
            size[c] += fabs(term);
        }
    }
}

static void curve(const sizes *z, const mo_logistic_pass *g, int64_t i, double *E) {
    double mean = 0;
    for (int64_t c = 0; c < z->C; c++)
        mean += element(&g->P, i * z->C + c) * E[c];
    for (int64_t c = 0; c < z->C; c++)
        E[c] = element(&g->T, i) * element(&g->P, i * z->C + c) * (E[c] - mean);
}

/* sum += [X | 1]_i^T Q, and its absolute terms; size: of the rounding in Q. */
static void add_row(
    const sizes *z, const mo_view *X, int64_t i, const double *Q, double size, double *sum, double *all) {
    for (int64_t j = 0; j < z->d + z->intercept; j++) {
        double x = j < z->d ? element(X, i * z->d + j) : 1;
        for (int64_t c = 0; c < z->C; c++) {
            sum[j * z->C + c] += x * Q[c];
            all[j * z->C + c] += fabs(x) * (fabs(Q[c]) + size);
        }
    }
}

static void check_hessian(const sizes *z, const mo_logistic_pass *g) {
    int64_t length = (z->d + z->intercept) * z->C;
    double *sum = calloc((size_t)(2 * length + 1), sizeof *sum), E[MO_PASS_CLASSES], size[MO_PASS_CLASSES];
    for (int64_t i = 0; i < z->n; i++) {
        double largest = 0;
        row_logits(z, g, i, E, size);
        for (int64_t c = 0; c < z->C; c++)
            largest = fmax(largest, size[c]);
        curve(z, g, i, E);
        add_row(z, &g->X, i, E, largest, sum, sum + length);
    }
    for (int64_t i = 0; i < length; i++)
        assert_near("hessian", i, element(&g->sum, i), sum[i], 16 * epsilon_of(g->X.dtype) * sum[length + i]);
    free(sum);
}

static void check_logits(const sizes *z, const mo_logistic_pass *g) {
    double E[MO_PASS_CLASSES], size[MO_PASS_CLASSES];
    for (int64_t i = 0; i < z->n; i++) {
        row_logits(z, g, i, E, size);
        for (int64_t c = 0; c < z->C; c++)
            assert_near(
                "logits", i * z->C + c, element(&g->E, i * z->C + c), E[c], 8 * epsilon_of(g->X.dtype) * size[c]);
    }
}

static void check_pull(const sizes *z, const mo_logistic_pass *g) {
    int64_t length = (z->d + z->intercept) * z->C;
    double *sum = calloc((size_t)(2 * length + 1), sizeof *sum), Q[MO_PASS_CLASSES];
    for (int64_t i = 0; i < z->n; i++) {
        for (int64_t c = 0; c < z->C; c++)
            Q[c] = element(&g->E, i * z->C + c);
        add_row(z, &g->X, i, Q, 0, sum, sum + length);
    }
    for (int64_t i = 0; i < length; i++)
        assert_near("pull", i, element(&g->sum, i), sum[i], 16 * epsilon_of(g->X.dtype) * sum[length + i]);
    free(sum);
}

typedef void (*pass_check)(const sizes *z, const mo_logistic_pass *g);

/* Runs the pass at several thread counts: the first answer is checked, the others have its bits. */
static void check_pass(const sizes *z, const mo_logistic_pass *g, const mo_view *out, pass_check check) {
    const int threads[] = {1, 2, 3, 8};
    mo_view first = {0};
    for (int i = 0; i < 4; i++) {
        mo_context *ctx = context_with(threads[i]);
        memset(out->data, 0x55, (size_t)count_of(out) * mo_dtype_size(out->dtype)); /* what was there is written over */
        mo_fits_of(ctx, out->dtype)->logistic_pass(ctx, g);
        assert_true(mo_ok(ctx));
        mo_context_release(ctx);
        if (i == 0) {
            check(z, g);
            first = clone_view(out);
        }
        assert_same_bits(&first, out);
    }
    free(first.data);
}

static void check_sizes(const sizes *z, mo_dtype dtype) {
    mo_view X = UNIFORM_VIEW(dtype, 1, z->n, z->d), V = UNIFORM_VIEW(dtype, 2, z->d + z->intercept, z->C);
    mo_view P = UNIFORM_VIEW(dtype, 3, z->n, z->C), T = UNIFORM_VIEW(dtype, 4, z->n, 1);
    mo_view E = NEW_VIEW(dtype, z->n, z->C), sum = NEW_VIEW(dtype, z->d + z->intercept, z->C);
    mo_view Q = UNIFORM_VIEW(dtype, 5, z->n, z->C);
    mo_logistic_pass logits = {z->intercept, .X = X, .V = V, .E = E}, pull = {z->intercept, .X = X, .E = Q, .sum = sum};
    mo_logistic_pass hessian = {z->intercept, .X = X, .V = V, .P = P, .T = T, .sum = sum};
    check_pass(z, &logits, &E, check_logits);
    check_pass(z, &pull, &sum, check_pull);
    check_pass(z, &hessian, &sum, check_hessian);
    const mo_view *views[] = {&X, &V, &P, &T, &E, &sum, &Q};
    for (int i = 0; i < 7; i++)
        free(views[i]->data);
}

/* No row, one row, blocks and chunks that end within a tile; columns with and without whole lanes; every tile of
 * classes. */
static void a_pass_over_rows_is_that_of_plain_loops(void **state) {
    (void)state;
    static const sizes cases[] = {{0, 5, 3, true}, {1, 1, 1, false}, {1, 1, 1, true}, {3, 7, 2, true},
        {64, 16, 4, false}, {65, 64, 5, true}, {67, 63, 6, false}, {130, 129, 7, true}, {511, 40, 10, true},
        {1030, 33, 11, false}, {513, 17, 13, true}, {200, 70, MO_PASS_CLASSES, true}, {5000, 65, 10, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int r = 0; r < 2; r++)
            check_sizes(&cases[i], REALS[r]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_pass_over_rows_is_that_of_plain_loops)};
    return cmocka_run_group_tests_name("logistic_pass", tests, NULL, NULL);
}
