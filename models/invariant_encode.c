/* models/invariant_encode.c - the rows of examples through the invariant encoder; the formulas stand in invariant.c. */
#include "models/invariant.h"
#include "models/row_blocks.h"

#include <math.h>
#include <string.h>

/* What is read of an episode. The first three must be there. */
enum {
    ROW_BLOCKS,
    ROW_EXTRAS,
    ROW_SPECTRUM,
    ROW_DIFFUSED,
    ROW_SET,
    ROW_WALKS = ROW_SET + SET_BLOCKS,
    ROW_MATCHES,
    ROWS
};

static const struct {
    const char *name;
    int axis; /* of the rows; -1: the same for all rows */
    int part; /* that reads it; -1: always */
} rows_read[ROWS] = {
    {"blocks", 2, -1},
    {"extras", 0, -1},
    {"spectrum", -1, -1},
    {"diffused", 2, MO_PART_DIFFUSED},
    {"statistics", 0, MO_PART_STATISTICS},
    {"subtrees", 0, MO_PART_SUBTREES},
    {"waves", 0, MO_PART_WAVES},
    {"walks", 0, MO_PART_WALKS},
    {"matches", 0, MO_PART_MATCHES},
};

/* One episode, or a block of its rows. */
typedef struct episode {
    const invariant *m;
    mo_task task;
    mo_tensor *rows[ROWS];           /* NULL: the episode has none, or their part is left out */
    mo_tensor *parameter[N_ENCODER]; /* NULL: left out */
} episode;

/* ---- one side: the trained or the initial parameters ---- */

#define MOST_EXPONENT 30 /* squares of e^30 x, and their sum over a row, are far from the largest float32 */

/* exp(min(c l + c' l^2 / 4, 30)) of the spectra l [BLOCKS, d]: [BLOCKS, EXPERTS, 1, d], ones for the plain expert. */
static mo_tensor *profile(mo_tape *t, const episode *e, mo_tensor *c) {
    mo_tensor *l = e->rows[ROW_SPECTRUM], *linear = mo_mul(t, mo_slice(t, c, MO_AXIS(1), 0, 1), l);
    int64_t shape[4] = {BLOCKS, 1, 1, mo_dim(l, 1)};
    mo_tensor *square = mo_mul(t, mo_slice(t, c, MO_AXIS(1), 1, 2), mo_scale(t, mo_square(t, l), 0.25, 0));
    mo_tensor *exponent = mo_clamp(t, mo_add(t, linear, square), -INFINITY, MOST_EXPONENT);
    mo_tensor *shaped = mo_reshape(t, mo_exp(t, exponent), 4, shape);
    return mo_concat(t, (mo_tensor *[]){mo_full(t, e->m->real, 4, shape, 1), shaped}, 2, MO_AXIS(1));
}

/* sum_k w[b, m, first + k] H[b, k]: [BLOCKS, EXPERTS, n d]. */
static mo_tensor *mixed_rows(mo_tape *t, mo_tensor *w, int64_t first, mo_tensor *H) {
    int64_t k = mo_dim(H, 1);
    mo_tensor *flat = mo_reshape(t, H, 3, (int64_t[]){BLOCKS, k, mo_dim(H, 2) * mo_dim(H, 3)});
    return mo_matmul(t, mo_slice(t, w, MO_AXIS(2), first, first + k), flat);
}

/* Unit rows of both blocks, [BLOCKS, EXPERTS, n, d]. */
static mo_tensor *unit_blocks(mo_tape *t, const episode *e, mo_tensor *const *P) {
    mo_tensor *H = e->rows[ROW_BLOCKS], *D = e->rows[ROW_DIFFUSED], *logits = P[HOP];
    if (D)
        logits = mo_concat(t, (mo_tensor *[]){logits, P[DIFFUSED]}, 2, MO_AXIS(2));
    mo_tensor *w = mo_softmax(t, logits, MO_AXIS(-1)), *mixed = mixed_rows(t, w, 0, H);
    if (D)
        mixed = mo_add(t, mixed, mixed_rows(t, w, mo_dim(H, 1), D));
    mixed = mo_reshape(t, mixed, 4, (int64_t[]){BLOCKS, EXPERTS, mo_dim(H, 2), mo_dim(H, 3)});
    return mo_l2_normalize(t, mo_mul(t, mixed, profile(t, e, P[PROFILE])), 1e-6);
}

/* e / sqrt(p), with the columns of links beside the others. */
static mo_tensor *extras(mo_tape *t, const episode *e) {
    mo_tensor *column[] = {e->rows[ROW_EXTRAS], e->rows[ROW_WALKS], e->rows[ROW_MATCHES]};
    int n = 0;
    for (int i = 0; i < 3; i++)
        if (column[i])
            column[n++] = column[i];
    mo_tensor *all = n > 1 ? mo_concat(t, column, n, MO_AXIS(1)) : column[0];
    return mo_scale(t, all, 1 / sqrt((double)mo_dim(all, 1)), 0);
}

/* Row i of a parameter [.., EXPERTS] of weights' logarithms as factors [EXPERTS, 1, 1]. */
static mo_tensor *factors(mo_tape *t, mo_tensor *log_weight, int i) {
    return mo_exp(t, mo_reshape(t, mo_slice(t, log_weight, MO_AXIS(0), i, i + 1), 3, (int64_t[]){EXPERTS, 1, 1}));
}

/* Unit rows [EXPERTS, n, width]. */
static mo_tensor *invariant_embed(mo_tape *t, const episode *e, mo_tensor *const *P) {
    mo_tensor *h = unit_blocks(t, e, P), *part[PARTS + SET_BLOCKS];
    int64_t n = mo_dim(h, 2), d = mo_dim(h, 3);
    int parts = 0;
    mo_tensor *weight =
        mo_reshape(t, mo_slice(t, P[WEIGHT], MO_AXIS(0), e->task, e->task + 1), 2, (int64_t[]){PARTS, EXPERTS});
    for (int b = 0; b < BLOCKS; b++) {
        mo_tensor *block = mo_reshape(t, mo_slice(t, h, MO_AXIS(0), b, b + 1), 3, (int64_t[]){EXPERTS, n, d});
        part[parts++] = mo_mul(t, block, factors(t, weight, b));
    }
    part[parts++] = mo_mul(t, extras(t, e), factors(t, weight, BLOCKS));
    for (int b = 0; b < SET_BLOCKS; b++)
        if (e->rows[ROW_SET + b])
            part[parts++] = mo_mul(t, e->rows[ROW_SET + b], factors(t, P[SET_WEIGHT], b));
    return mo_l2_normalize(t, mo_concat(t, part, parts, MO_AXIS(2)), 1e-12);
}

/* Embeddings of rows [EXPERTS, n, width], or [EXPERTS, n, 2 width] with the initial row beside the trained one. */
static mo_tensor *invariant_embed_rows(mo_tape *t, const episode *e) {
    mo_tensor *z = invariant_embed(t, e, e->parameter);
    if (!mo_invariant_reads_initial(e->m, e->task))
        return z;
    mo_tensor *both[] = {z, invariant_embed(t, e, e->m->initial)};
    return mo_scale(t, mo_concat(t, both, 2, MO_AXIS(2)), sqrt(0.5), 0);
}

/* ---- in blocks of rows ---- */

/* in: the rows and parameters that are there. */
static mo_tensor *invariant_encode_recomputed(mo_tape *t, mo_tensor *const *in, int n, void *state) {
    episode e = *(const episode *)state;
    int at = 0;
    (void)n;
    for (int i = 0; i < ROWS; i++)
        e.rows[i] = e.rows[i] ? in[at++] : NULL;
    for (int i = 0; i < N_ENCODER; i++)
        e.parameter[i] = e.parameter[i] ? in[at++] : NULL;
    return invariant_embed_rows(t, &e);
}

static mo_tensor *invariant_encode_block(mo_tape *t, int64_t first, int64_t last, const void *state) {
    const episode *e = state;
    mo_tensor *in[ROWS + N_ENCODER];
    int n = 0;
    for (int i = 0; i < ROWS; i++)
        if (e->rows[i])
            in[n++] =
                rows_read[i].axis < 0 ? e->rows[i] : mo_slice(t, e->rows[i], MO_AXIS(rows_read[i].axis), first, last);
    for (int i = 0; i < N_ENCODER; i++)
        if (e->parameter[i])
            in[n++] = e->parameter[i];
    return mo_recompute(t, invariant_encode_recomputed, in, n, e, sizeof *e);
}

/* ---- all of an episode ---- */

/* Finds the rows, those that must be there and those that are; returns false if one is missing. */
static bool find_rows(mo_tape *t, const mo_episode *given, episode *e) {
    for (int i = 0; i < ROWS && mo_ok(e->m->ctx); i++) {
        bool there = rows_read[i].part < 0;
        for (int j = 0; j < given->n_rows && !there; j++)
            there = !strcmp(given->rows[j].name, rows_read[i].name) &&
                    mo_invariant_has(e->m, (mo_invariant_part)rows_read[i].part);
        if (there)
            e->rows[i] = mo_episode_rows(t, given, rows_read[i].name);
    }
    for (int i = 0; i < N_ENCODER; i++)
        e->parameter[i] = e->m->parameter[i];
    return mo_ok(e->m->ctx);
}

static bool check_blocks(const episode *e) {
    const mo_tensor *H = e->rows[ROW_BLOCKS], *l = e->rows[ROW_SPECTRUM], *x = e->rows[ROW_EXTRAS];
    char blocks[160], spectrum[160], more[160];
    int hops = e->m->options.hops + 1;
    if (mo_ndim(H) != 4 || mo_dim(H, 0) != BLOCKS || mo_dim(H, 1) != hops || mo_ndim(l) != 2 ||
        mo_dim(l, 0) != BLOCKS || mo_dim(l, 1) != mo_dim(H, 3) || mo_ndim(x) != 2 || mo_dim(x, 0) != mo_dim(H, 2))
        mo_fail(e->m->ctx, MO_INVALID,
            "invariant: expected blocks [2, %d, n, d], spectrum [2, d], extras [n, p]; got %s, %s, %s", hops,
            mo_shape_string(H, blocks, sizeof blocks), mo_shape_string(l, spectrum, sizeof spectrum),
            mo_shape_string(x, more, sizeof more));
    return mo_ok(e->m->ctx);
}

/* The rows of parts, against the blocks'. */
static bool check_parts(const episode *e) {
    const mo_tensor *H = e->rows[ROW_BLOCKS], *D = e->rows[ROW_DIFFUSED];
    char blocks[160], got[160];
    bool fits = !D || (mo_ndim(D) == 4 && mo_dim(D, 0) == BLOCKS && mo_dim(D, 1) == DIFFUSED_ROWS &&
                          mo_dim(D, 2) == mo_dim(H, 2) && mo_dim(D, 3) == mo_dim(H, 3));
    if (!fits)
        mo_fail(e->m->ctx, MO_INVALID, "invariant: expected diffused [2, %d, n, d] beside blocks %s; got %s",
            DIFFUSED_ROWS, mo_shape_string(H, blocks, sizeof blocks), mo_shape_string(D, got, sizeof got));
    for (int i = ROW_SET; i < ROWS && mo_ok(e->m->ctx); i++)
        if (e->rows[i] && (mo_ndim(e->rows[i]) != 2 || mo_dim(e->rows[i], 0) != mo_dim(H, 2)))
            mo_fail(e->m->ctx, MO_INVALID, "invariant: expected %s [n, p] beside blocks %s; got %s", rows_read[i].name,
                mo_shape_string(H, blocks, sizeof blocks), mo_shape_string(e->rows[i], got, sizeof got));
    return mo_ok(e->m->ctx);
}

mo_tensor *mo_invariant_encode(mo_tape *t, const void *model, const mo_episode *given, mo_random *r) {
    (void)r;
    episode e = {.m = model, .task = given->task};
    if (!find_rows(t, given, &e) || !check_blocks(&e) || !check_parts(&e))
        return mo_null_tensor(e.m->ctx);
    int64_t n = mo_dim(e.rows[ROW_BLOCKS], 2);
    if (mo_needs_blocks(e.m->ctx, n, given->max_rows))
        return mo_encode_blocks(t, n, given->max_rows, 1, invariant_encode_block, &e);
    return invariant_embed_rows(t, &e);
}
