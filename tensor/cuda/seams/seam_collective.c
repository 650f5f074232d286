/* tensor/cuda/seams/seam_collective.c - sums over the devices of several processes, by NCCL.
 *
 * NCCL is opened when processes join, not linked: it is no part of the toolkit, and a single process has no use for
 * it. */
#include "tensor/cuda/seams/seam_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void seam_identify(const seam *s, unsigned char device[SEAM_DEVICE_BYTES]) {
    struct cudaDeviceProp p = {0};
    if (cudaGetDeviceProperties(&p, s->device) != cudaSuccess)
        cudaGetLastError();
    memcpy(device, p.uuid.bytes, SEAM_DEVICE_BYTES);
}

#ifdef MO_NCCL /* defined if the build has NCCL's header */
#include <nccl.h>
#include <sched.h>
#include <time.h>

_Static_assert(SEAM_NAME_BYTES == NCCL_UNIQUE_ID_BYTES, "a name is NCCL's");

#define TEXT_OF(x) #x
#define LIBRARY_OF(major) "libnccl.so." TEXT_OF(major)

/* NCCL's functions that we call. */
typedef struct nccl {
    void *object;
    ncclResult_t (*version)(int *);
    ncclResult_t (*name)(ncclUniqueId *);
    ncclResult_t (*join)(ncclComm_t *, int, ncclUniqueId, int, ncclConfig_t *);
    ncclResult_t (*sum)(const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t);
    ncclResult_t (*leave)(ncclComm_t);
    ncclResult_t (*abandon)(ncclComm_t);
    ncclResult_t (*failure)(ncclComm_t, ncclResult_t *);
    const char *(*text)(ncclResult_t);
    const char *(*detail)(ncclComm_t);
} nccl;

/* The group of processes that sum together. */
struct seam_group {
    nccl library;
    ncclComm_t comm;
    double patience;
    bool summing; /* a sum is queued for which the host has not yet waited */
};

/* Opens the library. Returns whether it is there and has all the functions. */
static bool find_functions(nccl *n) {
    const seam_function functions[] = {
        {"ncclGetVersion", &n->version},
        {"ncclGetUniqueId", &n->name},
        {"ncclCommInitRankConfig", &n->join},
        {"ncclAllReduce", &n->sum},
        {"ncclCommDestroy", &n->leave},
        {"ncclCommAbort", &n->abandon},
        {"ncclCommGetAsyncError", &n->failure},
        {"ncclGetErrorString", &n->text},
        {"ncclGetLastError", &n->detail},
    };
    n->object = seam_library_open(LIBRARY_OF(NCCL_MAJOR), functions, sizeof functions / sizeof *functions);
    return n->object;
}

const char *seam_no_collective(void) {
    nccl n = {0};
    bool found = find_functions(&n);
    seam_library_close(n.object);
    return found ? NULL : "NCCL is not installed (" LIBRARY_OF(NCCL_MAJOR) ")";
}

void seam_describe_collective(char *text, size_t bytes) {
    nccl n = {0};
    int v = 0;
    if (find_functions(&n) && n.version(&v) == ncclSuccess)
        snprintf(text, bytes, ", NCCL %d.%d.%d", v / 10000, v / 100 % 100, v % 100);
    else
        snprintf(text, bytes, ", no NCCL");
    seam_library_close(n.object);
}

/* Returns "NCCL: unhandled cuda error", followed by the library's details of its last error; NULL if there is no
 * error. */
static const char *text_of(seam *s, const nccl *n, ncclComm_t comm, ncclResult_t code) {
    if (code == ncclSuccess)
        return NULL;
    const char *more = n->detail(comm);
    size_t length = more ? strcspn(more, "\n") : 0;
    snprintf(s->collective_text, sizeof s->collective_text, "NCCL: %s%s%.*s", n->text(code), length ? ": " : "",
        (int)length, length ? more : "");
    return s->collective_text;
}

const char *seam_name_group(seam *s, unsigned char name[SEAM_NAME_BYTES]) {
    nccl n = {0};
    ncclUniqueId id = {{0}};
    if (!find_functions(&n))
        return seam_no_collective();
    const char *reason = text_of(s, &n, NULL, n.name(&id));
    memcpy(name, id.internal, SEAM_NAME_BYTES);
    seam_library_close(n.object);
    return reason;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void pause_briefly(void) {
    nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}

static const char *late(seam *s, const char *what, double patience) {
    snprintf(
        s->collective_text, sizeof s->collective_text, "NCCL: %s in %g s: another process has stopped", what, patience);
    return s->collective_text;
}

/* Waits until NCCL's last call, which returned `code`, is done; returns why it failed, or NULL. Our calls do not block:
 * they return before they are done, so that this process can leave if another one fails. */
static const char *settle(seam *s, ncclResult_t code, const char *what, double patience) {
    struct seam_group *g = s->group;
    double end = seconds() + patience;
    for (; code == ncclInProgress && seconds() < end; pause_briefly())
        if (g->library.failure(g->comm, &code) != ncclSuccess)
            code = ncclInternalError;
    return code == ncclInProgress ? late(s, what, patience) : text_of(s, &g->library, g->comm, code);
}

const char *seam_join(seam *s, const seam_ranks *r) {
    struct seam_group *g = calloc(1, sizeof *g);
    if (!g || !find_functions(&g->library)) {
        free(g);
        return g ? seam_no_collective() : "out of host memory";
    }
    ncclUniqueId id;
    memcpy(id.internal, r->name, SEAM_NAME_BYTES);
    s->group = g;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclResult_t code = g->library.join(&g->comm, r->size, id, r->rank, &config);
    const char *reason = settle(s, code, "the processes have not joined", r->patience);
    if (reason)
        seam_leave(s, true);
    return reason;
}

void seam_leave(seam *s, bool abandon) {
    struct seam_group *g = s->group;
    if (!g)
        return;
    if (g->comm && abandon)
        g->library.abandon(g->comm);
    else if (g->comm)
        g->library.leave(g->comm);
    seam_library_close(g->library.object);
    free(g);
    s->group = NULL;
}

const char *seam_sum_ranks(seam *s, float *x, int64_t n, double patience) {
    struct seam_group *g = s->group;
    if (!g)
        return "the group of processes was left before";
    g->summing = true;
    g->patience = patience;
    ncclResult_t code = g->library.sum(x, x, (size_t)n, ncclFloat32, ncclSum, g->comm, s->stream);
    return settle(s, code, "a sum over the processes was not queued", patience);
}

/* Waits for the stream. Returns why its sum will not come, or NULL. A device that has stopped is for the caller to
 * report. */
static const char *watch(seam *s, struct seam_group *g) {
    const double begin = seconds(), brief = 1e-3;
    for (double waited = 0; cudaStreamQuery(s->stream) == cudaErrorNotReady; waited = seconds() - begin) {
        cudaGetLastError(); /* clears cudaErrorNotReady, which is no error */
        ncclResult_t code = ncclSuccess;
        g->library.failure(g->comm, &code);
        if (code != ncclSuccess && code != ncclInProgress)
            return text_of(s, &g->library, g->comm, code);
        if (waited > g->patience)
            return late(s, "a sum over the processes has not come", g->patience);
        if (waited > brief)
            pause_briefly();
        else
            sched_yield();
    }
    return NULL;
}

/* If the sum will not come, leaves the group: that ends the sum, and the stream can be waited for. */
const char *seam_wait_for_ranks(seam *s) {
    if (!s->group || !s->group->summing)
        return NULL;
    const char *reason = watch(s, s->group);
    s->group->summing = false;
    if (reason)
        seam_leave(s, true);
    return reason;
}

#else
static const char missing[] = "built without NCCL";

const char *seam_no_collective(void) {
    return missing;
}

void seam_describe_collective(char *text, size_t bytes) {
    snprintf(text, bytes, ", %s", missing);
}

const char *seam_name_group(seam *s, unsigned char name[SEAM_NAME_BYTES]) {
    return s && name ? missing : NULL;
}

const char *seam_join(seam *s, const seam_ranks *r) {
    return s && r ? missing : NULL;
}

void seam_leave(seam *s, bool abandon) {
    (void)s, (void)abandon;
}

const char *seam_sum_ranks(seam *s, float *x, int64_t n, double patience) {
    return s && x && n && patience > 0 ? missing : NULL;
}

const char *seam_wait_for_ranks(seam *s) {
    (void)s;
    return NULL;
}
#endif
