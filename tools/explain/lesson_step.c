/* tools/explain/lesson_step.c - judges a reader's answer to a line of a lesson: a list of numbers or a formula, which
 * is computed on the lesson's values (expression.c). */
#include "tools/explain/lesson.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Returns whether two numbers agree to the digits that a lesson prints. */
static bool is_near(double a, double b) {
    return fabs(a - b) <= 5e-3 * fmax(1, fabs(b));
}

/* ---- numbers ---- */

/* Returns how many numbers an answer has; -1 if a word is not a number. *right: how many of them equal the matrix's
 * number at the same place. */
static int count_numbers(const char *answer, const matrix *m, int *right) {
    int given = 0;
    char *end;
    *right = 0;
    for (const char *at = answer; *(at += strspn(at, ",; \t\r\n")); at = end, given++) {
        double v = strtod(at, &end);
        if (end == at || !strchr(",; \t\r\n", *end))
            return -1;
        *right += given < m->rows * m->columns && is_near(v, m->values[given]);
    }
    return given;
}

static void judge_numbers(const matrix *m, int given, int right, char *text, size_t bytes) {
    int numbers = m->rows * m->columns;
    if (given == numbers && right == numbers)
        snprintf(text, bytes, "Right.");
    else if (given == numbers)
        snprintf(text, bytes, "%d of %d are right.", right, numbers);
    else
        snprintf(text, bytes, "%d numbers, where %d x %d are asked for.", given, m->rows, m->columns);
}

/* ---- a formula ---- */

/* Returns whether the answer is `factor` times the right value or, if `transpose`, times its transpose. */
static bool is_multiple(const matrix *answer, const matrix *m, double factor, bool transpose) {
    for (int i = 0; i < m->rows * m->columns; i++) {
        int other = transpose ? i % m->columns * m->rows + i / m->columns : i;
        if (!is_near(answer->values[other], factor * m->values[i]))
            return false;
    }
    return true;
}

/* Whether the symmetric part of a square answer is m. */
static bool is_unsymmetrised(const matrix *answer, const matrix *m) {
    int n = answer->rows;
    for (int i = 0; i < n * n; i++)
        if (!is_near((answer->values[i] + answer->values[i % n * n + i / n]) / 2, m->values[i]))
            return false;
    return true;
}

/* The entry at which two matrices differ most. */
static int worst_entry(const matrix *answer, const matrix *m) {
    int worst = 0, n = answer->rows * answer->columns;
    for (int i = 1; i < n; i++)
        if (fabs(answer->values[i] - m->values[i]) > fabs(answer->values[worst] - m->values[worst]))
            worst = i;
    return worst;
}

/* Returns a hint if the answer shows one of the most common mistakes, else NULL. */
static const char *find_slip(const matrix *answer, const matrix *m) {
    bool mirrored = answer->rows == m->columns && answer->columns == m->rows;
    if (mirrored && is_multiple(answer, m, 1, true))
        return "This is its transpose.";
    if (answer->rows != m->rows || answer->columns != m->columns)
        return NULL;
    return is_multiple(answer, m, -1, false)   ? "The sign is the other one."
           : is_multiple(answer, m, 2, false)  ? "This is twice what is asked for."
           : is_multiple(answer, m, .5, false) ? "This is half of what is asked for."
           : answer->rows == answer->columns && is_unsymmetrised(answer, m)
               ? "What is asked for is symmetric: take the symmetric part, sym(..)."
               : NULL;
}

static void judge_formula(const matrix *answer, const matrix *m, char *text, size_t bytes) {
    const char *slip = find_slip(answer, m);
    bool fits = answer->rows == m->rows && answer->columns == m->columns;
    if (fits && is_multiple(answer, m, 1, false))
        snprintf(text, bytes, "Right.");
    else if (slip)
        snprintf(text, bytes, "No: %s", slip);
    else if (!fits)
        snprintf(text, bytes, "No: this is %d x %d, where %d x %d is asked for.", answer->rows, answer->columns,
            m->rows, m->columns);
    else {
        int at = worst_entry(answer, m);
        snprintf(text, bytes, "No: in row %d, column %d it is %.4f, where %.4f is asked for.", at / m->columns + 1,
            at % m->columns + 1, answer->values[at], m->values[at]);
    }
}

void judge_answer(lesson *l, const char *answer, const char *formula, const matrix *m, char *text, size_t bytes) {
    char name[NAME_BYTES], why[256];
    int right;
    matrix value;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(formula, " "), formula);
    const char *right_side = strchr(answer, '=') ? strchr(answer, '=') + 1 : answer;
    int given = count_numbers(right_side, m, &right);
    text[0] = '\0';
    if (given > 0)
        judge_numbers(m, given, right, text, bytes);
    mo_tensor *X = given < 0 ? lesson_evaluate(l, right_side, name, NULL, why, sizeof why) : NULL;
    if (X && read_matrix(l, name, X, &value))
        judge_formula(&value, m, text, bytes);
    else if (given < 0)
        snprintf(text, bytes, "%s.", mo_ok(l->ctx) ? why : mo_context_status(l->ctx)->message);
    mo_clear_error(l->ctx);
}

void write_hint(const matrix *m, char *text, size_t bytes) {
    snprintf(text, bytes,
        "It has %d row%s and %d column%s. Use the values above it, and gradients already found. Products: A B; "
        "transposes: X^T, A^-T; an inner product: <A, B>. In the differential above, the factor beside the d of this "
        "value is its adjoint.",
        m->rows, m->rows == 1 ? "" : "s", m->columns, m->columns == 1 ? "" : "s");
}
