/* tests/cuda_host/seam_runtime.cpp - the twin of tensor/cuda/seams/seam_runtime.c: memory, stream, graphs. */
#include "tests/cuda_host/seam.h"
#include "tests/cuda_host/violation.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace cuda_host;

struct seam {
    stream *on;
    std::size_t most;    /* most bytes of the device in use; 0: no limit */
    std::uint64_t moves; /* how often the workspace has moved */
    void *workspace;
    std::size_t workspace_bytes;
    bool broken;         /* the current capture is broken */
    const char *failure; /* the first failure of a queued operation */
    int device;
};

struct seam_event {
    seam *of;
    event at;
    std::chrono::steady_clock::time_point time;
};

struct seam_graph {
    graph recorded;
};

static std::atomic<bool> device_chosen;

stream *cuda_host::stream_of(seam *s) {
    if (!s)
        violation("a call without a seam");
    return s->on;
}

const char *cuda_host::planned_failure(const char *function) {
    const char *name = std::getenv("MOCHI_CUDA_HOST_FAIL");
    return name && std::strcmp(name, function) == 0 ? "a failure planned by the test" : nullptr;
}

static bool names(const char *list, const char *function) {
    std::size_t n = std::strlen(function);
    for (const char *at = list; at && (at = std::strstr(at, function)); at += n)
        if ((at == list || at[-1] == ',') && (at[n] == 0 || at[n] == ','))
            return true;
    return false;
}

static const char previous[] = "operation failed due to a previous error during capture";

const char *cuda_host::library_failure(seam *s, const char *function) {
    if (const char *why = planned_failure(function))
        return why;
    if (!is_capturing(stream_of(s)))
        return nullptr;
    const char *list = std::getenv("MOCHI_CUDA_HOST_BREAK");
    bool before = s->broken, quiet = names(list, "quietly");
    s->broken = before || names(list, function);
    if (!s->broken || quiet)
        return nullptr;
    return before ? previous : "operation not permitted when stream is capturing";
}

/* Returns the device's error once it has stopped (MOCHI_CUDA_HOST_STOP): it comes late, and stays. */
static const char *stopped() {
    return device_stopped() ? "an illegal memory access was encountered" : nullptr;
}

/* Whether an operation can be queued. After a broken capture it cannot; the failure is recorded. */
static bool may_queue(seam *s) {
    if (s->broken && is_capturing(stream_of(s)))
        s->failure = s->failure ? s->failure : previous;
    return !(s->broken && is_capturing(s->on));
}

int seam_count(void) {
    const char *count = std::getenv("MOCHI_CUDA_HOST_DEVICES");
    return count ? std::atoi(count) : 1;
}

const char *seam_open(seam **s, const seam_choice *which, char *text, size_t bytes) {
    int devices = seam_count();
    if (const char *why = planned_failure("seam_open"))
        return why;
    if (which->device < 0 || which->device >= devices) {
        std::snprintf(text, bytes, "there is no cuda:%d, expected cuda:0 to cuda:%d", which->device, devices - 1);
        return text;
    }
    device_chosen = true;
    *s = new seam{stream_create(), which->most, 0, nullptr, 0, false, nullptr, which->device};
    if (has_workspace(*s, 1 << 12)) /* the workspace for products */
        return nullptr;
    seam_close(*s);
    *s = nullptr;
    return "no memory for the workspace of cuBLAS";
}

bool cuda_host::has_workspace(seam *s, std::size_t bytes) {
    if (s->workspace && bytes <= s->workspace_bytes)
        return true;
    if (is_capturing(stream_of(s)))
        return false;
    if (s->workspace)
        seam_release(s, s->workspace);
    s->moves++;
    s->workspace = seam_allocate(s, bytes);
    s->workspace_bytes = s->workspace ? bytes : 0;
    return s->workspace;
}

const char *seam_reason(seam *, const char *text) {
    return text;
}

void seam_close(seam *s) {
    if (s->workspace)
        seam_release(s, s->workspace);
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
    std::snprintf(text, bytes, "twins of cuBLAS, cuSOLVER and cuDNN");
}

const char *seam_failure(seam *s) {
    const char *failure = stopped() ? stopped() : s->failure;
    s->failure = nullptr;
    return failure ? failure : planned_failure("seam_failure");
}

void *seam_allocate(seam *s, size_t bytes) {
    if (is_capturing(stream_of(s)))
        violation("memory is asked for while the stream is captured");
    bool within = !s->most || memory_used() + bytes <= s->most;
    if (stopped() || allocation_fails())
        return nullptr;
    void *block = within ? memory_allocate(bytes) : nullptr;
    if (block)
        return block;
    stream_synchronize(stream_of(s)); /* frees what the stream's queued work releases */
    return !s->most || memory_used() + bytes <= s->most ? memory_allocate(bytes) : nullptr;
}

void seam_release(seam *s, void *block) {
    if (is_capturing(stream_of(s)))
        violation("memory is given back while the stream is captured");
    stream_enqueue_books(stream_of(s), [block] { memory_release(block); });
}

void seam_memory(seam *s, size_t *held, size_t *left) {
    std::size_t bound = s->most ? s->most : memory_capacity();
    std::size_t used = memory_used();
    *held = memory_held();
    *left = memory_left();
    if (*left > bound - (used < bound ? used : bound))
        *left = bound - (used < bound ? used : bound);
}

const char *seam_trim(seam *s) {
    if (s->workspace) {
        seam_release(s, s->workspace);
        s->moves++;
    }
    s->workspace = nullptr;
    s->workspace_bytes = 0;
    const char *reason = seam_wait(s);
    memory_trim();
    return reason;
}

size_t seam_most_shared(const seam *) {
    return max_shared_bytes;
}

size_t seam_peak(seam *, bool restart) {
    return memory_peak(restart);
}

void *seam_pin(size_t bytes) {
    if (!device_chosen) /* on a real device every rank would make a context on device 0 */
        violation("page-locked memory before a device is chosen");
    return planned_failure("seam_pin") ? nullptr : pinned_allocate(bytes);
}

void seam_unpin(void *block) {
    pinned_release(block);
}

void seam_upload(seam *s, void *device, const void *pinned, size_t bytes) {
    if (may_queue(s))
        enqueue_upload(stream_of(s), device, pinned, bytes);
}

void seam_download(seam *s, void *pinned, const void *device, size_t bytes) {
    if (may_queue(s))
        enqueue_download(stream_of(s), pinned, device, bytes);
}

void seam_copy(seam *s, void *to, const void *from, size_t bytes) {
    if (may_queue(s))
        enqueue_copy(stream_of(s), to, from, bytes);
}

void seam_fill(seam *s, void *device, int byte, size_t bytes) {
    if (may_queue(s))
        enqueue_fill(stream_of(s), device, byte, bytes);
}

const char *seam_wait(seam *s) {
    stream_synchronize(stream_of(s));
    return stopped() ? stopped() : planned_failure("seam_wait");
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
    return stopped() ? stopped() : planned_failure("seam_event_wait");
}

float seam_event_milliseconds(const seam_event *from, const seam_event *to) {
    return std::chrono::duration<float, std::milli>(to->time - from->time).count();
}

void *seam_stream(const seam *s) {
    return s->on;
}

const char *seam_capture(seam *s) {
    if (const char *why = planned_failure("seam_capture"))
        return why;
    if (stopped())
        return stopped();
    capture_begin(stream_of(s));
    s->broken = false;
    return nullptr;
}

const char *seam_capture_end(seam *s, seam_graph **g) {
    bool broken = s->broken;
    graph recorded = capture_end(stream_of(s));
    s->broken = false;
    s->failure = broken ? nullptr : s->failure;
    if (broken)
        return previous;
    if (const char *why = planned_failure("seam_capture_end"))
        return why;
    *g = new seam_graph{recorded};
    return nullptr;
}

uint64_t seam_moves(const seam *s) {
    return s->moves;
}

void seam_graph_launch(seam *s, seam_graph *g) {
    stream_of(s);
    graph_launch(g->recorded);
}

void seam_graph_release(seam_graph *g) {
    delete g;
}

void cuda_host::note_failure(seam *s, const char *text) {
    s->failure = s->failure ? s->failure : text;
}

bool cuda_host::kernel_may_queue(seam *s) {
    return may_queue(s);
}

/* Orders the stream with another. The default streams of the emulated device run at once, without a queue. */
void seam_order(seam *s, void *other, bool theirs_first) {
    bool at_once = reinterpret_cast<std::uintptr_t>(other) <= 2;
    auto *theirs = static_cast<stream *>(other);
    if (at_once && !theirs_first)
        stream_synchronize(stream_of(s));
    else if (!at_once)
        stream_wait(theirs_first ? stream_of(s) : theirs, event_record(theirs_first ? theirs : stream_of(s)));
}
