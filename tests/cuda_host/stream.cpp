/* tests/cuda_host/stream.cpp - streams and their queues of work. */
#include "tests/cuda_host/stream.h"

#include "tests/cuda_host/violation.h"

#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace cuda_host {

struct stream {
    std::deque<piece> queue;
    std::uint64_t enqueued = 0, done = 0;
    bool running = false;
    bool captured = false;
    std::vector<piece> recorded;
};

stream *stream_create() {
    return new stream;
}

static struct { long planned, run; /* the device stops at operation `planned`; `run` operations have run */ } stop;

bool device_stopped() {
    const char *text = std::getenv("MOCHI_CUDA_HOST_STOP");
    long planned = text ? std::atol(text) : 0;
    if (planned != stop.planned)
        stop.run = 0;
    stop.planned = planned;
    return planned && stop.run >= planned;
}

/* Runs one operation; once stopped, the device does nothing. */
static void run_piece(const piece &p) {
    device_stopped();
    stop.run += p.of_device;
    if (p.run && (!p.of_device || !device_stopped()))
        p.run();
}

static piece take_first(stream *s) {
    piece first = std::move(s->queue.front());
    s->queue.pop_front();
    return first;
}

static void run_until(stream *s, std::uint64_t position) {
    if (s->captured)
        violation("a stream is waited for while it is captured");
    if (s->done >= position)
        return;
    if (s->running)
        violation("streams wait for each other");
    memory_window window;
    s->running = true;
    while (s->done < position) {
        piece next = take_first(s);
        event_synchronize(next.after);
        run_piece(next);
        s->done++;
    }
    s->running = false;
}

void stream_release(stream *s) {
    static std::vector<std::unique_ptr<stream>> released; /* other streams may still wait for its events */
    stream_synchronize(s);
    released.emplace_back(s);
}

static void push(stream *s, piece p) {
    s->queue.push_back(std::move(p));
    s->enqueued++;
}

static void push_or_record(stream *s, piece p) {
    if (s->captured)
        s->recorded.push_back(std::move(p));
    else
        push(s, std::move(p));
}

void stream_enqueue(stream *s, work w) {
    push_or_record(s, {std::move(w), true, {}});
}

void stream_enqueue_books(stream *s, work w) {
    push(s, {std::move(w), false, {}});
}

void stream_synchronize(stream *s) {
    run_until(s, s->enqueued);
}

event event_record(stream *s) {
    if (s->captured)
        violation("an event of a capture");
    return {s, s->enqueued};
}

void event_synchronize(const event &e) {
    if (e.on)
        run_until(e.on, e.position);
}

void stream_wait(stream *s, const event &e) {
    if (s->captured)
        violation("a stream that is captured waits for work that is not");
    push(s, {nullptr, false, e});
}

/* ---- captures ---- */

void capture_begin(stream *s) {
    if (s->captured)
        violation("a capture inside a capture");
    s->recorded.clear();
    s->captured = true;
}

bool is_capturing(const stream *s) {
    return s->captured;
}

graph capture_end(stream *s) {
    if (!s->captured)
        violation("the end of a capture that was not begun");
    s->captured = false;
    return {s, std::exchange(s->recorded, {})};
}

void graph_launch(const graph &g) {
    for (const piece &p : g.pieces)
        push(g.on, p);
}

/* ---- copies ---- */

static void move(void *to, const void *from, std::size_t bytes) {
    if (bytes)
        std::memcpy(to, from, bytes);
}

/* Queues a copy and keeps its page-locked memory until it has run. A captured copy keeps nothing: it runs whenever its
 * graph does. */
static void enqueue_pinned(stream *s, const void *host, work copy) {
    if (s->captured) {
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
