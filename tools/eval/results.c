/* tools/eval/results.c - figures of evaluations, from lines of JSON or the paper's tables. */
#include "tools/eval/results.h"

#include "tools/input.h"
#include "tools/memory.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stb/stb_ds.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Copies a text of a file for printing, without terminal control characters. */
static void put_printable(char *to, size_t bytes, const char *text) {
    snprintf(to, bytes, "%s", text ? text : "");
    make_printable(to);
}

void results_free(results *r) {
    for (int i = 0; i < arrlen(r->items); i++)
        free(r->items[i].values);
    arrfree(r->items);
}

/* ---- lines of `mochi eval --json` ---- */

static double number_of(const json_t *o, const char *key) {
    const json_t *value = json_object_get(o, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

json_t *json_seen(mo_seen seen) {
    return seen == MO_SEEN_UNKNOWN ? json_null() : json_boolean(seen == MO_SEEN);
}

/* Lines of older versions and other programs lack `seen`; a baseline has no weights. */
mo_seen seen_of_cell(const json_t *cell) {
    static const char *const baselines[] = {"random", "x0", "hop"};
    const json_t *seen = json_object_get(cell, "seen");
    const char *features = json_string_value(json_object_get(cell, "features"));
    if (json_is_boolean(seen))
        return json_is_true(seen) ? MO_SEEN : MO_UNSEEN;
    for (int i = 0; i < 3; i++)
        if (!seen && features && !strcmp(features, baselines[i]))
            return MO_UNSEEN;
    return MO_SEEN_UNKNOWN;
}

static int64_t count_of(const json_t *o, const char *key) {
    return json_integer_value(json_object_get(o, key));
}

bool results_add_cell(results *r, const json_t *o) {
    const char *data, *task, *protocol, *features, *head, *metric, *block, *name;
    json_int_t k;
    json_t *values, *share;
    mo_expert_share experts[MO_MAX_EXPERTS];
    int n_experts = 0;
    if (json_unpack((json_t *)o, "{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:o}", "data", &data, "task", &task, "protocol",
            &protocol, "features", &features, "head", &head, "metric", &metric, "k", &k, "values", &values) ||
        !json_is_array(values) || k < 0 || strlen(task) >= sizeof r->items->task ||
        strlen(protocol) >= sizeof r->items->protocol)
        return false;
    const size_t n = json_array_size(values);
    result *x = arraddnptr(r->items, 1);
    *x = (result){.k = k,
        .mean = number_of(o, "mean"),
        .sd = number_of(o, "sd"),
        .ci95 = number_of(o, "ci95"),
        .n = (int64_t)n,
        .classes = count_of(o, "classes"),
        .small_classes = count_of(o, "small_classes"),
        .left_out = count_of(o, "left_out"),
        .seen = seen_of_cell(o)};
    block = json_string_value(json_object_get(o, "block"));
    put_printable(x->data, sizeof x->data, data);
    put_printable(x->task, sizeof x->task, task);
    put_printable(x->protocol, sizeof x->protocol, protocol);
    put_printable(x->features, sizeof x->features, features);
    put_printable(x->head, sizeof x->head, head);
    put_printable(x->block, sizeof x->block, block ? block : head);
    put_printable(x->metric, sizeof x->metric, metric);
    x->values = n ? needed(calloc(n, sizeof *x->values)) : NULL;
    for (size_t i = 0; i < n; i++)
        x->values[i] = json_is_number(json_array_get(values, i)) ? json_number_value(json_array_get(values, i)) : NAN;
    json_object_foreach(json_object_get(o, "experts"), name, share) {
        if (n_experts < MO_MAX_EXPERTS)
            experts[n_experts++] = (mo_expert_share){name, json_number_value(share)};
    }
    mo_describe_shares(experts, n_experts, x->experts, sizeof x->experts);
    return true;
}

/* Reads one line; returns false with `why` if it is not from `mochi eval --json`. */
static bool take_eval_line(results *r, const char *line, size_t n, char *why, size_t bytes) {
    json_error_t error;
    json_t *o = json_loadb(line, n, JSON_REJECT_DUPLICATES, &error);
    const char *kind = json_string_value(json_object_get(o, "kind"));
    bool fine = kind && (strcmp(kind, "cell") != 0 || results_add_cell(r, o));
    if (!o)
        put_printable(why, bytes, error.text);
    else if (!fine)
        snprintf(why, bytes, "expected a line of `mochi eval --json`");
    json_decref(o);
    return fine;
}

static bool read_eval_run(results *r, const char *path, char *why, size_t bytes) {
    FILE *file = open_input(path);
    char *line = NULL, said[200] = "";
    size_t room = 0;
    int number = 0;
    bool fine = file;
    for (ssize_t n; fine && (errno = 0, n = getline(&line, &room, file)) > 0;) {
        number++;
        fine = take_eval_line(r, line, (size_t)n, said, sizeof said);
    }
    if (!file || (fine && (ferror(file) || errno == ENOMEM)))
        snprintf(why, bytes, "%s: cannot be read: %s", path, strerror(errno));
    else if (!fine)
        snprintf(why, bytes, "%s:%d: %s", path, number, said);
    else if (!arrlen(r->items))
        snprintf(why, bytes, "%s: expected figures of `mochi eval --json`, found none", path);
    free(line);
    if (file)
        fclose(file);
    return fine && arrlen(r->items);
}

/* ---- the paper, and other methods on the public split ---- */

/* Reads a row of a table: one figure per method, and the best figure a second time as "paper best" or "public best".
 * For links the paper has one column for its two readouts, mlp and ridge. */
static void take_row(results *r, const json_t *table, const json_t *row) {
    const json_t *methods = json_object_get(table, "methods"), *means = json_object_get(row, "mean"),
                 *sds = json_object_get(row, "sd"), *protocol = json_object_get(table, "protocol");
    const char *task = json_string_value(json_object_get(table, "task"));
    const int64_t seeds = count_of(table, "seeds");
    int best = -1, first = (int)arrlen(r->items);
    for (size_t i = 0; i < json_array_size(methods); i++) {
        const json_t *method = json_array_get(methods, i), *mean = json_array_get(means, i),
                     *sd = json_array_get(sds, i);
        const char *features = json_string_value(json_object_get(method, "features")),
                   *heads[] = {json_string_value(json_object_get(method, "head")), NULL};
        if (!json_is_number(mean))
            continue;
        if (!strcmp(task, "lp")) {
            bool both = !strncmp(features, "MOCHI", 5);
            heads[0] = both ? "mlp" : "";
            heads[1] = both ? "ridge" : NULL;
        }
        for (int h = 0; h < 2 && (h == 0 || heads[h]); h++) {
            json_t *cell =
                json_pack("{s:O, s:s, s:s, s:s, s:s, s:I, s:O, s:O, s:[]}", "data", json_object_get(row, "data"),
                    "task", task, "protocol", protocol ? json_string_value(protocol) : "split", "features", features,
                    "head", heads[h] ? heads[h] : "", "k", (json_int_t)count_of(row, "k"), "metric",
                    json_object_get(row, "metric"), "mean", mean, "values");
            bool added = results_add_cell(r, cell);
            json_decref(cell);
            if (!added)
                return;
            result *x = &arrlast(r->items);
            x->n = seeds;
            x->sd = json_is_number(sd) ? json_number_value(sd) : NAN;
            x->ci95 = mo_student_975(seeds - 1) * x->sd / sqrt((double)seeds);
            x->seen = MO_UNSEEN;
        }
        if (best < 0 || json_number_value(mean) > r->items[best].mean)
            best = (int)arrlen(r->items) - 1;
    }
    if (best >= first) {
        result copy = r->items[best];
        put_printable(copy.features, sizeof copy.features, r->best);
        put_printable(copy.head, sizeof copy.head, "");
        arrput(r->items, copy);
    }
}

static bool read_published(results *r, const char *name, char *why, size_t bytes) {
    char path[PATH_MAX], file[32];
    json_error_t error = {.text = "not there"};
    snprintf(file, sizeof file, "%s.json", name);
    snprintf(r->best, sizeof r->best, "%s best", name);
    json_t *root = mo_data_file(file, path, sizeof path) ? read_json_file(path, 0, &error) : NULL, *table, *row;
    size_t i, j;
    json_array_foreach(json_object_get(root, "tables"), i, table)
        json_array_foreach(json_object_get(table, "rows"), j, row) take_row(r, table, row);
    if (!root)
        snprintf(why, bytes, "%s of the embedded data: %.120s", file, error.text);
    json_decref(root);
    r->paper = true;
    return root;
}

bool results_read(results *r, const char *path, char *why, size_t bytes) {
    *r = (results){0};
    const char *name = strrchr(path, '/');
    put_printable(r->label, sizeof r->label, name ? name + 1 : path);
    r->label[strcspn(r->label, ".")] = '\0'; /* "a.jsonl" becomes "a" */
    bool published = !strcmp(path, "paper") || !strcmp(path, "public");
    return published ? read_published(r, path, why, bytes) : read_eval_run(r, path, why, bytes);
}

/* ---- looking up, comparing ---- */

bool same_subject(const result *a, const result *b) {
    return !strcasecmp(a->data, b->data) && !strcmp(a->task, b->task) && !strcmp(a->metric, b->metric);
}

bool equal_shots(const results *r, const result *figure, int64_t k) {
    if (r->paper && !strcmp(figure->protocol, "public"))
        return true; /* a public division has its own number of labels, not k per class */
    if (strcmp(figure->task, "lp") != 0 || figure->k > 0)
        return figure->k == k;
    return !r->paper || k == 0 || k == PAPER_LINKS_K;
}

const result *find_result(const results *r, const result *subject, int64_t k, const char *features, const char *block) {
    if (r->paper && !strcmp(block, mo_head_mixture.name))
        block = mo_head_ridge.name; /* the paper's tables have no mixture; ridge is the closest of its readouts */
    for (int i = 0; i < arrlen(r->items); i++) {
        const result *x = &r->items[i];
        bool any_head = r->paper && (!strcmp(x->task, "lp") || !x->head[0]);
        if (r->paper && !strcmp(x->protocol, "public") != !strcmp(subject->protocol, "public"))
            continue; /* the public split cannot be compared with other protocols */
        if (same_subject(x, subject) && equal_shots(r, x, k) && !strcmp(x->features, features) &&
            (any_head || !strcmp(x->block, block)))
            return x;
    }
    return NULL;
}

/* Half the width of Welch's 95% interval: Student's quantile at Welch's degrees of freedom, rounded down. */
static double welch_interval(const result *a, const result *b) {
    double va = a->sd * a->sd / (double)a->n, vb = b->sd * b->sd / (double)b->n, v = va + vb;
    double degrees = v * v / (va * va / (double)(a->n - 1) + vb * vb / (double)(b->n - 1));
    if (!isfinite(degrees) || degrees < 1)
        return v == 0 ? 0 : NAN;
    return mo_student_975((int64_t)degrees) * sqrt(v);
}

difference subtract_results(const result *a, const result *b) {
    difference d = {.mean = a->mean - b->mean, .ci95 = NAN, .seen = a->seen > b->seen ? a->seen : b->seen};
    d.paired = a->values && b->values && a->n == b->n && a->n > 1 && !strcmp(a->protocol, b->protocol);
    if (d.paired) {
        d.ci95 = mo_summarize_pairs(a->values, b->values, a->n).ci95;
    } else if (a->n > 1 && b->n > 1) {
        d.ci95 = welch_interval(a, b);
    }
    return d;
}
