/* tests/cuda_host/stream.h - streams that run nothing until a wait: work is queued, and runs in order when its stream,
 * or an event recorded on it, is waited for. Code that reads results without waiting reads old values. */
#ifndef CUDA_HOST_STREAM_H
#define CUDA_HOST_STREAM_H

#include "tests/cuda_host/block.h"
#include "tests/cuda_host/memory.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <tuple>
#include <vector>

namespace cuda_host {

using work = std::function<void()>; /* owns copies of its arguments, as a kernel's launch does */

struct stream;

/* A point in a stream; an event that was never recorded is complete. */
struct event {
    stream *on = nullptr;
    std::uint64_t position = 0;
};

/* An entry of a queue: an operation, or a wait for an event. */
struct piece {
    work run;
    bool of_device = false;
    event after;
};

/* What a capture has recorded. */
struct graph {
    stream *on = nullptr;
    std::vector<piece> pieces;
};

stream *stream_create();
void stream_release(stream *s); /* runs the queued work first */
void stream_enqueue(stream *s, work w);
/* Queues bookkeeping of the host, which runs in order even if the device has stopped. */
void stream_enqueue_books(stream *s, work w);
void stream_synchronize(stream *s);

/* Whether the device has stopped. It stops at operation MOCHI_CUDA_HOST_STOP (1, 2, ..), counted from when the variable
 * was set: this and later operations do nothing. */
bool device_stopped();

event event_record(stream *s);
void event_synchronize(const event &e);
/* Work that is queued from now on runs after the event. Neither can be in a capture. */
void stream_wait(stream *s, const event &e);

/* From capture_begin to capture_end, work is recorded instead of queued; waiting for the stream is a violation. */
void capture_begin(stream *s);
graph capture_end(stream *s);
bool is_capturing(const stream *s);
void graph_launch(const graph &g);

/* Queue copies of `bytes`. Host memory, which must be page-locked, is read or written when a copy runs. */
void enqueue_upload(stream *s, void *device, const void *host, std::size_t bytes);
void enqueue_download(stream *s, void *host, const void *device, std::size_t bytes);
void enqueue_copy(stream *s, void *to, const void *from, std::size_t bytes);
void enqueue_fill(stream *s, void *device, int byte, std::size_t bytes);

/* Checks one argument of a kernel; padding can have any bytes. */
template <typename T> void require_device_argument(T *argument, const char *kernel) {
#if defined __clang__
    if (std::is_pointer_v<T>)
        require_device_words(argument, sizeof *argument, kernel);
#else
    __builtin_clear_padding(argument);
    require_device_words(argument, sizeof *argument, kernel);
#endif
}

/* Launches a kernel: copies the arguments now, converted to the declared types, and checks them for addresses that the
 * device cannot use. */
template <typename... Declared, typename... Given>
void enqueue_grid(stream *s, const grid &g, void (*kernel)(Declared...), const Given &...given) {
    const char *name = g.name;
    grid_check(g);
    std::tuple<std::decay_t<Declared>...> arguments(given...);
    std::apply([&](auto &...a) { (require_device_argument(&a, name), ...); }, arguments);
    struct call {
        void (*kernel)(Declared...);
        std::tuple<std::decay_t<Declared>...> arguments;
    };
    stream_enqueue(s, [g, c = call{kernel, arguments}]() mutable {
        grid_run(
            g, [](void *p) { std::apply(static_cast<call *>(p)->kernel, static_cast<call *>(p)->arguments); }, &c);
    });
}

template <typename... Declared, typename... Given>
void enqueue_kernel(stream *s, const char *name, index3 blocks, index3 threads, std::size_t shared_bytes,
    void (*kernel)(Declared...), const Given &...given) {
    enqueue_grid(s, {name, blocks, threads, shared_bytes}, kernel, given...);
}

} // namespace cuda_host

#endif
