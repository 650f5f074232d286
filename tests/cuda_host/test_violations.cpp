/* tests/cuda_host/test_violations.cpp - every misuse of the emulated device ends the process with the line that says
 * so.
 */
#include "tests/cuda_host/device_array.h"
#include "tests/cuda_host/expect_violation.h"

using namespace cuda_host;

static array *misused(int n = 64) {
    array *a = new array(n); /* the process ends with it */
    a->upload();
    return a;
}

template <typename... Declared, typename... Given>
static void run_misuse(void (*kernel)(Declared...), const Given &...given) {
    array *a = misused();
    a->launch(1, 64, kernel, a->device, given...);
    stream_synchronize(a->s);
}

static __global__ void barrier_in_a_branch(float *x) {
    if (threadIdx.x < 40)
        __syncthreads();
    x[threadIdx.x] = 0;
}

static __global__ void two_barriers(float *x) {
    if (threadIdx.x % 2)
        __syncthreads();
    else
        __syncthreads();
    x[threadIdx.x] = 0;
}

static __global__ void lane_left_out(float *x) {
    if (threadIdx.x % 32 != 5)
        x[threadIdx.x] = __shfl_down_sync(0xffffffff, x[threadIdx.x], 1);
}

static __global__ void lane_elsewhere(float *x) {
    if (threadIdx.x == 5)
        __syncthreads();
    x[threadIdx.x] = __shfl_down_sync(0xffffffff, x[threadIdx.x], 1);
}

static __global__ void part_of_a_warp(float *x) {
    if (threadIdx.x < 16)
        x[threadIdx.x] = __shfl_down_sync(0xffff, x[threadIdx.x], 1);
}

static __global__ void write_at(float *x, int at) {
    x[at] = 1;
}

static __global__ void write_shared(float *, int at) {
    mo_shared[at] = 1;
}

static void divergence_is_reported(void **) {
    expect_violation(
        "it has exited, in kernel test, block (0, 0, 0), thread (40, 0, 0)", [] { run_misuse(barrier_in_a_branch); });
    expect_violation("thread 1 at that of", [] { run_misuse(two_barriers); });
    expect_violation("lane 5 of the warp has exited", [] { run_misuse(lane_left_out); });
    expect_violation("that never come", [] { run_misuse(lane_elsewhere); });
    expect_violation("the mask 0xffff, expected all lanes", [] { run_misuse(part_of_a_warp); });
}

static void wrong_addresses_of_kernels_are_reported(void **) {
    expect_violation(
        "device code touched byte 256 of an allocation of 256 bytes, in kernel test", [] { run_misuse(write_at, 64); });
    expect_violation("device memory before all allocations", [] { run_misuse(write_at, -2000); });
    expect_violation("which is no device memory", [] {
        array *a = misused();
        a->launch(1, 32, write_at, reinterpret_cast<float *>(4096), 0);
        stream_synchronize(a->s);
    });
    expect_violation("byte 256 of 256 bytes of shared memory was written", [] { run_misuse(write_shared, 256); });
    expect_violation("byte -4 of an allocation of 256 bytes was written", [] {
        array *a = misused();
        a->launch(1, 32, write_at, a->device, -1);
        stream_synchronize(a->s);
        memory_release(a->device);
    });
    expect_violation("touched byte 0 of a released allocation of 256 bytes", [] {
        array *a = misused();
        a->launch(1, 32, add_index, a->device, 64);
        memory_release(a->device); /* before the kernel has run */
        stream_synchronize(a->s);
    });
    expect_violation("kernel test is given a host address", [] {
        array *a = misused();
        float x[4];
        a->launch(1, 32, add_index, &x[0], 4);
    });
    expect_violation("kernel test is given a stale device address", [] {
        array *a = misused();
        memory_release(a->device);
        a->launch(1, 32, add_index, a->device, 4);
    });
}

static void host_code_cannot_touch_the_device(void **) {
    expect_violation("host code, outside a copy, touched byte 8 of an allocation of 256 bytes",
        [] { *static_cast<volatile float *>(misused()->device + 2) = 1; });
    expect_violation("host code, outside a copy, touched byte 8 of an allocation of 256 bytes", [] {
        array *a = misused();
        stream_synchronize(a->s);
        std::printf("%g", (double)*static_cast<volatile float *>(a->device + 2));
    });
}

static void wrong_copies_are_reported(void **) {
    expect_violation("upload: source is a host address, expected page-locked host memory", [] {
        float x[4];
        array *a = misused();
        enqueue_upload(a->s, a->device, x, sizeof x);
    });
    expect_violation("download: source is a page-locked host address, expected device memory", [] {
        array *a = misused();
        enqueue_download(a->s, a->host, a->host, 8);
    });
    expect_violation("fill: destination needs 8 bytes, its allocation has 4 from there on", [] {
        array *a = misused();
        enqueue_fill(a->s, a->device + 63, 0, 8);
    });
    expect_violation("release of an address that is no live allocation", [] { memory_release(misused()->device + 1); });
}

static void impossible_launches_are_reported(void **) {
    expect_violation("1025 x 1 x 1 threads in a block", [] {
        array *a = misused();
        a->launch(1, 1025, add_index, a->device, 4);
    });
    expect_violation("a grid of 0 x 1 x 1 blocks", [] {
        array *a = misused();
        a->launch(0, 32, add_index, a->device, 4);
    });
    expect_violation("is waited for while it is captured", [] {
        array *a = misused();
        capture_begin(a->s);
        stream_synchronize(a->s);
    });
}

static void a_captured_stream_meets_no_other(void **) {
    expect_violation("a stream that is captured waits for work that is not", [] {
        array *a = misused();
        event reached = event_record(stream_create());
        capture_begin(a->s);
        stream_wait(a->s, reached);
    });
    expect_violation("an event of a capture", [] {
        array *a = misused();
        capture_begin(a->s);
        event_record(a->s);
    });
}

static void page_locked_memory_outlives_its_copies(void **) {
    expect_violation("release of page-locked memory of which 1 copies are queued", [] {
        stream *s = stream_create();
        void *device = memory_allocate(256), *pinned = pinned_allocate(256);
        enqueue_upload(s, device, pinned, 256);
        pinned_release(pinned);
    });
}

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(divergence_is_reported),
        cmocka_unit_test(a_captured_stream_meets_no_other),
        cmocka_unit_test(page_locked_memory_outlives_its_copies),
        cmocka_unit_test(wrong_addresses_of_kernels_are_reported),
        cmocka_unit_test(host_code_cannot_touch_the_device),
        cmocka_unit_test(wrong_copies_are_reported),
        cmocka_unit_test(impossible_launches_are_reported),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
