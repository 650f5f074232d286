/* train/features/feature_memory.c - the memory that features need, compared with the memory allowed.
 *
 * The SVD of the adjacency needs three matrices of n rows and d + 16 columns (svd.c). If the nodes have
 * features, this result is held while the SVD of the features needs three more matrices, which are narrower if there
 * are few features. About fifty small float64 matrices (ritz.c), as measured, and the libraries' memory are added. The
 * hop stack is made after all of these are freed. If it is on disk, one hop stays in memory. Separate blocks also keep
 * both bases until their hops are made; sums of hops are made in the bases' place. Afterwards the features are held,
 * beside the memory of their user (mo_feature_options.beside). */
#include "train/features/feature_memory.h"

#include "tensor/files/foreign_text.h"
#include "tensor/files/number_text.h"
#include "tensor/objects.h"
#include "train/features/nodes/diffuse.h"
#include "train/svd/svd.h"

#include <math.h>
#include <string.h>

enum { REAL = 4, SMALL = 400, LIBRARIES = 24 << 20, BLOCK = 32768 };
static const double FOR_STEPS = 0.25; /* this share of a device's memory is left for episodes and gradients */

double mo_encoding_bytes(const mo_feature_options *o, int64_t rows) {
    int mixed = o->reader ? 1 : 0; /* a reader reads sums of hops, which are fewer rows */
    double floats = o->form == MO_FEATURES_OF_EXAMPLES ? 12 * (o->hops + 3 - mixed) : 4.3 * (o->hops + 1);
    return (double)rows * o->dim * floats * REAL;
}

typedef struct needs {
    double inside, outside, stack; /* bytes of memory with the stack in memory, and on disk; bytes of the stack */
} needs;

/* sums: the number of sums of hops that are kept of each side instead of its hops; 0: the hops are kept. */
static needs count_needs(const mo_graph *graph, const mo_feature_options *o, int sides, int sums) {
    double n = (double)graph->nodes, hop = n * o->dim * REAL;
    double matrices = 24 * n + 12 * (double)graph->nnz + 8 * (double)graph->feature_nnz;
    double q = o->dim + MO_SVD_OVERSAMPLING, narrow = fmin(q, (double)graph->features), small = SMALL * q * q;
    double copies = 16 * (double)graph->feature_nnz; /* of the node features, and of their transpose */
    double svd = small + fmax(3 * n * q * REAL, hop + 3 * n * narrow * REAL + copies);
    double base = matrices + LIBRARIES, beside = (double)o->beside + mo_encoding_bytes(o, o->encoded);
    bool blocks = sides > 1;
    double basis = blocks ? sides * hop : 0;
    double stack = sides * (sums ? sums : o->hops + 1 + (blocks ? MO_DIFFUSED : 0)) * hop;
    double rows = blocks ? (MO_DIFFUSED + 3) * hop : 2 * hop; /* the current hop (and diffused rows), and A~ times it */
    rows += n < BLOCK ? hop : hop / n * BLOCK;                /* the block being written */
    double making = fmax(basis + svd, sums ? stack + 2 * n * MO_SLAB * REAL : basis + stack + (blocks ? 2 * hop : 0));
    return (needs){base + fmax(making, stack + beside), base + fmax(basis + fmax(svd, rows), beside), stack};
}

enum { SIZE = 24 }; /* characters of a size as text */

/* Writes a number of bytes as --memory takes it: in MiB ("52.6M") or, from 10 GiB on, in GiB, rounded by floor or
 * ceil. */
static const char *write_size(double bytes, double (*rounded)(double), char text[SIZE]) {
    bool large = bytes >= 10.0 * (1 << 30);
    mo_format(text, SIZE, "%.1f%c", rounded(10 * bytes / (large ? 1 << 30 : 1 << 20)) / 10, large ? 'G' : 'M');
    return text;
}

/* Raises that `most` bytes, the limit of the options or what is free, are too few; MO_INVALID if they suffice with the
 * stack on disk. */
static void fail_needs(const mo_graph *graph, const char *what, const needs *n, double most, bool limited) {
    char outside[SIZE], inside[SIZE], stack[SIZE], bound[SIZE], disk[160] = "", next[80] = "";
    write_size(n->outside, ceil, outside);
    write_size(n->inside, ceil, inside);
    write_size(n->stack, ceil, stack);
    write_size(most, floor, bound);
    if (n->inside > n->outside)
        mo_format(disk, sizeof disk, ", or %s with its hop stack of %s on disk (--cache DIR; cache of the options)",
            outside, stack);
    if (limited && n->outside > most)
        mo_format(next, sizeof next, ": give --memory %s (memory of the options) or more", inside);
    mo_fail(graph->ctx, n->outside > most ? MO_MEMORY : MO_INVALID, "%s: '%s' needs %s of memory%s; %s %s%s", what,
        graph->name, inside, disk, limited ? "the limit is" : "free memory is", bound, next);
}

void mo_fail_memory(const mo_graph *graph, const char *what, double bytes, double most, bool limited) {
    fail_needs(graph, what, &(needs){bytes, bytes, 0}, most, limited);
}

/* Raises if the stack cannot go to disk, or if the features exceed `limit` even with the stack on disk. */
static void check_disk(const mo_graph *graph, const mo_feature_options *o, const needs *n, double limit) {
    mo_context *ctx = graph->ctx;
    char size[SIZE];
    bool host = mo_context_device(ctx) == MO_CPU, folder = o->cache && *o->cache;
    if (n->outside > limit || (host && !folder && n->inside > limit))
        fail_needs(graph, "features", n, limit, o->memory > 0);
    else if (!host)
        mo_fail(ctx, MO_UNSUPPORTED,
            "features: '%s' needs %s of memory, above the limit; on a device they cannot stay on disk (--features disk "
            "keeps them off it)",
            graph->name, write_size(n->inside, ceil, size));
    else if (!folder)
        mo_fail(ctx, MO_INVALID,
            "features: '%s': name a folder (--cache DIR; cache of the options), where its hop stack takes %s",
            graph->name, write_size(n->stack, ceil, size));
}

static void tell_disk(const mo_graph *graph, const mo_feature_options *o, const needs *n, double limit) {
    char line[1200], shown[320];
    if (!o->notice)
        return;
    mo_format(line, sizeof line,
        "features: %.200s: %.1f GB are needed, %.1f GB are %s: the hop stack goes to %s, %.1f GB stay", graph->name,
        1e-9 * n->inside, 1e-9 * limit, o->memory > 0 ? "allowed" : "free",
        mo_quote(o->cache, strlen(o->cache), shown, sizeof shown), 1e-9 * n->outside);
    o->notice(line, o->notice_state);
}

bool mo_hops_go_to_disk(const mo_graph *graph, const mo_feature_options *o, int sides, int sums) {
    needs n = count_needs(graph, o, sides, sums);
    bool host = mo_context_device(graph->ctx) == MO_CPU, placed = o->place == MO_FEATURES_ON_DISK;
    double limit = o->memory > 0 ? (double)o->memory : placed || !host ? INFINITY : mo_free_memory("");
    if (!mo_ok(graph->ctx) || !(placed || n.inside > limit))
        return false;
    check_disk(graph, o, &n, limit);
    if (mo_ok(graph->ctx) && !placed)
        tell_disk(graph, o, &n, limit);
    return mo_ok(graph->ctx);
}

bool mo_features_fit(
    mo_context *ctx, const mo_graph *graph, mo_task task, const mo_feature_options *o, double *needed, double *left) {
    size_t held = 0, unused = 0;
    bool of_examples = o->form == MO_FEATURES_OF_EXAMPLES;
    needs n = count_needs(graph, o, of_examples && task != MO_TASK_GC ? 2 : 1, 0);
    *needed = of_examples && task != MO_TASK_NC ? n.outside : n.inside; /* rows of links and of graphs are small */
    bool bounded = mo_device_memory(ctx, &held, &unused);
    *left = (double)unused - FOR_STEPS * (double)(held + unused);
    return !bounded || *needed <= *left;
}

bool mo_kernels_fit(const mo_graph *graph, double bytes, int64_t limit) {
    double most = limit > 0 ? (double)limit : mo_free_memory("");
    if (mo_ok(graph->ctx) && bytes > most)
        mo_fail_memory(graph, "kernels", bytes, most, limit > 0);
    return mo_ok(graph->ctx);
}
