/* tests/ops/test_fused_adjoints.c - adjoints in one pass against the same rule op by op: equal bits on the CPU (at
 * order one), and the same bits twice and float64 to rounding elsewhere. */
#include "ops/inside.h"
#include "ops/ops.h"
#include "tests/device.h"
#include "tests/worst_of.h"

#include "tests/suite.h"
#include <math.h>

enum { ROWS = 37, COLUMNS = 133, SIZE = ROWS * COLUMNS };

typedef struct fixture {
    mo_context *ctx;
    mo_tape *t;
} fixture;

static mo_tensor *drawn(mo_tape *t, mo_dtype real, uint64_t stream, double scale) {
    double *value = malloc(SIZE * sizeof *value);
    mo_random r = mo_random_at(22, MO_PURPOSE_CHECK, stream);
    for (int i = 0; i < SIZE; i++) /* every third row is shorter than epsilon below */
        value[i] = (i / COLUMNS % 3 == 2 ? 1e-3 : 1) * scale * mo_random_normal(&r);
    mo_tensor *T = mo_cast(t, mo_from(t, MO_F64, 2, (int64_t[]){ROWS, COLUMNS}, value), real);
    free(value);
    return T;
}

static mo_tensor *row_sum(mo_tape *t, mo_tensor *X) {
    return mo_sum(t, X, MO_AXIS(1), MO_KEEP_AXES);
}

static mo_tensor *gradient(mo_tape *t, mo_tensor *Y, mo_tensor *Y_bar, mo_tensor *X) {
    mo_tensor *g;
    assert_int_equal(mo_grad(t, &Y, &Y_bar, 1, &X, &g, 1, MO_RETAIN), MO_OK);
    return g;
}

/* exact: equal bits on the CPU are asked for. */
static void compare(const char *what, mo_tensor *fused, mo_tensor *unfused, bool exact) {
    static char a[SIZE * 8], b[SIZE * 8];
    bool wide = mo_tensor_dtype(fused) == MO_F64;
    size_t bytes = SIZE * (wide ? 8 : 4);
    mo_tensor_read(fused, a, bytes);
    assert_int_equal(mo_tensor_read(unfused, b, bytes), MO_OK);
    if (exact && test_device() == MO_CPU && memcmp(a, b, bytes) != 0)
        fail_msg("%s: other bits than op by op", what);
    double difference = 0, largest = 0;
    for (int i = 0; i < SIZE; i++) {
        double x = wide ? ((double *)a)[i] : ((float *)a)[i], y = wide ? ((double *)b)[i] : ((float *)b)[i];
        difference = worst_of(difference, fabs(x - y));
        largest = fmax(largest, fabs(y));
    }
    if (!(difference <= (wide ? 1e-14 : 1e-6) * largest) || largest == 0)
        fail_msg("%s: off by %g of %g", what, difference, largest);
}

/* dense: rows of weights that do not sum to 1. */
static mo_tensor *cross_entropy_rule(
    mo_tape *t, mo_tensor *X, mo_tensor *target, bool dense, double s, mo_tensor *bar) {
    mo_tensor *y = dense ? target : mo_one_hot(t, target, COLUMNS, mo_tensor_dtype(X)),
              *p = mo_softmax(t, X, MO_AXIS(-1));
    y = s == 0 ? y : mo_scale(t, y, 1 - s, s / COLUMNS);
    p = dense ? mo_mul(t, p, row_sum(t, y)) : p;
    return mo_mul(t, mo_sub(t, p, y), mo_scale(t, bar, 1.0 / ROWS, 0));
}

TEST(cross_entropy_is_its_rule_op_by_op) {
    fixture *f = *state;
    mo_tape *t = f->t;
    int64_t label[ROWS];
    for (int i = 0; i < ROWS; i++)
        label[i] = i * 11 % COLUMNS;
    for (int k = 0; k < 8; k++) {
        mo_dtype real = k & 1 ? MO_F64 : MO_F32;
        bool dense = k & 2;
        double s = k & 4 ? 0.1 : 0;
        mo_tensor *X = mo_require_grad(drawn(t, real, 3, 30));
        mo_tensor *target =
            dense ? mo_square(t, drawn(t, real, 4, 1)) : mo_from(t, MO_I64, 1, (int64_t[]){ROWS}, label);
        mo_tensor *L = mo_softmax_cross_entropy(t, X, target, s), *bar = mo_full(t, real, 0, NULL, 0.7);
        mo_tensor *fused = gradient(t, L, bar, X);
        compare("softmax_cross_entropy", fused, cross_entropy_rule(t, X, target, dense, s, bar), true);
        compare("softmax_cross_entropy again", gradient(t, L, bar, X), fused, true);
        mo_tape_reset(t);
    }
}

static double number(mo_tensor *s) {
    double wide;
    float narrow;
    bool is_wide = mo_tensor_dtype(s) == MO_F64;
    assert_int_equal(mo_tensor_read(s, is_wide ? (void *)&wide : &narrow, is_wide ? 8 : 4), MO_OK);
    return is_wide ? wide : narrow;
}

/* The gradients of Y, and of <g, g> with g the first of them. */
static void both_orders(mo_tape *t, mo_tensor *Y, mo_tensor *bar, mo_tensor *const x[2], mo_tensor *g[4]) {
    mo_tensor *first[2];
    assert_int_equal(mo_grad(t, &Y, &bar, 1, x, g, 2, MO_RETAIN), MO_OK);
    assert_int_equal(mo_grad(t, &Y, &bar, 1, x, first, 2, MO_CREATE_GRAPH | MO_RETAIN), MO_OK);
    mo_tensor *sum = mo_add(t, mo_sum(t, mo_square(t, first[0]), MO_ALL, MO_DROP_AXES), mo_square(t, first[1]));
    assert_int_equal(mo_grad(t, &sum, NULL, 1, x, g + 2, 2, MO_RETAIN), MO_OK);
}

/* g: also as a slice of wider rows, which the kernel reads where they are. */
TEST(scale_unit_is_a_product_of_normalized_rows) {
    fixture *f = *state;
    mo_tape *t = f->t;
    for (int k = 0; k < 4; k++) {
        const double epsilon = 1;
        bool wide = k & 1;
        mo_dtype real = wide ? MO_F64 : MO_F32;
        mo_tensor *x[2] = {mo_require_grad(drawn(t, real, 5, 1)), mo_require_grad(mo_full(t, real, 0, NULL, 1.7))};
        mo_tensor *G = drawn(t, real, 6, 1), *fused[4], *again[4], *rule[4];
        if (k & 2)
            G = mo_slice(t, mo_append_ones(t, G), MO_AXIS(1), 0, COLUMNS);
        mo_tensor *Y = mo_scale_unit(t, x[0], x[1], epsilon), *Z = mo_mul(t, mo_l2_normalize(t, x[0], epsilon), x[1]);
        compare("scale_unit", Y, Z, true);
        both_orders(t, Y, G, x, fused);
        both_orders(t, Y, G, x, again);
        both_orders(t, Z, G, x, rule);
        for (int i = 0; i < 4; i += 2) {
            compare(i ? "scale_unit, second order" : "scale_unit's gradient", fused[i], rule[i], i == 0);
            compare("scale_unit's gradient again", again[i], fused[i], true);
            double got = number(fused[i + 1]), want = number(rule[i + 1]);
            assert_true(number(again[i + 1]) == got);
            if (!(fabs(got - want) <= (test_device() == MO_CPU && i == 0 ? 0
                                          : wide                         ? 1e-13
                                                                         : 1e-5) *
                                          fabs(want)) ||
                want == 0)
                fail_msg("scale_unit, the factor's gradient of order %d: %.17g, expected %.17g", i / 2 + 1, got, want);
        }
        mo_tape_reset(t);
    }
}

static int open_device(void **state) {
    fixture *f = calloc(1, sizeof *f);
    f->ctx = device_context(test_device());
    f->t = mo_tape_create(f->ctx, MO_RECORD);
    *state = f;
    return 0;
}

static int close_device(void **state) {
    fixture *f = *state;
    mo_tape_release(f->t);
    mo_context_release(f->ctx);
    free(f);
    return 0;
}

static const fixtures around_all = {open_device, close_device};
