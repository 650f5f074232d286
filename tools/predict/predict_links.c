/* tools/predict/predict_links.c - pairs of nodes in, a score of each out. */
#include "tools/csv_field.h"
#include "tools/memory.h"
#include "tools/predict/predict.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Pairs of a file, with their scores: NaN where nodes are linked already, or the same. */
typedef struct pair_list {
    int64_t n, *u, *v;
    double *score;
} pair_list;

static bool is_pair_known(const mo_graph *graph, int64_t u, int64_t v) {
    return u == v || mo_graph_has_edge(graph, u, v);
}

/* Scores the pairs that are no links. */
static bool score_pair_list(mo_graph *graph, const mo_few_shot_options *o, pair_list *p) {
    int64_t *u = needed(calloc(2 * (size_t)p->n + 1, sizeof *u)), *v = u + p->n, n = 0;
    double *score = needed(calloc((size_t)p->n + 1, sizeof *score));
    for (int64_t i = 0; i < p->n; i++)
        if (!is_pair_known(graph, p->u[i], p->v[i])) {
            u[n] = p->u[i];
            v[n++] = p->v[i];
        }
    bool fine = n == 0 || mo_few_shot_links(graph, o, u, v, n, score) == MO_OK;
    for (int64_t i = 0, at = 0; i < p->n; i++)
        p->score[i] = is_pair_known(graph, p->u[i], p->v[i]) ? NAN : score[at++];
    free(score);
    free(u);
    return fine;
}

static void put_pair(FILE *out, const mo_graph *graph, const pair_list *p, int64_t i, char comma) {
    char number[24];
    put_csv_field(out, mo_graph_example_name(graph, p->u[i], number));
    putc(comma, out);
    put_csv_field(out, mo_graph_example_name(graph, p->v[i], number));
    if (isnan(p->score[i]))
        fprintf(out, "%c%c%s\n", comma, comma, p->u[i] == p->v[i] ? "same" : "yes");
    else
        fprintf(out, "%c%.6f%cno\n", comma, p->score[i], comma);
}

static bool write_pair_list(const mo_graph *graph, const pair_list *p, const char *path) {
    char *text = NULL, comma = path && mo_path_ends_with(path, ".tsv") ? '\t' : ',';
    size_t bytes = 0;
    FILE *out = path ? open_text(&text, &bytes) : stdout;
    fprintf(out, "from%cto%cscore%clinked\n", comma, comma, comma);
    for (int64_t i = 0; i < p->n; i++)
        put_pair(out, graph, p, i, comma);
    if (!path)
        return fflush(stdout) == 0 && !ferror(stdout);
    close_text(out, &text);
    mo_file_replace(graph->ctx, path, text, bytes);
    free(text);
    return mo_ok(graph->ctx);
}

bool predict_links(mo_graph *graph, const mo_few_shot_options *o, const char *pairs, const char *path) {
    pair_list p = {0};
    bool fine = mo_pairs_read(graph, pairs, &p.u, &p.v, &p.n);
    p.score = needed(calloc((size_t)p.n + 1, sizeof *p.score));
    fine = fine && score_pair_list(graph, o, &p) && write_pair_list(graph, &p, path);
    free(p.score);
    free(p.u);
    free(p.v);
    return fine;
}
