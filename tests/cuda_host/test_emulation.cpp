/* tests/cuda_host/test_emulation.cpp - the emulated device behaves as a device does. */
#include "tests/cuda_host/device_array.h"

#include <vector>

using namespace cuda_host;

/* ---- what kernels compute ---- */

static void every_thread_of_a_grid_runs_once(void **) {
    for (int n : {1, 31, 32, 33, 1023, 1025}) {
        array a(n);
        a.upload();
        a.launch((unsigned)(n + 255) / 256, 256, add_index, a.device, n);
        a.download();
        stream_synchronize(a.s);
        for (int i = 0; i < n; i++)
            assert_float_equal(a.host[i], (float)(i % 17) - 3 + (float)i, 0);
    }
}

/* Every thread reads what another one wrote, many times: wrong at once where a barrier does not hold all back. */
static __global__ void rotate(float *x, int rounds) {
    float *shared = reinterpret_cast<float *>(mo_shared);
    __shared__ float count;
    unsigned i = threadIdx.x, n = blockDim.x;
    if (i == 0)
        count = 0;
    shared[i] = x[blockIdx.x * n + i];
    __syncthreads();
    for (int r = 0; r < rounds; r++) {
        float next = shared[(i + 1) % n];
        __syncthreads();
        shared[i] = next;
        if (i == 0)
            count++;
        __syncthreads();
    }
    x[blockIdx.x * n + i] = shared[i] + count;
}

static void barriers_hold_a_whole_block(void **) {
    for (int n : {1, 32, 33, 1023, 1024}) {
        array a(3 * n);
        a.upload();
        a.launch(3, (unsigned)n, rotate, a.device, 5);
        a.download();
        stream_synchronize(a.s);
        for (int i = 0; i < 3 * n; i++) {
            int from = i / n * n + (i % n + 5) % n;
            assert_float_equal(a.host[i], (float)(from % 17) - 3 + 5, 0);
        }
    }
}

static __global__ void warp_sums(float *x) {
    double sum = x[threadIdx.x];
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, (unsigned)d);
    float first = __shfl_sync(0xffffffff, (float)sum, 0), other = __shfl_xor_sync(0xffffffff, x[threadIdx.x], 1);
    float before = __shfl_up_sync(0xffffffff, x[threadIdx.x], 1);
    unsigned votes = __ballot_sync(0xffffffff, threadIdx.x % 3 == 0);
    __syncwarp();
    x[threadIdx.x] = first + 100 * other + 10000 * before + 1e6f * (float)__builtin_popcount(votes);
}

static void warps_exchange_as_on_a_device(void **) {
    array a(96);
    a.upload();
    std::vector<float> x(a.host, a.host + 96);
    a.launch(1, 96, warp_sums, a.device);
    a.download();
    stream_synchronize(a.s);
    for (int i = 0; i < 96; i++) {
        float sum = 0, votes = 0;
        for (int k = i / 32 * 32; k < i / 32 * 32 + 32; k++) {
            sum += x[(std::size_t)k];
            votes += k % 3 == 0;
        }
        float before = x[(std::size_t)(i % 32 ? i - 1 : i)];
        assert_float_equal(a.host[i], sum + 100 * x[(std::size_t)(i ^ 1)] + 10000 * before + 1e6f * votes, 0.5f);
    }
}

static __global__ void read_unset(float *x) {
    __shared__ float own[2];
    float before = own[threadIdx.x % 2] + mo_shared[0];
    __syncthreads();
    own[threadIdx.x % 2] = 1;
    x[blockIdx.x] = before;
}

static void shared_memory_begins_as_nothing_in_every_block(void **) {
    array a(4);
    a.upload();
    a.launch(4, 32, read_unset, a.device);
    a.download();
    stream_synchronize(a.s);
    for (int i = 0; i < 4; i++)
        assert_true(std::isnan(a.host[i]));
}

/* Each block notes, before and behind each of three barriers, how many notes there were. */
static __global__ void take_turns(float *x, int *notes) {
    __shared__ int mine;
    if (threadIdx.x == 0)
        mine = (int)blockIdx.x;
    for (int round = 0; round < 3; round++) {
        if (threadIdx.x == 0)
            x[atomicAdd(notes, 1)] = (float)mine;
        __syncthreads();
    }
}

static void blocks_are_on_the_device_together(void **) {
    array a(9);
    int *notes = static_cast<int *>(memory_allocate(sizeof *notes));
    bool falls[2];
    for (int turn = 0; turn < 2; turn++) { /* one grid from the first block to the last, one from the last */
        enqueue_fill(a.s, notes, 0, sizeof *notes);
        a.launch(3, 64, take_turns, a.device, notes);
        a.download();
        stream_synchronize(a.s);
        int changes = 0, seen[3] = {};
        for (int i = 0; i < 9; i++) {
            seen[(int)a.host[i]]++;
            changes += i > 0 && a.host[i] != a.host[i - 1];
        }
        assert_true(seen[0] == 3 && seen[1] == 3 && seen[2] == 3);
        assert_true(changes > 2);
        falls[turn] = a.host[0] == 2;
    }
    assert_true(falls[0] != falls[1]);
    memory_release(notes);
}

/* ---- streams ---- */

static void nothing_runs_before_it_is_waited_for(void **) {
    array a(4);
    a.upload();
    a.launch(1, 32, add_index, a.device, 4);
    a.host[2] = 40; /* before the copy runs: it reads this */
    a.download();
    assert_false(stream_is_idle(a.s));
    assert_float_equal(a.host[3], 0, 0);
    stream_synchronize(a.s);
    assert_true(stream_is_idle(a.s));
    assert_float_equal(a.host[2], 42, 0);
    assert_float_equal(a.host[3], 3, 0);
}

static void events_order_streams(void **) {
    array a(4), b(4);
    a.upload();
    event loaded = event_record(a.s);
    a.launch(1, 32, add_index, a.device, 4);
    stream_wait(b.s, loaded);
    enqueue_copy(b.s, b.device, a.device, a.bytes());
    b.download();
    stream_synchronize(b.s); /* runs the upload of a, not its kernel */
    assert_float_equal(b.host[3], 0, 0);
    assert_false(stream_is_idle(a.s));
    event_synchronize(event_record(a.s));
    assert_true(stream_is_idle(a.s));
}

static void a_captured_graph_runs_when_it_is_asked_to(void **) {
    array a(4);
    a.upload();
    capture_begin(a.s);
    a.launch(1, 32, add_index, a.device, 4);
    graph g = capture_end(a.s);
    for (int i = 0; i < 3; i++)
        graph_launch(g);
    a.download();
    stream_synchronize(a.s);
    assert_float_equal(a.host[3], 0 + 3 * 3, 0);
}

static void memory_has_a_capacity(void **) {
    setenv("MOCHI_CUDA_HOST_MEMORY", "1000", 1);
    assert_int_equal(memory_capacity(), 1000);
    void *block = memory_allocate(600);
    assert_non_null(block);
    assert_int_equal(memory_left(), 400);
    assert_null(memory_allocate(401));
    memory_release(block);
    assert_int_equal(memory_left(), 1000);
    unsetenv("MOCHI_CUDA_HOST_MEMORY");
}

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_thread_of_a_grid_runs_once),
        cmocka_unit_test(barriers_hold_a_whole_block),
        cmocka_unit_test(warps_exchange_as_on_a_device),
        cmocka_unit_test(shared_memory_begins_as_nothing_in_every_block),
        cmocka_unit_test(blocks_are_on_the_device_together),
        cmocka_unit_test(nothing_runs_before_it_is_waited_for),
        cmocka_unit_test(events_order_streams),
        cmocka_unit_test(a_captured_graph_runs_when_it_is_asked_to),
        cmocka_unit_test(memory_has_a_capacity),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
