/* tests/ops/test_op_table.c - a table with a row for every registered op: its derivatives of orders one and two on its
 * samples, as they are, strided, broadcast, with each size in turn 0, and with all sizes 1.
 *
 * Broadcast: every input in turn is a view with a stride of 0 along each of its axes and, if the op itself broadcasts,
 * has size 1 there. A cell is the number of variants checked, by the dot-product test with mo_jvp and by difference
 * quotients; 0 means that the op refuses all variants of the column. */
#include "tests/op_layouts.h"

typedef enum column { AS_IT_IS, STRIDES, BROADCAST, EMPTY, ONE, COLUMNS } column;

static const char *const titles[COLUMNS] = {"as is", "strided", "broadcast", "empty", "1 x 1"};
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
    {"affine", ONE, "its weights have a row more than X has columns"},
    {"affine_adjoint", ONE, "as affine"},
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
    uint64_t seed;
} table;

/* Checks a variant, unless the op refuses it. */
static void check_variant(table *T, laid_out *l, column c) {
    mo_random r = mo_random_at(++T->seed, MO_PURPOSE_CHECK, 0);
    laid_out_open(l, T->ctx, &r);
    assert_true(mo_ok(T->ctx));
    int before = T->all.checked;
    if (laid_out_is_taken(l))
        check_laid_out(l, &T->all, T->seed);
    T->cells[c] += T->all.checked - before;
    laid_out_close(l);
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
        if (T.cells[AS_IT_IS] != mo_n_samples(op))
            fail_msg("%s: %d of %d samples", op->name, T.cells[AS_IT_IS], mo_n_samples(op));
        for (int c = 0; c < COLUMNS; c++)
            if (T.cells[c] == 0 && !may_be_vacant(op, (column)c))
                fail_msg("%s: it refuses every variant of the column \"%s\"", op->name, titles[c]);
        ops++;
    }
    print_message("%d ops, %d variants at orders 1 and 2; worst dot %.2g, quotient %.2g\n", ops, T.all.checked,
        T.all.dot, T.all.quotient);
    assert_true(ops >= 60);
}
