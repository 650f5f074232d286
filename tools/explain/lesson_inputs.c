/* tools/explain/lesson_inputs.c - the inputs of a lesson: the topic's own numbers, the reader's matrix, or draws. */
#include "tools/cli/input.h"
#include "tools/explain/lesson.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a matrix given by the reader ---- */

static void matrix_fail(lesson *l, const char *path, const char *expected, int rows, int columns) {
    mo_fail(l->ctx, MO_INVALID, "%s: expected %s for %s of `explain %s`; got %d x %d numbers", path, expected,
        l->input[0].name, l->topic, rows, columns);
}

/* Parses numbers separated by commas, semicolons or blanks into row, which has room for MOST_N. Returns their number;
 * -1 if a word is no number. */
static int scan_row(char *line, double row[MOST_N]) {
    char *word, *end;
    int n = 0;
    line[strcspn(line, "#\r")] = '\0';
    while ((word = strsep(&line, ",; \t"))) {
        double v = strtod(word, &end);
        if (*end || !isfinite(v))
            return -1;
        if (*word && n++ < MOST_N)
            row[n - 1] = v;
    }
    return n;
}

static bool read_text_matrix(lesson *l, const char *path, matrix *m) {
    size_t bytes;
    char *text = read_text_file(path, &bytes), *rest = text, *line;
    double row[MOST_N];
    if (!text)
        mo_fail(l->ctx, MO_IO, "%s: %s", path, strerror(errno));
    m->rows = m->columns = 0;
    for (int number = 1; mo_ok(l->ctx) && (line = strsep(&rest, "\n")); number++) {
        int found = scan_row(line, row);
        if (found < 0)
            mo_fail(l->ctx, MO_FORMAT, "%s: line %d: expected numbers between commas or blanks", path, number);
        else if (found && m->rows && found != m->columns)
            mo_fail(l->ctx, MO_FORMAT, "%s: line %d: expected %d numbers as in the first row, got %d", path, number,
                m->columns, found);
        else if (found > MOST_N || (found && m->rows == MOST_N))
            mo_fail(l->ctx, MO_INVALID, "%s: expected at most %d rows and columns, which fit a page", path, MOST_N);
        if (!mo_ok(l->ctx) || !found)
            continue;
        memcpy(m->values + m->rows * found, row, (size_t)found * sizeof *row);
        m->columns = found;
        m->rows++;
    }
    if (mo_ok(l->ctx) && !m->rows)
        mo_fail(l->ctx, MO_FORMAT, "%s: expected rows of numbers, found none", path);
    free(text);
    return mo_ok(l->ctx);
}

static bool read_npy_matrix(lesson *l, const char *path, matrix *m) {
    mo_tensor *T = mo_npy_read(l->ctx, path);
    bool fits = mo_ok(l->ctx) && mo_ndim(T) == 2 && mo_dim(T, 0) >= 1 && mo_dim(T, 0) <= MOST_N && mo_dim(T, 1) >= 1 &&
                mo_dim(T, 1) <= MOST_N;
    if (mo_ok(l->ctx) && !fits)
        mo_fail(l->ctx, MO_INVALID, "%s: expected a matrix of at most %d rows and columns", path, MOST_N);
    bool read = fits && read_matrix(l, path, mo_cast(l->t, T, MO_F64), m);
    for (int i = 0; read && i < m->rows * m->columns; i++)
        if (!isfinite(m->values[i]))
            mo_fail(l->ctx, MO_INVALID, "%s: expected finite numbers", path);
    mo_tensor_release(T);
    return read && mo_ok(l->ctx);
}

static bool is_symmetric(const matrix *m) {
    for (int i = 0; i < m->rows; i++)
        for (int j = 0; j < i; j++)
            if (!(fabs(m->values[i * m->columns + j] - m->values[j * m->columns + i]) <=
                    1e-9 * (1 + fabs(m->values[i * m->columns + j]))))
                return false;
    return true;
}

static bool has_kind(const lesson_input *input, const char *kind) {
    return !strcmp(input->kind, kind);
}

/* Checks the reader's matrix against the first input's kind, and sets n and m from its sizes. */
static void take_sizes(lesson *l, const char *path, const matrix *m) {
    const lesson_input *input = &l->input[0];
    const bool tall = input->size[0][0] == 'm', wide = input->size[1][0] == 'm';
    if (!strcmp(input->size[0], input->size[1]) && m->rows != m->columns)
        matrix_fail(l, path, "a square matrix", m->rows, m->columns);
    else if ((has_kind(input, "definite") || has_kind(input, "symmetric")) && !is_symmetric(m))
        matrix_fail(l, path, "a symmetric matrix", m->rows, m->columns);
    else if (tall && m->rows < m->columns)
        matrix_fail(l, path, "at least as many rows as columns", m->rows, m->columns);
    else if (wide && m->columns >= MOST_N)
        matrix_fail(l, path, "at most 7 columns, beside a column of ones", m->rows, m->columns);
    else if (has_kind(input, "lower"))
        for (int i = 0; i < m->rows; i++)
            for (int j = i + 1; j < m->columns && mo_ok(l->ctx); j++)
                if (m->values[i * m->columns + j] != 0)
                    matrix_fail(l, path, "zeros above the diagonal", m->rows, m->columns);
    l->n = tall ? m->columns : m->rows;
    l->m = tall ? m->rows : wide ? m->columns : l->m + l->n - l->own_n;
}

/* ---- draws: made from multiples of 0.1, which are easy to follow by hand ---- */

static double draw_tenths(mo_random *r) {
    return (double)mo_random_below(r, 41) / 10 - 2;
}

/* Draws a value of a kind: definite (symmetric positive definite), regular (diagonally dominant), symmetric (with
 * distinct eigenvalues), lower (no zero on the diagonal), positive, labels (one-hot rows), free, or fixed (drawn as
 * free, but without a gradient). */
static void draw_input(lesson_input *input, mo_random *r) {
    const int rows = input->rows, columns = input->columns;
    double g[MOST_VALUES], *x = input->values;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            double *v = &x[i * columns + j];
            g[i * columns + j] = *v = draw_tenths(r);
            if (has_kind(input, "regular") && i == j)
                *v += *v < 0 ? -rows : rows;
            if (has_kind(input, "symmetric"))
                *v = i == j ? *v / 2 + 3 * i : j < i ? x[j * columns + i] : *v;
            if (has_kind(input, "lower"))
                *v = j > i ? 0 : j == i ? 2 + *v / 4 : *v;
            if (has_kind(input, "positive"))
                *v = 0.5 + fabs(*v);
            if (has_kind(input, "labels"))
                *v = j == i % columns;
        }
    for (int i = 0; i < rows * columns && has_kind(input, "definite"); i++) { /* x = I + G G^T */
        x[i] = i / columns == i % columns;
        for (int k = 0; k < columns; k++)
            x[i] += g[i / columns * columns + k] * g[i % columns * columns + k];
    }
}

/* ---- the inputs of a topic ---- */

/* Reads an input's line, "A regular n n: 4 1 ..". */
static void read_input(lesson *l, const char *text) {
    lesson_input *input = &l->input[l->n_inputs++];
    *input = (lesson_input){0};
    sscanf(text, "%63s %63[^: ] %7[^: ] %7[^: ]", input->name, input->kind, input->size[0], input->size[1]);
    char *at = strchr(text, ':') + 1, *end;
    for (int i = 0; i < MOST_VALUES && *at; i++, at = end)
        input->values[i] = strtod(at, &end);
}

static int size_of(const lesson *l, const char *size) {
    return !*size ? 1 : *size == 'n' ? l->n : *size == 'm' ? l->m + (size[1] == '+') : atoi(size);
}

/* Makes an input. own: the reader's matrix, or NULL. If `draw`, draws values even with own, so that a seed gives the
 * same numbers to the other inputs. */
static mo_tensor *make_input(lesson *l, lesson_input *input, const matrix *own, bool draw, mo_random *r) {
    const int ndim = (*input->size[0] != 0) + (*input->size[1] != 0);
    input->rows = size_of(l, input->size[0]);
    input->columns = size_of(l, input->size[1]);
    if (draw)
        draw_input(input, r);
    int64_t shape[] = {input->rows, input->columns};
    mo_tensor *T = mo_from(l->t, MO_F64, ndim, shape, own ? own->values : input->values);
    return has_kind(input, "fixed") || has_kind(input, "labels") ? T : mo_require_grad(T);
}

void lesson_open_inputs(lesson *l, const lesson_choice *choice) {
    mo_random r = mo_random_at(choice->seed < 0 ? 0 : (uint64_t)choice->seed, MO_PURPOSE_OWN, 0);
    const char *found;
    matrix own;
    for (int i = 0; l->text[i] && strncmp(l->text[i], "##", 2) != 0; i++)
        if ((found = behind(l->text[i], "    size")))
            sscanf(found, "%d %d", &l->own_n, &l->own_m);
        else if ((found = behind(l->text[i], "    input")))
            read_input(l, found);
    l->n = l->own_n;
    l->m = l->own_m;
    if (choice->n > 0) {
        l->m += l->input[0].size[0][0] == 'm' ? (int)choice->n - l->n : 0;
        l->n = (int)choice->n;
    }
    if (choice->matrix) {
        const char *end = strrchr(choice->matrix, '.');
        bool npy = end && !strcmp(end, ".npy");
        if (!(npy ? read_npy_matrix : read_text_matrix)(l, choice->matrix, &own))
            return;
        take_sizes(l, choice->matrix, &own);
    }
    bool draw = choice->seed >= 0 || l->n != l->own_n || l->m != l->own_m;
    for (int i = 0; i < l->n_inputs && mo_ok(l->ctx); i++)
        l->in[i] = make_input(l, &l->input[i], i == 0 && choice->matrix ? &own : NULL, draw, &r);
}
