/* tools/eval/eval_ranks.c - `mochi eval` in several processes: each opens weights, graphs and features, and the library
 * spreads the problems over them; the first one alone speaks and writes. All of them agree after every step that can
 * fail in one, so that none waits for another that has left. */
#include "tools/eval/eval_ranks.h"

#include "tools/digest.h"
#include "tools/ranks.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool eval_leads(const evaluation *e) {
    return e->ranks.rank == 0;
}

bool eval_agree(evaluation *e) {
    if (e->ranks.size > 1 && !mo_ranks_agree(e->ctx, &e->ranks, !e->lost_output))
        e->lost_output |= mo_ok(e->ctx);
    return mo_ok(e->ctx) && !e->lost_output;
}

static bool compare_with_first(evaluation *e, json_t *mine) {
    return ranks_compare_inputs(e->ctx, &e->ranks, "eval", mine);
}

/* ---- what decides which figures are made, in which order ---- */

static json_t *list_subjects(const evaluation *e) {
    json_t *list = json_array();
    for (int i = 0; i < e->n_subjects; i++) {
        const subject *s = &e->subjects[i];
        json_array_append_new(
            list, s->has_weights ? json_hash(s->weights.hash) : json_string(e->options->weights.items[i]));
    }
    return list;
}

/* Adds the digest of the shared object that a head or an encoder lies in. */
static void note_plugin(const evaluation *e, json_t *list, const char *name, const void *plugin) {
    Dl_info place = {0};
    if (dladdr(plugin, &place) && place.dli_fname)
        json_object_set_new(list, name, file_digest(e->ctx, place.dli_fname));
}

static json_t *list_plugins(const evaluation *e) {
    const eval_options *o = e->options;
    json_t *list = json_object();
    for (int i = 0; i < o->n_heads; i++)
        if (mo_find_head(o->heads[i]->name) != o->heads[i])
            note_plugin(e, list, o->heads[i]->name, o->heads[i]);
    if (o->encoder)
        note_plugin(e, list, o->encoder->name, o->encoder);
    return list;
}

/* Whether a data set is there, under its name without folders: these may differ from machine to machine. */
static void note_data(json_t *there, const char *data, const char *task) {
    char key[200];
    const char *name = strrchr(data, '/');
    snprintf(key, sizeof key, "%.150s %s", name ? name + 1 : data, task);
    json_object_set_new(there, key, json_boolean(mo_graph_exists(data)));
}

static json_t *list_data(const evaluation *e) {
    const eval_options *o = e->options;
    json_t *there = json_object();
    for (int i = 0; e->suite && i < e->suite->n; i++)
        note_data(there, e->suite->task[i].data, mo_task_name(e->suite->task[i].task));
    for (int i = 0; !e->suite && i < o->data.count; i++)
        note_data(there, o->data.items[i], o->task < 0 ? "all" : mo_task_name((mo_task)o->task));
    return there;
}

bool eval_same_settings(evaluation *e) {
    const eval_options *o = e->options;
    if (e->ranks.size == 1)
        return mo_ok(e->ctx);
    if (!mo_ok(e->ctx))
        return compare_with_first(e, NULL);
    int n = e->suite ? e->suite->n : o->data.count;
    return compare_with_first(
        e, json_pack("{s:o, s:o, s:i, s:o, s:s, s:i, s:i, s:b, s:i, s:i, s:i}", "weights", list_subjects(e), "plugins",
               list_plugins(e), "data_sets", n, "there", list_data(e), "protocol", eval_protocol_name(o, ""), "task",
               o->task, "metrics", (int)o->metrics, "transductive", o->transductive, "device", (int)o->device.device,
               "math", (int)o->device.math, "features", (int)o->place));
}

bool eval_same_sources(evaluation *e, const mo_pool *pool) {
    if (e->ranks.size == 1)
        return mo_ok(e->ctx);
    if (!mo_ok(e->ctx))
        return compare_with_first(e, NULL);
    json_t *tasks = json_array();
    for (int i = 0; i < mo_pool_size(pool); i++)
        json_array_append_new(tasks, json_string(mo_task_name(mo_pool_source(pool, i)->task)));
    return compare_with_first(e, json_pack("{s:o}", "tasks", tasks));
}
