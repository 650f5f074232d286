/* tools/eval/eval_draws.c - what an evaluation drew, as tables that `mochi predict` and other programs read. */
#include "tools/eval/eval_draws.h"

#include "tools/table_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Lines of example and class; a support that repeats an example, as small classes make it, names it again. */
static void write_list(
    const mo_graph *graph, const char *path, const char *header, const int64_t *id, const int64_t *label, int64_t n) {
    table_file t;
    open_table(&t, path);
    fprintf(t.out, "%s,label\n", header);
    for (int64_t i = 0; i < n; i++) {
        put_example(&t, graph, id[i]);
        fprintf(t.out, ",%" PRId64 "\n", label[i]);
    }
    close_table(graph->ctx, &t);
}

void write_draw(const mo_source *source, const mo_plan *plan, int64_t k, int64_t repeat, void *state) {
    const char *folder = state;
    mo_context *ctx = source->graph->ctx;
    char path[4096];
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        mo_fail(ctx, MO_IO, "--draws: %s: %s", folder, strerror(errno));
        return;
    }
    for (int part = 0; part < 2 && mo_ok(ctx); part++) {
        snprintf(path, sizeof path, "%s/%s-%s-%" PRId64 "-%" PRId64 ".%s.csv", folder, source->graph->name,
            mo_task_name(source->task), k, repeat, part ? "test" : "support");
        write_list(source->graph, path, source->task == MO_TASK_GC ? "graph" : "node",
            part ? plan->query[0] : plan->support[0], part ? plan->query_label : plan->support_label,
            part ? plan->n_query : plan->n_support);
    }
}
