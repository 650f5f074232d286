/* train/episodes/lists.c - pools and suites as text files (their content: lists.h). */
#include "train/lists.h"
#include "tensor/files/file.h"
#include "tensor/files/number_text.h"
#include "tensor/library.h"
#include "train/graphs/loaders.h"
#include "train/graphs/table_reader.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct list {
    mo_table row;
    char path[PATH_MAX];
} list;

/* Opens NAME.kind of the embedded data, or a path. Close it even on failure. */
static bool list_open(list *l, mo_context *ctx, const char *kind, const char *name_or_path) {
    char ending[16];
    *l = (list){0};
    if (!mo_given(ctx, kind, "the name or path", name_or_path) || !mo_ok(ctx))
        return false;
    snprintf(ending, sizeof ending, ".%s", kind);
    if (!mo_locate_embedded(name_or_path, ending, l->path, sizeof l->path)) {
        snprintf(l->path, sizeof l->path, "%s", name_or_path);
        if (!strchr(name_or_path, '/') && !mo_path_ends_with(name_or_path, ending))
            return mo_fail(ctx, MO_INVALID, "%s '%.200s': expected a path that ends in %s, or paper or paper-offline",
                kind, name_or_path, ending);
    }
    return mo_table_open(&l->row, ctx, l->path, MO_TABLE_WORDS);
}

static bool is_setting(const mo_table *row, const char *name) {
    return !strcmp(row->field[0], name);
}

static bool list_number(const mo_table *row, int64_t i, const char *what, double least, double most, double *value) {
    const char *text = i < row->n ? row->field[i] : "";
    char *end;
    *value = mo_read_number(text, &end);
    return (end != text && !*end && *value >= least && *value <= most) || mo_table_unexpected(row, what, text);
}

/* Raises if the row has fields behind the first n. */
static bool ends_after(const mo_table *row, int64_t n) {
    return row->n <= n || mo_table_unexpected(row, "the end of the line", row->field[n]);
}

static bool list_append(mo_context *ctx, char ***words, int64_t *room, int *n, const char *word) {
    if (!mo_host_array_grow(ctx, words, room, *n + 1, sizeof **words) || !((*words)[*n] = mo_text_copy(ctx, word)))
        return false;
    ++*n;
    return true;
}

static void list_free(char **words, int n) {
    for (int i = 0; i < n; i++)
        free(words[i]);
    free(words);
}

/* ---- pools ---- */

bool mo_is_pool_file(const char *text) {
    char path[PATH_MAX];
    return text && (mo_path_ends_with(text, ".pool") || mo_locate_embedded(text, ".pool", path, sizeof path));
}

static bool read_pool_line(const mo_table *row, mo_pool_file *file, int64_t *room) {
    if (is_setting(row, "link_share"))
        return list_number(row, 1, "a share of 0.001 to 0.9", 0.001, 0.9, &file->link_share) && ends_after(row, 2);
    if (is_setting(row, "families")) {
        double sum = 0;
        for (int task = 0; task < MO_TASKS; sum += file->family[task++])
            if (!list_number(row, 1 + task, "three numbers of 0 to 1e6: nc, lp, gc", 0, 1e6, &file->family[task]))
                return false;
        return (sum > 0 || mo_table_unexpected(row, "a family above 0", row->field[1])) &&
               ends_after(row, 1 + MO_TASKS);
    }
    return list_append(row->ctx, &file->graph, room, &file->n, row->field[0]) && ends_after(row, 1);
}

mo_pool_file *mo_pool_file_read(mo_context *ctx, const char *name_or_path) {
    list l;
    int64_t room = 0;
    mo_pool_file *file = mo_host_array(ctx, 1, sizeof *file);
    bool fine = list_open(&l, ctx, "pool", name_or_path) && file;
    for (int task = 0; file && task < MO_TASKS; task++)
        file->family[task] = 1;
    while (fine && mo_table_next(&l.row))
        fine = read_pool_line(&l.row, file, &room);
    if (mo_ok(ctx) && fine && file->n == 0)
        mo_fail(ctx, MO_FORMAT, "%s: expected graphs to train on, found none", l.path);
    mo_table_close(&l.row);
    if (mo_ok(ctx))
        return file;
    mo_pool_file_release(file);
    return NULL;
}

void mo_pool_file_release(mo_pool_file *file) {
    if (!file)
        return;
    list_free(file->graph, file->n);
    free(file);
}

/* ---- suites ---- */

/* Capacities of the lists that grow while a suite is read. */
typedef struct suite_room {
    int64_t heads, tasks;
} suite_room;

static bool read_protocol(const mo_table *row, mo_suite *suite) {
    const char *name = row->n > 1 ? row->field[1] : "";
    suite->episodes = !strcmp(name, "episode");
    return suite->episodes || !strcmp(name, "split") ? ends_after(row, 2)
                                                     : mo_table_unexpected(row, "split or episode", name);
}

static bool read_heads(const mo_table *row, mo_suite *suite, int64_t *room) {
    for (int64_t i = 1; i < row->n; i++) {
        const char *word = row->field[i];
        if (!mo_find_head(word) && strcmp(word, "dot") != 0)
            return mo_table_unexpected(row, "the name of a head (mochi eval --help lists them) or dot", word);
        if (!list_append(row->ctx, &suite->head, room, &suite->n_heads, word))
            return false;
    }
    return true;
}

static bool add_shot(const mo_table *row, mo_suite_task *task, int64_t *room, int64_t k) {
    for (int i = 0; i < task->n_shots; i++)
        if (task->shots[i] == k)
            return mo_fail(
                row->ctx, MO_FORMAT, "%s:%lld: k = %lld is there twice", row->path, (long long)row->line, (long long)k);
    if (!mo_host_array_grow(row->ctx, &task->shots, room, task->n_shots + 1, sizeof *task->shots))
        return false;
    task->shots[task->n_shots++] = k;
    return true;
}

static bool read_shots(const mo_table *row, mo_suite_task *task) {
    static const int64_t usual[] = {4, 8, 16, 32, 64, 512};
    int64_t room = 0, k;
    for (int64_t i = 1; i < row->n; i++)
        if (!mo_table_integer(row, i, "k", 1, 1 << 20, &k) || !add_shot(row, task, &room, k))
            return false;
    for (int i = task->n_shots ? 6 : task->task == MO_TASK_LP ? 5 : 0; i < 6; i++)
        if (!add_shot(row, task, &room, usual[i]))
            return false;
    return true;
}

/* Splits NAME:TASK: cuts the word to the name and returns the task; -1 if it has none. */
static int split_task(char *word) {
    char *colon = strrchr(word, ':');
    for (int task = 0; colon && colon > word && task < MO_TASKS; task++)
        if (strcmp(colon + 1, mo_task_name((mo_task)task)) == 0) {
            *colon = '\0';
            return task;
        }
    return -1;
}

static bool add_task(const mo_table *row, mo_suite *suite, suite_room *room, const char *data, int kind) {
    if (kind < 0)
        return mo_table_unexpected(row, "a data set with its task, as cora:nc, or a setting", row->field[0]);
    for (int i = 0; i < suite->n; i++)
        if (suite->task[i].task == (mo_task)kind && !strcasecmp(suite->task[i].data, data))
            return mo_fail(row->ctx, MO_FORMAT, "%s:%lld: %.200s is there twice for %s", row->path,
                (long long)row->line, data, mo_task_name((mo_task)kind));
    if (!mo_host_array_grow(row->ctx, &suite->task, &room->tasks, suite->n + 1, sizeof *suite->task))
        return false;
    mo_suite_task *task = &suite->task[suite->n++];
    *task = (mo_suite_task){.data = mo_text_copy(row->ctx, data), .task = (mo_task)kind};
    return task->data && read_shots(row, task);
}

static bool read_suite_line(const mo_table *row, mo_suite *suite, suite_room *room) {
    double number;
    if (is_setting(row, "protocol"))
        return read_protocol(row, suite);
    if (is_setting(row, "seeds"))
        return list_number(row, 1, "a number of 1 to 1e6", 1, 1e6, &number) && (suite->seeds = (int64_t)number) &&
               ends_after(row, 2);
    if (is_setting(row, "heads"))
        return read_heads(row, suite, &room->heads);
    char *data = mo_text_copy(row->ctx, row->field[0]);
    bool added = data && add_task(row, suite, room, data, split_task(data));
    free(data);
    return added;
}

mo_suite *mo_suite_read(mo_context *ctx, const char *name_or_path) {
    list l;
    suite_room room = {0, 0};
    mo_suite *suite = mo_host_array(ctx, 1, sizeof *suite);
    bool fine = list_open(&l, ctx, "suite", name_or_path) && suite;
    while (fine && mo_table_next(&l.row))
        fine = read_suite_line(&l.row, suite, &room);
    if (mo_ok(ctx) && fine && suite->n == 0)
        mo_fail(ctx, MO_FORMAT, "%s: expected tasks to evaluate, found none", l.path);
    mo_table_close(&l.row);
    if (mo_ok(ctx))
        return suite;
    mo_suite_release(suite);
    return NULL;
}

void mo_suite_release(mo_suite *suite) {
    if (!suite)
        return;
    for (int i = 0; i < suite->n; i++) {
        free(suite->task[i].data);
        free(suite->task[i].shots);
    }
    free(suite->task);
    list_free(suite->head, suite->n_heads);
    free(suite);
}
