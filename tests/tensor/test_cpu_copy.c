/* tests/tensor/test_cpu_copy.c - copies between dtypes and strides, fills, and memory of the CPU backend. */
#include "tests/tensor/cpu_views.h"

static const mo_dtype STORED[] = {MO_F32, MO_F64, MO_I32, MO_I64, MO_U8};

TEST(every_pair_of_dtypes_and_strides_copies) {
    mo_context *ctx = context_with(2);
    for (int from = 0; from < 5; from++)
        for (int to = 0; to < 5; to++)
            for (int turned = 0; turned < 4; turned++) {
                mo_view x = NEW_VIEW(STORED[from], 5, 61, 301), y = NEW_VIEW(STORED[to], 5, 61, 301);
                if (turned & 1)
                    x = swapped(x, 0, 1), y = swapped(y, 0, 2);
                for (int i = 0; i < 3; i++)
                    y.shape[i] = x.shape[i];
                if (turned & 1) { /* gives y the shape of x but another order of axes in memory */
                    y.stride[1] = 1, y.stride[0] = y.shape[1], y.stride[2] = y.shape[0] * y.shape[1];
                }
                if (turned & 2)
                    x.stride[2] = 0;
                for (int64_t i = 0; i < count_of(&x); i++)
                    set_element(&x, i, (double)(i % 251));
                ctx->backend->copy(ctx, &x, &y);
                for (int64_t i = 0; i < count_of(&x); i++)
                    assert_true(element(&x, i) == element(&y, i));
            }
}

TEST(large_integers_copy_exactly) {
    mo_context *ctx = context_with(1);
    mo_view x = NEW_VIEW(MO_I64, 2), y = NEW_VIEW(MO_I64, 2);
    ((int64_t *)x.data)[0] = INT64_MAX - 1;
    ((int64_t *)x.data)[1] = (1ll << 53) + 1;
    ctx->backend->copy(ctx, &x, &y);
    assert_same_bits(&x, &y);
}

TEST(reals_become_integers_by_truncation_and_saturation) {
    mo_context *ctx = context_with(1);
    const double in[] = {1.9, -1.9, 1e30, -1e30, NAN, 300};
    const double bytes[] = {1, 0, 255, 0, 0, 255}, words[] = {1, -1, INT32_MAX, INT32_MIN, 0, 300};
    mo_view x = NEW_VIEW(MO_F64, 6), u = NEW_VIEW(MO_U8, 6), i32 = NEW_VIEW(MO_I32, 6), i64 = NEW_VIEW(MO_I64, 6);
    memcpy(x.data, in, sizeof in);
    ctx->backend->copy(ctx, &x, &u);
    ctx->backend->copy(ctx, &x, &i32);
    ctx->backend->copy(ctx, &x, &i64);
    for (int i = 0; i < 6; i++) {
        assert_true(element(&u, i) == bytes[i]);
        assert_true(element(&i32, i) == words[i]);
    }
    assert_true(((int64_t *)i64.data)[2] == INT64_MAX && ((int64_t *)i64.data)[3] == INT64_MIN);
}

static uint16_t to_16(mo_context *ctx, mo_dtype dtype, double value) {
    uint16_t bits = 0;
    mo_view x = {.data = &value, .dtype = MO_F64, .ndim = 0}, y = {.data = &bits, .dtype = dtype, .ndim = 0};
    ctx->backend->copy(ctx, &x, &y);
    return bits;
}

static double from_16(mo_context *ctx, mo_dtype dtype, uint16_t bits) {
    double value;
    mo_view x = {.data = &bits, .dtype = dtype, .ndim = 0}, y = {.data = &value, .dtype = MO_F64, .ndim = 0};
    ctx->backend->copy(ctx, &x, &y);
    return value;
}

/* A value halfway between two neighbours goes to the even one, a slightly different value to the nearer one. */
static void check_rounding(mo_context *ctx, mo_dtype dtype, uint16_t bits) {
    double low = from_16(ctx, dtype, bits), high = from_16(ctx, dtype, (uint16_t)(bits + 1)), middle = (low + high) / 2;
    assert_int_equal(to_16(ctx, dtype, low), bits);
    assert_int_equal(to_16(ctx, dtype, -low), bits | 0x8000);
    assert_int_equal(to_16(ctx, dtype, middle), bits + (bits & 1));
    assert_int_equal(to_16(ctx, dtype, nextafter(middle, INFINITY)), bits + 1);
    assert_int_equal(to_16(ctx, dtype, nextafter(middle, 0)), bits);
}

TEST(every_half_converts_back_and_rounds_to_even) {
    mo_context *ctx = context_with(1);
    assert_true(from_16(ctx, MO_F16, 0x3c00) == 1 && from_16(ctx, MO_F16, 1) == 0x1p-24);
    assert_true(from_16(ctx, MO_F16, 0x7bff) == 65504);
    for (uint16_t bits = 0; bits < 0x7bff; bits++)
        check_rounding(ctx, MO_F16, bits);
    assert_int_equal(to_16(ctx, MO_F16, 65519.99), 0x7bff);
    assert_int_equal(to_16(ctx, MO_F16, 65520), 0x7c00);
    assert_int_equal(to_16(ctx, MO_F16, -INFINITY), 0xfc00);
    assert_true(isnan(from_16(ctx, MO_F16, to_16(ctx, MO_F16, NAN))));
}

TEST(every_bfloat_converts_back_and_rounds_to_even) {
    mo_context *ctx = context_with(1);
    assert_true(from_16(ctx, MO_BF16, 0x3f80) == 1);
    for (uint16_t bits = 0; bits < 0x7f7f; bits++)
        check_rounding(ctx, MO_BF16, bits);
    assert_int_equal(to_16(ctx, MO_BF16, 1e300), 0x7f80);
    assert_true(isnan(from_16(ctx, MO_BF16, to_16(ctx, MO_BF16, NAN))));
}

TEST(fill_keeps_to_the_view) {
    mo_context *ctx = context_with(2);
    for (int d = 0; d < 5; d++) {
        mo_view y = NEW_VIEW(STORED[d], 400, 101), part = y;
        part.shape[1] = 100;
        ctx->backend->fill(ctx, 7, &part);
        for (int64_t i = 0; i < count_of(&y); i++)
            assert_true(element(&y, i) == (i % 101 == 100 ? 0 : 7));
    }
}

TEST(blocks_are_aligned_and_zero_clears_them) {
    mo_context *ctx = context_with(2);
    const size_t sizes[] = {0, 1, 100, 5 << 20};
    for (int i = 0; i < 4; i++) {
        unsigned char *block = ctx->backend->alloc(ctx, sizes[i]);
        assert_non_null(block);
        assert_true((uintptr_t)block % 64 == 0);
        memset(block, 0xff, sizes[i]);
        ctx->backend->zero(ctx, block, sizes[i]);
        for (size_t j = 0; j < sizes[i]; j++)
            assert_true(block[j] == 0);
        ctx->backend->free(ctx, block, sizes[i]);
    }
    assert_null(ctx->backend->alloc(ctx, SIZE_MAX - 5));
    assert_true(mo_ok(ctx));
}
