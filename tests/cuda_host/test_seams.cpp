/* tests/cuda_host/test_seams.cpp - the twins of the seams compute what the seams promise. */
#include "tests/cuda_host/device_values.h"

#include <cmath>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

using namespace cuda_host;

static void products_are_those_of_column_major_matrices(void **) {
    session s;
    values<float> A(s, numbers(LDA * K * BATCH, 1)), B(s, numbers(LDB * N, 2)), C(s, numbers(LDC * N * BATCH, 3));
    for (int turned = 0; turned < 4; turned++) { /* A [k, m] where turned & 1, B [n, k] where turned & 2 */
        values<float> out(s, C.host);
        seam_gemm g = product(A.device, B.device, out.device);
        g.transposed_a = turned & 1;
        g.transposed_b = turned & 2;
        g.ldb = turned & 2 ? N : LDB;
        assert_null(seam_multiply(s, &g));
        float *got = out.read();
        for (int b = 0; b < BATCH; b++)
            for (int i = 0; i < M; i++)
                for (int j = 0; j < N; j++) {
                    float sum = 0;
                    for (int k = 0; k < K; k++)
                        sum += A.host[(std::size_t)(b * LDA * K + (turned & 1 ? i * LDA + k : k * LDA + i))] *
                               B.host[(std::size_t)(turned & 2 ? k * N + j : j * LDB + k)];
                    int at = b * LDC * N + j * LDC + i;
                    assert_float_equal(got[at], 2 * sum + C.host[(std::size_t)at], 1e-5);
                }
    }
}

static void epilogues_add_a_bias_and_clip(void **) {
    session s;
    values<float> A(s, {1, 2}), B(s, {1, -1}), bias(s, {0.5f, -0.5f}), C(s, {9, 9, 9, 9});
    seam_gemm g = {};
    g.m = 2, g.n = 2, g.k = 1, g.lda = 2, g.ldb = 1, g.ldc = 2, g.batch = 1;
    g.A = A.device, g.B = B.device, g.C = C.device, g.alpha = 1, g.bias = bias.device, g.relu = true;
    assert_null(seam_multiply(s, &g));
    float *got = C.read(), expected[] = {1.5f, 1.5f, 0, 0};
    for (int i = 0; i < 4; i++)
        assert_float_equal(got[i], expected[i], 0);
}

static void each_product_of_a_batch_has_its_bias(void **) {
    session s;
    values<float> A(s, {1, 2}), B(s, {1, -1}), bias(s, {0.5f, -0.5f, 9, 3, 4}), C(s, {9, 9, 9, 9});
    seam_gemm g = {};
    g.m = 2, g.n = 1, g.k = 1, g.lda = 2, g.ldb = 1, g.ldc = 2, g.batch = 2;
    g.stride_b = 1, g.stride_c = 2, g.stride_vector = 3;
    g.A = A.device, g.B = B.device, g.C = C.device, g.alpha = 1, g.bias = bias.device, g.relu = true;
    assert_null(seam_multiply(s, &g));
    float *got = C.read(), expected[] = {1.5f, 1.5f, 2, 2};
    for (int i = 0; i < 4; i++)
        assert_float_equal(got[i], expected[i], 0);
}

static void the_adjoint_of_relu_reads_the_bits_that_relu_left(void **) {
    session s;
    values<float> A(s, {1, 2}), B(s, {1, -1}), addend(s, {-2, 0, 0, 3}), C(s, {9, 9, 9, 9});
    values<float> ones(s, {1, 1}), D(s, {9, 9, 9, 9});
    values<unsigned char> bits(s, std::vector<unsigned char>(32, 0xff));
    seam_gemm g = {};
    g.m = 2, g.n = 2, g.k = 1, g.lda = 2, g.ldb = 1, g.ldc = 2, g.batch = 1, g.alpha = 1;
    g.A = A.device, g.B = B.device, g.C = C.device, g.addend = addend.device, g.ld_addend = 2, g.relu = true;
    g.bits = bits.device, g.ld_bits = 128;
    assert_null(seam_multiply(s, &g));
    float *got = C.read(), clipped[] = {0, 2, 0, 1};
    for (int i = 0; i < 4; i++)
        assert_float_equal(got[i], clipped[i], 0);
    g.A = g.B = ones.device, g.C = D.device, g.addend = nullptr, g.relu = false;
    assert_null(seam_multiply(s, &g));
    got = D.read();
    for (int i = 0; i < 4; i++)
        assert_float_equal(got[i], clipped[i] > 0, 0);
}

static void sums_are_those_of_the_columns_of_b(void **) {
    session s;
    values<float> A(s, {1, 2, 3}), B(s, {1, 2, 3, 4, 5, 6}), C(s, {9, 9}), sums(s, {9, 9});
    seam_gemm g = {};
    g.m = 1, g.n = 2, g.k = 3, g.lda = 1, g.ldb = 3, g.ldc = 1, g.batch = 1, g.alpha = 1;
    g.A = A.device, g.B = B.device, g.C = C.device, g.sums = sums.device;
    for (int turned = 0; turned < 2; turned++) { /* B [3, 2], then [2, 3] transposed */
        assert_null(seam_multiply(s, &g));
        float *got = sums.read();
        assert_float_equal(got[0], turned ? 1 + 3 + 5 : 1 + 2 + 3, 0);
        assert_float_equal(got[1], turned ? 2 + 4 + 6 : 4 + 5 + 6, 0);
        g.transposed_b = true, g.ldb = 2;
    }
}

static void narrow_types_round_as_the_device_does(void **) {
    session s;
    float third = 1.0f / 3;
    values<float> A(s, {third}), C(s, {0});
    values<std::uint16_t> half(s, {0x3eab}); /* 0.333984375 */
    seam_gemm g = {};
    g.m = g.n = g.k = g.lda = g.ldb = g.ldc = g.batch = 1;
    g.A = A.device, g.B = A.device, g.C = C.device, g.alpha = 1, g.math = SEAM_TF32;
    assert_null(seam_multiply(s, &g));
    float tf32 = std::floor(third * 4096) / 4096; /* 11 bits of a number in [1/4, 1/2), the others cut off */
    assert_float_equal(*C.read(), tf32 * tf32, 1e-9);
    g.A = g.B = half.device;
    g.input = SEAM_BF16, g.lda = g.ldb = 8;
    assert_null(seam_multiply(s, &g));
    assert_float_equal(*C.read(), 0.333984375f * 0.333984375f, 1e-9);
}

static void factorizations_rebuild_the_matrix(void **) {
    session s;
    values<double> A(s, {4, 2, 0, 2, 5, 1, 0, 1, 3}), B(s, {1, 2, 3}), w(s, {0, 0, 0}), tau(s, {0, 0, 0});
    values<std::int32_t> info(s, {7});
    values<std::int64_t> pivot(s, {0, 0, 0});
    assert_null(seam_potrf(s, SEAM_F64, true, 3, A.device, 3, info.device));
    double *L = A.read();
    assert_float_equal(L[0], 2, 1e-12);
    assert_float_equal(L[1], 1, 1e-12);
    assert_float_equal(L[3], 2, 0); /* the other triangle stays */
    assert_int_equal(*info.read(), 0);
    seam_triangle t = {SEAM_F64, true, true, false, false, 3, 1, 3, 3};
    assert_null(seam_trsm(s, &t, A.device, B.device));
    assert_float_equal(*B.read(), 0.5, 1e-12);
    values<double> G(s, {0, 2, 1, 1});
    assert_null(seam_getrf(s, SEAM_F64, 2, G.device, 2, pivot.device, info.device));
    assert_float_equal(*G.read(), 2, 0);
    assert_int_equal(*pivot.read(), 2);
    values<double> S(s, {2, 1, 1, 2}), Q(s, {3, 4, 0, 1});
    assert_null(seam_syevd(s, SEAM_F64, true, 2, S.device, 2, w.device, info.device));
    assert_float_equal(w.read()[1], 3, 1e-12);
    assert_null(seam_geqrf(s, SEAM_F64, 2, 2, Q.device, 2, tau.device, info.device));
    assert_float_equal(std::fabs(*Q.read()), 5, 1e-12);
    assert_null(seam_orgqr(s, SEAM_F64, 2, 2, Q.device, 2, tau.device, info.device));
    assert_float_equal(std::fabs(*Q.read()), 0.6, 1e-12);
}

static void sparse_rows_are_multiplied(void **) {
    session s;
    values<std::int32_t> row(s, {0, 2, 2, 3}), column(s, {1, 0, 1});
    values<float> value(s, {2, 3, -1}), X(s, {1, 2, 9, 9, 10, 20, 9, 9}), Y(s, {7, 7, 7, 7, 7, 7});
    seam_csr A = {SEAM_F32, 3, 2, 3, row.device, column.device, value.device};
    seam_sparse *prepared = seam_sparse_create(s, &A);
    seam_dense x = {X.device, 2, 4}, y = {Y.device, 2, 2};
    assert_true(seam_sparse_multiply(s, prepared, &x, &y));
    float *got = Y.read(), expected[] = {23, 46, 0, 0, -10, -20};
    for (int i = 0; i < 6; i++)
        assert_float_equal(got[i], expected[i], 0);
    seam_sparse_release(s, prepared);
}

static void softmax_and_its_adjoint_are_those_of_rows(void **) {
    session s;
    values<double> x(s, {0, std::log(3), 5, 5}), y(s, {9, 9, 9, 9}), y_bar(s, {4, 0, 1, 2});
    seam_rows rows = {SEAM_F64, false, 2, 2};
    assert_true(seam_softmax(s, &rows, x.device, y.device));
    double *got = y.read(), softmax[] = {0.25, 0.75, 0.5, 0.5}, adjoint[] = {0.75, -0.75, -0.25, 0.25};
    for (int i = 0; i < 4; i++)
        assert_float_equal(got[i], softmax[i], 1e-12);
    assert_true(seam_softmax_adjoint(s, &rows, y.device, y_bar.device, x.device));
    got = x.read();
    for (int i = 0; i < 4; i++)
        assert_float_equal(got[i], adjoint[i], 1e-12);
}

enum { RANKS = 3, SUMS = 4, SUMMED = 10 };

/* One of three processes. Returns whether every sum is that of the three; the last one does not come. */
static bool add_up(const unsigned char *name, int rank) {
    session s;
    values<float> x(s, std::vector<float>(SUMMED, 0));
    seam_ranks r = {name, rank, RANKS, 60};
    bool right = !seam_join(s, &r);
    for (int k = 0; k < SUMS && right; k++) {
        for (int i = 0; i < SUMMED; i++)
            x.pinned[i] = float((rank + 1) * (k + 1) * (i + 1));
        seam_upload(s, x.device, x.pinned, x.bytes());
        right = !seam_sum_ranks(s, x.device, SUMMED, 60);
        float *got = x.read();
        for (int i = 0; i < SUMMED; i++)
            right &= got[i] == float(6 * (k + 1) * (i + 1));
    }
    if (rank == 2) /* it does not take part in the next one */
        return right;
    setenv("MOCHI_CUDA_HOST_PATIENCE", "0.2", 1);
    right &= !seam_sum_ranks(s, x.device, SUMMED, 60) && !seam_wait(s);
    const char *why = seam_failure(s);
    return right && why && std::strcmp(why, "a sum over the processes has not come") == 0;
}

static void devices_of_several_processes_add_up(void **) {
    unsigned char name[SEAM_NAME_BYTES];
    pid_t pid[RANKS];
    {
        session s;
        assert_null(seam_no_collective());
        assert_null(seam_name_group(s, name));
    }
    for (int rank = 0; rank < RANKS; rank++) {
        pid[rank] = fork();
        if (!pid[rank])
            _exit(add_up(name, rank) ? 0 : 1);
    }
    for (int status, rank = 0; rank < RANKS; rank++) {
        assert_int_equal(waitpid(pid[rank], &status, 0), pid[rank]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(access(reinterpret_cast<char *>(name), F_OK), -1);
}

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_those_of_column_major_matrices),
        cmocka_unit_test(epilogues_add_a_bias_and_clip),
        cmocka_unit_test(the_adjoint_of_relu_reads_the_bits_that_relu_left),
        cmocka_unit_test(each_product_of_a_batch_has_its_bias),
        cmocka_unit_test(sums_are_those_of_the_columns_of_b),
        cmocka_unit_test(narrow_types_round_as_the_device_does),
        cmocka_unit_test(factorizations_rebuild_the_matrix),
        cmocka_unit_test(sparse_rows_are_multiplied),
        cmocka_unit_test(softmax_and_its_adjoint_are_those_of_rows),
        cmocka_unit_test(devices_of_several_processes_add_up),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
