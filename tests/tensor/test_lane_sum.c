/* tests/tensor/test_lane_sum.c - inner products add in the order that tensor/cpu/lane_sum.h states, in every build: a
 * loop that a sanitizer keeps from vector instructions gives the same bits as the release. */
#include "tests/tensor/cpu_views.h"

#include "tensor/backend.h"

enum { ROWS = 7, LONGEST = 100 };

/* The sum of a row in 16 (float32) or 8 (float64) interleaved parts, rounded to its type after each addition. */
static double interleaved_sum(const mo_view *x, int64_t row) {
    int64_t n = x->shape[1], lanes = x->dtype == MO_F32 ? 16 : 8, i = 0;
    double lane[16] = {0}, sum = 0;
    for (; i < n; i++) {
        double *into = &lane[i < n / lanes * lanes ? i % lanes : 0];
        double next = *into + element(x, row * n + i);
        *into = x->dtype == MO_F32 ? (double)(float)next : next;
    }
    for (int64_t j = 0; j < lanes; j++)
        sum = x->dtype == MO_F32 ? (double)(float)(sum + lane[j]) : sum + lane[j];
    return sum;
}

static void inner_products_add_in_the_stated_order(void **state) {
    int64_t apart_in_order = 0;
    for (int d = 0; d < 2; d++)
        for (int64_t n = 1; n <= LONGEST; n++) {
            mo_context *ctx = context_with(1);
            mo_view x = UNIFORM_VIEW(REALS[d], (uint64_t)n, ROWS, n), ones = NEW_VIEW(REALS[d], ROWS, n);
            mo_view w = NEW_VIEW(REALS[d], ROWS, 1);
            for (int64_t i = 0; i < count_of(&ones); i++)
                set_element(&ones, i, 1); /* products with 1 are exact, so that fused additions change nothing */
            mo_kernels_of(ctx, REALS[d])->hop_dot(ctx, &x, &ones, 1, &w);
            for (int64_t i = 0; i < ROWS; i++) {
                double one_by_one = 0;
                for (int64_t j = 0; j < n; j++) {
                    one_by_one += element(&x, i * n + j);
                    one_by_one = REALS[d] == MO_F32 ? (double)(float)one_by_one : one_by_one;
                }
                apart_in_order += one_by_one != element(&w, i);
                assert_near("hop_dot", i, element(&w, i), interleaved_sum(&x, i), 0);
            }
            free_views();
        }
    assert_true(apart_in_order > 100); /* the rows tell one order from another */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(inner_products_add_in_the_stated_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
