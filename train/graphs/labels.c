/* train/graphs/labels.c - the classes of a few examples, from a table of example and class, or from an array. */
#include "tensor/files/number_text.h"
#include "tensor/hidden.h"
#include "train/graphs/table_reader.h"
#include "train/graphs/words.h"
#include "train/inside.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* A label as it stands in the file. */
typedef struct label_entry {
    int64_t id, line, word; /* word: the class's text among the table's words; -1: none */
    const char *path;       /* borrowed */
} label_entry;

typedef struct label_table {
    const mo_graph *graph;
    label_entry *entry, next;
    int64_t n, capacity, open, rows; /* open: of the file's rows, those without a class */
    mo_words words;
} label_table;

/* A number that is not whole is a value to regress on, not a class. */
static bool is_real_number(const char *text) {
    char *end, *whole;
    strtoll(text, &whole, 10);
    mo_read_number(text, &end);
    return *text && end != text && !*end && *whole;
}

static bool take_example(label_table *t, const mo_table_place *at, const char *text) {
    t->next.id = mo_graph_find_example(t->graph, text);
    t->next.line = at->line;
    t->next.path = at->path;
    if (t->next.id >= 0)
        return true;
    char expected[160];
    snprintf(expected, sizeof expected,
        t->graph->names ? "the name of one of %" PRId64 " %s" : "the number of one of %" PRId64 " %s, from 0",
        mo_graph_examples(t->graph), t->graph->graphs > 1 ? "graphs" : "nodes");
    return mo_table_unexpected(at, expected, text);
}

static bool is_label_header(void *state, const char *const *field, int64_t n) {
    const label_table *t = state;
    if (n != 2 || !strcasecmp(field[1], "label") || !strcasecmp(field[1], "class"))
        return true;
    return !mo_is_number_text(field[0]) && mo_graph_find_example(t->graph, field[0]) < 0;
}

static bool on_field(void *state, const mo_table_place *at, const char *text) {
    label_table *t = state;
    if (at->column > 1)
        return true;
    if (at->column == 0)
        return take_example(t, at, text);
    t->next.word = -1;
    if (!*text)
        return true;
    if (is_real_number(text))
        return mo_table_unexpected(at, "a class, as real numbers are no classes", text);
    t->next.word = t->words.n;
    return mo_words_add(at->ctx, &t->words, text);
}

static bool on_row(void *state, const mo_table_place *at) {
    label_table *t = state;
    if (!mo_table_columns(at, 2, "example and class"))
        return false;
    if (at->row == 0)
        return true;
    t->rows++;
    t->open += t->next.word < 0;
    if (t->next.word < 0)
        return true;
    label_entry *grown = mo_host_array_grow(at->ctx, t->entry, &t->capacity, t->n + 1, sizeof *grown);
    if (!grown)
        return false;
    t->entry = grown;
    t->entry[t->n++] = t->next;
    return true;
}

static int entry_by_id(const void *a, const void *b) {
    const label_entry *x = a, *y = b;
    return x->id != y->id ? (x->id > y->id) - (x->id < y->id) : (x->line > y->line) - (x->line < y->line);
}

/* Leaves each example once; two classes of one example are an error that names both lines. */
static bool join_repeats(label_table *t) {
    int64_t n = 0;
    char number[24];
    qsort(t->entry, (size_t)t->n, sizeof *t->entry, entry_by_id);
    for (int64_t i = 0; i < t->n; i++) {
        const label_entry *last = n ? &t->entry[n - 1] : NULL, e = t->entry[i];
        if (!last || last->id != e.id)
            t->entry[n++] = e;
        else if (strcmp(mo_words_get(&t->words, last->word), mo_words_get(&t->words, e.word)) != 0) {
            mo_fail(t->graph->ctx, MO_INVALID,
                "%s:%" PRId64 ": example %s is of class '%s', and of '%s' in line %" PRId64 "%s%s", e.path, e.line,
                mo_graph_example_name(t->graph, e.id, number), mo_words_get(&t->words, e.word),
                mo_words_get(&t->words, last->word), last->line, last->path == e.path ? "" : " of ",
                last->path == e.path ? "" : last->path);
            return false;
        }
    }
    t->n = n;
    return true;
}

static bool is_whole(const char *text) {
    char *end;
    errno = 0;
    strtoll(text, &end, 10);
    return *text && !*end && !errno;
}

static int word_by_number(const void *a, const void *b) {
    long long x = strtoll(((const mo_word *)a)->text, NULL, 10), y = strtoll(((const mo_word *)b)->text, NULL, 10);
    return (x > y) - (x < y);
}

static int word_by_bytes(const void *a, const void *b) {
    return strcmp(((const mo_word *)a)->text, ((const mo_word *)b)->text);
}

/* Numbers the classes and names them. sorted: the words, in the order of `order`. */
static void number_classes(
    label_table *t, mo_word *sorted, int (*order)(const void *, const void *), mo_labels *labels) {
    mo_context *ctx = t->graph->ctx;
    labels->id = mo_host_array(ctx, t->n, sizeof *labels->id);
    labels->label = mo_host_array(ctx, t->n, sizeof *labels->label);
    labels->name = mo_host_array(ctx, t->n, sizeof *labels->name);
    if (!mo_ok(ctx))
        return;
    int64_t classes = 0;
    for (int64_t i = 0; i < t->words.n; i++)
        if (!i || order(&sorted[i], &sorted[classes - 1]) != 0)
            sorted[classes++] = sorted[i];
    for (int64_t i = 0; i < t->n; i++) {
        mo_word own = {mo_words_get(&t->words, t->entry[i].word), 0};
        const mo_word *at = bsearch(&own, sorted, (size_t)classes, sizeof *sorted, order);
        labels->id[i] = t->entry[i].id;
        labels->label[i] = at - sorted;
    }
    labels->n = t->n;
    for (; labels->classes < classes && mo_ok(ctx); labels->classes++)
        labels->name[labels->classes] = mo_text_copy(ctx, sorted[labels->classes].text);
}

static bool read_label_file(label_table *t, const char *path, mo_labels *labels) {
    mo_context *ctx = t->graph->ctx;
    mo_table_visit visit = {on_field, on_row, t, is_label_header, &labels->left_out, true};
    char what[80];
    t->open = t->rows = 0;
    bool fine = mo_table_read(ctx, path, &visit);
    snprintf(what, sizeof what, "no class in %" PRId64 " of %" PRId64 " lines", t->open, t->rows);
    return fine && (!t->open || mo_note_left_out(ctx, &labels->left_out, path, what));
}

/* Reads the file of that name, or else those with commas between, whose names stay in `names`. */
static bool read_label_files(label_table *t, const char *path, char *names, mo_labels *labels) {
    bool fine = true;
    if (access(path, F_OK) == 0 || !strchr(path, ','))
        return read_label_file(t, path, labels);
    for (char *name; fine && (name = strsep(&names, ","));) {
        if (!*name)
            mo_fail(t->graph->ctx, MO_INVALID, "%s: expected files with single commas between", path);
        fine = *name && read_label_file(t, name, labels);
    }
    return fine;
}

bool mo_labels_read(const mo_graph *graph, const char *path, mo_labels *labels) {
    if (labels)
        *labels = (mo_labels){0};
    if (!graph || !mo_given(graph->ctx, "labels", "the path", path) ||
        !mo_given(graph->ctx, "labels", "labels", labels))
        return false;
    mo_context *ctx = graph->ctx;
    label_table t = {.graph = graph};
    char *names = mo_text_copy(ctx, path);
    bool fine = names && read_label_files(&t, path, names, labels), numbers = true;
    if (fine && t.n == 0)
        mo_fail(ctx, MO_FORMAT, "%s: expected lines of example and class, found no label", path);
    mo_word *sorted = mo_ok(ctx) && join_repeats(&t) ? mo_words_sort(ctx, &t.words) : NULL;
    for (int64_t i = 0; sorted && i < t.words.n; i++)
        numbers &= is_whole(sorted[i].text);
    if (sorted && numbers)
        qsort(sorted, (size_t)t.words.n, sizeof *sorted, word_by_number);
    if (sorted)
        number_classes(&t, sorted, numbers ? word_by_number : word_by_bytes, labels);
    free(sorted);
    free(names);
    free(t.entry);
    mo_words_release(&t.words);
    return mo_ok(ctx);
}

bool mo_labels_of(mo_context *ctx, const int64_t *label, const double *mask, int64_t n, mo_labels *labels) {
    if (labels)
        *labels = (mo_labels){0};
    if (!mo_given(ctx, "labels", "the array", label) || !mo_given(ctx, "labels", "labels", labels))
        return false;
    char number[24];
    *labels =
        (mo_labels){.id = mo_host_array(ctx, n, sizeof(int64_t)), .label = mo_host_array(ctx, n, sizeof(int64_t))};
    int64_t *value = mo_host_array(ctx, n, sizeof *value);
    for (int64_t i = 0; mo_ok(ctx) && i < n; i++)
        if (label[i] >= 0 && (!mask || mask[i] != 0)) {
            labels->id[labels->n] = i;
            labels->label[labels->n] = value[labels->n] = label[i];
            labels->n++;
        }
    int64_t classes = mo_ok(ctx) ? mo_sort_distinct(value, labels->n) : 0;
    labels->name = mo_host_array(ctx, classes, sizeof *labels->name);
    for (int64_t i = 0; mo_ok(ctx) && i < labels->n; i++)
        labels->label[i] = mo_find_sorted(value, classes, labels->label[i]);
    for (; mo_ok(ctx) && labels->classes < classes; labels->classes++) {
        snprintf(number, sizeof number, "%" PRId64, value[labels->classes]);
        labels->name[labels->classes] = mo_text_copy(ctx, number);
    }
    free(value);
    return mo_ok(ctx);
}

void mo_labels_release(mo_labels *labels) {
    if (!labels)
        return;
    for (int64_t c = 0; labels->name && c < labels->classes; c++)
        free(labels->name[c]);
    free(labels->name);
    free(labels->id);
    free(labels->label);
    free(labels->left_out);
    *labels = (mo_labels){0};
}
