/* tests/tensor/test_bf16_operands.c - operands of products in bf16 on CUDA are rounded as a cast rounds, at any layout
 * and address: a product with the identity gives them back. Skipped if there is no CUDA device. */
#include "ops/inside.h"
#include "tests/device.h"
#include "tests/scratch.h"

#include <inttypes.h>

enum { MOST = 513 * 513 };

/* X [m, k] as an operand, in a batch of 2 if `batch`: turned, or without its first row or column, so that no address
 * fits 16 bytes. */
typedef struct operand_case {
    int64_t m, k;
    bool turned;
    int64_t first_row, first_column;
    bool batch;
} operand_case;

static mo_tensor *identity(mo_tape *t, int64_t n) {
    static float x[MOST];
    memset(x, 0, sizeof x);
    for (int64_t i = 0; i < n; i++)
        x[i * n + i] = 1;
    return mo_from(t, MO_F32, 2, (int64_t[]){n, n}, x);
}

/* Normal numbers and, at every fifth place, one half way between two of bf16. */
static mo_tensor *operand(mo_tape *t, const operand_case *c) {
    static float x[MOST];
    mo_random r = mo_random_at(3, MO_PURPOSE_CHECK, 0);
    int64_t matrices = c->batch ? 2 : 1, shape[] = {matrices, c->m, c->k};
    for (int64_t i = 0; i < matrices * c->m * c->k; i++) {
        double draw = mo_random_normal(&r);
        x[i] = i % 5 ? (float)draw : (draw < 0 ? -1 : 1) * (1 + (float)(1 + i % 4) * 0x1p-8f);
    }
    mo_tensor *X = mo_from(t, MO_F32, c->batch ? 3 : 2, c->batch ? shape : shape + 1, x);
    X = mo_slice(t, mo_slice(t, X, MO_AXIS(-2), c->first_row, c->m), MO_AXIS(-1), c->first_column, c->k);
    return c->turned ? mo_transpose(t, X) : X;
}

static void operands_of_bf16_are_rounded_as_a_cast_rounds(void **state) {
    (void)state;
    static const operand_case cases[] = {
        {.m = 60, .k = 64},
        {.m = 13, .k = 5},
        {.m = 64, .k = 24, .turned = true},
        {.m = 14, .k = 7, .first_row = 1},
        {.m = 14, .k = 7, .first_row = 1, .turned = true},
        {.m = 9, .k = 33, .first_column = 1},
        {.m = 9, .k = 33, .first_column = 1, .turned = true},
        {.m = 1, .k = 17},
        {.m = 17, .k = 1, .turned = true},
        {.m = 5, .k = 513},
        {.m = 5, .k = 513, .turned = true},
        {.m = 513, .k = 7, .first_row = 2},
        {.m = 513, .k = 1},
        {.m = 6, .k = 41, .first_row = 1, .first_column = 1, .batch = true},
        {.m = 6, .k = 40, .batch = true},
        {.m = 7, .k = 33, .turned = true, .batch = true},
        {.m = 1, .k = 33, .batch = true},
        {.m = 33, .k = 1, .batch = true},
    };
    static float expected[MOST], got[MOST];
    mo_context_release(device_context(MO_CUDA));
    mo_context *ctx = mo_context_create(&(mo_context_options){.device = MO_CUDA, .math = MO_MATH_BF16});
    assert_true(mo_ok(ctx));
    mo_tape *t = mo_tape_create(ctx, MO_RECORD);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mo_tensor *X = operand(t, &cases[i]), *Y[2];
        size_t bytes = (size_t)mo_numel(X) * sizeof(float);
        mo_tensor *rounded = mo_cast(t, mo_cast(t, X, MO_BF16), MO_F32);
        Y[0] = mo_matmul(t, X, identity(t, mo_dim(X, -1)));
        Y[1] = mo_matmul(t, identity(t, mo_dim(X, -2)), X);
        assert_int_equal(mo_tensor_read(rounded, expected, bytes), MO_OK);
        for (int side = 0; side < 2; side++) {
            assert_int_equal(mo_tensor_read(Y[side], got, bytes), MO_OK);
            for (int64_t k = 0; k < mo_numel(X); k++)
                if (got[k] != expected[k])
                    fail_msg("case %zu, side %d: value %" PRId64 " is %.9g, expected %.9g", i, side, k, (double)got[k],
                        (double)expected[k]);
        }
        mo_tape_reset(t);
    }
    mo_tape_release(t);
    mo_context_release(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(operands_of_bf16_are_rounded_as_a_cast_rounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
