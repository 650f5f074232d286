/* tests/cuda_host/seam_runtime.cpp - the twin of tensor/cuda/seam_runtime.c: memory, stream, graphs. */
#include "tests/cuda_host/seam.h"
#include "tests/cuda_host/violation.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace cuda_host;

struct seam {
    stream *on;
    std::uint64_t moves; /* none of its own */
};

struct seam_event {
    seam *of;
    event at;
    std::chrono::steady_clock::time_point time;
};

struct seam_graph {
    graph recorded;
};

stream *cuda_host::stream_of(seam *s) {
    if (!s)
        violation("a call without a seam");
    return s->on;
}

const char *cuda_host::planned_failure(const char *function) {
    const char *name = std::getenv("MOCHI_CUDA_HOST_FAIL");
    return name && std::strcmp(name, function) == 0 ? "a failure planned by the test" : nullptr;
}

const char *seam_open(seam **s) {
    if (const char *why = planned_failure("seam_open"))
        return why;
    *s = new seam{stream_create(), 0};
    return nullptr;
}

void seam_close(seam *s) {
    stream_release(stream_of(s));
    delete s;
}

const char *seam_describe(char *text, size_t bytes) {
    if (const char *why = planned_failure("seam_open"))
        return why;
    std::snprintf(text, bytes, "emulated device, %zu MiB", memory_capacity() >> 20);
    return nullptr;
}

void seam_libraries(char *text, size_t bytes) {
    std::snprintf(text, bytes, "twins of cuBLAS, cuSOLVER, cuSPARSE and cuDNN");
}

const char *seam_failure(seam *s) {
    stream_of(s);
    return planned_failure("seam_failure");
}

void *seam_allocate(seam *s, size_t bytes) {
    if (is_capturing(stream_of(s)))
        violation("memory is asked for while the stream is captured");
    void *block = memory_allocate(bytes);
    if (block)
        return block;
    stream_synchronize(stream_of(s)); /* what is released there can be had here */
    return memory_allocate(bytes);
}

void seam_release(seam *s, void *block) {
    if (is_capturing(stream_of(s)))
        violation("memory is given back while the stream is captured");
    stream_enqueue(stream_of(s), [block] { memory_release(block); });
}

void seam_memory(seam *, size_t *held, size_t *left) {
    *left = memory_left();
    *held = memory_capacity() - *left;
}

void *seam_pin(size_t bytes) {
    return planned_failure("seam_pin") ? nullptr : pinned_allocate(bytes);
}

void seam_unpin(void *block) {
    pinned_release(block);
}

void seam_upload(seam *s, void *device, const void *pinned, size_t bytes) {
    enqueue_upload(stream_of(s), device, pinned, bytes);
}

void seam_download(seam *s, void *pinned, const void *device, size_t bytes) {
    enqueue_download(stream_of(s), pinned, device, bytes);
}

void seam_copy(seam *s, void *to, const void *from, size_t bytes) {
    enqueue_copy(stream_of(s), to, from, bytes);
}

void seam_fill(seam *s, void *device, int byte, size_t bytes) {
    enqueue_fill(stream_of(s), device, byte, bytes);
}

const char *seam_wait(seam *s) {
    stream_synchronize(stream_of(s));
    return planned_failure("seam_wait");
}

seam_event *seam_event_create(seam *s) {
    return planned_failure("seam_event_create") ? nullptr : new seam_event{s, {}, {}};
}

void seam_event_release(seam_event *e) {
    delete e;
}

void seam_event_record(seam *s, seam_event *e) {
    stream_enqueue(stream_of(s), [e] { e->time = std::chrono::steady_clock::now(); });
    e->at = event_record(stream_of(s));
}

const char *seam_event_wait(seam_event *e) {
    event_synchronize(e->at);
    return planned_failure("seam_event_wait");
}

float seam_event_milliseconds(const seam_event *from, const seam_event *to) {
    return std::chrono::duration<float, std::milli>(to->time - from->time).count();
}

const char *seam_capture(seam *s) {
    if (const char *why = planned_failure("seam_capture"))
        return why;
    capture_begin(stream_of(s));
    return nullptr;
}

const char *seam_capture_end(seam *s, seam_graph **g) {
    graph recorded = capture_end(stream_of(s));
    if (const char *why = planned_failure("seam_capture_end"))
        return why;
    *g = new seam_graph{recorded};
    return nullptr;
}

uint64_t seam_moves(const seam *s) {
    return s->moves;
}

void seam_graph_launch(seam *s, seam_graph *g) {
    for (const work &w : g->recorded)
        stream_enqueue(stream_of(s), w);
}

void seam_graph_release(seam_graph *g) {
    delete g;
}
