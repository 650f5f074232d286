/* tests/cuda_host/null/test_null_seams.c - the seams of tensor/cuda on libraries that compute nothing: broken captures,
 * late errors, softmax in several calls. */
#include "tensor/cuda/seams/seam.h"
#include "tests/cuda_host/null/vendor.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/suite.h"

static seam *s;
static float *A; /* 4096 bytes of the seam's */

static int open_seam(void **state) {
    char text[256];
    vendor = (vendor_state){0};
    const char *reason = seam_open(&s, &(seam_choice){0}, text, sizeof text);
    if (reason)
        fail_msg("%s", reason);
    A = seam_allocate(s, 4096);
    return 0;
}

static int close_seam(void **state) {
    seam_release(s, A);
    seam_close(s);
    return 0;
}

static const fixtures around_each = {open_seam, close_seam};

TEST(a_call_that_breaks_the_capture_leaves_nothing_behind) {
    int32_t *info = seam_allocate(s, 4);
    seam_graph *graph = NULL;
    assert_null(seam_potrf(s, SEAM_F32, true, 8, A, 8, info)); /* allocates the workspace before the capture */
    vendor.uncaptured = "cusolverDnXpotrf";
    assert_null(seam_capture(s));
    assert_non_null(seam_potrf(s, SEAM_F32, true, 8, A, 8, info));
    seam_fill(s, A, 0, 64); /* fails, as all work after a broken capture */
    assert_non_null(strstr(seam_capture_end(s, &graph), "previous error during capture"));
    assert_null(graph);
    assert_int_equal(vendor.last, cudaSuccess);
    assert_null(seam_failure(s));
    seam_fill(s, A, 0, 64);
    assert_null(seam_potrf(s, SEAM_F32, true, 8, A, 8, info)); /* outside the capture the call works */
    assert_null(seam_wait(s));
    assert_null(seam_failure(s));
    seam_release(s, info);
}

TEST(a_failure_before_the_capture_outlives_it) {
    seam_graph *graph = NULL;
    seam_grid wrong = {{1, 1, 1}, {2048, 1, 1}, 0};
    seam_launch(s, NULL, &wrong, NULL);
    assert_null(seam_capture(s));
    assert_null(seam_capture_end(s, &graph));
    assert_string_equal(seam_failure(s), "invalid argument");
    assert_null(seam_capture(s));
    seam_graph_release(graph);
    graph = NULL;
    seam_launch(s, NULL, &wrong, NULL); /* the launch fails; a graph without it would be wrong */
    assert_string_equal(seam_capture_end(s, &graph), "invalid argument");
    assert_null(graph);
}

/* Up to 48 KiB less its own arrays a kernel has unasked: an H100 refused 44 KiB beside 9 KiB. */
TEST(a_kernel_gets_all_shared_memory_that_it_has_room_for) {
    static const int kernel, other;
    for (size_t kib = 1; kib <= 217; kib++) {
        seam_launch(s, kib % 8 ? &kernel : (const void *)&other, &(seam_grid){{1, 1, 1}, {32, 1, 1}, kib << 10}, NULL);
        assert_null(seam_failure(s));
    }
    seam_launch(s, &kernel, &(seam_grid){{1, 1, 1}, {32, 1, 1}, 218 << 10}, NULL);
    assert_string_equal(seam_failure(s), "invalid argument");
}

TEST(a_trim_empties_the_pool) {
    size_t fresh, full, left;
    seam_memory(s, &fresh, &left);
    seam_release(s, seam_allocate(s, 1 << 20));
    seam_memory(s, &full, &left);
    assert_true(full == fresh + (1 << 20) && vendor.used == fresh);
    assert_null(seam_trim(s));
    seam_memory(s, &full, &left);
    assert_int_equal(full, fresh);
}

/* After its own launch cuBLAS reads the runtime's last error, which can be an older one. */
TEST(a_noted_failure_is_not_taken_for_a_librarys) {
    seam_gemm g = {
        .m = 8, .n = 8, .k = 8, .A = A, .B = A, .C = A, .lda = 8, .ldb = 8, .ldc = 8, .batch = 1, .alpha = 1};
    seam_grid wrong = {{1, 1, 1}, {2048, 1, 1}, 0};
    seam_launch(s, NULL, &wrong, NULL);
    assert_int_equal(vendor.last, cudaSuccess);
    assert_null(seam_multiply(s, &g));
    assert_string_equal(seam_failure(s), "invalid argument");
    vendor.asynchronous = cudaErrorIllegalAddress;
    assert_string_equal(seam_wait(s), "an illegal memory access was encountered");
    assert_null(seam_multiply(s, &g));
    seam_event *e = seam_event_create(s);
    seam_event_record(s, e);
    vendor.asynchronous = cudaErrorIllegalAddress;
    assert_string_equal(seam_event_wait(e), "an illegal memory access was encountered");
    assert_null(seam_multiply(s, &g));
    seam_event_release(e);
}

#ifdef MO_CUDNN
#include <cudnn_version.h>

#define TEXT_OF(x) #x
#define LIBRARY_OF(major) "libcudnn.so." TEXT_OF(major)

/* The calls that the library, which the seams have opened, has had. */
static vendor_softmaxes *softmax_calls(void) {
    void *library = dlopen(LIBRARY_OF(CUDNN_MAJOR), RTLD_NOW | RTLD_NOLOAD);
    vendor_softmaxes *calls = library ? dlsym(library, "softmaxes") : NULL;
    assert_non_null(calls);
    dlclose(library);
    return calls;
}

TEST(cudnn_is_not_opened_in_a_capture) {
    seam_graph *graph = NULL;
    seam_rows r = {SEAM_F32, false, 3, 8};
    for (int opened = 0; opened < 2; opened++) {
        assert_null(seam_capture(s));
        assert_int_equal(seam_softmax(s, &r, A, A), opened);
        assert_null(seam_capture_end(s, &graph));
        seam_graph_release(graph);
        assert_true(seam_softmax(s, &r, A, A));
    }
}

/* The library counts the values of a call by an int; each call begins at a multiple of 16 bytes. Nothing is read or
 * written at these addresses. */
TEST(many_rows_of_softmax_are_several_calls) {
    enum { N = 5001, MOST = INT32_MAX / N / 4 * 4 };
    const int64_t rows = 2 * (int64_t)MOST + 7;
    char *x = (char *)(uintptr_t)(1 << 20), *y_bar = x + rows * N * 16, *y = y_bar + rows * N * 16;
    for (int adjoint = 0; adjoint < 2; adjoint++) {
        seam_rows r = {SEAM_F32, adjoint, rows, N};
        assert_true(seam_softmax(s, &(seam_rows){SEAM_F32, false, 1, 1}, x, y)); /* opens the library */
        vendor_softmaxes *calls = softmax_calls();
        calls->count = 0;
        assert_true(adjoint ? seam_softmax_adjoint(s, &r, x, y_bar, y) : seam_softmax(s, &r, x, y));
        assert_int_equal(calls->count, 3);
        for (int i = 0; i < 3; i++) {
            vendor_softmax *c = &calls->of[i];
            int64_t skip = (int64_t)i * MOST * N * 4;
            assert_true(c->rows == (i < 2 ? MOST : 7) && c->n == N && c->bytes == 4 && c->log == adjoint);
            assert_true(c->x == x + skip && c->y == y + skip && c->y_bar == (adjoint ? y_bar + skip : NULL));
        }
    }
}

TEST(softmax_is_refused_if_a_row_is_too_long_or_the_library_fails) {
    seam_rows r = {SEAM_F64, false, 1, 8}, wide = {SEAM_F64, false, 1, (int64_t)1 << 31};
    assert_true(seam_softmax(s, &r, A, A));
    vendor_softmaxes *calls = softmax_calls();
    assert_int_equal(calls->of[calls->count - 1].bytes, 8);
    calls->count = 0;
    assert_false(seam_softmax(s, &wide, A, A));
    assert_int_equal(calls->count, 0);
    calls->count = VENDOR_SOFTMAXES; /* the next call fails */
    assert_false(seam_softmax(s, &r, A, A));
    calls->count = 0;
    assert_true(seam_softmax(s, &r, A, A));
}
#endif
