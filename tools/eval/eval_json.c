/* tools/eval/eval_json.c - the lines of `mochi eval --json`: the command, its inputs, and one figure per cell. */
#include "tools/eval/eval.h"

#include "tools/cli/digest.h"

#include <string.h>

static json_t *list_weights(const subject *subjects, int n) {
    json_t *list = json_array();
    for (int i = 0; i < n; i++) {
        const mo_weights *w = subjects[i].weights;
        if (w)
            json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:o}", "features", subjects[i].label, "file",
                                            subjects[i].file, "recipe", w->recipe, "xxh3", json_hash(w->hash)));
    }
    return list;
}

bool print_eval_run(const eval_options *o, const subject *subjects, int n) {
    const mo_eval_options *e = &o->evaluation;
    json_t *run = command_object(o->argc, o->argv);
    json_t *more = json_pack("{s:s, s:o, s:s, s:I}", "device", o->device.device == MO_CUDA ? "cuda" : "cpu", "weights",
        list_weights(subjects, n), "protocol", eval_protocol_name(o, ""), "seed", (json_int_t)e->seed);
    json_object_update_new(run, more);
    if (o->suite)
        json_object_set_new(run, "suite", json_string(o->suite));
    if (e->protocol == MO_PROTOCOL_EPISODE)
        json_object_set_new(run, "episodes", json_integer(e->episodes));
    else if (e->protocol == MO_PROTOCOL_SPLIT)
        json_object_set_new(run, "seeds", json_integer(e->seeds));
    return print_json(run);
}

bool print_eval_data(const mo_source *s) {
    const mo_graph *g = s->graph;
    bool links = s->task == MO_TASK_LP;
    json_t *o = json_pack("{s:s, s:s, s:s, s:o, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "kind", "data", "data", g->name,
        "task", mo_task_name(s->task), "xxh3", json_hash((uint64_t[]){g->hash[1], g->hash[0]}), "nodes",
        (json_int_t)g->nodes, "edges", (json_int_t)g->nnz / 2, "graphs", (json_int_t)g->graphs, "columns",
        (json_int_t)g->features, "classes", (json_int_t)(links ? 2 : g->classes), "svd_residual",
        json_number(s->features->svd_residual), "svd_orthogonality", json_number(s->features->svd_orthogonality));
    if (links)
        json_object_set_new(o, "held_out", json_integer(s->links->n_positive));
    return print_json(o);
}

/* ---- figures ---- */

static mo_task task_of(const mo_eval_row *r) {
    int task = 0;
    while (task < MO_TASKS - 1 && strcmp(r->task, mo_task_name((mo_task)task)) != 0)
        task++;
    return (mo_task)task;
}

json_t *eval_cell(const evaluation *e, const mo_eval_row *r, const char *block, mo_seen seen) {
    const eval_options *o = e->options;
    mo_protocol protocol = strcmp(r->task, "lp") ? o->evaluation.protocol : MO_PROTOCOL_SPLIT;
    json_t *values = json_array();
    for (int64_t i = 0; i < r->n; i++)
        json_array_append_new(values, json_number(r->values[i]));
    json_t *cell = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:s, s:o, s:o, s:o, s:I, s:o, s:o}", "kind", "cell",
        "data", r->data, "task", r->task, "protocol", eval_protocol_name(o, r->task), "features", r->features, "head",
        r->head, "k", (json_int_t)r->k, "metric", r->metric, "mean", json_number(r->mean), "sd", json_number(r->sd),
        "ci95", json_number(r->ci95), "n_test", (json_int_t)r->n_test, "values", values, "seen", json_seen(seen));
    static const char *const repeats[] = {"seeds", "episodes", "divisions"};
    if (protocol != MO_PROTOCOL_PUBLIC || r->n > 1)
        json_object_set_new(cell, repeats[protocol], json_integer(r->n));
    if (r->small_classes) {
        json_object_set_new(cell, "small_classes", json_integer(r->small_classes));
        json_object_set_new(cell, "classes", json_integer(r->classes));
    }
    if (r->left_out)
        json_object_set_new(cell, "left_out", json_integer(r->left_out));
    if (strcmp(block, r->head) != 0)
        json_object_set_new(cell, "block", json_string(block));
    json_t *experts = r->n_experts ? json_object() : NULL;
    for (int i = 0; i < r->n_experts; i++)
        json_object_set_new(experts, r->experts[i].name, json_number(r->experts[i].share));
    if (experts)
        json_object_set_new(cell, "experts", experts);
    if (r->failure)
        json_object_set_new(cell, "failure", json_string(r->failure));
    if (!strcmp(r->features, "hop"))
        json_object_set_new(cell, "hop", json_integer(e->subjects[0].best_hop[task_of(r)]));
    return cell;
}

bool print_eval_absent(const mo_suite_task *t) {
    return print_json(json_pack("{s:s, s:s, s:s, s:s}", "kind", "absent", "data", t->data, "task",
        mo_task_name(t->task), "reason", "the data set is not there"));
}
