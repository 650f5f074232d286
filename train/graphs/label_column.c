/* train/graphs/label_column.c - one label for each row or example: read from numbers, or from texts, which are
 * numbered. */
#include "train/graphs/label_column.h"

#include "tensor/files/arrays.h"
#include "tensor/files/file.h"
#include "tensor/files/npy.h"
#include "tensor/files/number_text.h"
#include "train/graphs/loaders.h"
#include "train/graphs/row_names.h"
#include "train/graphs/table_reader.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void mo_label_column_release(mo_label_column *column) {
    for (int64_t i = 0; column->name && i < column->names; i++)
        free(column->name[i]);
    free(column->name);
    free(column->value);
    mo_words_release(&column->row);
    *column = (mo_label_column){0};
}

bool mo_label_column_fits(mo_label_column *column, int64_t n) {
    if (column->n > n && column->n - column->empty <= n)
        column->n = n;
    return column->n == n;
}

bool mo_label_column_bind(mo_label_column *column, const mo_graph *graph, const char *path, bool listed) {
    mo_context *ctx = graph->ctx;
    mo_words names = {0};
    int64_t examples = mo_graph_examples(graph), *row = NULL, *value = NULL;
    bool fine = column->row.n > 0 || mo_row_names_read(ctx, path, &names);
    if (column->row.n > 0) {
        names = column->row;
        column->row = (mo_words){0};
    }
    bool named = names.n > 0;
    bool fits = fine && mo_label_column_fits(column, named ? names.n : examples);
    if (fine)
        row = mo_rows_of_examples(graph, path, column->n, &names, (mo_row_binding){.listed = listed});
    if (row && !fits)
        mo_fail(ctx, MO_FORMAT, "%s: expected a label for each of %" PRId64 " %s, found %" PRId64, path, examples,
            graph->graphs > 1 ? "graphs" : "nodes", column->n);
    else if (row)
        value = mo_host_array(ctx, examples, sizeof *value);
    for (int64_t e = 0; value && e < examples; e++)
        value[e] = row[e] < 0 ? -1 : column->value[row[e]];
    if (value) {
        free(column->value);
        column->value = value;
        column->n = examples;
    }
    free(row);
    mo_words_release(&names);
    return value;
}

/* ---- one array of a file ---- */

/* Finds the array of that name, or the only one; the error lists the names in the file. */
static mo_tensor *choose_array(mo_context *ctx, const mo_arrays *arrays, const char *path, const char *name) {
    mo_tensor *T = name ? mo_arrays_find(arrays, name) : arrays->count == 1 ? arrays->items[0].tensor : NULL;
    char names[256] = "";
    for (int64_t i = 0; !T && i < arrays->count && strlen(names) < 200; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%.60s", i ? ", " : "", arrays->items[i].name);
    const char *form = T || name ? NULL : mo_foreign_arrays(arrays);
    if (form && !mo_arrays_find(arrays, "edge_index"))
        mo_fail_foreign_rows(ctx, path, form, NULL);
    else if (!T)
        mo_fail(ctx, MO_INVALID, "%s: expected %s%s, found %" PRId64 " arrays of numbers (%s)%s", path,
            name ? "an array named " : "one array, or ", name ? name : "FILE:NAME", arrays->count, names,
            mo_path_ends_with(path, ".npz") ? "; labels that are texts are read from .npy, .txt, .csv and .tsv" : "");
    return T;
}

/* Splits FILE:NAME if FILE has one of the suffixes; returns NAME, or NULL if there is none. */
static const char *split_member(const char *path, const char *const *suffixes, int n, char *file, size_t bytes) {
    const char *colon = strrchr(path, ':');
    snprintf(file, bytes, "%s", path);
    if (!colon || colon == path || (size_t)(colon - path) >= bytes)
        return NULL;
    file[colon - path] = '\0';
    for (int i = 0; i < n; i++)
        if (mo_path_ends_with(file, suffixes[i]))
            return colon + 1;
    file[colon - path] = ':';
    return NULL;
}

mo_tensor *mo_array_read(mo_context *ctx, const char *path) {
    static const char *const archives[] = {".npz", ".safetensors"};
    char file[4096];
    const char *name = split_member(path, archives, 2, file, sizeof file);
    bool npz = mo_path_ends_with(file, ".npz");
    if (!npz && !mo_path_ends_with(file, ".safetensors"))
        return mo_npy_read(ctx, path);
    mo_arrays *arrays = npz ? mo_npz_read(ctx, file) : mo_safetensors_read(ctx, file);
    mo_tensor *T = arrays ? choose_array(ctx, arrays, file, name) : NULL, *own = mo_null_tensor(ctx);
    for (int64_t i = 0; T && i < arrays->count; i++)
        if (arrays->items[i].tensor == T) {
            own = T;
            arrays->items[i].tensor = mo_null_tensor(ctx);
        }
    mo_arrays_release(arrays);
    return own;
}

/* A copy of rows T [n, w], in another order: row i of the copy is row[i] of T. */
static mo_tensor *rows_in_order(mo_context *ctx, const mo_tensor *T, const int64_t *row, int64_t n) {
    int64_t shape[] = {n, mo_dim(T, 1)};
    mo_dtype dtype = mo_tensor_dtype(T);
    size_t bytes = (size_t)mo_dim(T, 1) * mo_dtype_size(dtype);
    char *from = mo_host_values(T, dtype), *to = mo_host_array(ctx, n * mo_dim(T, 1) + 1, mo_dtype_size(dtype));
    for (int64_t i = 0; from && to && i < n; i++)
        memcpy(to + (size_t)i * bytes, from + (size_t)row[i] * bytes, bytes);
    mo_tensor *ordered = from && to ? mo_tensor_create_from(ctx, dtype, 2, shape, to) : mo_null_tensor(ctx);
    free(from);
    free(to);
    return ordered;
}

mo_tensor *mo_node_rows_read(const mo_graph *graph, const char *path) {
    mo_context *ctx = graph->ctx;
    mo_tensor *T = mo_array_read(ctx, path);
    if (!mo_ok(ctx) || graph->graphs > 1 || mo_ndim(T) != 2)
        return T;
    mo_words names = {0};
    int64_t *row = NULL;
    if (mo_row_names_read(ctx, path, &names))
        row = mo_rows_of_examples(graph, path, mo_dim(T, 0), &names, (mo_row_binding){.every = true});
    if (row && names.n > 0) {
        mo_tensor *ordered = rows_in_order(ctx, T, row, graph->nodes);
        mo_tensor_release(T);
        T = ordered;
    }
    free(row);
    mo_words_release(&names);
    if (mo_ok(ctx))
        return T;
    mo_tensor_release(T);
    return mo_null_tensor(ctx);
}

/* ---- numbers ---- */

/* Converts labels of a real dtype, which must be whole: NumPy writes labels as reals if they came from a table of
 * floats. */
static int64_t *read_whole_numbers(const mo_tensor *label, int64_t n, const char *name) {
    mo_context *ctx = mo_tensor_context(label);
    int64_t *value = mo_host_array(ctx, n, sizeof *value);
    double *real = mo_host_values(label, MO_F64);
    for (int64_t i = 0; real && value && i < n && mo_ok(ctx); i++) {
        value[i] = fabs(real[i]) <= 0x1p53 ? (int64_t)real[i] : INT64_MIN;
        if ((double)value[i] != real[i])
            mo_fail(ctx, MO_INVALID,
                "%s: expected labels that are whole numbers, found %g in row %" PRId64
                " of %s labels (-1 means unlabelled)",
                name, real[i], i, mo_dtype_name(mo_tensor_dtype(label)));
    }
    free(real);
    return value;
}

bool mo_label_column_of(const mo_tensor *label, const char *name, mo_label_column *column) {
    mo_context *ctx = mo_tensor_context(label);
    int64_t n = mo_numel(label);
    mo_dtype dtype = mo_tensor_dtype(label);
    char shape[64];
    *column = (mo_label_column){.n = n};
    if (mo_ndim(label) != 1 && (mo_ndim(label) != 2 || mo_dim(label, 1) != 1))
        mo_fail(ctx, MO_INVALID, "%s: expected one label for each row, [n] or [n, 1], found labels %s", name,
            mo_shape_string(label, shape, sizeof shape));
    bool whole = dtype == MO_I32 || dtype == MO_I64 || dtype == MO_U8;
    if (mo_ok(ctx))
        column->value = whole ? mo_host_values(label, MO_I64) : read_whole_numbers(label, n, name);
    return mo_ok(ctx);
}

/* ---- texts ---- */

const char *mo_plain_label(const char *text, char plain[64]) {
    if (mo_is_unknown(text))
        return "";
    size_t digits = strspn(text + (*text == '-'), "0123456789");
    const char *end = text + (*text == '-') + digits;
    bool point = *end == '.';
    end += point ? 1 + strspn(end + 1, "0") : 0;
    if (!digits || *end || (!point && *text != '-') || digits > 63)
        return text;
    snprintf(plain, 64, "%.*s", (int)digits, text);
    return *text == '-' ? "" : plain;
}

void mo_unknown_marks_count(mo_unknown_marks *m, const char *text) {
    int64_t k = 0;
    while (k < m->kinds && strcmp(m->text[k], text) != 0)
        k++;
    if (!*text || k == 6) {
        ++*(*text ? &m->others : &m->empty);
        return;
    }
    if (k == m->kinds)
        snprintf(m->text[m->kinds++], sizeof m->text[0], "%s", text);
    m->n[k]++;
}

bool mo_unknown_marks_note(mo_context *ctx, const mo_unknown_marks *m, const char *path, int64_t rows, char **note) {
    int64_t open = m->empty + m->others;
    char marks[160] = "", what[240];
    for (int64_t k = 0; k < m->kinds; k++) {
        open += m->n[k];
        snprintf(marks + strlen(marks), sizeof marks - strlen(marks), "%s%" PRId64 " '%s'", k ? ", " : ": ", m->n[k],
            m->text[k]);
    }
    snprintf(what, sizeof what, "no class in %" PRId64 " of %" PRId64 " lines%s", open, rows, marks);
    return !open || mo_note_left_out(ctx, note, path, what);
}

/* The label texts of a file or array, and where each stands. */
typedef struct label_texts {
    mo_context *ctx;
    const char *path, *wanted; /* wanted: the name of a table's column, or NULL */
    mo_words words, row;       /* row: the first column of a table, where the labels are in another */
    int64_t *line, lines;      /* [words.n]: line in the file, or row of an array; lines: the capacity */
    int64_t empty;             /* number of empty texts at the end, without other marks of the unknown */
    bool of_array;
} label_texts;

static bool add_label(label_texts *t, const char *text, int64_t line) {
    if (!mo_host_array_grow(t->ctx, &t->line, &t->lines, t->words.n + 1, sizeof *t->line))
        return false;
    t->line[t->words.n] = line;
    t->empty = *text ? 0 : t->empty + 1;
    char plain[64];
    return mo_words_add(t->ctx, &t->words, mo_plain_label(text, plain));
}

static bool on_label_element(void *state, const char *text) {
    label_texts *t = state;
    return add_label(t, text, t->words.n);
}

static bool is_number(const char *text, double *value) {
    char *end;
    *value = mo_read_number(text, &end);
    return end != text && !*end;
}

static bool is_whole(double value) {
    return fabs(value) <= 0x1p53 && value == floor(value);
}

bool mo_is_real_text(const char *text) {
    double value;
    return is_number(text, &value) && !is_whole(value);
}

static int word_by_value(const void *a, const void *b) {
    double x, y;
    is_number(((const mo_word *)a)->text, &x);
    is_number(((const mo_word *)b)->text, &y);
    return (x > y) - (x < y);
}

/* Raises if two texts, sorted, are one number: 1 and 01 may be two classes or one, and only the user knows. */
static bool refuse_spellings(mo_context *ctx, const mo_word *sorted, int64_t n, const char *path) {
    mo_word *word = mo_host_array(ctx, n, sizeof *word);
    int64_t distinct = 0;
    for (int64_t i = 0; word && i < n; i++)
        if (*sorted[i].text && (distinct == 0 || strcmp(sorted[i].text, word[distinct - 1].text) != 0))
            word[distinct++] = sorted[i];
    if (word)
        qsort(word, (size_t)distinct, sizeof *word, word_by_value);
    for (int64_t i = 1; i < distinct && mo_ok(ctx); i++)
        if (word_by_value(&word[i - 1], &word[i]) == 0)
            mo_fail(ctx, MO_FORMAT, "%s: expected one spelling of each class, found '%.40s' and '%.40s'", path,
                word[i - 1].text, word[i].text);
    free(word);
    return mo_ok(ctx);
}

bool mo_label_column_of_texts(mo_context *ctx, const char *path, const mo_words *words, mo_label_column *column) {
    mo_word *sorted = mo_words_sort(ctx, words);
    double value;
    bool numbers = true;
    *column = (mo_label_column){.n = words->n, .value = mo_host_array(ctx, words->n, sizeof *column->value)};
    for (int64_t i = 0; sorted && i < words->n; i++)
        numbers &= !*sorted[i].text || (is_number(sorted[i].text, &value) && is_whole(value));
    if (numbers && sorted)
        refuse_spellings(ctx, sorted, words->n, path);
    column->name = numbers ? NULL : mo_host_array(ctx, words->n, sizeof *column->name);
    for (int64_t i = 0; mo_ok(ctx) && i < words->n; i++) {
        bool first = i == 0 || strcmp(sorted[i].text, sorted[i - 1].text) != 0;
        if (numbers)
            column->value[sorted[i].at] = is_number(sorted[i].text, &value) ? (int64_t)value : -1;
        else if (*sorted[i].text && first)
            column->name[column->names++] = mo_text_copy(ctx, sorted[i].text);
        if (!numbers)
            column->value[sorted[i].at] = column->names - 1;
    }
    while (column->empty < words->n && !*mo_words_get(words, words->n - 1 - column->empty))
        column->empty++;
    free(sorted);
    return mo_ok(ctx);
}

/* Raises for a number that is not whole: it is a value for regression, not a class. */
static bool refuse_real_numbers(const label_texts *t) {
    for (int64_t i = 0; i < t->words.n; i++) {
        const char *text = mo_words_get(&t->words, i);
        char shown[80];
        if (mo_is_real_text(text))
            return mo_fail(t->ctx, MO_INVALID,
                "%s%s%" PRId64 ": expected a class, as real numbers are no classes, found '%s'", t->path,
                t->of_array ? ": row " : ":", t->line[i], mo_quote(text, strlen(text), shown, sizeof shown));
    }
    return true;
}

static bool read_label_lines(label_texts *t) {
    mo_table row;
    bool fine = mo_table_open(&row, t->ctx, t->path, MO_TABLE_CELLS);
    while (fine && mo_table_next(&row))
        fine = add_label(t, row.field[0], row.line);
    mo_table_close(&row);
    return mo_ok(t->ctx);
}

/* The column of a table that holds the labels, found by the header; -1 after an error. */
static int64_t find_label_column(const label_texts *t, const mo_table *header) {
    for (int64_t i = 0; i < header->n; i++)
        if (!strcmp(header->field[i], t->wanted ? t->wanted : "label"))
            return i;
    if (!t->wanted && header->n == 1)
        return 0;
    mo_fail(t->ctx, MO_FORMAT, "%s:%" PRId64 ": expected %s%s, found %" PRId64 " other columns", t->path, header->line,
        t->wanted ? "a column named " : "one column, a column named label, or FILE:NAME", t->wanted ? t->wanted : "",
        header->n);
    return -1;
}

static bool read_label_table(label_texts *t) {
    mo_table row;
    int64_t column =
        mo_table_open(&row, t->ctx, t->path, MO_TABLE_CSV) && mo_table_next(&row) ? find_label_column(t, &row) : -1;
    while (column >= 0 && mo_ok(t->ctx) && mo_table_next(&row))
        if (row.n > column || mo_table_columns(&row, column + 1, "or more")) {
            add_label(t, row.field[column], row.line);
            if (column > 0 && mo_ok(t->ctx))
                mo_words_add(t->ctx, &t->row, row.field[0]);
        }
    mo_table_close(&row);
    return mo_ok(t->ctx);
}

static bool check_label_npy(
    mo_context *ctx, const char *label, const unsigned char *head, size_t head_bytes, size_t n) {
    mo_npy_header h;
    if (!mo_npy_header_read(ctx, label, head, head_bytes, &h))
        return false;
    return h.kind == 'U' || h.kind == 'S' ? mo_npy_header_fits(ctx, label, &h, n)
                                          : mo_npy_check(ctx, label, head, head_bytes, n);
}

/* Reads the array of a .npy file: texts into t, numbers into the column. */
static bool read_label_npy(label_texts *t, mo_label_column *column) {
    char label[MO_LABEL];
    mo_file_bytes content;
    mo_npy_header h;
    if (!mo_file_read_checked(t->ctx, mo_file_label("npy", t->path, label), t->path, check_label_npy, &content))
        return false;
    t->of_array = mo_npy_header_read(t->ctx, label, content.data, content.n, &h) && (h.kind == 'U' || h.kind == 'S');
    if (t->of_array && h.ndim != 1 && (h.ndim != 2 || h.shape[1] != 1))
        mo_fail(t->ctx, MO_INVALID, "%s: expected one label for each row, [n] or [n, 1], found labels of %d axes",
            label, h.ndim);
    if (mo_ok(t->ctx) && t->of_array && mo_npy_header_fits(t->ctx, label, &h, content.n))
        mo_npy_texts(t->ctx, label, &h, content.data + h.data, on_label_element, t);
    mo_tensor *T = mo_ok(t->ctx) && !t->of_array ? mo_npy_decode(t->ctx, label, content.data, content.n) : NULL;
    if (T && mo_ok(t->ctx))
        mo_label_column_of(T, t->path, column);
    mo_tensor_release(T);
    mo_file_bytes_free(t->ctx, &content);
    return mo_ok(t->ctx);
}

bool mo_label_column_read(mo_context *ctx, const char *path, mo_label_column *column) {
    static const char *const several[] = {".csv", ".csv.gz", ".tsv", ".tsv.gz", ".npz", ".safetensors"};
    char file[4096];
    label_texts t = {.ctx = ctx, .path = file};
    *column = (mo_label_column){0};
    t.wanted = split_member(path, several, 6, file, sizeof file);
    bool table = mo_is_table(file), lines = mo_path_ends_with(file, ".txt") || mo_path_ends_with(file, ".txt.gz");
    if (table) {
        read_label_table(&t);
    } else if (lines) {
        read_label_lines(&t);
    } else if (mo_path_ends_with(file, ".npz") || mo_path_ends_with(file, ".safetensors")) {
        mo_tensor *T = mo_array_read(ctx, path);
        if (mo_ok(ctx))
            mo_label_column_of(T, path, column);
        mo_tensor_release(T);
    } else {
        read_label_npy(&t, column);
    }
    if (mo_ok(ctx) && (table || lines || t.of_array) && refuse_real_numbers(&t))
        if (mo_label_column_of_texts(ctx, t.path, &t.words, column)) {
            column->empty = t.empty;
            column->row = t.row;
            t.row = (mo_words){0};
        }
    mo_words_release(&t.row);
    free(t.line);
    mo_words_release(&t.words);
    return mo_ok(ctx);
}
