/* train/graphs/labels.c - the classes of a few examples, from a table (example, class) or from an array. */
#include "tensor/library.h"
#include "train/graphs/graph_build.h"
#include "train/graphs/label_column.h"
#include "train/graphs/table_reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* A label as the file has it. */
typedef struct label_entry {
    int64_t id, line, word; /* word: index of the class's text in the table's words */
    const char *path;       /* borrowed */
} label_entry;

typedef struct label_table {
    const mo_graph *graph;
    mo_unknown_marks marks; /* of one file */
    label_entry *entry;
    int64_t n, capacity;
    int64_t rows; /* lines that are no header */
    mo_words words;
} label_table;

/* Which columns of a table hold the example and its class: the two, or of more those that the header names. */
typedef struct label_columns {
    int64_t fields, name, class;
} label_columns;

static label_columns find_label_columns(const mo_table *first) {
    label_columns at = {2, 0, 1};
    int64_t class = first->n > 2 ? mo_class_column(first) : -1, name = class < 0 ? -1 : mo_name_column(first, 0);
    return name < 0 || name == class ? at : (label_columns){first->n, name, class};
}

/* Puts the example and its class in front; raises if the row has another number of columns. */
static bool arrange_label(const label_columns *at, mo_table *row) {
    if (!mo_table_columns(row, at->fields,
            at->fields > 2                ? "as the first line has"
            : row->n > 2 && row->row == 0 ? "example and class (more: with a header that has node, or id, and label)"
                                          : "example and class"))
        return false;
    const char *name = row->field[at->name], *class = row->field[at->class];
    row->field[0] = name;
    row->field[1] = class;
    row->n = 2;
    return true;
}

static bool is_label_header(const mo_graph *graph, const mo_table *row) {
    if (row->n != 2 || !strcasecmp(row->field[1], "label") || !strcasecmp(row->field[1], "class"))
        return true;
    return !mo_is_number_text(row->field[0]) && mo_graph_find_example(graph, row->field[0]) < 0;
}

/* Adds the label of a row, unless its class is a mark of the unknown. */
static bool take_label(label_table *t, const mo_table *row, const char *path) {
    char plain[64];
    const char *class = mo_plain_label(row->field[1], plain);
    int64_t id = mo_table_example(row, t->graph, t->graph->graphs > 1 ? "graphs" : "nodes");
    if (id >= 0 && !*class)
        mo_unknown_marks_count(&t->marks, row->field[1]);
    if (id < 0 || !*class)
        return id >= 0;
    if (mo_is_real_text(class))
        return mo_table_unexpected(row,
            "a class, as real numbers are no classes (leave the field empty if it is unknown; `mochi predict "
            "--targets` reads real targets)",
            class);
    if (!mo_host_array_grow(row->ctx, &t->entry, &t->capacity, t->n + 1, sizeof *t->entry))
        return false;
    t->entry[t->n++] = (label_entry){id, row->line, t->words.n, path};
    return mo_words_add(row->ctx, &t->words, class);
}

static int entry_by_id(const void *a, const void *b) {
    const label_entry *x = a, *y = b;
    return x->id != y->id ? (x->id > y->id) - (x->id < y->id) : (x->line > y->line) - (x->line < y->line);
}

/* Keeps each example once; an example with two classes is an error that names both lines. */
static bool join_repeats(label_table *t) {
    int64_t n = 0;
    char number[24];
    qsort(t->entry, (size_t)t->n, sizeof *t->entry, entry_by_id);
    for (int64_t i = 0; i < t->n; i++) {
        const label_entry *last = n ? &t->entry[n - 1] : NULL, e = t->entry[i];
        if (!last || last->id != e.id)
            t->entry[n++] = e;
        else if (strcmp(mo_words_get(&t->words, last->word), mo_words_get(&t->words, e.word)) != 0)
            return mo_fail(t->graph->ctx, MO_INVALID,
                "%s:%" PRId64 ": example %s is of class '%s', and of '%s' in line %" PRId64 "%s%s", e.path, e.line,
                mo_graph_example_name(t->graph, e.id, number), mo_words_get(&t->words, e.word),
                mo_words_get(&t->words, last->word), last->line, last->path == e.path ? "" : " of ",
                last->path == e.path ? "" : last->path);
    }
    t->n = n;
    return true;
}

static bool reserve_labels(mo_context *ctx, int64_t n, mo_labels *labels) {
    labels->id = mo_host_array(ctx, n, sizeof *labels->id);
    labels->label = mo_host_array(ctx, n, sizeof *labels->label);
    return mo_ok(ctx);
}

/* Numbers the classes 0 .. classes - 1 in the order of their values, given in labels->label. Returns the values
 * [classes]; NULL on failure. */
static int64_t *number_classes(mo_context *ctx, mo_labels *labels) {
    int64_t *value = mo_host_array(ctx, labels->n, sizeof *value);
    if (value && labels->n > 0)
        memcpy(value, labels->label, (size_t)labels->n * sizeof *value);
    labels->classes = value ? mo_sort_distinct(value, labels->n) : 0;
    for (int64_t i = 0; value && i < labels->n; i++)
        labels->label[i] = mo_find_sorted(value, labels->classes, labels->label[i]);
    labels->name = value ? mo_host_array(ctx, labels->classes, sizeof *labels->name) : NULL;
    if (labels->name)
        return value;
    free(value);
    return NULL;
}

/* Sorts numeric labels as numbers, other texts by their bytes; a class gets its name from its first example. */
static void take_entries(const label_table *t, const char *path, mo_labels *labels) {
    mo_context *ctx = t->graph->ctx;
    mo_label_column column = {0};
    if (reserve_labels(ctx, t->n, labels) && mo_label_column_of_texts(ctx, path, &t->words, &column)) {
        for (int64_t i = 0; i < t->n; i++) {
            labels->id[i] = t->entry[i].id;
            labels->label[i] = column.value[t->entry[i].word];
        }
        labels->n = t->n;
        free(number_classes(ctx, labels));
    }
    for (int64_t i = 0; mo_ok(ctx) && i < t->n; i++)
        if (!labels->name[labels->label[i]])
            labels->name[labels->label[i]] = mo_text_copy(ctx, mo_words_get(&t->words, t->entry[i].word));
    mo_label_column_release(&column);
}

static bool read_label_file(label_table *t, const char *path, mo_labels *labels) {
    mo_context *ctx = t->graph->ctx;
    mo_table row;
    label_columns at = {0};
    int64_t rows = 0;
    bool fine = mo_table_open_pipe(&row, ctx, path);
    while (fine && mo_table_next(&row)) {
        at = row.row == 0 ? find_label_columns(&row) : at;
        if (!arrange_label(&at, &row))
            break;
        bool header = row.row == 0 && is_label_header(t->graph, &row);
        rows += !header;
        if (header)
            mo_note_header(ctx, &labels->headers, row.path, row.field, row.n);
        fine = header || take_label(t, &row, path);
    }
    t->rows += rows;
    mo_table_close(&row);
    bool noted = mo_ok(ctx) && mo_unknown_marks_note(ctx, &t->marks, path, rows, &labels->left_out);
    t->marks = (mo_unknown_marks){0};
    return noted;
}

/* Reads the file at `path` or, if there is none, the files that commas separate. names: a copy of path, which is
 * cut. */
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
    if (names && read_label_files(&t, path, names, labels) && t.n == 0 && t.rows > 0)
        mo_fail(ctx, MO_FORMAT,
            "%s: expected classes in the second column, found %s in every line (%" PRId64 "): fill it in", path,
            labels->left_out && strchr(labels->left_out, ':') ? "nothing or a mark of the unknown" : "it empty",
            t.rows);
    else if (mo_ok(ctx) && t.n == 0)
        mo_fail(ctx, MO_FORMAT, "%s: expected lines of example and class, found no label", path);
    if (mo_ok(ctx) && join_repeats(&t))
        take_entries(&t, path, labels);
    free(names);
    free(t.entry);
    mo_words_release(&t.words);
    return mo_ok(ctx);
}

bool mo_labels_of(mo_context *ctx, const int64_t *label, const double *mask, int64_t n, mo_labels *labels) {
    if (labels)
        *labels = (mo_labels){0};
    if (!mo_given(ctx, "labels", "the array", label) || !mo_given(ctx, "labels", "labels", labels) ||
        !reserve_labels(ctx, n, labels))
        return false;
    char number[24];
    for (int64_t i = 0; i < n; i++)
        if (label[i] >= 0 && (!mask || mask[i] != 0)) {
            labels->id[labels->n] = i;
            labels->label[labels->n++] = label[i];
        }
    int64_t *value = number_classes(ctx, labels);
    for (int64_t c = 0; value && mo_ok(ctx) && c < labels->classes; c++) {
        snprintf(number, sizeof number, "%" PRId64, value[c]);
        labels->name[c] = mo_text_copy(ctx, number);
    }
    free(value);
    return mo_ok(ctx);
}

bool mo_labels_read_column(const mo_graph *graph, const char *path, mo_labels *labels) {
    if (labels)
        *labels = (mo_labels){0};
    if (!graph || !mo_given(graph->ctx, "labels", "the path", path) ||
        !mo_given(graph->ctx, "labels", "labels", labels))
        return false;
    mo_context *ctx = graph->ctx;
    mo_label_column column = {0};
    if (mo_label_column_read(ctx, path, &column) && mo_label_column_bind(&column, graph, path, false) &&
        mo_labels_of(ctx, column.value, NULL, column.n, labels) && labels->n == 0)
        mo_fail(ctx, MO_INVALID, "%s: expected at least one label, found none", path);
    for (int64_t c = 0; mo_ok(ctx) && column.name && c < labels->classes; c++) { /* text for number */
        free(labels->name[c]);
        labels->name[c] = column.name[c];
        column.name[c] = NULL;
    }
    mo_label_column_release(&column);
    if (!mo_ok(ctx))
        mo_labels_release(labels);
    return mo_ok(ctx);
}

bool mo_graph_take_labels(mo_graph *graph, const mo_labels *labels) {
    graph->label = mo_host_array(graph->ctx, mo_graph_examples(graph), sizeof *graph->label);
    graph->n_labels = graph->label ? mo_graph_examples(graph) : 0;
    graph->classes = labels->classes;
    for (int64_t i = 0; i < graph->n_labels; i++)
        graph->label[i] = -1;
    for (int64_t i = 0; graph->label && i < labels->n; i++)
        graph->label[labels->id[i]] = labels->label[i];
    return graph->label;
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
    free(labels->headers);
    *labels = (mo_labels){0};
}
