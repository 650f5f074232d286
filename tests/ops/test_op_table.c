/* tests/ops/test_op_table.c - test_op_table [COUNT]: a table with a row for every registered op: its derivatives of
 * orders one and two on its samples, as they are, strided, broadcast, with each size in turn 0, with all sizes 1, and
 * with COUNT drawn sizes and layouts.
 *
 * Broadcast: every input in turn is a view with a stride of 0 along each of its axes and, if the op itself broadcasts,
 * has size 1 there. Drawn: random sizes, some of them 0 or 1, replace a sample's; if an op refuses them (its options
 * fix a size), the sample's own are used. A cell is the number of variants checked: <J v, w> = <v, J^T w> to 1e-12,
 * with J v from mo_jvp, and J v against the difference quotient; 0 means that the op refuses all variants of the
 * column. */
#include "tests/op_variants.h"
#include "tests/tangents.h"

/* ---- an op as a function of leaves that can be moved in any direction, for each layout of its inputs ---- */

typedef enum layout { PLAIN, STRIDED, REPEATED } layout;

/* An op, one of its samples, and the layout of its inputs. It is the state of graph code, so it outlives the tape's
 * reset. */
typedef struct laid_out {
    const mo_op *op;
    op_sample sample;
    layout layout;
    int repeated_input, repeated_axis; /* for REPEATED: the input, and its axis of stride 0, along which the leaf has
                                        * size 1 */
    mo_context *ctx;
    _Alignas(16) char prepared[256];
    mo_tensor *in[MO_MAX_INPUTS]; /* leaves */
} laid_out;

/* Projects X: to the mean of X and its transpose, or to its lower triangle. */
static mo_tensor *on_its_set(mo_tape *t, mo_draw draw, mo_tensor *X) {
    if (draw == MO_DRAW_TRIANGULAR)
        return mo_tril(t, X);
    if (draw != MO_DRAW_SPD && draw != MO_DRAW_SYMMETRIC)
        return X;
    return mo_scale(t, mo_add(t, X, mo_transpose(t, X)), 0.5, 0);
}

static mo_tensor *lay_out(mo_tape *t, const laid_out *l, int i, mo_tensor *X) {
    const mo_sample_input *in = &l->sample.in[i];
    X = on_its_set(t, in->draw, X);
    if (l->layout == STRIDED && mo_ok(mo_tape_context(t)))
        return strided(t, X);
    if (l->layout == REPEATED && i == l->repeated_input)
        return mo_broadcast_to(t, X, in->ndim, in->shape);
    return X;
}

/* Applies the op to its inputs; a mo_function. */
static void laid_out_function(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    laid_out *l = state;
    mo_tensor *X[MO_MAX_INPUTS];
    for (int i = 0; i < n_in; i++)
        X[i] = lay_out(t, l, i, in[i]);
    mo_apply_all(t, l->op, X, n_in, l->sample.prepare ? l->prepared : l->sample.attributes, out);
}

/* Draws the leaves. */
static void laid_out_open(laid_out *l, mo_context *ctx, mo_random *r) {
    l->ctx = ctx;
    if (l->sample.prepare)
        l->sample.prepare(ctx, MO_F64, l->prepared);
    for (int i = 0; i < l->sample.n_in; i++) {
        mo_sample_input in = l->sample.in[i];
        if (l->layout == REPEATED && i == l->repeated_input)
            in.shape[l->repeated_axis] = 1;
        l->in[i] = mo_sample_tensor(ctx, &in, MO_F64, r);
    }
}

/* Also frees the memory of the test. */
static void laid_out_close(laid_out *l) {
    free_test_memory();
    for (int i = 0; i < l->sample.n_in; i++)
        mo_tensor_release(l->in[i]);
    if (l->sample.finish)
        l->sample.finish(l->ctx, l->prepared);
}

/* "matmul, sample \"batch\", strided: [3, 2, 4] [3, 4, 5]" */
static const char *laid_out_name(const laid_out *l) {
    static const char *const layouts[] = {"plain", "strided", "repeated"};
    static char text[600];
    char shape[160];
    int n = snprintf(text, sizeof text, "%s, sample \"%s\", %s:", l->op->name, l->sample.name, layouts[l->layout]);
    for (int i = 0; i < l->sample.n_in && n < 400; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, " %s%s", mo_shape_string(l->in[i], shape, sizeof shape),
            l->layout == REPEATED && i == l->repeated_input ? " repeated" : "");
    return text;
}

/* Whether input i can be repeated along an axis. A matrix axis, or an input whose elements must differ, cannot. */
static bool may_repeat(const op_sample *s, int i, int axis) {
    const mo_sample_input *in = &s->in[i];
    return mo_draw_is_differentiable(in->draw) && in->draw != MO_DRAW_DISTINCT && in->shape[axis] > 1 &&
           (!is_matrix(in) || axis < in->ndim - 2);
}

/* Whether the op accepts these sizes and strides. If not, clears its error, which must be a refusal. */
static bool laid_out_is_taken(laid_out *l) {
    HELD(mo_tape) *t = mo_tape_create(l->ctx, MO_RECORD);
    mo_tensor *out[MO_MAX_OUTPUTS];
    laid_out_function(t, l->in, l->sample.n_in, out, mo_op_outputs(l->op), l);
    mo_code code = mo_context_status(l->ctx)->code;
    if (code != MO_OK && code != MO_INVALID && code != MO_MISMATCH && code != MO_NUMERICAL)
        fail_msg("%s: %s", laid_out_name(l), mo_context_status(l->ctx)->message);
    mo_clear_error(l->ctx);
    return code == MO_OK;
}

/* <J v, w> and <v, J^T w> sum the same products in different orders; systems have conditions below 100. */
static const double dot_tolerance = 1e-12;
/* The allowed error at each order: mostly 1e-9, but the quotient's rounding grows where f bends within a step. */
static const double quotient_tolerance[] = {0, 1e-6, 1e-5};

typedef struct layout_tally {
    int checked, alive; /* alive: the derivative is not zero everywhere */
    double dot, quotient;
} layout_tally;

/* Fails unless both errors, at orders one and two, are within their tolerances. */
static void check_laid_out(laid_out *l, layout_tally *sum, uint64_t seed) {
    for (int order = 1; order <= 2; order++) {
        graph_code g = {.ctx = l->ctx, .f = laid_out_function, .state = l, .in = l->in, .n_in = l->sample.n_in};
        g.n_out = mo_op_outputs(l->op);
        g.order = order;
        g.r = mo_random_at(seed, MO_PURPOSE_CHECK, (uint64_t)order);
        tangent_errors e = tangent_errors_of(&g);
        if (!mo_ok(l->ctx))
            fail_msg("%s: order %d: %s", laid_out_name(l), order, mo_context_status(l->ctx)->message);
        if (!(e.dot <= dot_tolerance && e.quotient <= quotient_tolerance[order]))
            fail_msg("%s: order %d: <J v, w> and <v, J^T w> differ by %.3g, J v and its quotient by %.3g",
                laid_out_name(l), order, e.dot, e.quotient);
        sum->alive += order == 1 && e.any;
        sum->dot = fmax(sum->dot, e.dot);
        sum->quotient = fmax(sum->quotient, e.quotient);
    }
    sum->checked++;
}

/* ---- the table ---- */

enum { LARGEST = 9, ORDINARY = 8 };
enum { STEPS = 2 }; /* number of ops whose derivative is 0 everywhere: greater_equal and slope */

typedef enum column { AS_IT_IS, STRIDES, BROADCAST, EMPTY, ONE, DRAWN, COLUMNS } column;

static int count = ORDINARY;
static const char *const titles[COLUMNS] = {"as is", "strided", "broadcast", "empty", "1 x 1", "drawn"};
/* Cells that can be 0; any other 0 fails. */
static const struct {
    const char *op;
    column column;
    const char *reason;
} vacant[] = {
    {"clamp", BROADCAST, "its draw has no ties"},
    {"max", BROADCAST, "its draw has no ties"},
    {"top_k", BROADCAST, "its draw has no ties"},
    {"broadcast_to", EMPTY, "its options name the sizes"},
    {"implicit_solve", EMPTY, "its options name the sizes"},
    {"logistic", EMPTY, "needs a row, a column and a class"},
    {"logistic_solve", EMPTY, "as logistic"},
    {"softmax_cross_entropy", EMPTY, "needs a row and a class"},
    {"spmm", EMPTY, "its matrix has the sizes; one of its samples has no entries"},
    {"hop_attention", ONE, "the halves of its weights are two columns at least"},
    {"implicit_solve", ONE, "its options name the sizes"},
    {"segment_mean", ONE, "one offset ends no segment"},
    {"segment_spread", ONE, "one offset ends no segment"},
    {"segment_sum", ONE, "one offset ends no segment"},
    {"slice", ONE, "its options name the entries"},
    {"spmm", ONE, "its matrix has the sizes"},
};

typedef struct table {
    mo_context *ctx;
    layout_tally all;
    int cells[COLUMNS];
    int constant; /* ops whose derivative was 0 on every drawn variant */
    uint64_t seed;
} table;

/* Checks a variant with leaves from r; returns false if the op refuses it. */
static bool check_taken(table *T, laid_out *l, column c, mo_random *r, uint64_t seed) {
    laid_out_open(l, T->ctx, r);
    assert_true(mo_ok(T->ctx));
    bool taken = laid_out_is_taken(l);
    if (taken)
        check_laid_out(l, &T->all, seed);
    T->cells[c] += taken;
    laid_out_close(l);
    return taken;
}

/* Checks a variant, unless the op refuses it. */
static void check_variant(table *T, laid_out *l, column c) {
    mo_random r = mo_random_at(++T->seed, MO_PURPOSE_CHECK, 0);
    check_taken(T, l, c, &r, T->seed);
}

static void check_broadcast(table *T, const mo_op *op, const op_sample *s) {
    for (int i = 0; i < s->n_in; i++)
        for (int axis = 0; axis < s->in[i].ndim; axis++) {
            laid_out view = {.op = op, .sample = *s, .layout = REPEATED, .repeated_input = i, .repeated_axis = axis};
            laid_out smaller = {.op = op, .sample = *s};
            if (may_repeat(s, i, axis))
                check_variant(T, &view, BROADCAST);
            smaller.sample.in[i].shape[axis] = 1;
            if (s->n_in > 1 && s->in[i].shape[axis] > 1 && mo_draw_is_differentiable(s->in[i].draw) &&
                !(is_matrix(&s->in[i]) && axis >= s->in[i].ndim - 2))
                check_variant(T, &smaller, BROADCAST);
        }
}

static void check_sizes(table *T, const mo_op *op, const op_sample *s) {
    int64_t found[MO_MAX_INPUTS * MO_MAX_AXES];
    int n = s->prepare ? 0 : sizes_of(s, found);
    variant ones = {.op = op, .sample = *s, .to = 1};
    for (int k = 0; k < n; k++) {
        variant none = {.op = op, .sample = *s, .from = found[k], .to = 0};
        resize(&none);
        check_variant(T, &(laid_out){.op = op, .sample = none.sample}, EMPTY);
        ones.from = found[k];
        resize(&ones);
    }
    if (n)
        check_variant(T, &(laid_out){.op = op, .sample = ones.sample}, ONE);
}

static int64_t drawn_size(mo_random *r) {
    int64_t kind = mo_random_below(r, 10);
    return kind == 0 ? 0 : kind <= 2 ? 1 : 2 + mo_random_below(r, LARGEST - 1);
}

static int64_t replaced(int64_t size, const int64_t *from, const int64_t *to, int n) {
    for (int k = 0; k < n; k++)
        if (size == from[k])
            return to[k];
    return size;
}

/* Replaces each distinct size of the sample by one random size. */
static void draw_sizes(op_sample *s, mo_random *r) {
    int64_t from[MO_MAX_INPUTS * MO_MAX_AXES], to[MO_MAX_INPUTS * MO_MAX_AXES];
    int n = sizes_of(s, from);
    for (int k = 0; k < n; k++)
        to[k] = mo_random_below(r, 4) == 0 ? from[k] : drawn_size(r);
    for (int i = 0; i < s->n_in; i++) {
        mo_sample_input *in = &s->in[i];
        if (in->draw != MO_DRAW_DISTINCT)
            in->limit = replaced(in->limit, from, to, n);
        for (int axis = 0; axis < in->ndim; axis++) {
            in->shape[axis] = replaced(in->shape[axis], from, to, n);
            if (in->draw == MO_DRAW_INDEX && in->limit == 0)
                in->shape[axis] = 0; /* no index is valid, so there are none */
        }
    }
}

static void draw_layout(laid_out *l, mo_random *r) {
    l->layout = (layout)(mo_random_below(r, 4) % 3); /* PLAIN is twice as likely */
    if (l->layout != REPEATED)
        return;
    int start = (int)mo_random_below(r, l->sample.n_in);
    for (int k = 0; k < l->sample.n_in; k++) {
        int i = (start + k) % l->sample.n_in, axes = l->sample.in[i].ndim;
        for (int axis = 0; axis < axes; axis++)
            if (may_repeat(&l->sample, i, axis)) {
                l->repeated_input = i;
                l->repeated_axis = axis;
                return;
            }
    }
    l->layout = PLAIN;
}

/* Checks random shape k of an op. */
static void check_drawn(table *T, const mo_op *op, int k) {
    uint64_t seed = (uint64_t)k;
    for (const char *c = op->name; *c; c++) /* FNV-1a of the name, so that an op's shapes do not depend on other ops */
        seed = (seed ^ (uint64_t)*c) * 0x100000001b3u;
    mo_random r = mo_random_at(seed, MO_PURPOSE_CHECK, 0);
    op_sample own = op_sample_of(T->ctx, op, (int)mo_random_below(&r, mo_n_samples(op)));
    for (int try = 0; try < 6; try++) {
        laid_out l = {.op = op, .sample = own};
        if (try < 5 && !own.prepare)
            draw_sizes(&l.sample, &r);
        if (try < 4)
            draw_layout(&l, &r);
        if (check_taken(T, &l, DRAWN, &r, seed))
            return;
    }
    fail_msg("%s, sample \"%s\": refused as it stands", op->name, own.name);
}

static bool may_be_vacant(const mo_op *op, column c) {
    for (size_t i = 0; i < sizeof vacant / sizeof *vacant; i++)
        if (vacant[i].column == c && !strcmp(vacant[i].op, op->name))
            return true;
    return false;
}

static void fill_row(table *T, const mo_op *op) {
    memset(T->cells, 0, sizeof T->cells);
    for (int k = 0; k < mo_n_samples(op); k++) {
        op_sample s = op_sample_of(T->ctx, op, k);
        check_variant(T, &(laid_out){.op = op, .sample = s}, AS_IT_IS);
        check_variant(T, &(laid_out){.op = op, .sample = s, .layout = STRIDED}, STRIDES);
        check_broadcast(T, op, &s);
        check_sizes(T, op, &s);
    }
    int alive = T->all.alive;
    for (int k = 0; k < count; k++)
        check_drawn(T, op, k);
    T->constant += T->all.alive == alive;
    print_message("%-22s", op->name);
    for (int c = 0; c < COLUMNS; c++)
        print_message(" %9d", T->cells[c]);
    print_message("\n");
}

TEST(every_op_has_its_derivatives_in_every_layout) {
    HELD(mo_context) *ctx = device_context_of(MO_CPU, 1);
    table T = {.ctx = ctx};
    int ops = 0;
    assert_int_equal(mo_register_ops(T.ctx), MO_OK);
    print_message("%-22s", "op");
    for (int c = 0; c < COLUMNS; c++)
        print_message(" %9s", titles[c]);
    print_message("\n");
    for (int i = 0; i < mo_n_ops(T.ctx); i++) {
        const mo_op *op = mo_op_at(T.ctx, i);
        if (!op->vjp)
            continue;
        fill_row(&T, op);
        if (T.cells[AS_IT_IS] != mo_n_samples(op) || T.cells[DRAWN] != count)
            fail_msg("%s: %d of %d samples, %d of %d drawn variants", op->name, T.cells[AS_IT_IS], mo_n_samples(op),
                T.cells[DRAWN], count);
        for (int c = 0; c < COLUMNS; c++)
            if (T.cells[c] == 0 && !may_be_vacant(op, (column)c))
                fail_msg("%s: it refuses every variant of the column \"%s\"", op->name, titles[c]);
        ops++;
    }
    print_message("%d ops, %d variants at orders 1 and 2; worst dot %.2g, quotient %.2g\n", ops, T.all.checked,
        T.all.dot, T.all.quotient);
    assert_true(ops >= 60 && count > 0 && T.constant <= STEPS);
}

int main(int argc, char **argv) {
    if (argc > 1)
        count = atoi(argv[1]);
    return run_suite();
}
