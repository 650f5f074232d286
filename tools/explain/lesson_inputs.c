/* tools/explain/lesson_inputs.c - the inputs of a lesson: the topic's own numbers, the reader's matrix, or draws. */
#include "tools/explain/lesson.h"
#include "tools/input.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a matrix of the reader ---- */

static void matrix_fail(lesson *l, const char *path, const char *expected, int rows, int columns) {
    mo_fail(l->ctx, MO_INVALID, "%s: expected %s for %s of `explain %s`; got %d x %d numbers", path, expected,
        l->topic->inputs[0].name, l->topic->name, rows, columns);
}

/* One line of numbers between commas, semicolons or blanks; returns how many, -1 where a word is no number. */
static int scan_row(char *line, double *values, int most) {
    int n = 0;
    char *rest = line, *word, *end;
    line[strcspn(line, "#\r")] = '\0';
    while ((word = strsep(&rest, ",; \t"))) {
        if (!*word)
            continue;
        double v = strtod(word, &end);
        if (*end || !isfinite(v))
            return -1;
        if (n < most)
            values[n] = v;
        n++;
    }
    return n;
}

static bool take_row(lesson *l, const char *path, int line, int found, matrix *m) {
    if (found < 0)
        mo_fail(l->ctx, MO_FORMAT, "%s: line %d: expected numbers between commas or blanks", path, line);
    else if (m->rows && found != m->columns)
        mo_fail(l->ctx, MO_FORMAT, "%s: line %d: expected %d numbers as in the first row, got %d", path, line,
            m->columns, found);
    m->columns = found;
    m->rows++;
    if (mo_ok(l->ctx) && (m->rows > MOST_N || found > MOST_N))
        mo_fail(l->ctx, MO_INVALID, "%s: expected at most %d rows and columns, which fit a page", path, MOST_N);
    return mo_ok(l->ctx);
}

static bool read_text_matrix(lesson *l, const char *path, matrix *m) {
    size_t bytes;
    char *text = read_text_file(path, &bytes), *rest = text, *line;
    double row[MOST_N];
    if (!text) {
        mo_fail(l->ctx, MO_IO, "%s: %s", path, strerror(errno));
        return false;
    }
    m->rows = m->columns = 0;
    for (int number = 1; (line = strsep(&rest, "\n")) && mo_ok(l->ctx); number++) {
        int found = scan_row(line, row, MOST_N);
        if (found == 0)
            continue;
        if (take_row(l, path, number, found, m))
            memcpy(m->values + (m->rows - 1) * m->columns, row, (size_t)found * sizeof *row);
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

/* Sets n and m from the sizes of the matrix. */
static void take_sizes(lesson *l, const char *path, const matrix *m) {
    const topic_input *input = &l->topic->inputs[0];
    const bool square = input->rows == input->columns;
    if (square && m->rows != m->columns)
        matrix_fail(l, path, "a square matrix", m->rows, m->columns);
    else if ((input->kind == INPUT_SPD || input->kind == INPUT_SYMMETRIC) && !is_symmetric(m))
        matrix_fail(l, path, "a symmetric matrix", m->rows, m->columns);
    else if (input->rows == SIZE_M && m->rows < m->columns)
        matrix_fail(l, path, "at least as many rows as columns", m->rows, m->columns);
    else if (input->columns == SIZE_M && m->columns >= MOST_N)
        matrix_fail(l, path, "at most 7 columns, beside a column of ones", m->rows, m->columns);
    else if (input->kind == INPUT_LOWER)
        for (int i = 0; i < m->rows; i++)
            for (int j = i + 1; j < m->columns && mo_ok(l->ctx); j++)
                if (m->values[i * m->columns + j] != 0)
                    matrix_fail(l, path, "zeros above the diagonal", m->rows, m->columns);
    l->n = input->rows == SIZE_N ? m->rows : m->columns;
    l->m = input->rows == SIZE_M ? m->rows : input->columns == SIZE_M ? m->columns : l->m + l->n - l->topic->n;
}

/* ---- draws: tenths, which are easy to follow by hand ---- */

static double draw_tenths(mo_random *r) {
    return (double)mo_random_below(r, 41) / 10 - 2;
}

static void draw_definite(mo_random *r, int n, double *x) {
    double g[MOST_VALUES];
    for (int i = 0; i < n * n; i++)
        g[i] = draw_tenths(r);
    for (int i = 0; i < n * n; i++) {
        x[i] = i / n == i % n;
        for (int k = 0; k < n; k++)
            x[i] += g[i / n * n + k] * g[i % n * n + k];
    }
}

static void draw_input(const topic_input *input, mo_random *r, int rows, int columns, double *x) {
    if (input->kind == INPUT_SPD) {
        draw_definite(r, rows, x);
        return;
    }
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            double *v = &x[i * columns + j];
            *v = draw_tenths(r);
            if (input->kind == INPUT_REGULAR && i == j)
                *v += *v < 0 ? -rows : rows;
            if (input->kind == INPUT_SYMMETRIC)
                *v = i == j ? *v / 2 + 3 * i : j < i ? x[j * columns + i] : *v;
            if (input->kind == INPUT_LOWER)
                *v = j > i ? 0 : j == i ? 2 + *v / 4 : *v;
            if (input->kind == INPUT_POSITIVE)
                *v = 0.5 + fabs(*v);
            if (input->kind == INPUT_LABELS)
                *v = j == i % columns;
        }
}

static int size_of(const lesson *l, int size) {
    return size == SIZE_N ? l->n : size == SIZE_M ? l->m : size == SIZE_M_PLUS_1 ? l->m + 1 : size;
}

static mo_tensor *make_input(lesson *l, int i, const matrix *own, bool draw, mo_random *r) {
    const topic_input *input = &l->topic->inputs[i];
    int rows = size_of(l, input->rows), columns = size_of(l, input->columns);
    int ndim = columns ? 2 : rows ? 1 : 0;
    double x[MOST_VALUES];
    draw_input(input, r, rows ? rows : 1, columns ? columns : 1, x);
    const double *values = i == 0 && own ? own->values : draw || !input->values ? x : input->values;
    mo_tensor *T = mo_from(l->t, MO_F64, ndim, (int64_t[]){rows, columns}, values);
    return input->kind == INPUT_FIXED || input->kind == INPUT_LABELS ? T : mo_require_grad(T);
}

void lesson_open_inputs(lesson *l, const lesson_choice *choice) {
    mo_random r = mo_random_at(choice->seed < 0 ? 0 : (uint64_t)choice->seed, MO_PURPOSE_OWN, 0);
    matrix own;
    l->n = l->topic->n;
    l->m = l->topic->m;
    if (choice->n > 0) {
        l->m += l->topic->inputs[0].rows == SIZE_M ? (int)choice->n - l->n : 0;
        l->n = (int)choice->n;
    }
    if (choice->matrix) {
        const char *end = strrchr(choice->matrix, '.');
        bool npy = end && !strcmp(end, ".npy");
        if (!(npy ? read_npy_matrix : read_text_matrix)(l, choice->matrix, &own))
            return;
        take_sizes(l, choice->matrix, &own);
    }
    bool draw = choice->seed >= 0 || l->n != l->topic->n || l->m != l->topic->m;
    for (int i = 0; i < MOST_INPUTS && l->topic->inputs[i].name && mo_ok(l->ctx); i++)
        l->in[i] = make_input(l, i, choice->matrix ? &own : NULL, draw, &r);
}
