/* train/fit/split.c - one problem from a division of labelled rows that the user gives. */
#include "tensor/library.h"
#include "train/inside.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Raises if a row to test on has a class without rows to learn from. */
static void check_split(const mo_embeddings *E, const uint8_t *part) {
    mo_context *ctx = mo_tensor_context(E->Z);
    int64_t n = mo_dim(E->Z, 0), *count = mo_host_array(ctx, E->graph->classes, sizeof *count);
    const int64_t *label = E->graph->label;
    for (int64_t i = 0; count && i < n; i++)
        count[label[i]] += part[i] == MO_DIVISION_TRAIN;
    for (int64_t i = 0; count && i < n && mo_ok(ctx); i++)
        if (part[i] == MO_DIVISION_TEST && !count[label[i]])
            mo_fail(ctx, MO_INVALID,
                "split: expected rows to learn from of every class, found none of class %s, which row %" PRId64
                " to test on is of",
                E->name[label[i]], E->row[i]);
    free(count);
}

/* division: of the given rows. The kept rows are nodes of E->graph, and their division is a published one. */
static void make_split(const mo_embeddings *E, const uint8_t *division, mo_plan *plan) {
    mo_context *ctx = mo_tensor_context(E->Z);
    int64_t n = mo_dim(E->Z, 0);
    uint8_t *part = mo_host_array(ctx, n, sizeof *part);
    mo_graph graph = *E->graph;
    for (int64_t i = 0; part && i < n; i++)
        part[i] = division[E->row[i]];
    graph.division = part;
    graph.divisions = 1;
    if (part)
        check_split(E, part);
    if (mo_ok(ctx))
        mo_plan_public(&graph, 0, plan);
    plan->left_out = 0; /* classes without any row in the split */
    free(part);
}

mo_code mo_split_read(const mo_embeddings *E, const char *train, const char *test, mo_plan *plan) {
    if (plan)
        *plan = (mo_plan){0};
    if (!E)
        return MO_INVALID;
    mo_context *ctx = mo_tensor_context(E->Z);
    if (!mo_given(ctx, "split", "the plan", plan))
        return mo_code_of(ctx);
    int64_t given = mo_dim(E->Z, 0) + E->unlabelled;
    mo_graph *rows = mo_graph_from_edges(ctx, "rows", given, 0, NULL, NULL);
    uint8_t *division = mo_host_array(ctx, given, 1);
    if (rows && division && mo_division_read(rows, train, test, "rows", division))
        make_split(E, division, plan);
    free(division);
    mo_graph_release(rows);
    return mo_code_of(ctx);
}
