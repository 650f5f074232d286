/* tests/fuzz/fuzz_graph.h - makes a file for a loader from bytes, and checks what any accepted graph must fulfil. */
#ifndef FUZZ_GRAPH_H
#define FUZZ_GRAPH_H

#include "fuzz.h"
#include "train/graphs/loaders.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* Makes a file in memory, without a name in the file system; close the descriptor. */
static inline int fuzz_file(const uint8_t *data, size_t size, char *path, size_t bytes) {
    int fd = memfd_create("fuzz", 0);
    if (fd < 0 || (size && write(fd, data, size) != (ssize_t)size))
        abort();
    snprintf(path, bytes, "/proc/self/fd/%d", fd);
    return fd;
}

static inline void fuzz_check_rows(const mo_graph *g) {
    for (int64_t u = 0; u < g->nodes; u++)
        for (int64_t i = g->row_pointer[u]; i < g->row_pointer[u + 1]; i++)
            if (g->column[i] == u || (i > g->row_pointer[u] && g->column[i - 1] >= g->column[i]) ||
                !mo_graph_has_edge(g, g->column[i], u))
                abort();
}

/* Aborts if an accepted graph breaks a promise of train.h; releases it. */
static inline void fuzz_finish_graph(mo_context *ctx, int64_t live, mo_graph *g) {
    bool read = g;
    if (g) {
        if (g->graph_offset[0] != 0 || g->graph_offset[g->graphs] != g->nodes || g->row_pointer[g->nodes] != g->nnz)
            abort();
        fuzz_check_rows(g);
        for (int64_t i = 0; i < g->n_labels; i++)
            if (g->label[i] < -1 || g->label[i] >= g->classes)
                abort();
        for (int64_t i = 0; i < g->divisions * g->nodes; i++)
            if (g->division[i] >= MO_DIVISIONS)
                abort();
        for (int64_t i = 0; i < g->feature_nnz; i++)
            if (g->feature_column[i] < 0 || g->feature_column[i] >= g->features)
                abort();
    }
    mo_graph_release(g);
    fuzz_finish(ctx, live, read);
}

#endif
