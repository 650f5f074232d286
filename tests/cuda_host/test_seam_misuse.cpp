/* tests/cuda_host/test_seam_misuse.cpp - the twins of the seams refuse what the vendor's libraries do not take. */
#include "tests/cuda_host/device_values.h"

#include <unistd.h>

using namespace cuda_host;

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
    expect_violation("product: bf16 with the leading dimensions 8 and 6",
        [] { multiply_with([](seam_gemm *g, values<float> *) { g->input = SEAM_BF16, g->lda = 8, g->ldb = 6; }); });
    expect_violation("product: bf16 with the leading dimensions 8 and 8, strides 20", [] {
        multiply_with([](seam_gemm *g, values<float> *) {
            g->input = SEAM_BF16, g->lda = g->ldb = 8, g->stride_a = 20, g->k = 2;
        });
    });
    expect_violation("an epilogue with a batch of 2, beta 1 and output of type 0",
        [] { multiply_with([](seam_gemm *g, values<float> *) { g->relu = true; }); });
}

static void wrong_epilogues_are_refused(void **) {
    expect_violation("an epilogue with a batch of 2, beta 0",
        [] { multiply_with([](seam_gemm *g, values<float> *C) { g->beta = 0, g->bias = g->addend = C->device; }); });
    expect_violation("product: bias needs", [] {
        multiply_with(
            [](seam_gemm *g, values<float> *C) { g->beta = 0, g->bias = C->device, g->stride_vector = 1 << 20; });
    });
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

static void wrong_groups_are_refused(void **) {
    expect_violation("join: rank 2 of 2, without a group", [] {
        seam_join(*new session, new seam_ranks{nullptr, 2, 2, 60});
    });
    expect_violation("sum over ranks: x is a host address, expected device memory", [] {
        seam *s = *new session;
        unsigned char name[SEAM_NAME_BYTES];
        float x = 0;
        seam_name_group(s, name);
        bool alone = fork() == 0; /* the other one, so that both join */
        seam_ranks r = {name, alone, 2, 60};
        seam_join(s, &r);
        if (alone)
            _exit(0);
        seam_sum_ranks(s, &x, 1, 1);
    });
}

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_products_are_refused),
        cmocka_unit_test(wrong_epilogues_are_refused),
        cmocka_unit_test(wrong_pointer_arrays_are_refused),
        cmocka_unit_test(wrong_sparse_rows_are_refused),
        cmocka_unit_test(wrong_groups_are_refused),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
