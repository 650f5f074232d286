/* tests/cuda_host/test_seams.cpp - the twins of the seams compute what the seams promise, and refuse what the vendor's
 * libraries do not take. */
#include "tests/cuda_host/expect_violation.h"
#include "tests/cuda_host/seam.h"

#include <cmath>
#include <cstdlib>
#include <vector>

using namespace cuda_host;

/* Host values on the device, and back. */
template <typename T> struct values {
    seam *s;
    std::vector<T> host;
    T *device, *pinned;

    values(seam *on, std::vector<T> x) : s(on), host(x) {
        device = static_cast<T *>(seam_allocate(s, bytes()));
        pinned = static_cast<T *>(seam_pin(bytes()));
        std::memcpy(pinned, host.data(), bytes());
        seam_upload(s, device, pinned, bytes());
    }
    ~values() {
        seam_release(s, device);
        seam_wait(s);
        seam_unpin(pinned);
    }
    std::size_t bytes() const {
        return host.size() * sizeof(T);
    }
    T *read() {
        seam_download(s, pinned, device, bytes());
        assert_null(seam_wait(s));
        return pinned;
    }
};

static std::vector<float> numbers(int n, int seed) {
    std::vector<float> x((std::size_t)n);
    for (int i = 0; i < n; i++)
        x[(std::size_t)i] = (float)((i * 37 + seed * 11) % 23) / 8 - 1;
    return x;
}

/* A seam that is closed behind everything that is declared after it. */
struct session {
    seam *s;
    session() {
        assert_null(seam_open(&s));
    }
    ~session() {
        seam_close(s);
    }
    operator seam *() const {
        return s;
    }
};

enum { M = 3, N = 4, K = 5, LDA = 6, LDB = 7, LDC = 8, BATCH = 2 };

static seam_gemm product(const void *A, const void *B, void *C) {
    seam_gemm g = {};
    g.m = M, g.n = N, g.k = K;
    g.A = A, g.B = B, g.C = C;
    g.lda = LDA, g.ldb = LDB, g.ldc = LDC;
    g.stride_a = LDA * K, g.stride_c = LDC * N, g.batch = BATCH;
    g.alpha = 2, g.beta = 1;
    return g;
}

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
    float tf32 = std::round(third * 4096) / 4096; /* 11 bits of a number in [1/4, 1/2) */
    assert_float_equal(*C.read(), tf32 * tf32, 1e-9);
    g.A = g.B = half.device;
    g.input = SEAM_BF16;
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

/* ---- misuse ---- */

/* A product with something changed. */
static void multiply_with(void (*change)(seam_gemm *g, values<float> *C)) {
    seam *s = *new session; /* the process ends with it */
    auto *A = new values<float>(s, numbers(LDA * K * BATCH, 1)), *B = new values<float>(s, numbers(LDB * N, 2));
    auto *C = new values<float>(s, numbers(LDC * N * BATCH, 3));
    seam_gemm g = product(A->device, B->device, C->device);
    change(&g, C);
    seam_multiply(s, &g);
}

static void wrong_products_are_refused(void **) {
    expect_violation("product: A has the leading dimension 2 and 3 rows",
        [] { multiply_with([](seam_gemm *g, values<float> *) { g->lda = 2; }); });
    expect_violation("product: B needs 124 bytes, its allocation has 112 from there on",
        [] { multiply_with([](seam_gemm *g, values<float> *) { g->ldb = 8, g->k = 7, g->lda = 4; }); });
    expect_violation("product: C has the batch stride 26, its matrices 27 elements",
        [] { multiply_with([](seam_gemm *g, values<float> *) { g->stride_c = 26; }); });
    expect_violation("product: C is a page-locked host address, expected device memory",
        [] { multiply_with([](seam_gemm *g, values<float> *C) { g->C = C->pinned; }); });
    expect_violation("product: C is not aligned to 4 bytes",
        [] { multiply_with([](seam_gemm *g, values<float> *C) { g->C = (char *)C->device + 2; }); });
    expect_violation("product: k is 0", [] { multiply_with([](seam_gemm *g, values<float> *) { g->k = 0; }); });
    expect_violation("an epilogue with a batch of 2, beta 1 and output of type 0",
        [] { multiply_with([](seam_gemm *g, values<float> *) { g->relu = true; }); });
}

static void wrong_epilogues_are_refused(void **) {
    expect_violation("sums beside another epilogue", [] {
        multiply_with(
            [](seam_gemm *g, values<float> *C) { g->batch = 1, g->beta = 0, g->relu = true, g->sums = C->device; });
    });
    expect_violation("the adjoint of relu beside bias or addend", [] {
        multiply_with([](seam_gemm *g, values<float> *C) {
            g->batch = 1, g->beta = 0, g->bits = C->device, g->ld_bits = 128, g->bias = C->device;
        });
    });
    expect_violation("bits have the leading dimension 64 for 3 rows, expected a multiple of 128", [] {
        multiply_with([](seam_gemm *g, values<float> *C) {
            g->batch = 1, g->beta = 0, g->relu = true, g->bits = C->device, g->ld_bits = 64;
        });
    });
    expect_violation("product: bits is not aligned to 16 bytes", [] {
        multiply_with([](seam_gemm *g, values<float> *C) {
            g->batch = 1, g->beta = 0, g->relu = true, g->bits = C->device + 1, g->ld_bits = 128;
        });
    });
    expect_violation("product: addend has the leading dimension 2 and 3 rows", [] {
        multiply_with(
            [](seam_gemm *g, values<float> *C) { g->batch = 1, g->beta = 0, g->addend = C->device, g->ld_addend = 2; });
    });
}

static void wrong_pointer_arrays_are_refused(void **) {
    expect_violation("getrf_batched: A is a host address, expected device memory", [] {
        session s;
        double A[4] = {1, 0, 0, 1};
        void *pointers[] = {A};
        std::int32_t info, pivot[2];
        seam_getrf_batched(s, SEAM_F64, 2, pointers, 2, pivot, &info, 1);
    });
    expect_violation("potrf: A is a host address, expected device memory", [] {
        session s;
        double A[4] = {1, 0, 0, 1};
        values<void *> pointers(s, {A});
        values<std::int32_t> info(s, {0});
        seam_potrf_batched(s, SEAM_F64, true, 2, pointers.device, 2, info.device, 1);
        seam_wait(s);
    });
}

static void wrong_sparse_rows_are_refused(void **) {
    expect_violation("sparse: columns is not aligned to 16 bytes", [] {
        session s;
        values<std::int32_t> row(s, {0, 1}), column(s, {0, 0, 0});
        values<float> value(s, {2});
        seam_csr A = {SEAM_F32, 1, 2, 1, row.device, column.device + 1, value.device};
        seam_sparse_create(s, &A);
    });
    expect_violation("sparse: row pointers from 0 to 1, 3 entries", [] {
        session s;
        values<std::int32_t> row(s, {0, 1}), column(s, {0, 0, 0});
        values<float> value(s, {2, 3, 4}), X(s, {1, 2}), Y(s, {1, 2});
        seam_csr A = {SEAM_F32, 1, 1, 3, row.device, column.device, value.device};
        seam_dense x = {X.device, 2, 2}, y = {Y.device, 2, 2};
        seam_sparse_multiply(s, seam_sparse_create(s, &A), &x, &y);
        seam_wait(s);
    });
    expect_violation("softmax: x is a page-locked host address, expected device memory", [] {
        session s;
        values<float> x(s, {1, 2}), y(s, {1, 2});
        seam_rows rows = {SEAM_F32, true, 1, 2};
        seam_softmax(s, &rows, x.pinned, y.device);
    });
}

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_those_of_column_major_matrices),
        cmocka_unit_test(epilogues_add_a_bias_and_clip),
        cmocka_unit_test(the_adjoint_of_relu_reads_the_bits_that_relu_left),
        cmocka_unit_test(sums_are_those_of_the_columns_of_b),
        cmocka_unit_test(narrow_types_round_as_the_device_does),
        cmocka_unit_test(factorizations_rebuild_the_matrix),
        cmocka_unit_test(sparse_rows_are_multiplied),
        cmocka_unit_test(softmax_and_its_adjoint_are_those_of_rows),
        cmocka_unit_test(wrong_products_are_refused),
        cmocka_unit_test(wrong_epilogues_are_refused),
        cmocka_unit_test(wrong_pointer_arrays_are_refused),
        cmocka_unit_test(wrong_sparse_rows_are_refused),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
