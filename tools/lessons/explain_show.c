/* tools/lessons/explain_show.c - prints matrices, and adjoints beside the central differences of the loss. */
#include "tools/lessons/explain.h"

#include <math.h>
#include <stdio.h>

enum { MOST = 16, WIDTH = 9, INDENT = 5 }; /* elements of a matrix; columns of one */

mo_tensor *given(lesson *l, int64_t rows, int64_t columns, const double *values) {
    return mo_require_grad(mo_from(l->t, MO_F64, 2, (int64_t[]){rows, columns}, values));
}

mo_tensor *inner(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_sum(t, mo_mul(t, A, B), 0, MO_DROP_AXES);
}

/* Reads the elements and the sizes of a matrix. */
static bool read_matrix(const mo_tensor *T, double *values, int *rows, int *columns) {
    *columns = (int)(mo_ndim(T) > 0 ? mo_dim(T, -1) : 1);
    *rows = (int)(mo_ndim(T) > 1 ? mo_dim(T, -2) : 1);
    return mo_numel(T) <= MOST && mo_tensor_read(T, values, (size_t)mo_numel(T) * sizeof *values) == MO_OK;
}

static void print_matrix_row(const double *values, int columns) {
    for (int j = 0; j < columns; j++)
        printf("%*.4f", WIDTH, fabs(values[j]) < 5e-5 ? 0 : values[j]); /* no -0.0000 */
}

void show(lesson *l, const char *const *names, mo_tensor *const *matrices) {
    double values[8][MOST];
    int n = 0, rows[8], columns[8], most = 0;
    for (; n < 8 && matrices[n]; n++) {
        if (!read_matrix(matrices[n], values[n], &rows[n], &columns[n]))
            return;
        most = rows[n] > most ? rows[n] : most;
    }
    printf("%*s", INDENT - 2, "");
    for (int i = 0; i < n; i++)
        printf("    %-*s", columns[i] * WIDTH, names[i]);
    putchar('\n');
    for (int r = 0; r < most; r++) {
        printf("%*s", INDENT - 2, "");
        for (int i = 0; i < n; i++) {
            printf("    ");
            if (r < rows[i])
                print_matrix_row(values[i] + r * columns[i], columns[i]);
            else
                printf("%*s", columns[i] * WIDTH, "");
        }
        putchar('\n');
    }
    (void)l;
}

/* The larger of two differences; a NaN counts as the largest, where fmax would drop it. */
static double larger_difference(double a, double b) {
    return isnan(a) || isnan(b) ? INFINITY : fmax(a, b);
}

/* Central differences of the loss in every element of X. */
static bool differentiate_loss(lesson *l, mo_tensor *X, bool symmetric, loss_of loss, void *state, double *slope) {
    double x[MOST], h = 1e-5;
    int rows, columns;
    if (!read_matrix(X, x, &rows, &columns))
        return false;
    for (int i = 0; i < rows * columns; i++) {
        int other = symmetric ? i % columns * columns + i / columns : i;
        double before = x[i], before_other = x[other], value[2];
        for (int side = 0; side < 2; side++) {
            x[i] += (side ? -h : h) / (other == i ? 1 : 2);
            if (other != i)
                x[other] += (side ? -h : h) / 2;
            mo_tensor *at = mo_ndim(X) == 0 ? mo_scalar(l->t, MO_F64, x[0])
                                            : mo_from(l->t, MO_F64, 2, (int64_t[]){rows, columns}, x);
            value[side] = mo_item(loss(l->t, at, state));
            x[i] = before;
            x[other] = before_other;
        }
        slope[i] = (value[0] - value[1]) / (2 * h);
    }
    return mo_ok(l->ctx);
}

void show_adjoint(
    lesson *l, const char *formula, mo_tensor *X_bar, mo_tensor *X, bool symmetric, loss_of loss, void *state) {
    double value[MOST], slope[MOST], largest = 0;
    int rows, columns;
    if (!read_matrix(X_bar, value, &rows, &columns) || !differentiate_loss(l, X, symmetric, loss, state, slope))
        return;
    printf("%3d. %s\n", ++l->step, formula);
    for (int r = 0; r < rows; r++) {
        printf("%*s", INDENT, "");
        print_matrix_row(value + r * columns, columns);
        printf("%19s", r == 0 ? "by differences:" : "");
        print_matrix_row(slope + r * columns, columns);
        putchar('\n');
    }
    for (int i = 0; i < rows * columns; i++)
        largest = larger_difference(largest, fabs(value[i] - slope[i]));
    l->largest = larger_difference(l->largest, largest);
}

void show_mo_grad(lesson *l, mo_tensor *loss, const char *names, mo_tensor *const *X, mo_tensor *const *X_bar, int n) {
    mo_tensor *grads[4];
    int64_t before = mo_context_counters(l->ctx).factorizations;
    if (mo_grad(l->t, &loss, NULL, 1, X, grads, n, MO_RETAIN) != MO_OK)
        return;
    int64_t factorizations = mo_context_counters(l->ctx).factorizations - before;
    double largest = 0;
    for (int i = 0; i < n; i++)
        largest = larger_difference(
            largest, mo_item(mo_max(l->t, mo_abs(l->t, mo_sub(l->t, grads[i], X_bar[i])), 0, MO_DROP_AXES)));
    l->largest = larger_difference(l->largest, largest);
    printf("\nmo_grad returns the same %s: largest difference %.0e,\nwith %s factorization in backward. Against "
           "central differences: at most %.0e.\n",
        names, largest, factorizations ? "some" : "no", l->largest);
}
