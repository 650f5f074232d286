/* tests/cuda_host/stream.cpp - the queues of streams. */
#include "tests/cuda_host/stream.h"

#include "tests/cuda_host/violation.h"

#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <utility>

namespace cuda_host {

struct stream {
    std::deque<piece> queue;
    std::uint64_t enqueued = 0, done = 0;
    bool running = false;
    stream *beside = nullptr; /* the second of a pair */
    bool second = false;
    std::uint64_t forks = 0;
    graph *captured = nullptr; /* the capture that it is in: that of the stream that began it */
    graph recorded;
};

stream *stream_create() {
    return new stream;
}

stream *stream_create_beside(stream *first) {
    first->beside = new stream;
    first->beside->second = true;
    return first->beside;
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
    if (p.run && (!p.of_device || !device_stopped()))
        p.run();
}

static piece take_first(stream *s) {
    piece first = std::move(s->queue.front());
    s->queue.pop_front();
    return first;
}

/* What the second stream of a pair does while nobody waits for it. */
static void run_ready(stream *s) {
    if (!s || s->running)
        return;
    memory_window window;
    s->running = true;
    while (!s->queue.empty()) {
        const piece &first = s->queue.front();
        if (first.late || (first.after.on && first.after.on->done < first.after.position))
            break;
        run_piece(take_first(s));
        s->done++;
    }
    s->running = false;
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
        run_ready(s->beside);
    }
    s->running = false;
}

void stream_release(stream *s) {
    stream_synchronize(s);
    delete s;
}

static void push(stream *s, piece p) {
    p.late = s->second && p.after.on && s->forks++ % 2;
    s->queue.push_back(std::move(p));
    s->enqueued++;
    if (s->second)
        run_ready(s);
}

static void push_or_record(stream *s, piece p) {
    if (s->captured)
        s->captured->push_back({s, std::move(p)});
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

bool stream_is_idle(const stream *s) {
    return s->done == s->enqueued;
}

/* How many pieces of a stream a graph has. */
static std::uint64_t count_of(const graph &g, const stream *s) {
    std::uint64_t count = 0;
    for (const graph_node &n : g)
        count += n.on == s;
    return count;
}

event event_record(stream *s) {
    return s->captured ? event{s, count_of(*s->captured, s), true} : event{s, s->enqueued};
}

void event_synchronize(const event &e) {
    if (e.on)
        run_until(e.on, e.position);
}

void stream_wait(stream *s, const event &e) {
    if (s->captured && !e.captured)
        violation("a stream that is captured waits for work that is not");
    if (e.captured && !e.on->captured)
        violation("a stream waits for an event of a capture that has ended");
    if (e.captured && s->captured != e.on->captured)
        s->captured = e.on->captured;
    push_or_record(s, {nullptr, false, e});
}

/* ---- captures ---- */

void capture_begin(stream *s) {
    if (s->captured)
        violation("a capture inside a capture");
    s->recorded.clear();
    s->captured = &s->recorded;
}

bool is_capturing(const stream *s) {
    return s->captured;
}

/* Whether s waits for all that the graph has of another stream. */
static bool waits_for_all(const graph &g, const stream *s, const stream *other) {
    std::uint64_t reached = 0;
    for (const graph_node &n : g)
        if (n.on == s && n.what.after.on == other)
            reached = n.what.after.position;
    return reached == count_of(g, other);
}

graph capture_end(stream *s, capture_use use) {
    if (s->captured != &s->recorded)
        violation("the end of a capture that was not begun");
    for (const graph_node &n : s->recorded) {
        if (n.on != s && use == capture_use::whole && !waits_for_all(s->recorded, s, n.on))
            violation("a capture ends before a stream that it has forked has joined");
        n.on->captured = nullptr;
    }
    s->captured = nullptr;
    return std::exchange(s->recorded, {});
}

/* Positions that a capture has counted from 0 are counted from where each stream is now. */
void graph_launch(const graph &g) {
    std::map<stream *, std::uint64_t> begun;
    for (const graph_node &n : g)
        begun.emplace(n.on, n.on->enqueued);
    for (const graph_node &n : g) {
        piece p = n.what;
        if (p.after.on)
            p.after = {p.after.on, begun.at(p.after.on) + p.after.position};
        push(n.on, std::move(p));
    }
}

/* ---- copies ---- */

static void move(void *to, const void *from, std::size_t bytes) {
    if (bytes)
        std::memcpy(to, from, bytes);
}

/* A copy that holds on to page-locked memory until it has run; one that is captured runs as often as its graph. */
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
