/* tools/bench/bench_svd.c - `mochi bench svd`: the truncated SVD of a graph, two power iterations.
 *
 * A case is a number of nodes n, for a random graph of 5 n pairs of nodes, or a graph by name or path. Operations
 * counted for the algorithm of Halko, Martinsson and Tropp: products with the matrix, 2 nnz q each: one for the range,
 * two per power iteration, one for the projection; a Householder QR, 4 n q^2, after each product but the last; and Q^T
 * (A Q) and Q times the small basis, 2 n q^2 each. */
#include "tools/bench/bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POWER_ITERATIONS = 2, SMALLEST = 2, LARGEST = 1 << 26 };

/* The number of nodes that a case gives; 0 if it names a graph. */
static int64_t nodes_of(const char *name) {
    char *end;
    long long n = strtoll(name, &end, 10);
    return end != name && *end == '\0' ? n : 0;
}

bool bench_graph_knows(const char *name) {
    int64_t n = nodes_of(name);
    return *name != 0 && (n == 0 || (n >= SMALLEST && n <= LARGEST));
}

static mo_graph *random_graph(mo_context *ctx, int64_t nodes) {
    int64_t edges = 5 * nodes, *ends = malloc(2 * (size_t)edges * sizeof *ends);
    mo_random r = mo_random_at(0, MO_PURPOSE_BENCH, 2);
    if (!ends) {
        mo_fail(ctx, MO_MEMORY, "bench: out of memory for %" PRId64 " edges", edges);
        return NULL;
    }
    for (int64_t i = 0; i < 2 * edges; i++)
        ends[i] = mo_random_below(&r, nodes);
    mo_graph *graph = mo_graph_from_edges(ctx, "random", nodes, edges, ends, ends + edges);
    free(ends);
    return graph;
}

mo_graph *bench_graph(mo_context *ctx, const char *name) {
    int64_t nodes = nodes_of(name);
    return nodes > 0 ? random_graph(ctx, nodes) : mo_graph_open(ctx, name);
}

typedef struct decomposition {
    mo_tape *t;
    const mo_csr *A;
    int rank;
    mo_tensor *U, *S, *V;
} decomposition;

static void decompose_once(void *state) {
    decomposition *d = state;
    mo_tape_reset(d->t);
    mo_sparse_svd(d->t, d->A, d->rank, POWER_ITERATIONS, 0, &d->U, &d->S, &d->V, NULL);
}

/* Copies a tensor of the tape to the list of arrays. */
static void keep_svd_array(mo_arrays *arrays, const char *name, const mo_tensor *T) {
    mo_arrays_take(arrays, name, mo_tensor_clone(arrays->ctx, T));
}

/* Writes U, S and V of the last run as an .npz. */
static bool save_svd_npz(mo_context *ctx, const decomposition *d, const char *path) {
    mo_arrays *arrays = mo_arrays_create(ctx);
    if (arrays) {
        keep_svd_array(arrays, "U", d->U);
        keep_svd_array(arrays, "S", d->S);
        keep_svd_array(arrays, "V", d->V);
        mo_npz_write(arrays, path);
    }
    mo_arrays_release(arrays);
    return mo_ok(ctx);
}

static bool run_svd_case(mo_context *ctx, const bench_options *o, const char *name, double rate) {
    mo_graph *graph = bench_graph(ctx, name);
    mo_csr *A = graph ? mo_normalized_adjacency(graph, MO_F32) : NULL;
    mo_graph_release(graph);
    decomposition d = {.t = mo_tape_create(ctx, MO_EVAL), .A = A};
    bool fine = A && d.t;
    if (fine) {
        int64_t nodes = mo_csr_rows(A);
        d.rank = (int)(o->dim < nodes ? o->dim : nodes);
        bench_record record = {.name = name, .variant = "randomized", .rows = nodes, .gemm_rate = rate};
        double n = (double)nodes, q = d.rank, nnz = (double)mo_csr_nnz(A);
        int products = 2 * POWER_ITERATIONS + 2;
        record.gflop = 1e-9 * (products * 2 * nnz * q + (products - 1) * 4 * n * q * q + 4 * n * q * q);
        fine = bench_run(ctx, o, decompose_once, &d, &record) && bench_print(o, &record);
    }
    if (fine && o->save)
        fine = save_svd_npz(ctx, &d, o->save);
    mo_tape_release(d.t);
    mo_csr_release(A);
    return fine;
}

bool bench_svd(mo_context *ctx, const bench_options *o) {
    double rate = bench_gemm_rate(ctx, o);
    int n = o->cases.count ? o->cases.count : 1;
    for (int i = 0; i < n && mo_ok(ctx); i++)
        if (!run_svd_case(ctx, o, o->cases.count ? o->cases.items[i] : "20000", rate))
            break;
    return mo_ok(ctx);
}
