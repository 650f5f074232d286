/* train/evaluation/suite_file.c - suites as JSON files (suite.h says what they hold). */
#include "train/episodes/suite_parts.h"
#include "train/suite.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const tasks[MO_TASKS] = {"nc", "lp", "gc"};
static const char *const protocols[] = {"split", "episode"};
static const char *const accuracy[] = {"accuracy"};
static const char *const link_metrics[MO_LINK_METRICS] = {"auc", "ap", "mrr", "hits_rank", "hits_ogb", "hits_pooled"};
static const int64_t usual_shots[] = {4, 8, 16, 32, 64, 512};

const char *mo_link_metric_name(int i) {
    return i >= 0 && i < MO_LINK_METRICS ? link_metrics[i] : NULL;
}

static void read_metrics(const mo_json_text *t, mo_json_place place, const json_t *object, mo_suite_task *task) {
    const json_t *list = mo_json_array(t, place, object, "metrics", false);
    bool links = task->task == MO_TASK_LP;
    for (size_t i = 0; i < json_array_size(list) && mo_ok(t->ctx); i++) {
        mo_json_place at = mo_json_index(mo_json_key(place, "metrics"), i);
        int metric = mo_json_choice(
            t, at, json_array_get(list, i), links ? link_metrics : accuracy, links ? MO_LINK_METRICS : 1);
        if (metric >= 0 && task->metrics >> metric & 1)
            mo_json_fail(t, at, "\"%s\" is there twice", links ? link_metrics[metric] : accuracy[0]);
        else if (metric >= 0)
            task->metrics |= 1u << metric;
    }
}

static void read_shots(const mo_json_text *t, mo_json_place place, const json_t *object, mo_suite_task *task) {
    const json_t *list = mo_json_array(t, place, object, "k", false);
    bool links = task->task == MO_TASK_LP;
    int usual = links ? 1 : (int)(sizeof usual_shots / sizeof *usual_shots);
    task->n_shots = list ? (int)json_array_size(list) : usual;
    task->shots = mo_host_array(t->ctx, task->n_shots, sizeof *task->shots);
    for (int i = 0; i < task->n_shots && mo_ok(t->ctx); i++) {
        const json_t *k = json_array_get(list, (size_t)i);
        mo_json_place at = mo_json_index(mo_json_key(place, "k"), (size_t)i);
        task->shots[i] = k ? json_integer_value(k) : links ? 512 : usual_shots[i];
        if (k && (!json_is_integer(k) || task->shots[i] < 1 || task->shots[i] > 1 << 20))
            mo_json_fail(t, at, "expected k as a whole number of 1 to %d", 1 << 20);
        for (int j = 0; j < i; j++)
            if (mo_ok(t->ctx) && task->shots[j] == task->shots[i])
                mo_json_fail(t, at, "k = %lld is there twice", (long long)task->shots[i]);
    }
}

static void read_task(const mo_json_text *t, mo_json_place place, const json_t *object, mo_suite *suite) {
    static const char *const keys[] = {"data", "task", "k", "metrics"};
    if (!mo_json_only(t, place, object, keys, 4))
        return;
    mo_suite_task *task = &suite->task[suite->n++];
    const char *data = mo_read_data(t, place, object), *word = mo_json_string(t, place, object, "task", true);
    if (!mo_ok(t->ctx))
        return;
    int kind = mo_json_choice(t, mo_json_key(place, "task"), json_object_get(object, "task"), tasks, MO_TASKS);
    for (int i = 0; i < suite->n - 1 && kind >= 0; i++)
        if (!strcasecmp(suite->task[i].data, data) && suite->task[i].task == (mo_task)kind)
            mo_json_fail(t, place, "\"%s\" is there twice for %s", data, word);
    if (!mo_ok(t->ctx))
        return;
    task->task = (mo_task)kind;
    task->data = mo_text_copy(t->ctx, data);
    read_shots(t, place, object, task);
    if (mo_ok(t->ctx))
        read_metrics(t, place, object, task);
}

static void read_heads(const mo_json_text *t, const json_t *root, mo_suite *suite) {
    const json_t *list = mo_json_array(t, (mo_json_place){0}, root, "heads", false);
    suite->head = mo_host_array(t->ctx, (int64_t)json_array_size(list), sizeof *suite->head);
    for (size_t i = 0; i < json_array_size(list) && mo_ok(t->ctx); i++) {
        mo_json_place at = mo_json_index(mo_json_key((mo_json_place){0}, "heads"), i);
        const char *name = json_string_value(json_array_get(list, i));
        if (!name || !(mo_find_head(name) || !strcmp(name, "dot")))
            mo_json_fail(t, at, "expected the name of a head (mochi eval --help lists them) or dot");
        for (int j = 0; j < suite->n_heads && mo_ok(t->ctx); j++)
            if (!strcmp(suite->head[j], name))
                mo_json_fail(t, at, "\"%s\" is there twice", name);
        if (mo_ok(t->ctx))
            suite->head[suite->n_heads] = mo_text_copy(t->ctx, name);
        suite->n_heads += mo_ok(t->ctx);
    }
}

static void read_suite(const mo_json_text *t, mo_suite *suite) {
    static const char *const keys[] = {"suite", "about", "protocol", "seeds", "heads", "tasks"};
    mo_json_place top = {0};
    const json_t *root = t->root, *protocol = json_object_get(root, "protocol");
    if (!mo_json_only(t, top, root, keys, 6))
        return;
    mo_json_string(t, top, root, "about", false);
    suite->name = mo_text_copy(t->ctx, mo_json_string(t, top, root, "suite", true));
    suite->episodes =
        protocol && mo_ok(t->ctx) && mo_json_choice(t, mo_json_key(top, "protocol"), protocol, protocols, 2) == 1;
    suite->seeds = (int64_t)mo_json_real(t, top, root, "seeds", (double[]){1, 1e6, 0});
    read_heads(t, root, suite);
    const json_t *list = mo_json_array(t, top, root, "tasks", true);
    suite->task = mo_host_array(t->ctx, (int64_t)json_array_size(list), sizeof *suite->task);
    for (size_t i = 0; i < json_array_size(list) && mo_ok(t->ctx); i++)
        read_task(t, mo_json_index(mo_json_key(top, "tasks"), i), json_array_get(list, i), suite);
}

mo_suite *mo_suite_read(mo_context *ctx, const char *name_or_path) {
    char path[PATH_MAX];
    mo_json_text text = {0};
    if (!mo_find_list(ctx, "suite", name_or_path, path, sizeof path))
        return NULL;
    mo_suite *suite = mo_host_array(ctx, 1, sizeof *suite);
    if (suite) {
        suite->ctx = ctx;
        if (mo_json_read(ctx, "suite", path, &text))
            read_suite(&text, suite);
        mo_json_release(&text);
    }
    if (mo_ok(ctx))
        return suite;
    mo_suite_release(suite);
    return NULL;
}

void mo_suite_release(mo_suite *suite) {
    if (!suite)
        return;
    for (int i = 0; suite->task && i < suite->n; i++) {
        free(suite->task[i].data);
        free(suite->task[i].shots);
    }
    for (int i = 0; i < suite->n_heads; i++)
        free(suite->head[i]);
    free(suite->task);
    free(suite->head);
    free(suite->name);
    free(suite);
}
