/* tests/ops/test_scatter.c - adding rows at the places that an index names: each place adds in rising order of
 * positions, whether a device scans or sorts the list, and the bits are equal on every device. */
#include "ops/ops.h"
#include "tests/drawn.h"

typedef struct list {
    int64_t rows, width, destinations;
} list;

/* One position; parts of a warp; more columns than a block; places without rows; lists that one block sorts, and
 * more. */
static const list lists[] = {{1, 3, 2}, {33, 5, 7}, {70, 300, 9}, {400, 16, 900}, {4096, 2, 5}, {4097, 2, 5}};

TEST_OF(rows_are_added_in_rising_order, mo_tape *t) {
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) {
        int64_t m = lists[l].rows, d = lists[l].width, n = lists[l].destinations;
        float *x = test_memory((size_t)(m * d) * sizeof *x),
              *expected = test_memory((size_t)(n * d) * sizeof *expected);
        float *got = test_memory((size_t)(n * d) * sizeof *got);
        int64_t *index = test_memory((size_t)m * sizeof *index);
        mo_random r = mo_random_at(22, MO_PURPOSE_CHECK, l);
        for (int64_t i = 0; i < m; i++) {
            index[i] = (i * i + 3 * i) % n;
            for (int64_t j = 0; j < d; j++) {
                x[i * d + j] = (float)mo_random_normal(&r);
                expected[index[i] * d + j] += x[i * d + j];
            }
        }
        mo_tensor *Y = mo_scatter_add_rows(
            t, mo_from(t, MO_F32, 2, (int64_t[]){m, d}, x), mo_from(t, MO_I64, 1, (int64_t[]){m}, index), n);
        assert_int_equal(mo_tensor_read(Y, got, (size_t)(n * d) * sizeof *got), MO_OK);
        assert_memory_equal(got, expected, (size_t)(n * d) * sizeof *got);
        mo_tape_reset(t);
    }
}
