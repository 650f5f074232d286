/* tools/bench_svd.c - `mochi bench svd`: the truncated SVD of a random graph, two power iterations.
 *
 * The graph has 5 n random pairs of nodes. What the algorithm needs: products with the matrix, 2 nnz q each, for the
 * range (one and two a power iteration) and the projection (one); a Householder QR, 4 n q^2, after each but the last;
 * and Q^T (A Q) and Q times the small basis, 2 n q^2 each. */
#include "tools/bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { POWER_ITERATIONS = 2, SMALLEST = 2, LARGEST = 1 << 26 };

bool bench_svd_knows(const char *name) {
    char *end;
    long long n = strtoll(name, &end, 10);
    return end != name && *end == '\0' && n >= SMALLEST && n <= LARGEST;
}

static mo_csr *random_adjacency(mo_context *ctx, int64_t nodes) {
    int64_t edges = 5 * nodes, *ends = malloc(2 * (size_t)edges * sizeof *ends);
    mo_random r = mo_random_at(0, MO_PURPOSE_BENCH, 2);
    if (!ends) {
        mo_fail(ctx, MO_MEMORY, "bench svd: out of memory");
        return NULL;
    }
    for (int64_t i = 0; i < 2 * edges; i++)
        ends[i] = mo_random_below(&r, nodes);
    mo_graph *graph = mo_graph_from_edges(ctx, "random", nodes, edges, ends, ends + edges);
    mo_csr *A = graph ? mo_normalized_adjacency(graph, MO_F32) : NULL;
    mo_graph_release(graph);
    free(ends);
    return A;
}

typedef struct decomposition {
    mo_tape *t;
    const mo_csr *A;
    int rank;
} decomposition;

static void decompose(void *state) {
    decomposition *d = state;
    mo_tensor *U, *S, *V;
    mo_sparse_svd(d->t, d->A, d->rank, POWER_ITERATIONS, 0, &U, &S, &V, NULL);
    mo_tape_reset(d->t);
}

static bool run_case(mo_context *ctx, const bench_options *o, const char *name, double rate) {
    int64_t nodes = strtoll(name, NULL, 10);
    decomposition d = {.t = mo_tape_create(ctx, MO_EVAL), .rank = o->dim};
    mo_csr *A = random_adjacency(ctx, nodes);
    d.A = A;
    bench_record record = {.name = name, .variant = "randomized", .rows = nodes, .gemm_rate = rate};
    bool fine = A && d.t;
    if (fine) {
        double n = (double)nodes, q = o->dim < nodes ? o->dim : n, nnz = (double)mo_csr_nnz(A);
        int products = 2 * POWER_ITERATIONS + 2;
        record.gflop = 1e-9 * (products * 2 * nnz * q + (products - 1) * 4 * n * q * q + 4 * n * q * q);
        fine = bench_run(ctx, o, decompose, &d, &record);
    }
    mo_tape_release(d.t);
    mo_csr_release(A);
    return fine && bench_print(o, &record);
}

bool bench_svd(mo_context *ctx, const bench_options *o) {
    double rate = bench_gemm_rate(ctx);
    int n = o->cases.count ? o->cases.count : 1;
    for (int i = 0; i < n && mo_ok(ctx); i++)
        if (!run_case(ctx, o, o->cases.count ? o->cases.items[i] : "20000", rate))
            break;
    return mo_ok(ctx);
}
