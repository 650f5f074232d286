/* tests/cuda_host/stream.cpp - the queues of streams. */
#include "tests/cuda_host/stream.h"

#include "tests/cuda_host/violation.h"

#include <cstdlib>
#include <cstring>
#include <deque>
#include <utility>

namespace cuda_host {

struct piece {
    work run;
    bool of_device;
};

struct stream {
    std::deque<piece> queue;
    std::uint64_t enqueued = 0, done = 0;
    bool capturing = false, running = false;
    graph captured;
};

stream *stream_create() {
    return new stream;
}

static struct { long planned, run; /* the piece at which the device stops; how many have run */ } stop;

bool device_stopped() {
    const char *text = std::getenv("MOCHI_CUDA_HOST_STOP");
    long planned = text ? std::atol(text) : 0;
    if (planned != stop.planned)
        stop.run = 0;
    stop.planned = planned;
    return planned && stop.run >= planned;
}

/* One piece of work. From the stop on the device does nothing. */
static void run_piece(const piece &p) {
    device_stopped();
    stop.run += p.of_device;
    if (!p.of_device || !device_stopped())
        p.run();
}

static void run_until(stream *s, std::uint64_t position) {
    if (s->capturing)
        violation("a stream is waited for while it is captured");
    if (s->done >= position)
        return;
    if (s->running)
        violation("streams wait for each other");
    memory_window window;
    s->running = true;
    while (s->done < position) {
        piece next = std::move(s->queue.front());
        s->queue.pop_front();
        run_piece(next);
        s->done++;
    }
    s->running = false;
}

void stream_release(stream *s) {
    stream_synchronize(s);
    delete s;
}

void stream_enqueue(stream *s, work w) {
    if (s->capturing) {
        s->captured.push_back(std::move(w));
        return;
    }
    s->queue.push_back({std::move(w), true});
    s->enqueued++;
}

void stream_enqueue_books(stream *s, work w) {
    s->queue.push_back({std::move(w), false});
    s->enqueued++;
}

void stream_synchronize(stream *s) {
    run_until(s, s->enqueued);
}

bool stream_is_idle(const stream *s) {
    return s->done == s->enqueued;
}

event event_record(stream *s) {
    return {s, s->enqueued};
}

void event_synchronize(const event &e) {
    if (e.on)
        run_until(e.on, e.position);
}

void stream_wait(stream *s, const event &e) {
    stream_enqueue(s, [e] { event_synchronize(e); });
}

void capture_begin(stream *s) {
    if (s->capturing)
        violation("a capture inside a capture");
    s->capturing = true;
    s->captured.clear();
}

bool is_capturing(const stream *s) {
    return s->capturing;
}

graph capture_end(stream *s) {
    if (!s->capturing)
        violation("the end of a capture that was not begun");
    s->capturing = false;
    return std::exchange(s->captured, {});
}

static void move(void *to, const void *from, std::size_t bytes) {
    if (bytes)
        std::memcpy(to, from, bytes);
}

/* A copy that holds on to page-locked memory until it has run; one that is captured runs as often as its graph. */
static void enqueue_pinned(stream *s, const void *host, work copy) {
    if (s->capturing) {
        stream_enqueue(s, copy);
        return;
    }
    pinned_queued(host, 1);
    stream_enqueue(s, copy);
    stream_enqueue_books(s, [host] { pinned_queued(host, -1); });
}

void enqueue_upload(stream *s, void *device, const void *host, std::size_t bytes) {
    require_device(device, bytes, "upload: destination");
    require_pinned(host, bytes, "upload: source");
    enqueue_pinned(s, host, [=] { move(device, host, bytes); });
}

void enqueue_download(stream *s, void *host, const void *device, std::size_t bytes) {
    require_pinned(host, bytes, "download: destination");
    require_device(device, bytes, "download: source");
    enqueue_pinned(s, host, [=] { move(host, device, bytes); });
}

void enqueue_copy(stream *s, void *to, const void *from, std::size_t bytes) {
    require_device(to, bytes, "copy: destination");
    require_device(from, bytes, "copy: source");
    stream_enqueue(s, [=] { move(to, from, bytes); });
}

void enqueue_fill(stream *s, void *device, int byte, std::size_t bytes) {
    require_device(device, bytes, "fill: destination");
    stream_enqueue(s, [=] {
        if (bytes)
            std::memset(device, byte, bytes);
    });
}

} // namespace cuda_host
