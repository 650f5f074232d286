/* tests/cuda_host/null/test_null_seams.c - the seams of tensor/cuda on libraries that compute nothing: broken captures,
 * late errors, devices and plans. */
#include "tests/cuda_host/null/open_seam.h"
#include "tests/cuda_host/null/vendor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/suite.h"

static void assert_refused(seam_choice which, const char *expected) {
    char text[256];
    seam *s = NULL;
    const char *reason = seam_open(&s, &which, text, sizeof text);
    assert_non_null(reason);
    assert_string_equal(reason, expected);
    assert_null(s);
}

static int fresh(void **state) {
    vendor = (vendor_state){0};
    return 0;
}

static const fixtures around_each = {fresh, NULL};

static seam_gemm product_of(void *A, void *B, void *C, int64_t n) {
    return (seam_gemm){
        .m = n, .n = n, .k = n, .A = A, .B = B, .C = C, .lda = n, .ldb = n, .ldc = n, .batch = 1, .alpha = 1};
}

TEST(a_call_that_breaks_the_capture_leaves_nothing_behind) {
    seam *s = open_seam((seam_choice){0});
    float *A = seam_allocate(s, 4096);
    int32_t *info = seam_allocate(s, 4);
    seam_graph *graph = NULL;
    assert_null(seam_potrf(s, SEAM_F32, true, 8, A, 8, info)); /* its workspace is there */
    vendor.uncaptured = "cusolverDnXpotrf";
    assert_null(seam_capture(s));
    assert_non_null(seam_potrf(s, SEAM_F32, true, 8, A, 8, info));
    seam_fill(s, A, 0, 64); /* fails, as all later work */
    assert_non_null(strstr(seam_capture_end(s, &graph), "previous error during capture"));
    assert_null(graph);
    assert_int_equal(vendor.last, cudaSuccess);
    assert_null(seam_failure(s));
    seam_fill(s, A, 0, 64);
    assert_null(seam_potrf(s, SEAM_F32, true, 8, A, 8, info)); /* taken as it is */
    assert_null(seam_wait(s));
    assert_null(seam_failure(s));
    seam_release(s, A);
    seam_release(s, info);
    seam_close(s);
}

TEST(a_failure_before_the_capture_outlives_it) {
    seam *s = open_seam((seam_choice){0});
    seam_graph *graph = NULL;
    seam_grid wrong = {{1, 1, 1}, {2048, 1, 1}, 0};
    seam_launch(s, NULL, &wrong, NULL);
    assert_null(seam_capture(s));
    assert_null(seam_capture_end(s, &graph));
    assert_string_equal(seam_failure(s), "invalid argument");
    assert_null(seam_capture(s));
    seam_graph_release(graph);
    graph = NULL;
    seam_launch(s, NULL, &wrong, NULL); /* a graph without this kernel would be wrong */
    assert_string_equal(seam_capture_end(s, &graph), "invalid argument");
    assert_null(graph);
    seam_close(s);
}

TEST(shared_memory_above_48_kib_is_asked_for) {
    seam *s = open_seam((seam_choice){0});
    seam_grid g = {{1, 1, 1}, {32, 1, 1}, 40 << 10};
    vendor.shared_kernel = NULL;
    vendor_kernel = "k";
    seam_launch(s, &g, &g, NULL);
    assert_null(vendor.shared_kernel);
    g.shared_bytes = seam_most_shared(s);
    assert_int_equal(g.shared_bytes, 226 << 10); /* 1 KiB is left to the kernel's own arrays */
    seam_launch(s, &g, &g, NULL);
    assert_ptr_equal(vendor.shared_kernel, &g);
    assert_null(seam_failure(s));
    g.shared_bytes = 228 << 10;
    seam_launch(s, &g, &g, NULL);
    assert_string_equal(seam_failure(s), "invalid argument");
    seam_close(s);
}

/* cuBLAS looks at the runtime's last error behind its own launch. */
TEST(a_noted_failure_is_not_taken_for_a_librarys) {
    seam *s = open_seam((seam_choice){0});
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

TEST(devices_that_will_not_do_are_one_line) {
    char text[512];
    vendor.devices = 2;
    assert_refused(
        (seam_choice){2, 0}, "there is no cuda:2, expected cuda:0 to cuda:1 (as CUDA_VISIBLE_DEVICES leaves them)");
    seam *s = open_seam((seam_choice){1, 0});
    assert_int_equal(vendor.current, 1);
    assert_string_equal(seam_reason(s, "the call failed"), "the call failed");
    vendor.current = 0; /* set by the calling program */
    assert_string_equal(
        seam_reason(s, "the call failed"), "device 0 is current in this thread, expected 1: call cudaSetDevice");
    assert_null(seam_reason(s, NULL));
    seam_close(s);
    assert_null(seam_describe(text, sizeof text));
    assert_non_null(strstr(text, "null device, compute capability 9.0"));
    assert_non_null(strstr(text, "; cuda:1 null device"));
    vendor.major = 7;
    assert_refused((seam_choice){0}, "null device has compute capability 7.0, expected 8.0 or later");
    assert_non_null(seam_describe(text, sizeof text));
}

TEST(a_shape_is_searched_once_and_computed_by_its_plan) {
    seam *s = open_seam((seam_choice){0});
    char *A = seam_allocate(s, 1 << 20);
    seam_gemm g = product_of(A, A, A, 16), batched = g, moved = g;
    batched.batch = 3, batched.stride_a = 512;
    moved.A = A + 256; /* as aligned as any algorithm asks for */
    for (int i = 0; i < 3; i++) {
        assert_null(seam_multiply(s, &g));
        assert_null(seam_multiply(s, &moved));
        assert_null(seam_multiply(s, &batched));
    }
    assert_int_equal(vendor.searches, 2);
    assert_int_equal(vendor.plans, 9);
    moved.A = A + 4;
    assert_null(seam_multiply(s, &moved));
    assert_int_equal(vendor.searches, 3);
    for (int64_t n = 1; n <= 300; n++) { /* more shapes than a training run on drawn episodes soon has */
        seam_gemm other = product_of(A, A, A, n);
        assert_null(seam_multiply(s, &other));
    }
    int searches = vendor.searches;
    assert_null(seam_multiply(s, &batched));
    assert_int_equal(vendor.searches, searches);
    assert_int_equal(vendor.gemms, 0);
    seam_release(s, A);
    seam_close(s);
}
