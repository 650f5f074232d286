/* tests/tensor/test_random.c - Philox against its authors' known answers, and the distributions made of it. */
#include "tensor/philox.h"
#include "tensor/storage.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* Known answers of Philox4x32-10 as published with Random123: all bits zero, and all bits one. */
static void philox_gives_the_published_answers(void **state) {
    (void)state;
    uint32_t word[4];
    mo_philox(&(mo_random){0}, 0, word);
    assert_int_equal(word[0], 0x6627e8d5);
    assert_int_equal(word[1], 0xe169c58d);
    assert_int_equal(word[2], 0xbc57ac4c);
    assert_int_equal(word[3], 0x9b00dbd8);
    mo_random ones = {.seed = UINT64_MAX, .purpose = 0xffff, .stream = (1ull << 48) - 1};
    mo_philox(&ones, UINT64_MAX, word);
    assert_int_equal(word[0], 0x408f276d);
    assert_int_equal(word[1], 0x41c83b0e);
    assert_int_equal(word[2], 0xa20bc7c6);
    assert_int_equal(word[3], 0x6d5451fd);
}

static void positions_are_independent_of_the_path_to_them(void **state) {
    (void)state;
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

static void moments_are_those_of_the_distributions(void **state) {
    (void)state;
    mo_random r = mo_random_at(1, MO_PURPOSE_CHECK, 0);
    double u = 0, n1 = 0, n2 = 0;
    enum { DRAWS = 200000 };
    for (int i = 0; i < DRAWS; i++) {
        double x = mo_random_uniform(&r), z = mo_random_normal(&r);
        assert_true(x >= 0 && x < 1);
        u += x / DRAWS;
        n1 += z / DRAWS;
        n2 += z * z / DRAWS;
    }
    /* five standard errors */
    assert_true(fabs(u - 0.5) < 5 * sqrt(1.0 / 12 / DRAWS));
    assert_true(fabs(n1) < 5 / sqrt(DRAWS));
    assert_true(fabs(n2 - 1) < 5 * sqrt(2.0 / DRAWS));
}

static void below_is_uniform_and_shuffle_is_a_permutation(void **state) {
    (void)state;
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_published_answers),
        cmocka_unit_test(positions_are_independent_of_the_path_to_them),
        cmocka_unit_test(moments_are_those_of_the_distributions),
        cmocka_unit_test(below_is_uniform_and_shuffle_is_a_permutation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
