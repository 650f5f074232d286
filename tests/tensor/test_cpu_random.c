/* tests/tensor/test_cpu_random.c - random numbers by their position in a stream: on the host, and by the kernels. */
#include "tensor/fits.h"
#include "tensor/philox.h"
#include "tests/tensor/cpu_views.h"

/* The known answers that come with Random123 (kat_vectors): counter and key all zero, and all ones. */
TEST(philox_gives_the_published_numbers) {
    uint32_t word[4];
    const uint32_t zero[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    const uint32_t ones[] = {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
    mo_random r = {0};
    mo_philox(&r, 0, word);
    assert_memory_equal(word, zero, sizeof zero);
    r = (mo_random){.seed = UINT64_MAX, .purpose = UINT32_MAX, .stream = UINT64_MAX, .index = UINT64_MAX};
    mo_philox(&r, 0, word);
    assert_memory_equal(word, ones, sizeof ones);
}

TEST(positions_are_independent_of_the_path_to_them) {
    mo_random a = mo_random_at(5, MO_PURPOSE_EPISODE, 17), b = a;
    for (int i = 0; i < 10; i++)
        mo_random_bits(&a);
    b.index = 10;
    assert_true(mo_random_bits(&a) == mo_random_bits(&b));
    mo_random c = mo_random_at(5, MO_PURPOSE_MASK, 17), d = mo_random_at(5, MO_PURPOSE_EPISODE, 18);
    b.index = c.index = d.index = 0;
    uint64_t x = mo_random_bits(&b);
    assert_true(x != mo_random_bits(&c) && x != mo_random_bits(&d));
}

TEST(below_is_uniform_and_shuffle_is_a_permutation) {
    mo_random r = mo_random_at(2, MO_PURPOSE_CHECK, 0);
    int64_t count[7] = {0}, items[100], seen[100] = {0};
    for (int i = 0; i < 70000; i++)
        count[mo_random_below(&r, 7)]++;
    for (int i = 0; i < 7; i++)
        assert_true(llabs(count[i] - 10000) < 500);
    assert_int_equal(mo_random_below(&r, 1), 0);
    for (int i = 0; i < 100; i++)
        items[i] = i;
    mo_random_shuffle(&r, items, 100);
    int moved = 0;
    for (int i = 0; i < 100; i++) {
        seen[items[i]]++;
        moved += items[i] != i;
    }
    for (int i = 0; i < 100; i++)
        assert_int_equal(seen[i], 1);
    assert_true(moved > 80);
}

TEST(kernel_and_host_draw_the_same_numbers) {
    for (int c = 0; c < 8; c++) {
        mo_context *ctx = context_with(1 + (c & 1));
        bool normal = c & 2;
        mo_dtype dtype = REALS[c >> 2];
        mo_random r = mo_random_at(7, MO_PURPOSE_INIT, 1ull << 40);
        r.index = UINT32_MAX - 100; /* so that the low word of the counter wraps */
        mo_view y = NEW_VIEW(dtype, 41, 1001);
        mo_kernels_of(ctx, dtype)->random(ctx, normal, -2, 3, &r, &y);
        for (int64_t i = 0; i < count_of(&y); i++) {
            double expected = normal ? -2 + 3 * mo_random_normal(&r) : -2 + 5 * mo_random_uniform(&r);
            /* The kernel can round once (fused) or twice. */
            assert_near("random", i, element(&y, i), expected, epsilon_of(dtype) * (2 + fabs(expected)));
        }
        free_test_memory();
    }
}

/* Moments of 1e6 draws within 5 standard errors. */
TEST(moments_are_those_of_the_distributions) {
    mo_context *ctx = context_with(2);
    mo_random r = mo_random_at(1, MO_PURPOSE_CHECK, 0);
    mo_view y = NEW_VIEW(MO_F64, 1000000);
    const double means[] = {0.5, 0}, variances[] = {1.0 / 12, 1};
    for (int normal = 0; normal < 2; normal++) {
        double sum = 0, squares = 0, low = INFINITY, high = -INFINITY;
        mo_kernels_of(ctx, MO_F64)->random(ctx, normal, 0, 1, &r, &y);
        for (int64_t i = 0; i < count_of(&y); i++) {
            double x = element(&y, i);
            sum += x;
            squares += (x - means[normal]) * (x - means[normal]);
            low = fmin(low, x);
            high = fmax(high, x);
        }
        assert_near("mean", normal, sum / 1e6, means[normal], 5e-3 * sqrt(variances[normal]));
        assert_near("variance", normal, squares / 1e6, variances[normal], 5e-3 * 1.5 * variances[normal]);
        assert_true(normal ? low < -4 && high > 4 && high < 8 : low >= 0 && low < 1e-5 && high < 1 && high > 1 - 1e-5);
    }
}
