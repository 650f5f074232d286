/* train/ranks/spread.c - which rows a rank holds, and figures that are collected from the first rank to the last. */
#include "train/ranks/spread.h"

#include "tensor/host_array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The start of rank r: the boundary between blocks at which the work of the rows before is nearest to its share; every
 * rank has a block. */
static int64_t boundary(const double *weight, int64_t n, int64_t blocks, int size, int r, int64_t after) {
    double wanted = weight[n] * r / size;
    int64_t b = after + 1, last = blocks - (size - r);
    while (b < last && fabs(weight[(b + 1) * MO_SPREAD_ROWS] - wanted) < fabs(weight[b * MO_SPREAD_ROWS] - wanted))
        b++;
    return b;
}

bool mo_spread_begin(mo_spread *s, mo_context *ctx, const mo_ranks *ranks, int64_t n, const double *weight) {
    int64_t blocks = (n + MO_SPREAD_ROWS - 1) / MO_SPREAD_ROWS, b = 0;
    *s = (mo_spread){.ctx = ctx, .ranks = *ranks};
    s->ranks.parted = &s->parted; /* its own: ranks that hold no rows learn of a failure later */
    s->ranks.started = ranks->started ? ranks->started : ranks->size;
    if (s->ranks.size > blocks)
        s->ranks.size = (int)blocks;
    int size = s->ranks.size;
    s->start = mo_host_array(ctx, ranks->size + 1, sizeof *s->start);
    for (int r = 1; s->start && r <= ranks->size; r++) {
        b = r < size ? boundary(weight, n, blocks, size, r, b) : blocks;
        s->start[r] = r < size ? b * MO_SPREAD_ROWS : n;
    }
    return mo_ok(ctx);
}

void mo_spread_end(mo_spread *s) {
    free(s->start);
    s->start = NULL;
}

int64_t mo_spread_first(const mo_spread *s) {
    return s ? s->start[s->ranks.rank] : 0;
}

int64_t mo_spread_all(const mo_spread *s, int64_t own) {
    return s ? s->start[s->ranks.size] : own;
}

int64_t mo_spread_own(const mo_spread *s, int64_t all) {
    return s ? s->start[s->ranks.rank + 1] - s->start[s->ranks.rank] : all;
}

bool mo_spread_agree(mo_spread *s) {
    return mo_ranks_agree(s->ctx, &s->ranks, true);
}

/* Sends what the last rank holds to all the others. */
static void spread_from_last(const mo_spread *s, double *x, size_t bytes) {
    int last = s->ranks.size - 1;
    if (s->ranks.rank == last && last > 0)
        s->ranks.send(s->ranks.state, 0, x, bytes);
    if (s->ranks.rank == 0 && last > 0)
        s->ranks.receive(s->ranks.state, last, x, bytes);
    mo_ranks_broadcast(&s->ranks, x, bytes);
}

void mo_spread_add(mo_spread *s, double *sum, const double *x, int64_t count, int64_t n) {
    size_t bytes = (size_t)n * sizeof *sum;
    int rank = s->ranks.rank;
    if (!mo_spread_agree(s))
        return;
    if (rank > 0)
        s->ranks.receive(s->ranks.state, rank - 1, sum, bytes);
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < n; j++)
            sum[j] += x[i * n + j];
    if (rank + 1 < s->ranks.size)
        s->ranks.send(s->ranks.state, rank + 1, sum, bytes);
    spread_from_last(s, sum, bytes);
}

/* Passes x from the first rank to the last; each puts its own values in where `better` says so. */
static void collect(mo_spread *s, double *x, int64_t n, bool (*better)(double own, double other)) {
    size_t bytes = (size_t)n * sizeof *x;
    int rank = s->ranks.rank;
    double *other = mo_host_array(s->ctx, n, sizeof *other);
    if (mo_spread_agree(s)) {
        if (rank > 0)
            s->ranks.receive(s->ranks.state, rank - 1, other, bytes);
        for (int64_t j = 0; rank > 0 && j < n; j++)
            if (!better(x[j], other[j]))
                x[j] = other[j];
        if (rank + 1 < s->ranks.size)
            s->ranks.send(s->ranks.state, rank + 1, x, bytes);
        spread_from_last(s, x, bytes);
    }
    free(other);
}

static bool is_larger(double own, double other) {
    return fabs(own) > fabs(other);
}

static bool is_first(double own, double other) {
    (void)own;
    return other == 0;
}

void mo_spread_largest(mo_spread *s, double *x, int64_t n) {
    collect(s, x, n, is_larger);
}

void mo_spread_earliest(mo_spread *s, double *x, int64_t n) {
    collect(s, x, n, is_first);
}
