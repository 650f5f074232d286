/* tests/cli/test_numpy_random.c - the stream of NumPy's default_rng: draws recorded with NumPy 2.4.6, and NumPy itself
 * on other seeds (oracle.h; skipped where it has no NumPy). */
#include "tests/oracle.h"
#include "tools/lessons/numpy_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ITEMS = 8, MANY = 1000, NORMALS = 100000 };

static void shuffle_in_order(numpy_random *r, int64_t *items, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        items[i] = i;
    numpy_random_shuffle(r, items, n);
}

/* A number of each kind in turn. The second shuffle begins with the half word that the first one left, across a normal
 * that takes whole words. */
static void draws_are_the_recorded_ones(void **state) {
    static const struct {
        uint64_t seed, bits;
        double uniform, normal[3];
        int64_t items[2][ITEMS];
    } recorded[] = {
        {0, 0xa30febcfd9c2825f, 0x1.1442f7e20b674p-2,
            {0x1.47e57a468b06dp-1, 0x1.adabbec84d4f0p-4, -0x1.3f1dd4920f4fbp-1},
            {{6, 2, 7, 4, 5, 1, 0, 3}, {5, 4, 2, 1, 3, 6, 7, 0}}},
        {7, 0xa00641a9f1e54a8b, 0x1.cb5f9b795e4cdp-1,
            {-0x1.18b7980d81558p-2, -0x1.c7fba74b18102p-1, -0x1.f804fc5039525p-2},
            {{7, 3, 6, 2, 0, 4, 1, 5}, {3, 7, 4, 6, 5, 2, 0, 1}}},
        {UINT64_MAX, 0xae163a7a8c47568f, 0x1.b0ccb3ebe6704p-1,
            {0x1.1b8d40660f8bfp-4, -0x1.2fb3a24341b2bp-2, -0x1.898b75fcfd806p-2},
            {{1, 5, 2, 7, 3, 6, 0, 4}, {2, 1, 4, 7, 0, 6, 5, 3}}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++) {
        numpy_random r = numpy_random_at(recorded[i].seed);
        int64_t items[ITEMS];
        assert_true(numpy_random_bits(&r) == recorded[i].bits);
        assert_true(numpy_random_uniform(&r) == recorded[i].uniform);
        assert_true(numpy_random_normal(&r) == recorded[i].normal[0]);
        assert_true(numpy_random_normal(&r) == recorded[i].normal[1]);
        shuffle_in_order(&r, items, ITEMS);
        assert_memory_equal(items, recorded[i].items[0], sizeof items);
        assert_true(numpy_random_normal(&r) == recorded[i].normal[2]);
        shuffle_in_order(&r, items, ITEMS);
        assert_memory_equal(items, recorded[i].items[1], sizeof items);
    }
}

/* Seeds whose first normal lies beyond the widest layer. */
static void tails_are_the_recorded_ones(void **state) {
    static const struct {
        uint64_t seed;
        double normal;
    } recorded[] = {{755, -0x1.1878d558cc268p+2}, {1950, 0x1.2380a29cff10bp+2}, {2429, 0x1.d6eebeb21e2dap+1},
        {4769, 0x1.1177ff677c62ap+2}, {19593, -0x1.e1746e8fffac0p+1}};
    (void)state;
    for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++) {
        numpy_random r = numpy_random_at(recorded[i].seed);
        assert_true(numpy_random_normal(&r) == recorded[i].normal);
    }
}

static const char oracle[] = "import sys, numpy as np\n"
                             "r = np.random.default_rng(int(sys.argv[1]))\n"
                             "for n in (1000, 7):\n"
                             "    sys.stdout.buffer.write(r.standard_normal(100000).tobytes())\n"
                             "    sys.stdout.buffer.write(r.random(1000).tobytes())\n"
                             "    sys.stdout.buffer.write(r.permutation(np.arange(n)).tobytes())\n";

static void *read_all(FILE *file, size_t bytes) {
    void *data = malloc(bytes);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, bytes, file), bytes);
    return data;
}

/* The numbers of the oracle, in its order. */
static void compare_with_numpy(uint64_t seed, FILE *numpy) {
    numpy_random r = numpy_random_at(seed);
    for (int64_t round = 0, n = MANY; round < 2; round++, n = 7) {
        double *normal = read_all(numpy, NORMALS * sizeof *normal), *uniform = read_all(numpy, MANY * sizeof *uniform);
        int64_t *item = read_all(numpy, (size_t)n * sizeof *item), items[MANY];
        for (int i = 0; i < NORMALS; i++) {
            double x = numpy_random_normal(&r);
            if (x != normal[i])
                fail_msg("normal %d of seed %llu: %a, expected %a", i, (unsigned long long)seed, x, normal[i]);
        }
        for (int i = 0; i < MANY; i++)
            assert_true(numpy_random_uniform(&r) == uniform[i]);
        shuffle_in_order(&r, items, n);
        assert_memory_equal(items, item, (size_t)n * sizeof *item);
        free(normal);
        free(uniform);
        free(item);
    }
}

static void draws_are_those_of_numpy(void **state) {
    static const uint64_t seeds[] = {0, 1, 12345, UINT64_C(1) << 32, UINT64_C(0xfedcba9876543210)};
    const char *python = python_with("numpy");
    char command[1600];
    (void)state;
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        snprintf(command, sizeof command, "%s -c '%s' %llu", python, oracle, (unsigned long long)seeds[i]);
        FILE *numpy = popen(command, "r");
        assert_non_null(numpy);
        compare_with_numpy(seeds[i], numpy);
        assert_int_equal(pclose(numpy), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_are_the_recorded_ones),
        cmocka_unit_test(tails_are_the_recorded_ones),
        cmocka_unit_test(draws_are_those_of_numpy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
