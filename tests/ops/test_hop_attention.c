/* tests/ops/test_hop_attention.c - the layers of all hops and the attention over them, as one op, against one op per
 * hop: equal up to rounding, and the same bits twice. Parameters in one allocation, which a device multiplies in one
 * batch, against the same values apart. (test_ops_forward.c: more threads give the same bits.) */
#include "ops/inside.h"
#include "ops/ops.h"
#include "tests/drawn.h"
#include "tests/largest_difference.h"

enum { K = 3, N = 37, D = 40, M = 33, LEAVES = 2 * K + 4 };

typedef struct fixture {
    mo_tape *t;
    mo_tensor *X, *Y_bar, *a_bar, *leaf[LEAVES]; /* leaf: W_k, b_k of each hop, then W, b, v, c of the attention */
} fixture;

static void draw_all(fixture *f, mo_dtype real) {
    mo_tape *t = f->t;
    f->X = mo_scale(t, drawn(t, real, 1, 3, (int64_t[]){K, N, D}), 0.3, 0);
    f->Y_bar = drawn(t, real, 2, 2, (int64_t[]){N, D});
    f->a_bar = drawn(t, real, 3, 2, (int64_t[]){N, K});
    for (int k = 0; k < K; k++) {
        f->leaf[2 * k] = drawn(t, real, 10 + (uint64_t)k, 2, (int64_t[]){D, D});
        f->leaf[2 * k + 1] = drawn(t, real, 20 + (uint64_t)k, 1, (int64_t[]){D});
    }
    f->leaf[2 * K] = drawn(t, real, 30, 2, (int64_t[]){M, 2 * D});
    f->leaf[2 * K + 1] = drawn(t, real, 31, 1, (int64_t[]){M});
    f->leaf[2 * K + 2] = drawn(t, real, 32, 2, (int64_t[]){1, M});
    f->leaf[2 * K + 3] = drawn(t, real, 33, 1, (int64_t[]){1});
    for (int i = 0; i < LEAVES; i++)
        f->leaf[i] = mo_require_grad(mo_stop_gradient(t, mo_scale(t, f->leaf[i], 0.3, 0)));
}

static mo_tensor *fused(fixture *f, mo_tensor **attention) {
    mo_tensor *W[K], *b[K];
    for (int k = 0; k < K; k++) {
        W[k] = f->leaf[2 * k];
        b[k] = f->leaf[2 * k + 1];
    }
    return mo_hop_attention(f->t, mo_hop_layers(f->t, f->X, W, b, K, true), f->leaf + 2 * K, attention);
}

static mo_tensor *unfused(fixture *f, mo_tensor **attention) {
    mo_tape *t = f->t;
    mo_tensor *H[K], *s[K], *const *p = f->leaf + 2 * K;
    for (int k = 0; k < K; k++) {
        mo_tensor *x = mo_reshape(t, mo_slice(t, f->X, MO_AXIS(0), k, k + 1), 2, (int64_t[]){N, D});
        H[k] = mo_linear_relu(t, x, f->leaf[2 * k], f->leaf[2 * k + 1]);
    }
    mo_tensor *W_q = mo_slice(t, p[0], MO_AXIS(1), 0, D), *W_k = mo_slice(t, p[0], MO_AXIS(1), D, 2 * D);
    mo_tensor *query = mo_linear(t, H[0], W_q, p[1]);
    for (int k = 0; k < K; k++)
        s[k] = mo_linear(t, mo_relu(t, mo_add(t, mo_linear(t, H[k], W_k, NULL), query)), p[2], p[3]);
    *attention = mo_softmax(t, mo_concat(t, s, K, MO_AXIS(1)), MO_AXIS(1));
    mo_tensor *Y = mo_mul(t, mo_slice(t, *attention, MO_AXIS(1), 0, 1), H[0]);
    for (int k = 1; k < K; k++)
        Y = mo_add(t, Y, mo_mul(t, mo_slice(t, *attention, MO_AXIS(1), k, k + 1), H[k]));
    return Y;
}

/* exact: on the CPU, all values must be equal. */
static void compare(mo_tape *t, const char *what, int which, mo_tensor *got, mo_tensor *want, bool exact) {
    bool wide = mo_tensor_dtype(got) == MO_F64;
    mo_tensor *expected = mo_cast(t, want, MO_F64);
    double difference = largest_difference(mo_cast(t, got, MO_F64), expected);
    if (exact && difference != 0)
        fail_msg("%s %d: other bits", what, which);
    /* One element is the gradient of c: only rounding, as softmax does not depend on c, so it is compared with 1. */
    double largest = mo_numel(want) == 1 ? 1 : mo_item(mo_max(t, mo_abs(t, expected), MO_ALL, MO_DROP_AXES));
    if (!(difference <= (wide ? 1e-13 : 2e-5) * largest) || largest == 0)
        fail_msg("%s %d: off by %g of %g", what, which, difference, largest);
}

static void take(fixture *f, mo_tensor *Y, mo_tensor *a, mo_tensor **g, unsigned flags) {
    mo_tensor *y[2] = {Y, a}, *bar[2] = {f->Y_bar, f->a_bar};
    assert_int_equal(mo_grad(f->t, y, bar, a ? 2 : 1, f->leaf, g, LEAVES, flags), MO_OK);
}

TEST_OF(one_op_is_one_op_for_each_hop, mo_tape *t) {
    fixture *f = &(fixture){.t = t};
    for (int wide = 0; wide < 2; wide++) {
        mo_tensor *a[2], *g[2][LEAVES], *again[LEAVES];
        draw_all(f, wide ? MO_F64 : MO_F32);
        mo_tensor *Y = mo_keep(fused(f, &a[0])), *Z = mo_keep(unfused(f, &a[1]));
        compare(f->t, "Y", 0, Y, Z, false);
        compare(f->t, "attention", 0, a[0], a[1], false);
        take(f, Y, NULL, g[0], MO_RETAIN);
        take(f, Z, NULL, g[1], MO_RETAIN);
        take(f, Y, NULL, again, MO_RETAIN);
        for (int i = 0; i < LEAVES; i++) {
            compare(f->t, "gradient", i, g[0][i], g[1][i], false);
            compare(f->t, "gradient again", i, again[i], g[0][i], true);
        }
        mo_tape_reset(f->t);
    }
}

/* Takes the gradients of the sum of squares of all gradients. */
static void second(fixture *f, mo_tensor *Y, mo_tensor **out) {
    mo_tensor *g[LEAVES], *sum = NULL;
    take(f, Y, NULL, g, MO_CREATE_GRAPH);
    for (int i = 0; i < LEAVES; i++) {
        mo_tensor *square = mo_sum(f->t, mo_square(f->t, g[i]), MO_ALL, MO_DROP_AXES);
        sum = sum ? mo_add(f->t, sum, square) : square;
    }
    assert_int_equal(mo_grad(f->t, &sum, NULL, 1, f->leaf, out, LEAVES, MO_RETAIN), MO_OK);
}

/* Makes parameters in one allocation with the values of the first 2 K leaves, which they replace. */
static void put_in_one_memory(fixture *f, mo_dtype real, mo_tensor **P) {
    mo_parameter_form form[2 * K];
    for (int i = 0; i < 2 * K; i++)
        form[i] = (mo_parameter_form){.name = "layer", .ndim = i % 2 ? 1 : 2, .shape = {D, D}};
    mo_parameters(mo_tape_context(f->t), real, 2 * K, form, P);
    for (int i = 0; i < 2 * K; i++) {
        assert_int_equal(mo_tensor_copy(P[i], f->leaf[i]), MO_OK);
        f->leaf[i] = P[i];
    }
}

TEST_OF(layers_of_one_memory_are_those_apart, mo_tape *t) {
    fixture *f = &(fixture){.t = t};
    bool cpu = test_device() == MO_CPU;
    for (int wide = 0; wide < 2; wide++) {
        mo_tensor *a, *Y[3], *g[2][LEAVES], *seconds[2][LEAVES], *P[2 * K];
        draw_all(f, wide ? MO_F64 : MO_F32);
        Y[0] = mo_keep(fused(f, &a));
        take(f, Y[0], NULL, g[0], MO_RETAIN);
        second(f, Y[0], seconds[0]);
        put_in_one_memory(f, wide ? MO_F64 : MO_F32, P);
        Y[1] = mo_keep(fused(f, &a));
        Y[2] = mo_keep(fused(f, &a));
        compare(f->t, "Y in one memory", 0, Y[1], Y[0], cpu);
        compare(f->t, "Y again", 0, Y[2], Y[1], true);
        take(f, Y[1], NULL, g[1], MO_RETAIN);
        second(f, Y[1], seconds[1]);
        for (int i = 0; i < LEAVES; i++)
            compare(f->t, "gradient in one memory", i, g[1][i], g[0][i], cpu);
        for (int i = 0; i < LEAVES - 1; i++)
            compare(f->t, "second gradient in one memory", i, seconds[1][i], seconds[0][i], cpu);
        mo_tape_reset(f->t);
        for (int i = 0; i < 2 * K; i++)
            mo_tensor_release(P[i]);
    }
}
