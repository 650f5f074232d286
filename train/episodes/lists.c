/* train/episodes/lists.c - pools and suites as text files (their content: lists.h). */
#include "train/lists.h"
#include "tensor/files/file.h"
#include "tensor/files/number_text.h"
#include "tensor/hidden.h"
#include "train/graphs/loaders.h"
#include "train/graphs/text_reader.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct list {
    mo_text_reader text;
    char path[PATH_MAX];
} list;

/* Opens NAME.kind of the embedded data, or a path. Close it even on failure. */
static bool list_open(list *l, mo_context *ctx, const char *kind, const char *name_or_path) {
    char ending[16];
    *l = (list){.text = {.ctx = ctx}};
    if (!mo_given(ctx, kind, "the name or path", name_or_path) || !mo_ok(ctx))
        return false;
    snprintf(ending, sizeof ending, ".%s", kind);
    if (!mo_locate_embedded(name_or_path, ending, l->path, sizeof l->path)) {
        snprintf(l->path, sizeof l->path, "%s", name_or_path);
        if (!strchr(name_or_path, '/') && !mo_path_ends_with(name_or_path, ending))
            return mo_fail(ctx, MO_INVALID, "%s '%.200s': expected a path that ends in %s, or paper or paper-offline",
                kind, name_or_path, ending);
    }
    return mo_text_open(&l->text, ctx, l->path);
}

/* Returns whether the line is a setting of that name; if so, skips the name. */
static bool list_setting(mo_text_reader *r, const char *name) {
    size_t n = strlen(name);
    if (strncmp(r->cursor, name, n) != 0 || (r->cursor[n] && !strchr(" \t", r->cursor[n])))
        return false;
    r->cursor += n;
    return true;
}

static bool list_number(mo_text_reader *r, const char *what, double least, double most, double *value) {
    char *end;
    mo_text_blank(r);
    *value = mo_read_number(r->cursor, &end);
    if (end == r->cursor || (*end && !strchr(" \t", *end)) || !(*value >= least && *value <= most))
        return mo_text_unexpected(r, what);
    r->cursor = end;
    return true;
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

static bool read_pool_line(mo_text_reader *r, mo_pool_file *file, int64_t *room) {
    if (list_setting(r, "link_share"))
        return list_number(r, "a share of 0.001 to 0.9", 0.001, 0.9, &file->link_share) && mo_text_finished(r);
    if (list_setting(r, "families")) {
        double sum = 0;
        for (int task = 0; task < MO_TASKS; sum += file->family[task++])
            if (!list_number(r, "three numbers of 0 to 1e6: nc, lp, gc", 0, 1e6, &file->family[task]))
                return false;
        return sum > 0 ? mo_text_finished(r) : mo_text_unexpected(r, "a family above 0");
    }
    return list_append(r->ctx, &file->graph, room, &file->n, mo_text_word(r)) && mo_text_finished(r);
}

mo_pool_file *mo_pool_file_read(mo_context *ctx, const char *name_or_path) {
    list l;
    int64_t room = 0;
    mo_pool_file *file = mo_host_array(ctx, 1, sizeof *file);
    bool fine = list_open(&l, ctx, "pool", name_or_path) && file;
    for (int task = 0; file && task < MO_TASKS; task++)
        file->family[task] = 1;
    while (fine && mo_text_data_line(&l.text))
        fine = read_pool_line(&l.text, file, &room);
    if (mo_ok(ctx) && fine && file->n == 0)
        mo_fail(ctx, MO_FORMAT, "%s: expected graphs to train on, found none", l.path);
    mo_text_close(&l.text);
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

static bool read_protocol(mo_text_reader *r, mo_suite *suite) {
    mo_text_blank(r); /* skips the blanks before the protocol's name */
    suite->episodes = list_setting(r, "episode");
    return suite->episodes || list_setting(r, "split") ? mo_text_finished(r)
                                                       : mo_text_unexpected(r, "split or episode");
}

static bool read_heads(mo_text_reader *r, mo_suite *suite, int64_t *room) {
    while (!mo_text_blank(r)) {
        char *start = r->cursor, *word = mo_text_word(r);
        if (!mo_find_head(word) && strcmp(word, "dot") != 0) {
            r->cursor = start;
            return mo_text_unexpected(r, "the name of a head (mochi eval --help lists them) or dot");
        }
        if (!list_append(r->ctx, &suite->head, room, &suite->n_heads, word))
            return false;
    }
    return true;
}

static bool add_shot(mo_text_reader *r, mo_suite_task *task, int64_t *room, int64_t k) {
    for (int i = 0; i < task->n_shots; i++)
        if (task->shots[i] == k)
            return mo_fail(
                r->ctx, MO_FORMAT, "%s:%lld: k = %lld is there twice", r->path, (long long)r->line, (long long)k);
    if (!mo_host_array_grow(r->ctx, &task->shots, room, task->n_shots + 1, sizeof *task->shots))
        return false;
    task->shots[task->n_shots++] = k;
    return true;
}

static bool read_shots(mo_text_reader *r, mo_suite_task *task) {
    static const int64_t usual[] = {4, 8, 16, 32, 64, 512};
    int64_t room = 0, k;
    while (!mo_text_blank(r))
        if (!mo_text_integer_in(r, "k", 1, 1 << 20, &k) || !add_shot(r, task, &room, k))
            return false;
    for (int i = task->n_shots ? 6 : task->task == MO_TASK_LP ? 5 : 0; i < 6; i++)
        if (!add_shot(r, task, &room, usual[i]))
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

static bool read_suite_line(mo_text_reader *r, mo_suite *suite, suite_room *room) {
    double number;
    if (list_setting(r, "protocol"))
        return read_protocol(r, suite);
    if (list_setting(r, "seeds"))
        return list_number(r, "a number of 1 to 1e6", 1, 1e6, &number) && (suite->seeds = (int64_t)number) &&
               mo_text_finished(r);
    if (list_setting(r, "heads"))
        return read_heads(r, suite, &room->heads);
    char *start = r->cursor, *word = mo_text_word(r);
    int kind = split_task(word);
    if (kind < 0) {
        r->cursor = start;
        return mo_text_unexpected(r, "a data set with its task, as cora:nc, or a setting");
    }
    for (int i = 0; i < suite->n; i++)
        if (suite->task[i].task == (mo_task)kind && !strcasecmp(suite->task[i].data, word))
            return mo_fail(r->ctx, MO_FORMAT, "%s:%lld: %.200s is there twice for %s", r->path, (long long)r->line,
                word, mo_task_name((mo_task)kind));
    if (!mo_host_array_grow(r->ctx, &suite->task, &room->tasks, suite->n + 1, sizeof *suite->task))
        return false;
    mo_suite_task *task = &suite->task[suite->n++];
    *task = (mo_suite_task){.data = mo_text_copy(r->ctx, word), .task = (mo_task)kind};
    return task->data && read_shots(r, task);
}

mo_suite *mo_suite_read(mo_context *ctx, const char *name_or_path) {
    list l;
    suite_room room = {0, 0};
    mo_suite *suite = mo_host_array(ctx, 1, sizeof *suite);
    bool fine = list_open(&l, ctx, "suite", name_or_path) && suite;
    while (fine && mo_text_data_line(&l.text))
        fine = read_suite_line(&l.text, suite, &room);
    if (mo_ok(ctx) && fine && suite->n == 0)
        mo_fail(ctx, MO_FORMAT, "%s: expected tasks to evaluate, found none", l.path);
    mo_text_close(&l.text);
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
