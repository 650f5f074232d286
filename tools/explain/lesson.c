/* tools/explain/lesson.c - reads the text of a topic and runs it: computes forward and the gradients of its named
 * values, then prints the lesson line by line, compared with central differences.
 *
 * Indented lines are statements; all others are prose, in which {h:4} is the value of h with four digits.
 *
 *     input A regular n n: 4 1 ..  a value with its kind, its sizes and its own numbers (lesson_inputs.c)
 *     hold h = 1 / trace A         a value that central differences keep fixed
 *     forward X = solve(A, B)      a named value on the way to the loss; "Q, R = qr(A)" has two
 *     loss <X_bar, X>
 *     show A B                     values side by side
 *     formula dA X + A dX = dB     shown, not computed
 *     know Z1 = with_ones(Z)       names a value for the formulas below
 *     let E = B - A X              names a value and shows the equation
 *     check X = U^-1 V             an equation: both sides are computed
 *     line A_bar = -B_bar X^T      the adjoint of A, beside differences; line-symmetric, line-lower:
 *                                  A is symmetric or lower triangular
 *
 * What is shown may differ from what is computed: "SHOWN :: COMPUTED". */
#include "tools/explain/lesson.h"

#include <math.h>
#include <string.h>

const char *const lesson_lines[] = {
#include "tools/explain/topics.inc"
    NULL};

enum { LINE_BYTES = 256 };

const char *behind(const char *line, const char *word) {
    size_t n = strlen(word);
    return !strncmp(line, word, n) && line[n] == ' ' ? line + n + 1 : NULL;
}

bool lesson_heading(const char *line, char name[NAME_BYTES], const char **summary) {
    const char *heading = behind(line, "#");
    if (heading)
        snprintf(name, NAME_BYTES, "%.*s", (int)strcspn(heading, ":"), heading);
    *summary = heading ? strchr(heading, ':') + 2 : NULL;
    return heading;
}

static void lesson_put(lesson *l, block b) {
    (l->json ? put_in_json : put_on_terminal)(l, &b);
}

/* ---- formulas ---- */

typedef struct equation {
    char shown[LINE_BYTES], left[LINE_BYTES]; /* left: "" if the text has no " = " */
    const char *right;
} equation;

static equation read_equation(const char *text) {
    equation e;
    const char *split = strstr(text, " :: "), *computed = split ? split + 4 : text, *sign = strstr(computed, " = ");
    snprintf(e.shown, sizeof e.shown, "%.*s", split ? (int)(split - text) : (int)strlen(text), text);
    snprintf(e.left, sizeof e.left, "%.*s", sign ? (int)(sign - computed) : 0, computed);
    e.right = sign ? sign + 3 : computed;
    return e;
}

static mo_tensor *compute(lesson *l, const char *formula, mo_tensor **second) {
    char why[200];
    mo_tensor *X = lesson_evaluate(l, formula, "", second, why, sizeof why);
    if (!X && mo_ok(l->ctx))
        mo_fail(l->ctx, MO_INVALID, "explain: %s: %s: %s", l->topic, formula, why);
    return X ? X : mo_null_tensor(l->ctx);
}

/* Names a value. If differences perturb the value of this name, takes the perturbed value instead. */
static void name_value(lesson *l, const char *name, mo_tensor *value) {
    if (l->n_named == MOST_NAMED) {
        mo_fail(l->ctx, MO_INVALID, "explain: %s: expected at most %d named values", name, MOST_NAMED);
        return;
    }
    bool moves = l->moving && !strcmp(l->moving, name);
    named_value *v = &l->named[l->n_named++];
    *v = (named_value){.value = moves ? l->moved : value};
    snprintf(v->name, sizeof v->name, "%s", name);
}

static named_value *find_value(lesson *l, const char *name) {
    for (int i = 0; i < l->n_named; i++)
        if (!strcmp(l->named[i].name, name))
            return &l->named[i];
    mo_fail(l->ctx, MO_INVALID, "explain: no value is named %s", name);
    return NULL;
}

/* Computes the equation "A = .." or "Q, R = .." and names its results. Returns the first result. */
static mo_tensor *assign(lesson *l, const equation *e) {
    char name[2][NAME_BYTES];
    mo_tensor *second = NULL, *first = compute(l, e->right, &second);
    int names = sscanf(e->left, "%63[^,], %63s", name[0], name[1]);
    if (names >= 1)
        name_value(l, name[0], first);
    if (names == 2 && second)
        name_value(l, name[1], second);
    return first;
}

/* ---- forward ---- */

mo_tensor *lesson_forward(lesson *l) {
    mo_tensor *loss = mo_null_tensor(l->ctx);
    for (int i = 0; i < l->n_inputs; i++)
        name_value(l, l->input[i].name, l->in[i]);
    for (int i = 0; l->text[i] && strncmp(l->text[i], "##", 2) != 0 && mo_ok(l->ctx); i++) {
        const char *value = behind(l->text[i], "    forward"), *held = behind(l->text[i], "    hold"),
                   *formula = behind(l->text[i], "    loss");
        const equation e = read_equation(value ? value : held ? held : "");
        if (value)
            assign(l, &e);
        if (held && !l->moving)
            l->held = mo_stop_gradient(l->t, compute(l, e.right, NULL));
        if (held)
            name_value(l, e.left, l->held);
        if (formula)
            loss = compute(l, formula, NULL);
    }
    return loss;
}

/* Runs forward and computes the gradients of the loss with respect to all named values. */
static void run_forward(lesson *l) {
    mo_tensor *xs[MOST_NAMED], *grads[MOST_NAMED], *loss = lesson_forward(l);
    int which[MOST_NAMED], n = 0;
    for (int i = 0; i < l->n_named && mo_ok(l->ctx); i++)
        if (mo_needs_grad(l->named[i].value)) {
            which[n] = i;
            xs[n++] = l->named[i].value;
        }
    int64_t before = mo_context_counters(l->ctx).factorizations;
    if (!mo_ok(l->ctx) || mo_grad(l->t, &loss, NULL, 1, xs, grads, n, MO_RETAIN) != MO_OK)
        return;
    l->factorizations = mo_context_counters(l->ctx).factorizations - before;
    for (int i = 0; i < n; i++)
        l->named[which[i]].gradient = grads[i];
}

/* ---- differences ---- */

bool read_matrix(lesson *l, const char *name, mo_tensor *T, matrix *m) {
    m->columns = (int)(mo_ndim(T) > 0 ? mo_dim(T, -1) : 1);
    m->rows = (int)(mo_ndim(T) > 1 ? mo_dim(T, -2) : 1);
    snprintf(m->name, sizeof m->name, "%s", name);
    if (mo_ok(l->ctx) && mo_numel(T) > MOST_VALUES)
        mo_fail(l->ctx, MO_INVALID, "explain: %s: expected at most %d numbers", name, MOST_VALUES);
    return mo_ok(l->ctx) && mo_tensor_read(T, m->values, (size_t)mo_numel(T) * sizeof *m->values) == MO_OK;
}

/* Returns the loss with the named value set to x. */
static double loss_at(lesson *l, const char *name, mo_tensor *like, const double *x) {
    named_value kept[MOST_NAMED];
    const int n_kept = l->n_named;
    mo_view view = mo_tensor_view(like);
    mo_scope scope = mo_scope_open(l->t);
    memcpy(kept, l->named, sizeof kept);
    l->n_named = 0;
    l->moving = name;
    l->moved = mo_require_grad(mo_from(l->t, MO_F64, view.ndim, view.shape, x));
    double loss = mo_item(lesson_forward(l));
    l->moving = NULL;
    l->n_named = n_kept;
    memcpy(l->named, kept, sizeof kept);
    mo_scope_close(l->t, &scope, NULL, 0);
    return loss;
}

/* Adds h to element i of x; for a symmetric matrix h / 2 to the element and to its mirror image. */
static void move_element(double *x, int i, int mirror, double h) {
    x[i] += mirror == i ? h : h / 2;
    if (mirror != i)
        x[mirror] += h / 2;
}

/* Returns the derivative of the loss in element i, (8 (l(h) - l(-h)) - (l(2h) - l(-2h))) / 12 h, with error O(h^4). */
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

bool lesson_differences(lesson *l, const char *name, mo_tensor *value, space moves, matrix *slope) {
    matrix x;
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

/* ---- the lesson ---- */

/* Returns the largest |a_i - b_i|, divided by the largest |a_i| if that is above 1. NaN counts as infinite, since fmax
 * would ignore it. If the sizes differ, the topic is wrong: raises an error. */
static double largest_difference(lesson *l, const matrix *a, const matrix *b) {
    double largest = 0, size = 1;
    if (a->rows != b->rows || a->columns != b->columns) {
        mo_fail(l->ctx, MO_MISMATCH, "explain: %s: %s %d x %d, %s %d x %d", l->topic, a->name, a->rows, a->columns,
            b->name, b->rows, b->columns);
        return INFINITY;
    }
    for (int i = 0; i < a->rows * a->columns; i++) {
        double d = fabs(a->values[i] - b->values[i]);
        largest = isnan(d) ? INFINITY : fmax(largest, d);
        size = fmax(size, fabs(a->values[i]));
    }
    return largest / size;
}

static void show_matrices(lesson *l, const char *names) {
    matrix shown[6];
    char list[LINE_BYTES], *rest = list, *name;
    int n = 0;
    snprintf(list, sizeof list, "%s", names);
    for (named_value *v; n < 6 && (name = strsep(&rest, " ")); n++)
        if (!(v = find_value(l, name)) || !read_matrix(l, name, v->value, &shown[n]))
            return;
    lesson_put(l, (block){.kind = BLOCK_MATRICES, .matrices = shown, .n = n});
}

static void show_formula(lesson *l, const char *text) {
    lesson_put(l, (block){.kind = BLOCK_FORMULA, .text = text});
}

static void show_section(lesson *l, const char *text) {
    lesson_put(l, (block){.kind = BLOCK_SECTION, .text = text});
}

static void know(lesson *l, const char *text) {
    const equation e = read_equation(text);
    assign(l, &e);
}

static void let(lesson *l, const char *text) {
    const equation e = read_equation(text);
    matrix shown;
    if (read_matrix(l, e.shown, assign(l, &e), &shown))
        lesson_put(l, (block){.kind = BLOCK_MATRICES, .matrices = &shown, .n = 1});
}

static void check(lesson *l, const char *text) {
    const equation e = read_equation(text);
    matrix both[2];
    mo_tensor *left = compute(l, e.left, NULL), *right = compute(l, e.right, NULL);
    if (mo_ndim(right) == 0 && mo_ndim(left) > 0) /* an equation such as X = 0, whose right side is a scalar */
        right = mo_add(l->t, mo_scale(l->t, left, 0, 0), right);
    if (!read_matrix(l, "left side", left, &both[0]) || !read_matrix(l, "right side", right, &both[1]))
        return;
    double difference = largest_difference(l, &both[0], &both[1]);
    l->largest = fmax(l->largest, difference);
    lesson_put(l, (block){.kind = BLOCK_AGREE, .text = e.shown, .matrices = both, .n = 2, .difference = difference});
}

static void tell_line(lesson *l, const char *text, space moves) {
    const equation e = read_equation(text);
    char name[NAME_BYTES];
    matrix both[2], grad;
    mo_tape *t = l->t;
    snprintf(name, sizeof name, "%.*s", (int)strlen(e.left) - (int)strlen("_bar"), e.left);
    named_value *v = find_value(l, name);
    if (!v || !read_matrix(l, "by the formula", compute(l, e.right, NULL), &both[0]) ||
        !lesson_differences(l, name, v->value, moves, &both[1]))
        return;
    double difference = largest_difference(l, &both[0], &both[1]);
    mo_tensor *G = v->gradient;
    if (G && read_matrix(l, "by mo_grad",
                 moves == SPACE_SYMMETRIC ? symmetric_part(t, G)
                 : moves == SPACE_LOWER   ? mo_tril(t, G)
                                          : G,
                 &grad))
        l->from_mo_grad = fmax(l->from_mo_grad, largest_difference(l, &both[0], &grad));
    l->largest = fmax(l->largest, difference);
    lesson_put(l, (block){.kind = BLOCK_LINE,
                      .text = e.shown,
                      .matrices = both,
                      .n = 2,
                      .number = ++l->lines,
                      .difference = difference});
    v->told = G != NULL;
}

static void line_of_any(lesson *l, const char *text) {
    tell_line(l, text, SPACE_ALL);
}

static void line_of_symmetric(lesson *l, const char *text) {
    tell_line(l, text, SPACE_SYMMETRIC);
}

static void line_of_lower(lesson *l, const char *text) {
    tell_line(l, text, SPACE_LOWER);
}

static const struct statement {
    const char *word;
    void (*run)(lesson *l, const char *text);
} statements[] = {{"##", show_section}, {"    show", show_matrices}, {"    formula", show_formula}, {"    know", know},
    {"    let", let}, {"    check", check}, {"    line", line_of_any}, {"    line-symmetric", line_of_symmetric},
    {"    line-lower", line_of_lower}};
enum { STATEMENTS = sizeof statements / sizeof *statements };

/* Prints the prose gathered so far, with {formula:digits} computed, and empties it. */
static void put_prose(lesson *l, char *prose) {
    char text[1024] = "", *at = prose;
    size_t used = 0;
    while (*at && used < sizeof text - 1) {
        const char *digits = *at == '{' ? strchr(at, ':') : NULL;
        if (!digits) {
            text[used++] = *at++;
            continue;
        }
        char formula[NAME_BYTES];
        snprintf(formula, sizeof formula, "%.*s", (int)(digits - at) - 1, at + 1);
        used += (size_t)snprintf(
            text + used, sizeof text - used, "%.*f", digits[1] - '0', mo_item(compute(l, formula, NULL)));
        at = strchr(at, '}') + 1;
    }
    if (*prose)
        lesson_put(l, (block){.kind = BLOCK_PROSE, .text = text});
    *prose = '\0';
}

static void tell(lesson *l) {
    char prose[1024] = "";
    bool begun = false;
    for (int i = 0; l->text[i] && !behind(l->text[i], "#") && mo_ok(l->ctx); i++) {
        const char *line = l->text[i], *text = NULL;
        begun = begun || behind(line, "##");
        if (!begun)
            continue;
        if (!*line || *line == ' ' || *line == '#') {
            put_prose(l, prose);
        } else {
            size_t used = strlen(prose);
            snprintf(prose + used, sizeof prose - used, "%s%s", used ? " " : "", line);
        }
        for (int k = 0; k < STATEMENTS && !text; k++)
            if ((text = behind(line, statements[k].word)))
                statements[k].run(l, text);
    }
    if (mo_ok(l->ctx))
        put_prose(l, prose);
}

static void tell_end(lesson *l) {
    char text[300];
    if (!l->lines || !mo_ok(l->ctx))
        return;
    bool same = l->from_mo_grad <= 1e-6 && l->largest <= 1e-6;
    snprintf(text, sizeof text,
        "mo_grad %s: largest difference %.0e, with %s factorization in backward. Against central differences: at most "
        "%.0e.%s",
        l->from_mo_grad <= 1e-6 ? "returns the same" : "returns another gradient", l->from_mo_grad,
        l->factorizations ? "some" : "no", l->largest, same ? "" : " These numbers have no adjoint that can be told.");
    lesson_put(l, (block){.kind = BLOCK_END, .text = text, .difference = l->largest});
}

int lesson_run(lesson *l) {
    const char *title = "", *found;
    for (int i = 0; l->text[i] && strncmp(l->text[i], "##", 2) != 0; i++)
        if ((found = behind(l->text[i], "    title")))
            title = found;
        else if ((found = behind(l->text[i], "    source")))
            l->source = found;
    if (mo_ok(l->ctx))
        run_forward(l);
    if (mo_ok(l->ctx)) {
        lesson_put(l, (block){.kind = BLOCK_TITLE, .text = title});
        tell(l);
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
