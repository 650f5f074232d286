/* tools/lessons/lab_differences.c - `mochi lab differences`: difference quotients of a loss against mo_grad, as the
 * step shrinks: the truncation error falls with the step, the rounding error rises, and between them is a V. */
#include "tools/lessons/lab.h"

#include "tools/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FORWARD, CENTRAL, FOUR_POINTS, CENTRAL_F32, RULES, ROWS = 20, WIDTH = 6, CLASSES = 3, SMALLEST = 14 };

static const lab_column columns[] = {{"error", "error", "%9.1e", 0, false}};

/* The loss along a line: cross-entropy of X (W + s V). */
typedef struct line {
    mo_tensor *X, *W, *V, *labels;
} line;

static line draw_line(mo_tape *t, uint64_t seed) {
    mo_random r = mo_random_at(seed, MO_PURPOSE_CHECK, 300);
    int64_t labels[ROWS], rows = ROWS;
    line l = {.X = lab_normal(t, &r, ROWS, WIDTH)};
    l.W = mo_require_grad(lab_normal(t, &r, WIDTH, CLASSES));
    l.V = lab_normal(t, &r, WIDTH, CLASSES);
    for (int i = 0; i < ROWS; i++)
        labels[i] = mo_random_below(&r, CLASSES);
    l.labels = mo_from(t, MO_I64, 1, &rows, labels);
    return l;
}

static mo_tensor *loss_of(mo_tape *t, const line *l, mo_tensor *W, mo_dtype real) {
    mo_tensor *logits = mo_matmul(t, mo_cast(t, l->X, real), mo_cast(t, W, real));
    return mo_softmax_cross_entropy(t, logits, l->labels, 0);
}

static double loss_along(mo_tape *t, const line *l, double s, mo_dtype real) {
    mo_tensor *W = mo_add(t, mo_stop_gradient(t, l->W), mo_scale(t, l->V, s, 0));
    return mo_item(loss_of(t, l, W, real));
}

static double slope_by_gradient(mo_tape *t, const line *l) {
    mo_tensor *W = l->W, *W_bar, *loss = loss_of(t, l, W, MO_F64);
    mo_gradients(t, loss, &W, &W_bar, 1);
    return mo_item(mo_sum(t, mo_mul(t, W_bar, l->V), MO_ALL, MO_DROP_AXES));
}

static double quotient(mo_tape *t, const line *l, int rule, double h) {
    const mo_dtype real = rule == CENTRAL_F32 ? MO_F32 : MO_F64;
    if (rule == FORWARD)
        return (loss_along(t, l, h, real) - loss_along(t, l, 0, real)) / h;
    double near = loss_along(t, l, h, real) - loss_along(t, l, -h, real);
    if (rule != FOUR_POINTS)
        return near / (2 * h);
    return (8 * near - (loss_along(t, l, 2 * h, real) - loss_along(t, l, -2 * h, real))) / (12 * h);
}

void lab_differences(mo_context *ctx, const lab_options *o, lab_table *table) {
    static const char *const rules[] = {"forward", "central", "four points", "central float32"};
    snprintf(table->title, sizeof table->title, "Difference quotients against the gradient");
    table->reading =
        "Right of the V the error is of the order of h, h^2 and h^4; left of it, of precision / h. The best "
        "steps are near eps^1/2, eps^1/3 and eps^1/5, where eps is 2e-16 in float64 and 1e-7 in float32: a "
        "checker of gradients works in float64.";
    table->series_name = table->series_head = "rule";
    memcpy(table->series, rules, sizeof rules);
    table->x_name = table->x_head = "step";
    table->columns = columns;
    table->n_columns = 1;
    mo_tape *t = mo_tape_create(ctx, MO_RECORD);
    if (!t)
        return;
    line l = draw_line(t, o->seed);
    double slope = slope_by_gradient(t, &l);
    mo_tape_set_mode(t, MO_EVAL);
    if (mo_ok(ctx))
        lab_table_open(table, table->title);
    bool fine = mo_ok(ctx);
    for (int rule = 0; rule < RULES; rule++)
        for (int power = 1; fine && power <= SMALLEST; power++) {
            lab_table_row row = {.series = rule, .x = pow(10, -power)};
            row.y[0] = fabs(quotient(t, &l, rule, row.x) / slope - 1);
            fine = mo_ok(ctx) && lab_table_add(table, row);
        }
    mo_tape_release(t);
}
