/* tools/explain/lesson.c - what topics call: names for values, blocks of text and matrices, lines of the adjoint. */
#include "tools/explain/lesson.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

static void lesson_put(lesson *l, const block *b) {
    (l->json ? put_in_json : put_on_terminal)(l, b);
}

/* ---- values ---- */

mo_tensor *lesson_at(lesson *l, const char *name, mo_tensor *value) {
    if (l->moving)
        return strcmp(l->moving, name) == 0 ? l->moved : value;
    if (l->n_named == MOST_NAMED) {
        mo_fail(l->ctx, MO_INVALID, "explain: %s: expected at most %d named values", name, MOST_NAMED);
        return value;
    }
    named_value *v = &l->named[l->n_named++];
    snprintf(v->name, sizeof v->name, "%s", name);
    v->value = value;
    return value;
}

static named_value *lesson_find(lesson *l, const char *name) {
    for (int i = 0; i < l->n_named; i++)
        if (!strcmp(l->named[i].name, name))
            return &l->named[i];
    mo_fail(l->ctx, MO_INVALID, "explain: no value is named %s", name);
    return NULL;
}

mo_tensor *lesson_value(lesson *l, const char *name) {
    named_value *v = lesson_find(l, name);
    return v ? mo_stop_gradient(l->t, v->value) : mo_null_tensor(l->ctx);
}

mo_tensor *inner(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_sum(t, mo_mul(t, A, B), MO_ALL, MO_DROP_AXES);
}

mo_tensor *transposed(mo_tape *t, mo_tensor *M) {
    return mo_contiguous(t, mo_transpose(t, M));
}

mo_tensor *symmetric_part(mo_tape *t, mo_tensor *M) {
    return mo_scale(t, mo_add(t, M, mo_transpose(t, M)), 0.5, 0);
}

/* The lower triangle less a multiple of its diagonal. */
static mo_tensor *lower_less_diagonal(mo_tape *t, mo_tensor *M, double multiple) {
    return mo_sub(t, mo_tril(t, M), mo_scale(t, mo_diagonal_embed(t, mo_diagonal(t, M)), multiple, 0));
}

mo_tensor *strict_lower_part(mo_tape *t, mo_tensor *M) {
    return lower_less_diagonal(t, M, 1);
}

mo_tensor *half_lower_part(mo_tape *t, mo_tensor *M) {
    return lower_less_diagonal(t, M, 0.5);
}

mo_tensor *mirrored_lower_part(mo_tape *t, mo_tensor *M) {
    return mo_add(t, mo_tril(t, M), transposed(t, strict_lower_part(t, M)));
}

/* ---- text ---- */

void lesson_section(lesson *l, const char *heading) {
    lesson_put(l, &(block){.kind = BLOCK_SECTION, .text = heading});
}

void lesson_say(lesson *l, const char *prose, ...) {
    char text[1024];
    va_list rest;
    va_start(rest, prose);
    vsnprintf(text, sizeof text, prose, rest);
    va_end(rest);
    lesson_put(l, &(block){.kind = BLOCK_PROSE, .text = text});
}

void lesson_formula(lesson *l, const char *formula) {
    lesson_put(l, &(block){.kind = BLOCK_FORMULA, .text = formula});
}

/* ---- matrices ---- */

void lesson_show(lesson *l, const char *names) {
    matrix shown[6];
    int n = 0;
    char list[256], *rest = list, *name;
    snprintf(list, sizeof list, "%s", names);
    while (n < 6 && (name = strsep(&rest, " "))) {
        if (!read_matrix(l, name, lesson_value(l, name), &shown[n]))
            return;
        n++;
    }
    lesson_put(l, &(block){.kind = BLOCK_MATRICES, .matrices = shown, .n = n});
}

void lesson_show_as(lesson *l, const char *heading, mo_tensor *T) {
    matrix shown;
    if (read_matrix(l, heading, T, &shown))
        lesson_put(l, &(block){.kind = BLOCK_MATRICES, .matrices = &shown, .n = 1});
}

/* The largest difference, relative where the values are above 1; a NaN counts as infinite, where fmax would drop it. */
static double largest_difference(const matrix *a, const matrix *b) {
    double largest = 0, size = 1;
    for (int i = 0; i < a->rows * a->columns; i++) {
        double d = fabs(a->values[i] - b->values[i]);
        largest = isnan(d) ? INFINITY : fmax(largest, d);
        size = fmax(size, fabs(a->values[i]));
    }
    return largest / size;
}

static mo_tensor *in_space(mo_tape *t, space moves, mo_tensor *G) {
    return moves == SPACE_SYMMETRIC ? symmetric_part(t, G) : moves == SPACE_LOWER ? mo_tril(t, G) : G;
}

/* Both have one size; otherwise the topic is wrong. */
static bool of_one_size(lesson *l, const char *name, const matrix *a, const matrix *b) {
    if (a->rows == b->rows && a->columns == b->columns)
        return true;
    mo_fail(l->ctx, MO_MISMATCH, "explain: %s: %d x %d beside %d x %d", name, a->rows, a->columns, b->rows, b->columns);
    return false;
}

void lesson_line_of(lesson *l, const char *name, space moves, const char *equation, mo_tensor *bar) {
    matrix both[2], grad;
    named_value *v = lesson_find(l, name);
    if (!v || !read_matrix(l, "by the formula", bar, &both[0]) || !lesson_differences(l, name, moves, &both[1]))
        return;
    if (!of_one_size(l, name, &both[0], &both[1]))
        return;
    double difference = largest_difference(&both[0], &both[1]);
    if (v->gradient && read_matrix(l, "by mo_grad", in_space(l->t, moves, v->gradient), &grad))
        l->from_mo_grad = fmax(l->from_mo_grad, largest_difference(&both[0], &grad));
    l->largest = fmax(l->largest, difference);
    lesson_put(l, &(block){.kind = BLOCK_LINE,
                      .text = equation,
                      .matrices = both,
                      .n = 2,
                      .number = ++l->lines,
                      .difference = difference});
    v->told = v->gradient != NULL;
}

void lesson_agree_of(lesson *l, const char *equation, mo_tensor *left, mo_tensor *right) {
    matrix both[2];
    if (!read_matrix(l, "left side", left, &both[0]) || !read_matrix(l, "right side", right, &both[1]) ||
        !of_one_size(l, equation, &both[0], &both[1]))
        return;
    double difference = largest_difference(&both[0], &both[1]);
    l->largest = fmax(l->largest, difference);
    lesson_put(l, &(block){.kind = BLOCK_AGREE, .text = equation, .matrices = both, .n = 2, .difference = difference});
}

/* ---- formulas that are computed as they are written ---- */

/* The right side of "M = ..", or all of a formula without one. */
static const char *right_side(const char *equation) {
    const char *sign = strstr(equation, " = ");
    return sign ? sign + 3 : equation;
}

void lesson_know(lesson *l, const char *name, const char *heading, mo_tensor *value) {
    lesson_at(l, name, value);
    if (heading)
        lesson_show_as(l, heading, value);
}

void lesson_let(lesson *l, const char *equation) {
    const char *formula = right_side(equation);
    char name[NAME_BYTES];
    mo_tensor *value = lesson_compute(l, formula, strlen(formula));
    snprintf(name, sizeof name, "%.*s", formula == equation ? 0 : (int)(formula - equation) - 3, equation);
    lesson_know(l, name, equation, value);
}

void lesson_line(lesson *l, const char *name, space moves, const char *equation) {
    const char *formula = right_side(equation);
    lesson_line_of(l, name, moves, equation, lesson_compute(l, formula, strlen(formula)));
}

void lesson_agree(lesson *l, const char *equation) {
    const char *right = right_side(equation);
    mo_tensor *left = lesson_compute(l, equation, (size_t)(right - equation) - 3);
    lesson_agree_of(l, equation, left, lesson_compute(l, right, strlen(right)));
}
