/* tools/eval/eval_draws.c - writes the drawn support and test examples as tables for `mochi predict` and other
 * programs. */
#include "tools/eval/eval.h"

#include "tools/cli/memory.h"
#include "tools/cli/table_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Writes a line for each example: its name and its class, as named in the data, since an episode renumbers classes.
 * Examples that fill up the support of a small class appear repeatedly. */
static void write_list(const mo_graph *graph, const char *path, const char *header, const int64_t *id, int64_t n) {
    table_file t;
    open_table(&t, path, false);
    begin_table(&t, (const char *[]){header, "label"}, 2);
    for (int64_t i = 0; i < n; i++) {
        char number[24];
        put_example(&t, graph, id[i]);
        put_text(&t, mo_graph_class_name(graph, graph->label[id[i]], number));
        end_row(&t);
    }
    close_table(graph->ctx, &t);
}

/* ---- links ---- */

/* Writes the graph without the test links, so that `mochi predict` can compute features for the test pairs. */
static void write_masked_graph(const mo_source *source, const mo_plan *plan, const char *path) {
    int64_t n = 0;
    while (n < plan->n_query && plan->query_label[n])
        n++;
    mo_graph *masked = mo_graph_without(source->graph, plan->query, n);
    if (masked)
        mo_graph_write(masked, path);
    mo_graph_release(masked);
}

/* Writes a pair as two node numbers, which are valid in the masked graph too, whether it is linked and, unless it is
 * negative, `fit`. */
static void put_link(table_file *t, const mo_links *links, int64_t number, int64_t fit) {
    bool linked = number < links->n_positive;
    int64_t *const *end = linked ? links->positive : links->negative;
    int64_t i = linked ? number : number - links->n_positive;
    put_value(t, json_integer(end[0][i]), NULL);
    put_value(t, json_integer(end[1][i]), NULL);
    put_value(t, json_boolean(linked), NULL);
    if (fit >= 0)
        put_value(t, json_integer(fit), NULL);
    end_row(t);
}

/* Writes all pairs outside the test set. Column `fit`: how often the support holds the pair; 0: the readout is not
 * fitted to it. */
static void write_link_support(const mo_source *source, const mo_plan *plan, const char *path) {
    const mo_links *links = source->links;
    int64_t n = links->n_positive + links->n_negative, *fit = needed(calloc((size_t)n + 1, sizeof *fit));
    table_file t;
    for (int64_t i = 0; i < plan->n_query; i++)
        fit[plan->query_pair[i]] = -1;
    for (int64_t i = 0; i < plan->n_support; i++)
        fit[plan->support_pair[i]]++;
    open_table(&t, path, false);
    begin_table(&t, (const char *[]){"from", "to", "linked", "fit"}, 4);
    for (int64_t i = 0; i < n; i++)
        if (fit[i] >= 0)
            put_link(&t, links, i, fit[i]);
    close_table(source->graph->ctx, &t);
    free(fit);
}

static void write_link_draw(const mo_source *source, const mo_plan *plan, const char *stem) {
    char path[4200];
    table_file t;
    snprintf(path, sizeof path, "%s.support.csv", stem);
    write_link_support(source, plan, path);
    snprintf(path, sizeof path, "%s.test.csv", stem);
    open_table(&t, path, false);
    begin_table(&t, (const char *[]){"from", "to", "linked"}, 3);
    for (int64_t i = 0; i < plan->n_query; i++)
        put_link(&t, source->links, plan->query_pair[i], -1);
    close_table(source->graph->ctx, &t);
    snprintf(path, sizeof path, "%s.graph.npz", stem);
    if (mo_ok(source->graph->ctx))
        write_masked_graph(source, plan, path);
}

/* ---- all tasks ---- */

void write_draw(const mo_source *source, const mo_plan *plan, int64_t k, int64_t repeat, void *state) {
    const char *folder = state;
    mo_context *ctx = source->graph->ctx;
    char path[4200];
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        mo_fail(ctx, MO_IO, "--draws: %s: %s", folder, strerror(errno));
        return;
    }
    char stem[4096];
    snprintf(stem, sizeof stem, "%s/%s-%s-%" PRId64 "-%" PRId64, folder, source->graph->name,
        mo_task_name(source->task), k, repeat);
    if (source->task == MO_TASK_LP) {
        write_link_draw(source, plan, stem);
        return;
    }
    for (int part = 0; part < 2 && mo_ok(ctx); part++) {
        snprintf(path, sizeof path, "%s.%s.csv", stem, part ? "test" : "support");
        write_list(source->graph, path, source->task == MO_TASK_GC ? "graph" : "node",
            part ? plan->query[0] : plan->support[0], part ? plan->n_query : plan->n_support);
    }
}
