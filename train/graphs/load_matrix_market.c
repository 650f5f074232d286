/* train/graphs/load_matrix_market.c - node features as a Matrix Market file (Boisvert, Pozo and Remington 1996), plain
 * or gzipped: row i of the matrix is node i.
 *
 * "coordinate" lists entries `row column value`, from 1, in any order and each once, without a value where the field is
 * "pattern" (all are 1); "array" has every value of the matrix, one per line, column after column. Fields are real,
 * double, integer and pattern; the matrix is "general". */
#include "tensor/files/number_text.h"
#include "train/graphs/graph_build.h"
#include "train/graphs/loaders.h"
#include "train/graphs/text_reader.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct matrix_entry {
    int64_t line;
    int32_t row, column;
    float value;
} matrix_entry;

typedef struct matrix_file {
    mo_text_reader r;
    bool dense, pattern, integer;
    int64_t rows, columns, claimed; /* claimed: entries, or values of an array */
    matrix_entry *entry;
    int64_t n, capacity;
} matrix_file;

/* Moves to the next line that is neither blank nor a comment; raises at the end of the file. */
static bool next_matrix_line(matrix_file *m, const char *expected) {
    while (mo_text_line(&m->r))
        if (!mo_text_blank(&m->r) && *m->r.cursor != '%')
            return true;
    if (mo_ok(m->r.ctx))
        mo_fail(m->r.ctx, MO_FORMAT, "%s:%lld: expected %s, found the end of the file", m->r.path, (long long)m->r.line,
            expected);
    return false;
}

static bool read_matrix_banner(matrix_file *m) {
    char word[5][24] = {{0}};
    int used = 0;
    if (!mo_text_line(&m->r)) {
        if (mo_ok(m->r.ctx))
            mo_fail(m->r.ctx, MO_FORMAT, "%s: expected a line %%%%MatrixMarket, found an empty file", m->r.path);
        return false;
    }
    int n = sscanf(m->r.cursor, "%23s %23s %23s %23s %23s%n", word[0], word[1], word[2], word[3], word[4], &used);
    bool fine = n == 5 && !strcmp(word[0], "%%MatrixMarket") && !strcasecmp(word[1], "matrix");
    m->dense = !strcasecmp(word[2], "array");
    m->pattern = !strcasecmp(word[3], "pattern");
    m->integer = !strcasecmp(word[3], "integer");
    fine = fine && (m->dense || !strcasecmp(word[2], "coordinate")) && !(m->dense && m->pattern);
    fine = fine && (m->pattern || m->integer || !strcasecmp(word[3], "real") || !strcasecmp(word[3], "double"));
    fine = fine && !strcasecmp(word[4], "general");
    m->r.cursor += fine ? used : 0;
    if (!fine || !mo_text_blank(&m->r))
        mo_text_unexpected(&m->r, "%%MatrixMarket matrix coordinate|array real|integer|pattern general");
    return mo_ok(m->r.ctx);
}

/* Rows and columns, and the number of entries; what they claim costs memory only as far as the file's size allows. */
static bool read_matrix_sizes(matrix_file *m) {
    int64_t most = mo_graph_claimable(m->r.ctx, m->r.file_bytes);
    if (!next_matrix_line(m, "the sizes of the matrix") ||
        !mo_text_integer_in(&m->r, "the number of rows", 1, most, &m->rows) ||
        !mo_text_integer_in(&m->r, "the number of columns", 1, MO_GRAPH_LARGEST - 1, &m->columns))
        return false;
    m->claimed = m->rows * m->columns; /* below 2^62 */
    return (m->dense || mo_text_integer_in(&m->r, "the number of entries", 0, m->claimed, &m->claimed)) &&
           mo_text_finished(&m->r);
}

static bool read_matrix_value(matrix_file *m, float *value) {
    char *end;
    if (mo_text_blank(&m->r)) {
        mo_text_unexpected(&m->r, "a value");
        return false;
    }
    *value = (float)mo_read_number(m->r.cursor, &end);
    bool number = end != m->r.cursor && (*end == '\0' || *end == ' ' || *end == '\t');
    if (!number || !isfinite(*value) || (m->integer && *value != rintf(*value))) {
        mo_text_unexpected(&m->r, m->integer ? "an integer that is a finite float32" : "a finite float32");
        return false;
    }
    m->r.cursor = end;
    return true;
}

static bool read_matrix_entry(matrix_file *m, int64_t i) {
    int64_t row = i % m->rows + 1, column = i / m->rows + 1; /* of an array */
    float value = 1;
    if (!next_matrix_line(m, m->dense ? "a value for each row and column" : "as many entries as the sizes say") ||
        (!m->dense && (!mo_text_integer_in(&m->r, "a row", 1, m->rows, &row) ||
                          !mo_text_integer_in(&m->r, "a column", 1, m->columns, &column))) ||
        (!m->pattern && !read_matrix_value(m, &value)) || !mo_text_finished(&m->r))
        return false;
    if (m->dense && value == 0)
        return true;
    matrix_entry *grown = mo_host_array_grow(m->r.ctx, m->entry, &m->capacity, m->n + 1, sizeof *grown);
    m->entry = grown ? grown : m->entry;
    if (grown)
        m->entry[m->n++] = (matrix_entry){m->r.line, (int32_t)(row - 1), (int32_t)(column - 1), value};
    return grown;
}

static bool read_matrix_file(matrix_file *m) {
    bool fine = read_matrix_banner(m) && read_matrix_sizes(m);
    for (int64_t i = 0; fine && i < m->claimed; i++)
        fine = read_matrix_entry(m, i);
    while (fine && mo_text_line(&m->r))
        if (!mo_text_blank(&m->r) && *m->r.cursor != '%') {
            mo_text_unexpected(&m->r, "the end of the file after the last entry");
            fine = false;
        }
    return mo_ok(m->r.ctx);
}

static int entry_by_place(const void *a, const void *b) {
    const matrix_entry *x = a, *y = b;
    return x->row != y->row         ? (x->row > y->row) - (x->row < y->row)
           : x->column != y->column ? (x->column > y->column) - (x->column < y->column)
                                    : (x->line > y->line) - (x->line < y->line);
}

static bool take_matrix(mo_graph *graph, const matrix_file *m) {
    for (int64_t i = 1; i < m->n; i++)
        if (m->entry[i].row == m->entry[i - 1].row && m->entry[i].column == m->entry[i - 1].column) {
            mo_fail(graph->ctx, MO_FORMAT,
                "%s:%lld: expected each entry once, found row %lld, column %lld of line %lld", m->r.path,
                (long long)m->entry[i].line, (long long)m->entry[i].row + 1, (long long)m->entry[i].column + 1,
                (long long)m->entry[i - 1].line);
            return false;
        }
    graph->nodes = m->rows;
    graph->features = m->columns;
    graph->feature_pointer = mo_host_array(graph->ctx, m->rows + 1, sizeof *graph->feature_pointer);
    graph->feature_column = mo_host_array(graph->ctx, m->n, sizeof *graph->feature_column);
    graph->feature_value = mo_host_array(graph->ctx, m->n, sizeof *graph->feature_value);
    for (int64_t i = 0; mo_ok(graph->ctx) && i < m->n; i++)
        if (m->entry[i].value != 0) {
            graph->feature_pointer[m->entry[i].row + 1]++;
            graph->feature_column[graph->feature_nnz] = m->entry[i].column;
            graph->feature_value[graph->feature_nnz++] = m->entry[i].value;
        }
    for (int64_t row = 0; mo_ok(graph->ctx) && row < m->rows; row++)
        graph->feature_pointer[row + 1] += graph->feature_pointer[row];
    return mo_ok(graph->ctx);
}

bool mo_load_matrix_market(mo_graph *graph, const char *path) {
    matrix_file m = {0};
    bool fine = mo_text_open(&m.r, graph->ctx, path) && read_matrix_file(&m);
    if (fine && m.n)
        qsort(m.entry, (size_t)m.n, sizeof *m.entry, entry_by_place);
    fine = fine && take_matrix(graph, &m);
    mo_text_close(&m.r);
    free(m.entry);
    return fine;
}
