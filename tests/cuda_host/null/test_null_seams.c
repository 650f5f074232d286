/* tests/cuda_host/null/test_null_seams.c - the seams of tensor/cuda on libraries that compute nothing: broken captures,
 * late errors. */
#include "tensor/cuda/seams/seam.h"
#include "tests/cuda_host/null/vendor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/suite.h"

static int fresh(void **state) {
    vendor = (vendor_state){0};
    return 0;
}

static const fixtures around_each = {fresh, NULL};

static seam *open_seam(void) {
    char text[256];
    seam *s = NULL;
    const char *reason = seam_open(&s, &(seam_choice){0}, text, sizeof text);
    if (reason)
        fail_msg("%s", reason);
    return s;
}

static seam_gemm product_of(void *A, void *B, void *C, int64_t n) {
    return (seam_gemm){
        .m = n, .n = n, .k = n, .A = A, .B = B, .C = C, .lda = n, .ldb = n, .ldc = n, .batch = 1, .alpha = 1};
}

TEST(a_call_that_breaks_the_capture_leaves_nothing_behind) {
    seam *s = open_seam();
    float *A = seam_allocate(s, 4096);
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
    seam_release(s, A);
    seam_release(s, info);
    seam_close(s);
}

TEST(a_failure_before_the_capture_outlives_it) {
    seam *s = open_seam();
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
    seam_close(s);
}

TEST(a_trim_empties_the_pool) {
    seam *s = open_seam();
    size_t fresh, full, left;
    seam_memory(s, &fresh, &left);
    seam_release(s, seam_allocate(s, 1 << 20));
    seam_memory(s, &full, &left);
    assert_true(full == fresh + (1 << 20) && vendor.used == fresh);
    assert_null(seam_trim(s));
    seam_memory(s, &full, &left);
    assert_int_equal(full, fresh);
    seam_close(s);
}

/* After its own launch cuBLAS reads the runtime's last error, which can be an older one. */
TEST(a_noted_failure_is_not_taken_for_a_librarys) {
    seam *s = open_seam();
    float *A = seam_allocate(s, 4096);
    seam_gemm g = product_of(A, A, A, 8);
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
    seam_release(s, A);
    seam_close(s);
}
