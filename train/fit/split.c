/* train/fit/split.c - one problem from a user's own lists of rows. */
#include "tensor/host_array.h"
#include "train/graph.h"
#include "train/inside.h"

#include <inttypes.h>
#include <stdlib.h>

/* The kept rows of a part, and their classes among all. */
static int64_t take_split_part(
    const mo_embeddings *E, const uint8_t *division, mo_division part, int64_t *row, int64_t *label) {
    int64_t n = 0, kept = mo_dim(E->Z, 0);
    for (int64_t i = 0; i < kept; i++)
        if (division[E->row[i]] == part) {
            row[n] = i;
            label[n++] = E->graph->label[i];
        }
    return n;
}

/* Numbers the classes of the support from 0, in their order. number: [classes of E], count: the same, of the support.
 */
static void number_split_classes(const mo_embeddings *E, const int64_t *count, int64_t *number, mo_draws *d) {
    mo_context *ctx = mo_tensor_context(E->Z);
    d->k = INT64_MAX;
    for (int64_t c = 0; c < E->graph->classes; c++) {
        number[c] = count[c] ? d->classes++ : -1;
        d->k = count[c] && count[c] < d->k ? count[c] : d->k;
        d->most = count[c] > d->most ? count[c] : d->most;
    }
    for (int64_t i = 0; i < d->n_support; i++)
        d->support_label[i] = number[d->support_label[i]];
    for (int64_t i = 0; i < d->n_query && mo_ok(ctx); i++) {
        int64_t c = d->query_label[i];
        d->query_label[i] = number[c];
        if (number[c] < 0)
            mo_fail(ctx, MO_INVALID,
                "split: expected rows to learn from of every class, found none of class %s, which row %" PRId64
                " to test on is of",
                E->name[c], E->row[d->query[i]]);
    }
}

static void make_split(const mo_embeddings *E, const uint8_t *division, mo_draws *d) {
    mo_context *ctx = mo_tensor_context(E->Z);
    int64_t n = mo_dim(E->Z, 0), C = E->graph->classes;
    int64_t **arrays[] = {&d->support, &d->support_label, &d->query, &d->query_label};
    for (int i = 0; i < 4; i++)
        *arrays[i] = mo_host_array(ctx, n, sizeof **arrays[i]);
    int64_t *count = mo_host_array(ctx, 2 * C, sizeof *count);
    if (mo_ok(ctx)) {
        d->n_support = take_split_part(E, division, MO_DIVISION_TRAIN, d->support, d->support_label);
        d->n_query = take_split_part(E, division, MO_DIVISION_TEST, d->query, d->query_label);
        for (int64_t i = 0; i < d->n_support; i++)
            count[d->support_label[i]]++;
        number_split_classes(E, count, count + C, d);
    }
    if (mo_ok(ctx) && d->classes < 2)
        mo_fail(ctx, MO_INVALID,
            "split: expected labelled rows of two classes or more to learn from, found %" PRId64 " of %" PRId64,
            d->n_support, d->classes);
    else if (mo_ok(ctx) && d->n_query == 0)
        mo_fail(ctx, MO_INVALID, "split: expected labelled rows to test on, found none");
    free(count);
}

mo_code mo_draws_read(const mo_embeddings *E, const char *train, const char *test, mo_draws *draws) {
    if (draws)
        *draws = (mo_draws){0};
    if (!E)
        return MO_INVALID;
    mo_context *ctx = mo_tensor_context(E->Z);
    if (!mo_given(ctx, "split", "draws", draws))
        return mo_code_of(ctx);
    *draws = (mo_draws){.episodes = 1, .split = true};
    int64_t given = mo_dim(E->Z, 0) + E->unlabelled;
    mo_graph *rows = mo_graph_from_edges(ctx, "rows", given, 0, NULL, NULL);
    uint8_t *division = mo_host_array(ctx, given, 1);
    if (rows && division && mo_division_read(rows, train, test, "rows", division))
        make_split(E, division, draws);
    free(division);
    mo_graph_release(rows);
    return mo_code_of(ctx);
}
