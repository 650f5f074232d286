/* tests/tensor/test_lane_sum.c - inner products add in the order that tensor/cpu/lane_sum.h states, in every build:
 * loops without vector instructions, as under a sanitizer, give the same bits as the release. */
/* -Wpsabi: passing vectors of 64 bytes depends on the processor, but no function outside this file gets them. */
#pragma GCC diagnostic ignored "-Wpsabi"
#define MO_REAL_BITS 32
#include "tensor/cpu/lane_sum.h"
#include "tests/tensor/cpu_views.h"

enum { LONGEST = 100 };

/* Returns the sum of x in 16 interleaved parts, rounded after each addition. */
static float interleaved_sum(const float *x, int64_t n) {
    float lane[16] = {0}, sum = 0;
    for (int64_t i = 0; i < n; i++)
        lane[i < n / 16 * 16 ? i % 16 : 0] += x[i];
    for (int j = 0; j < 16; j++)
        sum += lane[j];
    return sum;
}

TEST(inner_products_add_in_the_stated_order) {
    int64_t apart_in_order = 0;
    float ones[LONGEST];
    for (int i = 0; i < LONGEST; i++)
        ones[i] = 1; /* products with 1 are exact, so that fused additions change nothing */
    for (int64_t n = 1; n <= LONGEST; n++)
        for (uint64_t row = 0; row < 7; row++) {
            mo_view x = UNIFORM_VIEW(MO_F32, 7 * (uint64_t)n + row, n);
            volatile float one_by_one = 0;
            for (int64_t j = 0; j < n; j++)
                one_by_one += (float)element(&x, j);
            float dot = lane_dot(x.data, ones, n);
            apart_in_order += one_by_one != dot;
            assert_near("lane_dot", n, dot, interleaved_sum(x.data, n), 0);
            free_test_memory();
        }
    assert_true(apart_in_order > 100); /* the plain order gives other bits in more than 100 of the cases */
}
