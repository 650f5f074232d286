/* tools/bench/probe/measure.c - times work on the host, on the device and in a replayed graph; allocates device
 * memory. */
#include "tools/bench/probe/probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TIMES = 20, REPLAYS = 20, WARM = 3 };

double probe_now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void print_text(const char *text) {
    putchar('"');
    for (; *text; text++)
        putchar(*text == '"' || *text == '\\' || (unsigned char)*text < ' ' ? '\'' : *text);
    putchar('"');
}

void probe_stop(const char *what, const char *reason) {
    printf("{\"what\":\"%s\",\"stopped\":", what);
    print_text(reason ? reason : "no memory");
    printf("}\n");
    exit(1);
}

/* Queues the work `times` times. Returns the reason if a call is refused, else NULL. */
static const char *repeat(seam *s, probe_work queue, const void *of, int times) {
    const char *refused = NULL;
    for (int i = 0; i < times && !refused; i++)
        refused = queue(s, of);
    return refused;
}

static const char *finish(seam *s) {
    const char *failed = seam_wait(s), *queued = seam_failure(s);
    return failed ? failed : queued;
}

/* Calls `queue` `times` times between two events on the device. Returns the microseconds between the events. */
static double device_us(seam *s, probe_work queue, const void *of, int times) {
    seam_event *from = seam_event_create(s), *to = seam_event_create(s);
    if (!from || !to)
        probe_stop("event", NULL);
    seam_event_record(s, from);
    repeat(s, queue, of, times);
    seam_event_record(s, to);
    seam_event_wait(to);
    double us = 1e3 * seam_event_milliseconds(from, to);
    seam_event_release(from);
    seam_event_release(to);
    return us;
}

static const char *launch_graph(seam *s, const void *graph) {
    seam_graph_launch(s, (seam_graph *)graph);
    return NULL;
}

/* Records `times` calls of `queue` as one graph. Returns why they cannot be recorded; else NULL, and *us = microseconds
 * per call. */
static const char *replay(seam *s, probe_work queue, const void *of, int times, int replays, double *us) {
    seam_graph *graph = NULL;
    const char *reason = seam_capture(s);
    if (reason)
        return reason;
    const char *refused = repeat(s, queue, of, times);
    reason = seam_capture_end(s, &graph);
    reason = refused ? refused : reason;
    if (!reason) {
        repeat(s, launch_graph, graph, WARM);
        *us = device_us(s, launch_graph, graph, replays) / replays / times;
        reason = finish(s);
    }
    seam_graph_release(graph);
    return reason;
}

void probe_measure(const probe *p, const char *what, probe_work queue, const void *of) {
    int times = p->dry ? 2 : TIMES, replays = p->dry ? 2 : REPLAYS;
    const char *refused = repeat(p->s, queue, of, WARM), *failed = finish(p->s);
    refused = refused ? refused : failed;
    printf("{\"what\":");
    print_text(what);
    if (refused) {
        printf(",\"refused\":");
        print_text(refused);
    } else {
        double begin = probe_now_us();
        repeat(p->s, queue, of, times);
        double host = (probe_now_us() - begin) / times, one = 0;
        finish(p->s);
        double eager = device_us(p->s, queue, of, times) / times;
        const char *reason = replay(p->s, queue, of, times, replays, &one);
        printf(",\"host_us\":%.2f,\"eager_us\":%.2f,\"replay_us\":", host, eager);
        if (reason)
            printf("null");
        else
            printf("%.2f", one);
        printf(",\"capture\":");
        print_text(reason ? reason : "yes");
    }
    printf("}\n");
    fflush(stdout);
}

/* ---- memory ---- */

void *probe_memory(const probe *p, size_t bytes) {
    void *block = seam_allocate(p->s, bytes);
    if (!block)
        probe_stop("memory", NULL);
    return block;
}

void probe_send(const probe *p, void *device, const void *values, size_t bytes) {
    void *pinned = seam_pin(bytes);
    if (!pinned)
        probe_stop("page-locked memory", NULL);
    memcpy(pinned, values, bytes);
    seam_upload(p->s, device, pinned, bytes);
    const char *reason = finish(p->s);
    if (reason)
        probe_stop("upload", reason);
    seam_unpin(pinned);
}

void probe_receive(const probe *p, void *values, const void *device, size_t bytes) {
    void *pinned = seam_pin(bytes);
    if (!pinned)
        probe_stop("page-locked memory", NULL);
    seam_download(p->s, pinned, device, bytes);
    const char *reason = finish(p->s);
    if (reason)
        probe_stop("download", reason);
    memcpy(values, pinned, bytes);
    seam_unpin(pinned);
}

float *probe_values(const probe *p, int64_t n, float scale) {
    size_t bytes = (size_t)n * sizeof(float);
    float *values = malloc(bytes), *device = probe_memory(p, bytes);
    if (!values)
        probe_stop("memory", NULL);
    uint32_t state = 1;
    for (int64_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = scale * ((float)(state >> 8) / (1 << 23) - 1);
    }
    probe_send(p, device, values, bytes);
    free(values);
    return device;
}
