/* tools/predict/predict_labels.c - the labels that a user knows, from a table of text or an array. */
#include "tools/memory.h"
#include "tools/predict/label_table.h"
#include "tools/predict/predict.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_whole(const char *text) {
    char *end;
    strtoll(text, &end, 10);
    return *text && !*end;
}

static int by_number(const void *a, const void *b) {
    long long x = strtoll(*(char *const *)a, NULL, 10), y = strtoll(*(char *const *)b, NULL, 10);
    return (x > y) - (x < y);
}

static int by_bytes(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int by_id(const void *a, const void *b) {
    const label_entry *x = a, *y = b;
    return x->id != y->id ? (x->id > y->id) - (x->id < y->id) : (x->line > y->line) - (x->line < y->line);
}

/* Leaves each example once; two classes of one example are an error that names both lines. */
static void join_repeats(label_table *t) {
    int64_t n = 0;
    qsort(t->entries, (size_t)t->n, sizeof *t->entries, by_id);
    for (int64_t i = 0; i < t->n; i++) {
        label_entry *last = n ? &t->entries[n - 1] : NULL, *e = &t->entries[i];
        if (!last || last->id != e->id) {
            t->entries[n++] = *e;
            continue;
        }
        if (strcmp(last->class, e->class) != 0 && mo_ok(t->ctx))
            mo_fail(t->ctx, MO_INVALID,
                "%s:%" PRId64 ": example %" PRId64 " is of class '%s', and of '%s' in line %" PRId64, t->path, e->line,
                e->id, e->class, last->class, last->line);
        free(e->class);
    }
    t->n = n;
}

/* Numbers the classes; takes their names over. */
static void number_classes(label_table *t, known_labels *known) {
    char **sorted = needed(calloc((size_t)t->n + 1, sizeof *sorted));
    known->id = needed(calloc((size_t)t->n + 1, sizeof *known->id));
    known->label = needed(calloc((size_t)t->n + 1, sizeof *known->label));
    bool numbers = true;
    for (int64_t i = 0; i < t->n; i++) {
        sorted[i] = t->entries[i].class;
        numbers &= is_whole(sorted[i]);
    }
    int (*order)(const void *, const void *) = numbers ? by_number : by_bytes;
    qsort(sorted, (size_t)t->n, sizeof *sorted, order);
    for (int64_t i = 0; i < t->n; i++)
        if (!i || order(&sorted[i], &sorted[known->classes - 1]) != 0)
            sorted[known->classes++] = sorted[i];
    for (int64_t i = 0; i < t->n; i++) {
        char **at = bsearch(&t->entries[i].class, sorted, (size_t)known->classes, sizeof *sorted, order);
        known->id[i] = t->entries[i].id;
        known->label[i] = at - sorted;
    }
    known->n = t->n;
    known->name = sorted;
    for (int64_t c = 0; c < known->classes; c++)
        known->name[c] = needed(strdup(sorted[c]));
}

/* The labels of an array: those that are 0 or more, where the mask (NULL: everywhere) is nonzero. */
static void take_array(mo_context *ctx, const char *path, const int64_t *label, const double *mask, int64_t examples,
    known_labels *known) {
    label_table t = {.ctx = ctx, .path = path, .examples = examples};
    for (int64_t i = 0; i < examples && mo_ok(ctx); i++) {
        char text[32];
        if (label[i] < 0 || (mask && mask[i] == 0))
            continue;
        snprintf(text, sizeof text, "%" PRId64, label[i]);
        t.class = needed(strdup(text));
        keep_label(&t, i);
    }
    if (mo_ok(ctx) && t.n == 0)
        mo_fail(ctx, MO_INVALID, "%s: expected at least one label of 0 or more, found none", path);
    if (mo_ok(ctx))
        number_classes(&t, known);
    for (int64_t i = 0; i < t.n; i++)
        free(t.entries[i].class);
    free(t.entries);
}

/* An array [examples] of a file as that dtype, in host memory; NULL on failure. */
static void *read_array(mo_context *ctx, const char *path, int64_t examples, mo_dtype dtype) {
    mo_tensor *T = mo_npy_read(ctx, path);
    char shape[160];
    if (mo_ok(ctx) && (mo_ndim(T) != 1 || mo_dim(T, 0) != examples))
        mo_fail(ctx, MO_INVALID, "%s: the array is %s, expected [%" PRId64 "]", path,
            mo_shape_string(T, shape, sizeof shape), examples);
    if (mo_ok(ctx) && dtype == MO_I64 && mo_dtype_is_real(mo_tensor_dtype(T)))
        mo_fail(ctx, MO_INVALID, "%s: expected classes as whole numbers, found %s", path,
            mo_dtype_name(mo_tensor_dtype(T)));
    mo_tensor *whole = mo_tensor_create(ctx, dtype, 1, &examples);
    void *host = needed(malloc((size_t)examples * mo_dtype_size(dtype) + 1));
    mo_tensor_copy(whole, T);
    mo_tensor_read(whole, host, (size_t)examples * mo_dtype_size(dtype));
    mo_tensor_release(whole);
    mo_tensor_release(T);
    return host;
}

bool read_labels(mo_context *ctx, const char *path, int64_t examples, known_labels *known) {
    *known = (known_labels){0};
    if (mo_path_ends_with(path, ".npy")) {
        int64_t *label = read_array(ctx, path, examples, MO_I64);
        if (mo_ok(ctx))
            take_array(ctx, path, label, NULL, examples, known);
        free(label);
        return mo_ok(ctx);
    }
    label_table t = {.ctx = ctx, .path = path, .examples = examples};
    parse_label_table(&t);
    if (mo_ok(ctx))
        join_repeats(&t);
    if (mo_ok(ctx))
        number_classes(&t, known);
    for (int64_t i = 0; i < t.n; i++)
        free(t.entries[i].class);
    free(t.entries);
    free(t.id);
    free(t.class);
    return mo_ok(ctx);
}

bool take_own_labels(const mo_graph *graph, const char *mask, int64_t examples, known_labels *known) {
    *known = (known_labels){0};
    if (graph->n_labels != examples)
        mo_fail(graph->ctx, MO_INVALID, "--known: %s has no labels of its own; expected --labels FILE", graph->name);
    double *use = mo_ok(graph->ctx) ? read_array(graph->ctx, mask, examples, MO_F64) : NULL;
    if (mo_ok(graph->ctx))
        take_array(graph->ctx, mask, graph->label, use, examples, known);
    free(use);
    return mo_ok(graph->ctx);
}

void free_labels(known_labels *known) {
    for (int64_t c = 0; known->name && c < known->classes; c++)
        free(known->name[c]);
    free(known->name);
    free(known->id);
    free(known->label);
    *known = (known_labels){0};
}
