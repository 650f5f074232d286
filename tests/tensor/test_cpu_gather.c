/* tests/tensor/test_cpu_gather.c - indexed rows and entries, segments and sparse products against plain loops. */
#include "tests/tensor/cpu_views.h"

static mo_view index_view(uint64_t seed, int64_t m, int64_t below) {
    mo_view u = UNIFORM_VIEW(MO_F64, seed, m), index = NEW_VIEW(MO_I64, m);
    for (int64_t i = 0; i < m; i++)
        set_element(&index, i, floor((element(&u, i) + 1) / 2 * (double)below));
    return index;
}

/* Rising offsets from 0 to n with some empty segments. */
static mo_view offset_view(int64_t segments, int64_t n) {
    mo_view offset = NEW_VIEW(MO_I64, segments + 1);
    for (int64_t s = 1; s <= segments; s++)
        set_element(
            &offset, s, s == segments ? (double)n : (double)(s % 3 == 2 ? (s - 1) * n / segments : s * n / segments));
    return offset;
}

static const int64_t SHAPES[][3] = {{1, 1, 1}, {33, 31, 3}, {700, 900, 70}, {20, 5000, 33}, {5, 0, 4}, {1023, 100, 1}};
enum { SHAPE_COUNT = 6 };

TEST(gathered_rows_scatter_back) {
    for (int c = 0; c < 2 * 3 * SHAPE_COUNT; c++) {
        int64_t n = SHAPES[c / 6][0], m = SHAPES[c / 6][1], d = SHAPES[c / 6][2];
        mo_dtype dtype = REALS[c & 1];
        mo_context *ctx = context_with(1 + c / 2 % 3);
        mo_view x = UNIFORM_VIEW(dtype, 1, n, d), index = index_view(2, m, n), y = NEW_VIEW(dtype, m, d);
        mo_view back = UNIFORM_VIEW(dtype, 3, n, d), expected = NEW_VIEW(dtype, n, d);
        mo_kernels_of(ctx, dtype)->gather_rows(ctx, &x, &index, &y);
        mo_kernels_of(ctx, dtype)->scatter_add_rows(ctx, &y, &index, &back);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < d; j++) {
                int64_t from = (int64_t)element(&index, i) * d + j;
                assert_true(element(&y, i * d + j) == element(&x, from));
                if (dtype == MO_F32) /* the same sums in the same order: equal to the last bit */
                    set_element(&expected, from, (float)element(&expected, from) + (float)element(&y, i * d + j));
                else
                    set_element(&expected, from, element(&expected, from) + element(&y, i * d + j));
            }
        assert_same_bits(&expected, &back);
        free_views();
    }
}

TEST(taken_entries_are_put_back) {
    for (int c = 0; c < 2 * SHAPE_COUNT; c++) {
        int64_t rows = SHAPES[c / 2][0], k = SHAPES[c / 2][1] % 50, n = SHAPES[c / 2][2];
        mo_dtype dtype = REALS[c & 1];
        mo_context *ctx = context_with(2);
        mo_view x = UNIFORM_VIEW(dtype, 1, rows, n), flat = index_view(2, rows * k, n),
                index = NEW_VIEW(MO_I64, rows, k);
        memcpy(index.data, flat.data, (size_t)(rows * k) * 8);
        mo_view y = NEW_VIEW(dtype, rows, k), back = UNIFORM_VIEW(dtype, 3, rows, n),
                expected = NEW_VIEW(dtype, rows, n);
        mo_kernels_of(ctx, dtype)->take_along(ctx, &x, &index, &y);
        mo_kernels_of(ctx, dtype)->put_along(ctx, &y, &index, &back);
        for (int64_t i = 0; i < rows * k; i++) {
            int64_t from = i / k * n + (int64_t)element(&index, i);
            assert_true(element(&y, i) == element(&x, from));
            set_element(&expected, from, element(&expected, from) + element(&y, i));
        }
        for (int64_t i = 0; i < rows * n; i++)
            assert_near("put_along", i, element(&back, i), element(&expected, i), 100 * epsilon_of(dtype));
        free_views();
    }
}

TEST(segments_sum_and_spread) {
    for (int c = 0; c < 4 * SHAPE_COUNT; c++) {
        int64_t segments = SHAPES[c / 4][0], n = SHAPES[c / 4][1], d = SHAPES[c / 4][2] * 5;
        mo_dtype dtype = REALS[c & 1];
        bool mean = c & 2;
        mo_context *ctx = context_with(2);
        mo_view x = UNIFORM_VIEW(dtype, 1, n, d), offset = offset_view(segments, n);
        mo_view y = UNIFORM_VIEW(dtype, 3, segments, d), back = NEW_VIEW(dtype, n, d);
        mo_kernels_of(ctx, dtype)->segment_sum(ctx, mean, &x, &offset, &y);
        mo_kernels_of(ctx, dtype)->segment_spread(ctx, mean, &y, &offset, &back);
        for (int64_t s = 0; s < segments; s++)
            for (int64_t j = 0; j < d; j++) {
                int64_t first = (int64_t)element(&offset, s), last = (int64_t)element(&offset, s + 1);
                double sum = 0, count = mean && last > first ? (double)(last - first) : 1;
                for (int64_t i = first; i < last; i++)
                    sum += element(&x, i * d + j);
                double found = element(&y, s * d + j);
                assert_near("segment_sum", s * d + j, found, sum / count, epsilon_of(dtype) * (1 + fabs(sum / count)));
                for (int64_t i = first; i < last; i++)
                    assert_near("segment_spread", i * d + j, element(&back, i * d + j), found / count,
                        2 * epsilon_of(dtype) * fabs(found));
            }
        free_views();
    }
}

/* n rows with 0 to 12 entries each. */
typedef struct sparse {
    mo_view first, column, value;
} sparse;

static sparse sparse_matrix(mo_dtype dtype, int64_t n, int64_t columns) {
    sparse A = {.first = NEW_VIEW(MO_I64, n + 1)};
    for (int64_t i = 0; i < n; i++)
        set_element(&A.first, i + 1, element(&A.first, i) + (double)(i * 5 % 13));
    int64_t nnz = (int64_t)element(&A.first, n);
    mo_view index = index_view(4, nnz, columns);
    A.column = NEW_VIEW(MO_I32, nnz);
    A.value = UNIFORM_VIEW(dtype, 5, nnz);
    for (int64_t k = 0; k < nnz; k++)
        set_element(&A.column, k, element(&index, k));
    return A;
}

TEST(sparse_product_equals_loops_at_every_thread_count) {
    const int64_t shapes[][3] = {{1, 1, 1}, {33, 31, 3}, {700, 900, 70}, {3000, 200, 33}, {0, 5, 4}, {500, 300, 512}};
    for (int c = 0; c < 2 * 3 * 6; c++) {
        int64_t n = shapes[c / 6][0], m = shapes[c / 6][1], d = shapes[c / 6][2];
        mo_dtype dtype = REALS[c & 1];
        mo_context *ctx = context_with(1 + c / 2 % 3), *one = context_with(1);
        sparse A = sparse_matrix(dtype, n, m);
        mo_view X = UNIFORM_VIEW(dtype, 6, m, d + 2), Y = UNIFORM_VIEW(dtype, 7, n, d), Y1 = NEW_VIEW(dtype, n, d);
        X.shape[1] = d; /* rows further apart than their length */
        mo_csr_view a = {.row_pointer = A.first, .column = A.column, .values = A.value};
        mo_kernels_of(ctx, dtype)->spmm(ctx, &a, &X, &Y);
        mo_kernels_of(ctx, dtype)->spmm(one, &a, &X, &Y1);
        assert_same_bits(&Y1, &Y);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < d; j++) {
                double sum = 0;
                for (int64_t k = (int64_t)element(&A.first, i); k < (int64_t)element(&A.first, i + 1); k++)
                    sum += element(&A.value, k) * element(&X, (int64_t)element(&A.column, k) * d + j);
                assert_near("spmm", i * d + j, element(&Y, i * d + j), sum, 16 * epsilon_of(dtype));
            }
        free_views();
    }
}
