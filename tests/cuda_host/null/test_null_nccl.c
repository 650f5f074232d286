/* tests/cuda_host/null/test_null_nccl.c - how the seams open, call and leave NCCL, on a library that adds nothing up;
 * and what they make of sums that do not come. */
#include "tests/cuda_host/null/open_seam.h"
#include "tests/cuda_host/null/vendor.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "tests/suite.h"
#include <nccl.h>

enum { VALUES = 100 };

static int *held, *sums, *abandoned;
static ncclResult_t *now, *later;
static size_t *count;

static void *variable(const char *name) {
    void *library = dlopen("libnccl.so.2", RTLD_NOW), *address = library ? dlsym(library, name) : NULL;
    assert_non_null(address);
    return address;
}

static int find_variables(void **state) {
    held = variable("null_nccl_held");
    sums = variable("null_nccl_sums");
    abandoned = variable("null_nccl_abandoned");
    now = variable("null_nccl_now");
    later = variable("null_nccl_later");
    count = variable("null_nccl_count");
    return 0;
}

static const fixtures around_all = {find_variables, NULL};

static int fresh(void **state) {
    vendor = (vendor_state){0};
    *held = *sums = *abandoned = 0;
    *now = *later = ncclSuccess;
    return 0;
}

static const fixtures around_each = {fresh, NULL};

/* Two processes, of which this is the second. */
static const char *join(seam *s) {
    unsigned char name[SEAM_NAME_BYTES];
    assert_null(seam_name_group(s, name));
    return seam_join(s, &(seam_ranks){name, 1, 2, 0.05});
}

TEST(a_group_is_joined_and_left) {
    char text[512];
    seam *s = open_seam((seam_choice){0});
    float *x = seam_allocate(s, VALUES * sizeof *x);
    assert_null(seam_no_collective());
    seam_libraries(text, sizeof text);
    assert_non_null(strstr(text, ", NCCL 2.28.9"));
    seam_leave(s, false); /* nothing to leave */
    assert_string_equal(seam_sum_ranks(s, x, VALUES, 1), "the group of processes was left before");
    assert_null(join(s));
    assert_null(seam_sum_ranks(s, x, VALUES, 1));
    assert_int_equal(*count, VALUES);
    assert_null(seam_wait(s));
    assert_int_equal(*held, 1);
    seam_leave(s, false);
    assert_int_equal(*held, 0);
    assert_int_equal(*abandoned, 0);
    assert_null(join(s));
    seam_release(s, x);
    seam_close(s);
    assert_int_equal(*held, 0);
    assert_int_equal(*abandoned, 1); /* closing does not rely on every sum to have come */
}

TEST(a_call_that_fails_says_what_the_library_says) {
    unsigned char name[SEAM_NAME_BYTES];
    seam *s = open_seam((seam_choice){0});
    float *x = seam_allocate(s, VALUES * sizeof *x);
    *now = ncclSystemError;
    assert_string_equal(seam_name_group(s, name), "NCCL: unhandled system error");
    assert_string_equal(seam_join(s, &(seam_ranks){name, 1, 2, 0.05}), "NCCL: unhandled system error");
    *now = ncclSuccess;
    *later = ncclInProgress;
    assert_string_equal(join(s), "NCCL: the processes have not joined in 0.05 s: another process has stopped");
    *later = ncclRemoteError;
    assert_non_null(strstr(join(s), "NCCL: remote process exited"));
    assert_int_equal(*held, 0);
    *later = ncclSuccess;
    assert_null(join(s));
    *now = ncclSystemError;
    assert_string_equal(seam_sum_ranks(s, x, VALUES, 1), "NCCL: unhandled system error: connection closed by rank 1");
    seam_release(s, x);
    seam_close(s);
    assert_int_equal(*held, 0);
}

/* The stream stays busy; the wait ends all the same, and the group with it. */
static void expect_late(ncclResult_t code, double patience, const char *expected) {
    seam *s = open_seam((seam_choice){0});
    float *x = seam_allocate(s, VALUES * sizeof *x);
    assert_null(join(s));
    assert_null(seam_sum_ranks(s, x, VALUES, patience));
    *later = code;
    vendor.busy = 1 << 30;
    assert_string_equal(seam_wait(s), expected);
    vendor.busy = 0;
    assert_int_equal(*abandoned, 1);
    assert_int_equal(*held, 0);
    assert_int_equal(vendor.last, cudaSuccess);
    assert_null(seam_wait(s));
    seam_release(s, x);
    seam_close(s);
}

TEST(an_error_that_comes_late_ends_the_wait) {
    expect_late(
        ncclRemoteError, 60, "NCCL: remote process exited or there was a network error: connection closed by rank 1");
}

TEST(a_sum_that_does_not_come_ends_it_too) {
    expect_late(
        ncclSuccess, 0.05, "NCCL: a sum over the processes has not come in 0.05 s: another process has stopped");
}

TEST(a_slow_sum_is_waited_for) {
    seam *s = open_seam((seam_choice){0});
    float *x = seam_allocate(s, VALUES * sizeof *x);
    assert_null(join(s));
    assert_null(seam_sum_ranks(s, x, VALUES, 60));
    *later = ncclInProgress; /* no failure */
    vendor.busy = 100;
    assert_null(seam_wait(s));
    assert_int_equal(vendor.busy, 0);
    vendor.busy = 100;
    assert_null(seam_wait(s)); /* no sum is queued: the runtime waits */
    assert_int_equal(vendor.busy, 100);
    vendor.busy = 0;
    assert_null(seam_sum_ranks(s, x, VALUES, 60));
    vendor.asynchronous = cudaErrorIllegalAddress;
    assert_string_equal(seam_wait(s), "an illegal memory access was encountered");
    assert_int_equal(*sums, 2);
    seam_release(s, x);
    seam_close(s);
}
