/* train/fit/label_texts.c - labels of a file: an array of numbers, or texts, which become numbers. */
#include "tensor/files/arrays.h"
#include "tensor/files/file.h"
#include "tensor/files/npy.h"
#include "tensor/files/number_text.h"
#include "train/fit/label_column.h"
#include "train/graphs/table_reader.h"
#include "train/graphs/text_reader.h"
#include "train/graphs/words.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The texts of a file, and where they stand. */
typedef struct label_texts {
    mo_context *ctx;
    const char *path, *wanted; /* wanted: the name of a table's column, or NULL */
    mo_words words;
    int64_t *line, lines; /* [words.n] of the file; of an array the row; capacity */
    bool of_array;
    int64_t column; /* of a table; -1: not found yet */
    bool taken;     /* the row has the column */
} label_texts;

static bool add_label(label_texts *t, const char *text, int64_t line) {
    int64_t *grown = mo_host_array_grow(t->ctx, t->line, &t->lines, t->words.n + 1, sizeof *grown);
    t->line = grown ? grown : t->line;
    if (!grown)
        return false;
    t->line[t->words.n] = line;
    return mo_words_add(t->ctx, &t->words, text);
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

/* A label that is a number but no whole one is a value to regress on, not a class. */
static bool check_label_texts(const label_texts *t, bool *numbers) {
    *numbers = true;
    for (int64_t i = 0; i < t->words.n; i++) {
        const char *text = mo_words_get(&t->words, i);
        double value;
        bool number = is_number(text, &value);
        *numbers &= number || !*text;
        if (number && (fabs(value) > 0x1p53 || value != floor(value))) {
            char shown[80];
            mo_quote(text, strlen(text), shown, sizeof shown);
            mo_fail(t->ctx, MO_INVALID, "%s%s%" PRId64 ": expected a class, as real numbers are no classes, found '%s'",
                t->path, t->of_array ? ": row " : ":", t->line[i], shown);
            return false;
        }
    }
    return true;
}

static bool number_label_texts(const label_texts *t, mo_label_column *column) {
    bool numbers;
    if (!check_label_texts(t, &numbers))
        return false;
    mo_word *sorted = mo_words_sort(t->ctx, &t->words);
    column->n = t->words.n;
    column->value = mo_host_array(t->ctx, t->words.n, sizeof *column->value);
    column->name = numbers ? NULL : mo_host_array(t->ctx, t->words.n, sizeof *column->name);
    for (int64_t i = 0; mo_ok(t->ctx) && i < t->words.n; i++) {
        double value = -1;
        bool first = i == 0 || strcmp(sorted[i].text, sorted[i - 1].text) != 0;
        if (numbers)
            is_number(sorted[i].text, &value);
        else if (*sorted[i].text && first)
            column->name[column->names++] = mo_text_copy(t->ctx, sorted[i].text);
        column->value[sorted[i].at] = numbers ? *sorted[i].text ? (int64_t)value : -1 : column->names - 1;
    }
    free(sorted);
    return mo_ok(t->ctx);
}

static bool read_label_lines(label_texts *t) {
    mo_text_reader r;
    bool fine = mo_text_open(&r, t->ctx, t->path);
    while (fine && mo_text_line(&r)) {
        mo_text_blank(&r);
        size_t length = strlen(r.cursor);
        while (length > 0 && strchr(" \t", r.cursor[length - 1]))
            r.cursor[--length] = '\0';
        if (!mo_is_utf8(r.cursor, length)) {
            mo_fail(t->ctx, MO_FORMAT, "%s:%" PRId64 ": expected text in UTF-8", t->path, r.line);
            fine = false;
        }
        fine = fine && add_label(t, r.cursor, r.line);
    }
    mo_text_close(&r);
    return mo_ok(t->ctx);
}

static bool on_label_field(void *state, const mo_table_place *at, const char *text) {
    label_texts *t = state;
    if (at->row == 0 && t->column < 0 && !strcmp(text, t->wanted ? t->wanted : "label"))
        t->column = at->column;
    if (at->row == 0 || at->column != t->column)
        return true;
    t->taken = true;
    return add_label(t, text, at->line);
}

static bool on_label_row(void *state, const mo_table_place *at) {
    label_texts *t = state;
    if (at->row == 0 && t->column < 0 && !t->wanted && at->column == 1)
        t->column = 0;
    if (at->row == 0 && t->column < 0) {
        mo_fail(at->ctx, MO_FORMAT, "%s:%" PRId64 ": expected %s%s, found %" PRId64 " other columns", at->path,
            at->line, t->wanted ? "a column named " : "one column, a column named label, or FILE:NAME",
            t->wanted ? t->wanted : "", at->column);
        return false;
    }
    bool fine = at->row == 0 || t->taken || mo_table_columns(at, t->column + 1, "or more");
    t->taken = false;
    return fine;
}

/* Reads the array of a .npy file: texts into t, or else numbers into the column. */
static bool read_label_npy(label_texts *t, mo_label_column *column) {
    char label[MO_LABEL];
    mo_file_bytes content;
    mo_npy_header h;
    if (!mo_file_read(t->ctx, mo_file_label("npy", t->path, label), t->path, &content))
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
    label_texts t = {.ctx = ctx, .path = file, .column = -1};
    const mo_table_visit visit = {.field = on_label_field, .row = on_label_row, .state = &t};
    *column = (mo_label_column){0};
    t.wanted = mo_split_member(path, several, 6, file, sizeof file);
    bool table = mo_is_table(file), lines = mo_path_ends_with(file, ".txt") || mo_path_ends_with(file, ".txt.gz");
    if (table) {
        mo_table_read(ctx, file, &visit);
    } else if (lines) {
        read_label_lines(&t);
    } else if (mo_path_ends_with(file, ".npz") || mo_path_ends_with(file, ".safetensors")) {
        mo_tensor *T = mo_embedding_array(ctx, path);
        if (mo_ok(ctx))
            mo_label_column_of(T, path, column);
        mo_tensor_release(T);
    } else {
        read_label_npy(&t, column);
    }
    if (mo_ok(ctx) && (table || lines || t.of_array))
        number_label_texts(&t, column);
    free(t.line);
    mo_words_release(&t.words);
    return mo_ok(ctx);
}
