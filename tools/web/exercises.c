/* tools/web/exercises.c - ten exercises: the reader writes one line of an adjoint. The line becomes the rule of an op,
 * whose other rules are the right ones, and mo_check_function compares it with central differences, at order one and
 * two. So a rule that is right only by its value, or only for the numbers shown, is caught as it is in the library. */
#include "tools/web/page.h"

#include <string.h>

enum { MOST_ARGUMENTS = 3, EXERCISES = 10 };

typedef struct exercise {
    const char *title, *output, *forward; /* "X", "solve(A, B)" */
    struct {
        const char *name;
        int rows, columns; /* 0 and 0: a scalar */
        const char *rule;  /* the correct rule */
    } in[MOST_ARGUMENTS];
    int asked; /* the input whose rule the reader writes */
    const char *hint;
} exercise;

static const exercise exercises[EXERCISES] = {
    {"A product", "Y", "A B", {{"A", 3, 2, "Y_bar B^T"}, {"B", 2, 4, "A^T Y_bar"}}, 1,
        "dY = A dB. Move A to the other side of <Y_bar, A dB>."},
    {"Entry by entry", "Y", "A o B", {{"A", 3, 2, "Y_bar o B"}, {"B", 3, 2, "Y_bar o A"}}, 0,
        "Each entry of Y has one entry of A: no transpose."},
    {"A square", "y", "sum(A^2)", {{"A", 3, 2, "2 y_bar A"}}, 0, "y is a number, and so is y_bar."},
    {"A transpose in front", "Y", "A^T B", {{"A", 3, 2, "B Y_bar^T"}, {"B", 3, 4, "A Y_bar"}}, 0,
        "<Y_bar, dA^T B> = <Y_bar B^T, dA^T>, and an inner product does not change when both sides are transposed."},
    {"The right-hand side of a solve", "X", "solve(A, B)",
        {{"A", 3, 3, "-solve(A^T, X_bar) X^T"}, {"B", 3, 2, "solve(A^T, X_bar)"}}, 1,
        "dX = A^-1 dB. Which matrix goes to the other side?"},
    {"The matrix of a solve", "X", "solve(A, B)",
        {{"A", 3, 3, "-solve(A^T, X_bar) X^T"}, {"B", 3, 2, "solve(A^T, X_bar)"}}, 0,
        "A X = B gives dA X + A dX = 0, so dX = -A^-1 dA X."},
    {"An inverse", "Y", "A^-1", {{"A", 3, 3, "-Y^T Y_bar Y^T"}}, 0, "d(A^-1) = -A^-1 dA A^-1, and A^-1 is Y."},
    {"A log determinant", "y", "logdet(M M^T)", {{"M", 3, 4, "2 y_bar (M M^T)^-1 M"}}, 0,
        "d log det K = <K^-1, dK>, and K = M M^T changes by dM M^T + M dM^T: two equal parts."},
    {"A softmax", "Y", "softmax(X)", {{"X", 3, 4, "Y o Y_bar - Y o row_sum(Y o Y_bar)"}}, 0,
        "dY = Y o (dX - row_sum(Y o dX)), row by row; the rule has the same form."},
    {"The penalty of a ridge", "W", "solve_spd(Z^T Z + lambda I, Z^T Y)",
        {{"lambda", 0, 0, "-<solve_spd(Z^T Z + lambda I, W_bar), W>"},
            {"Z", 4, 3,
                "Y solve_spd(Z^T Z + lambda I, W_bar)^T - Z solve_spd(Z^T Z + lambda I, W_bar) W^T - Z W "
                "solve_spd(Z^T Z + lambda I, W_bar)^T"},
            {"Y", 4, 2, "Z solve_spd(Z^T Z + lambda I, W_bar)"}},
        0, "(Z^T Z + lambda I) W = Z^T Y: differentiate both sides, dlambda W + (..) dW = 0."},
};

static int inputs_of(const exercise *e) {
    int n = 0;
    while (n < MOST_ARGUMENTS && e->in[n].name)
        n++;
    return n;
}

json_t *page_exercises(void) {
    json_t *list = json_array();
    for (int i = 0; i < EXERCISES; i++) {
        const exercise *e = &exercises[i];
        char formula[160], asked[NAME_BYTES], latex[LATEX_BYTES];
        json_t *shapes = json_array();
        snprintf(formula, sizeof formula, "%s = %s", e->output, e->forward);
        snprintf(asked, sizeof asked, "%s_bar", e->in[e->asked].name);
        for (int k = 0; k < inputs_of(e); k++)
            json_array_append_new(shapes, json_pack("{s:s, s:i, s:i}", "name", e->in[k].name, "rows", e->in[k].rows,
                                              "columns", e->in[k].columns));
        lesson_latex(formula, latex, sizeof latex);
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s, s:s, s:o}", "title", e->title, "formula", formula,
                                        "latex", latex, "asked", asked, "hint", e->hint, "inputs", shapes));
    }
    return json_pack("{s:o}", "exercises", list);
}

/* ---- the op ---- */

/* The exercise under way and the reader's line, as an op's functions see them. */
typedef struct attempt {
    const exercise *exercise;
    const char *formula;
    char why[256]; /* the first reason why the line cannot be computed */
} attempt;

static void name_one(lesson *l, const char *name, const char *end, mo_tensor *value) {
    named_value *v = &l->named[l->n_named++];
    snprintf(v->name, sizeof v->name, "%s%s", name, end);
    v->value = value;
}

/* Makes a lesson with the exercise's values; I in a formula is the 3 x 3 identity, as all systems have order 3. */
static lesson knows(mo_tape *t, const exercise *e, mo_tensor *const *in) {
    lesson l = {.ctx = mo_tape_context(t), .t = t, .n = 3};
    for (int i = 0; i < inputs_of(e); i++)
        name_one(&l, e->in[i].name, "", in[i]);
    return l;
}

static mo_tensor *evaluate(lesson *l, attempt *a, const char *formula, const char *asked) {
    char why[200];
    mo_tensor *X = lesson_evaluate(l, formula, asked, NULL, why, sizeof why);
    if (!X && !a->why[0])
        snprintf(a->why, sizeof a->why, "%.250s", mo_ok(l->ctx) ? why : mo_context_status(l->ctx)->message);
    return X ? X : mo_null_tensor(l->ctx);
}

static bool exercise_shape(mo_call *c) {
    const attempt *a = c->op->state;
    const exercise *e = a->exercise;
    for (int i = 0; i < c->n_in; i++) /* the checker also tries a batch, which the formulas of lessons cannot express */
        if (mo_ndim(c->in[i]) != (e->in[i].rows ? 2 : 0))
            return mo_call_fail(c, MO_INVALID, "expected matrices");
    lesson l = knows(c->t, e, c->in);
    mo_scope scope = mo_scope_open(c->t);
    mo_tensor *Y = evaluate(&l, (attempt *)a, e->forward, "");
    mo_view view = mo_tensor_view(Y);
    bool fine = mo_ok(c->ctx);
    mo_scope_close(c->t, &scope, NULL, 0);
    return fine && mo_call_output(c, 0, MO_F64, view.ndim, view.shape);
}

static void exercise_forward(mo_call *c) {
    const attempt *a = c->op->state;
    lesson l = knows(c->t, a->exercise, c->in);
    mo_tensor *Y = evaluate(&l, (attempt *)a, a->exercise->forward, "");
    if (mo_ok(c->ctx))
        mo_tensor_copy(c->out[0], Y);
}

static void exercise_vjp(mo_vjp *v) {
    attempt *a = (attempt *)v->op->state;
    const exercise *e = a->exercise;
    lesson l = knows(v->t, e, v->in);
    name_one(&l, e->output, "", v->out[0]);
    name_one(&l, e->output, "_bar", v->out_bar[0]);
    for (int i = 0; i < v->n_in && mo_ok(l.ctx); i++) {
        char asked[NAME_BYTES];
        snprintf(asked, sizeof asked, "%s_bar", e->in[i].name);
        if (!v->needs[i])
            continue;
        mo_tensor *bar = evaluate(&l, a, i == e->asked ? a->formula : e->in[i].rule, asked);
        if (i == e->asked && mo_ok(l.ctx) && !a->why[0] &&
            (mo_ndim(bar) != mo_ndim(v->in[i]) || mo_numel(bar) != mo_numel(v->in[i]) ||
                (mo_ndim(bar) && mo_dim(bar, 0) != mo_dim(v->in[i], 0))))
            snprintf(a->why, sizeof a->why, "the line has %d x %d numbers, %s has %d x %d",
                mo_ndim(bar) ? (int)mo_dim(bar, 0) : 1, mo_ndim(bar) > 1 ? (int)mo_dim(bar, 1) : 1, e->in[i].name,
                mo_ndim(v->in[i]) ? (int)mo_dim(v->in[i], 0) : 1, mo_ndim(v->in[i]) ? (int)mo_dim(v->in[i], 1) : 1);
        v->in_bar[i] = bar;
    }
    if (a->why[0] && mo_ok(l.ctx))
        mo_fail(l.ctx, MO_INVALID, "%s", a->why);
}

static void apply_exercise(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    (void)n_out;
    out[0] = mo_apply(t, state, in, n_in, NULL);
}

json_t *page_judge(mo_context *ctx, int number, const char *formula) {
    if (number < 0 || number >= EXERCISES) {
        mo_fail(ctx, MO_INVALID, "exercise %d: expected 0 to %d", number, EXERCISES - 1);
        return json_object();
    }
    const exercise *e = &exercises[number];
    const char *right_side = strchr(formula, '=') ? strchr(formula, '=') + 1 : formula;
    attempt a = {.exercise = e, .formula = right_side};
    mo_op op = {.name = "exercise",
        .state = &a,
        .n_in = inputs_of(e),
        .reads_in = 7,
        .reads_out = 1,
        .shape = exercise_shape,
        .forward = exercise_forward,
        .vjp = exercise_vjp};
    mo_tensor *in[MOST_ARGUMENTS];
    mo_random r = mo_random_at((uint64_t)number + 7, MO_PURPOSE_OWN, 0);
    for (int i = 0; i < inputs_of(e); i++) {
        const int rows = e->in[i].rows, columns = e->in[i].columns;
        double x[16] = {1.5};
        for (int k = 0; k < rows * columns; k++)
            x[k] = mo_random_normal(&r) + (rows == columns && k % (columns + 1) == 0 ? 3 : 0);
        in[i] = mo_require_grad(mo_tensor_create_from(ctx, MO_F64, rows ? 2 : 0, (int64_t[]){rows, columns}, x));
    }
    mo_check_result first = mo_check_function(ctx, apply_exercise, &op, in, inputs_of(e), 1, 1, 1e-6, 1);
    mo_clear_error(ctx);
    mo_check_result second =
        first.pass && !a.why[0] ? mo_check_function(ctx, apply_exercise, &op, in, inputs_of(e), 1, 2, 1e-5, 1) : first;
    mo_clear_error(ctx);
    for (int i = 0; i < inputs_of(e); i++)
        mo_tensor_release(in[i]);
    return json_pack("{s:b, s:b, s:o, s:s}", "pass", first.pass && second.pass && !a.why[0], "first", first.pass,
        "error", json_number(second.error), "why", a.why[0] ? a.why : second.worst);
}
