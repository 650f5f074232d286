/* tools/predict/predict_top.c - the best missing links of every node, as CSV, TSV or JSON lines; whole or not at all.
 */
#include "tools/memory.h"
#include "tools/predict/predict.h"
#include "tools/table_file.h"

#include <stdlib.h>

json_t *json_example(const mo_graph *graph, int64_t i) {
    char number[24];
    return graph->names ? json_string(mo_graph_example_name(graph, i, number)) : json_integer(i);
}

static void put_top_line(table_file *t, const mo_graph *graph, bool lines, int64_t from, int64_t to, double score) {
    if (lines) {
        json_t *line = json_pack(
            "{s:o, s:o, s:f}", "from", json_example(graph, from), "to", json_example(graph, to), "score", score);
        json_dumpf(line, t->out, JSON_COMPACT | JSON_REAL_PRECISION(9));
        json_decref(line);
        putc('\n', t->out);
        return;
    }
    put_example(t, graph, from);
    putc(t->comma, t->out);
    put_example(t, graph, to);
    fprintf(t->out, "%c%.6f\n", t->comma, score);
}

bool predict_top(mo_link_scorer *scorer, const mo_graph *graph, int64_t k, int64_t candidates, const char *path) {
    int64_t n = graph->nodes * k, *to = needed(malloc((size_t)n * sizeof *to + 1));
    double *score = needed(malloc((size_t)n * sizeof *score + 1));
    bool fine = mo_link_scorer_top(scorer, k, candidates, to, score) == MO_OK;
    if (fine) {
        bool lines = path && mo_path_ends_with(path, ".jsonl");
        table_file t;
        open_table(&t, path);
        if (!lines)
            fprintf(t.out, "from%cto%cscore\n", t.comma, t.comma);
        for (int64_t i = 0; i < n; i++)
            if (to[i] >= 0)
                put_top_line(&t, graph, lines, i / k, to[i], score[i]);
        fine = close_table(graph->ctx, &t);
    }
    free(score);
    free(to);
    return fine;
}
