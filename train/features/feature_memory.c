/* train/features/feature_memory.c - the memory that features need, compared with the memory that there is.
 *
 * The SVD of the adjacency needs two matrices of n rows and d + 16 columns, then a block of rows of a third (svd.c) or
 * the result. If the nodes have features, this result is held while the SVD of the features needs two more matrices and
 * a transpose, or one matrix if there are few features, and its own result. About fifty small float64 matrices
 * (ritz.c), as measured, and the libraries' memory are added. The hop stack is made after all of these are freed, but
 * for the bases of separate blocks; a few hops stay in memory while it is written. Afterwards the features are held,
 * beside what their user holds and encodes: rows, and three float64 matrices as wide as these (a Gram matrix and its
 * factors). */
#include "train/features/feature_memory.h"

#include "tensor/files/foreign_text.h"
#include "tensor/files/number_text.h"
#include "tensor/objects.h"
#include "train/features/nodes/diffuse.h"
#include "train/svd/svd.h"
#include "train/svd/tall.h"

#include <math.h>
#include <string.h>

static const double ARENA = 1.125; /* an arena's bytes for one in use (tensor/arena.c) */
enum { REAL = 4, SMALL = 400, GRAM = 24, LIBRARIES = 24 << 20 };

/* Bytes to encode rows by a model of this library, as measured: the invariant encoder for rows of examples, else
 * MOCHI. */
static double encoding_bytes(const mo_feature_options *o) {
    int mixed = o->reader ? 1 : 0; /* a reader reads sums of hops, which are fewer rows */
    double floats = o->form == MO_ROWS_PER_EXAMPLE ? 12 * (o->hops + 3 - mixed) : 4.3 * (o->hops + 1);
    return (double)o->encoded * o->dim * floats * REAL;
}

double mo_estimate_memory(const mo_graph *graph, const mo_feature_options *o, int64_t kept) {
    bool blocks = o->form == MO_ROWS_PER_EXAMPLE;
    double n = (double)graph->nodes, hop = n * o->dim * REAL;
    double q = o->dim + MO_SVD_OVERSAMPLING, wide = (double)graph->features;
    double structure = 2 * n * q + fmax(fmin(n, MO_TALL_ROWS) * q, n * o->dim);
    double attributes = n * fmin(wide, o->dim); /* the result */
    attributes += wide <= fmax(q, MO_SVD_EXACT_BELOW) ? n * wide : 2 * n * q + 2 * (double)graph->feature_nnz;
    double svd = SMALL * q * q + REAL * fmax(structure, n * o->dim + attributes);
    double bases = blocks ? 2 * hop : 0;
    double written = !blocks ? 3 : o->reader ? 1 : MO_DIFFUSED + 4; /* hops in memory while a file is written */
    double making = !kept ? bases + written * hop : blocks && !o->reader ? 2 * bases : 0;
    double beside = (double)o->beside, using = n * beside * REAL + GRAM * beside * beside + encoding_bytes(o);
    double base = 24 * n + 12 * (double)graph->nnz + 8 * (double)graph->feature_nnz + LIBRARIES;
    return base + fmax(bases + ARENA * svd, (double)kept * hop + fmax(making, ARENA * using));
}

double mo_memory_left(const mo_context *ctx) {
    return ctx->memory ? (double)(ctx->memory - ctx->host_held) : mo_free_memory("");
}

enum { SIZE = 24 }; /* characters of a size as text */

/* Writes a number of bytes as --memory takes it: in MiB ("52.6M") or, from 10 GiB on, in GiB. */
static const char *write_size(double bytes, char text[SIZE]) {
    bool large = bytes >= 10.0 * (1 << 30);
    mo_format(text, SIZE, "%.1f%c", bytes / (large ? 1 << 30 : 1 << 20), large ? 'G' : 'M');
    return text;
}

/* Where the stack goes if memory is too small, and how to get by with less. */
static const char *write_place(const char *folder, double outside, char text[512]) {
    char shown[320], size[SIZE];
    write_size(outside, size);
    if (folder)
        mo_format(text, 512, "the hop stack goes to %s, %s stay", mo_quote(folder, strlen(folder), shown, sizeof shown),
            size);
    else
        mo_format(text, 512, "%s with the hop stack on disk (--cache DIR; cache of the options)", size);
    return text;
}

bool mo_hops_go_to_disk(const mo_graph *graph, const mo_feature_options *o, int64_t rows) {
    mo_context *ctx = graph->ctx;
    const char *folder = o->cache && *o->cache ? o->cache : NULL;
    bool host = mo_context_device(ctx) == MO_CPU, placed = o->place == MO_FEATURES_ON_DISK, bound = ctx->memory;
    if (mo_ok(ctx) && placed && !host)
        mo_fail(ctx, MO_UNSUPPORTED,
            "features: '%s': on a device hop stacks cannot stay on disk (--features disk keeps them off it)",
            graph->name);
    else if (mo_ok(ctx) && placed && !folder)
        mo_fail(ctx, MO_INVALID, "features: '%s': name a folder (--cache DIR; cache of the options) for its hop stack",
            graph->name);
    if (!mo_ok(ctx) || placed || !host)
        return placed && mo_ok(ctx);
    double left = mo_memory_left(ctx), inside = mo_estimate_memory(graph, o, rows);
    double outside = mo_estimate_memory(graph, o, 0);
    char needed[SIZE], most[SIZE], place[512], line[1200];
    if (inside <= left)
        return false;
    mo_format(line, sizeof line, "features: %.200s: %s of memory are needed, %s are %s: %s", graph->name,
        write_size(inside, needed), write_size(left, most), bound ? "allowed" : "free",
        write_place(folder, outside, place));
    if (!bound && (folder ? outside : inside) > left)
        mo_fail(ctx, MO_MEMORY, "%s", line);
    else if (o->notice)
        o->notice(line, o->notice_state);
    return folder && mo_ok(ctx);
}
