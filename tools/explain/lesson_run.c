/* tools/explain/lesson_run.c - runs a topic: forward, the gradients of its named values, central differences, the
 * telling. */
#include "tools/explain/lesson.h"

#include <math.h>
#include <string.h>

bool read_matrix(lesson *l, const char *name, mo_tensor *T, matrix *m) {
    m->columns = (int)(mo_ndim(T) > 0 ? mo_dim(T, -1) : 1);
    m->rows = (int)(mo_ndim(T) > 1 ? mo_dim(T, -2) : 1);
    snprintf(m->name, sizeof m->name, "%s", name);
    if (mo_ok(l->ctx) && mo_numel(T) > MOST_VALUES)
        mo_fail(l->ctx, MO_INVALID, "explain: %s: expected at most %d numbers", name, MOST_VALUES);
    return mo_ok(l->ctx) && mo_tensor_read(T, m->values, (size_t)mo_numel(T) * sizeof *m->values) == MO_OK;
}

/* The loss with the named value moved to x. */
static double loss_at(lesson *l, const char *name, mo_tensor *like, const double *x) {
    mo_view view = mo_tensor_view(like);
    mo_scope scope = mo_scope_open(l->t);
    l->moving = name;
    l->moved = mo_require_grad(mo_from(l->t, MO_F64, view.ndim, view.shape, x));
    mo_tensor *in[MOST_INPUTS];
    for (int i = 0; i < MOST_INPUTS && l->topic->inputs[i].name; i++)
        in[i] = lesson_at(l, l->topic->inputs[i].name, l->in[i]);
    double loss = mo_item(l->topic->forward(l, in));
    l->moving = NULL;
    mo_scope_close(l->t, &scope, NULL, 0);
    return loss;
}

/* Moves element i of x by h; within symmetric matrices its mirror image too, by half each. */
static void move_element(double *x, int i, int mirror, double h) {
    x[i] += mirror == i ? h : h / 2;
    if (mirror != i)
        x[mirror] += h / 2;
}

/* (8 (l(h) - l(-h)) - (l(2h) - l(-2h))) / 12 h: its error is O(h^4). */
static double difference_in(lesson *l, const char *name, mo_tensor *like, double *x, int i, int mirror) {
    const double before = x[i], before_mirror = x[mirror], h = 2e-4 * fmax(1, fabs(before));
    double sum = 0;
    for (int k = -2; k <= 2; k++) {
        if (k == 0)
            continue;
        move_element(x, i, mirror, k * h);
        sum += (k == 1 || k == -1 ? 8 : -1) * (k < 0 ? -1 : 1) * loss_at(l, name, like, x);
        x[mirror] = before_mirror;
        x[i] = before;
    }
    return sum / (12 * h);
}

bool lesson_differences(lesson *l, const char *name, space moves, matrix *slope) {
    matrix x;
    mo_tensor *value = lesson_value(l, name);
    if (!read_matrix(l, "by differences", value, slope) || !read_matrix(l, name, value, &x))
        return false;
    for (int i = 0; i < x.rows * x.columns && mo_ok(l->ctx); i++) {
        int row = i / x.columns, column = i % x.columns;
        int mirror = moves == SPACE_SYMMETRIC ? column * x.columns + row : i;
        bool held = moves == SPACE_LOWER && column > row;
        slope->values[i] = held ? 0 : difference_in(l, name, value, x.values, i, mirror);
    }
    return mo_ok(l->ctx);
}

/* Forward, with every input and every value on its way named; and the gradients of the loss in all of them. */
static void run_forward(lesson *l) {
    mo_tensor *in[MOST_INPUTS], *xs[MOST_NAMED], *grads[MOST_NAMED];
    int which[MOST_NAMED], n = 0;
    for (int i = 0; i < MOST_INPUTS && l->topic->inputs[i].name; i++)
        in[i] = lesson_at(l, l->topic->inputs[i].name, l->in[i]);
    mo_tensor *loss = l->topic->forward(l, in);
    if (!mo_ok(l->ctx))
        return;
    for (int i = 0; i < l->n_named; i++)
        if (mo_needs_grad(l->named[i].value)) {
            which[n] = i;
            xs[n++] = l->named[i].value;
        }
    int64_t before = mo_context_counters(l->ctx).factorizations;
    if (mo_grad(l->t, &loss, NULL, 1, xs, grads, n, MO_RETAIN) != MO_OK)
        return;
    l->factorizations = mo_context_counters(l->ctx).factorizations - before;
    for (int i = 0; i < n; i++)
        l->named[which[i]].gradient = grads[i];
}

static void tell_end(lesson *l) {
    char text[300];
    if (!l->lines || !mo_ok(l->ctx))
        return;
    int n = snprintf(text, sizeof text,
        "mo_grad returns the same: largest difference %.0e, with %s factorization in backward. ", l->from_mo_grad,
        l->factorizations ? "some" : "no");
    snprintf(text + n, sizeof text - (size_t)n, "Against central differences: at most %.0e.", l->largest);
    block b = {.kind = BLOCK_END, .text = text, .difference = l->largest};
    (l->json ? put_in_json : put_on_terminal)(l, &b);
}

int lesson_run(lesson *l) {
    const block title = {.kind = BLOCK_TITLE, .text = l->topic->title, .source = l->topic->source};
    if (mo_ok(l->ctx))
        run_forward(l);
    if (mo_ok(l->ctx)) {
        (l->json ? put_in_json : put_on_terminal)(l, &title);
        l->topic->tell(l);
        tell_end(l);
    }
    if (!mo_ok(l->ctx))
        return report_failure(l->ctx);
    if (l->largest <= 1e-6 && l->from_mo_grad <= 1e-6)
        return EXIT_FINE;
    fprintf(stderr, "mochi: an adjoint differs from its differences by %.1e, from mo_grad by %.1e\n", l->largest,
        l->from_mo_grad);
    return EXIT_FAILED;
}
