/* tests/ops/test_op_shapes.c - test_op_shapes [COUNT]: checks every registered op on COUNT random shapes and layouts,
 * at orders one and two: <J v, w> = <v, J^T w> to 1e-12, with J v from mo_jvp, and J v against the difference quotient.
 *
 * A shape is a sample of the op in which random sizes, some of them 0 or 1, replace the sample's. If an op refuses a
 * shape (its options fix a size), the sample's own sizes are used. */
#include "tests/op_layouts.h"

enum { LARGEST = 9, ORDINARY = 8 };
enum { STEPS = 2 }; /* number of ops whose derivative is 0 everywhere: greater_equal and slope */

static int count = ORDINARY;

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

/* Checks random shape k of an op. Returns whether the sample's own sizes were used. */
static bool check_drawn(mo_context *ctx, const mo_op *op, int k, layout_tally *sum) {
    uint64_t seed = (uint64_t)k;
    for (const char *c = op->name; *c; c++) /* FNV-1a of the name, so that an op's shapes do not depend on other ops */
        seed = (seed ^ (uint64_t)*c) * 0x100000001b3u;
    mo_random r = mo_random_at(seed, MO_PURPOSE_CHECK, 0);
    op_sample own = op_sample_of(ctx, op, (int)mo_random_below(&r, mo_n_samples(op)));
    for (int try = 0; try < 6; try++) {
        bool own_sizes = try == 5 || own.prepare;
        laid_out l = {.op = op, .sample = own};
        if (!own_sizes)
            draw_sizes(&l.sample, &r);
        if (try < 4)
            draw_layout(&l, &r);
        laid_out_open(&l, ctx, &r);
        assert_true(mo_ok(ctx));
        bool taken = laid_out_is_taken(&l);
        if (taken)
            check_laid_out(&l, sum, seed);
        laid_out_close(&l);
        if (taken)
            return own_sizes;
    }
    fail_msg("%s, sample \"%s\": refused as it stands", op->name, own.name);
    return false;
}

static void check_op(mo_context *ctx, const mo_op *op, layout_tally *sum) {
    int own_sizes = 0;
    for (int k = 0; k < count; k++)
        own_sizes += check_drawn(ctx, op, k, sum);
    if (count > ORDINARY)
        print_message("%-22s %5d shapes, %5d of the sample's sizes, %5d not zero; dot %.1e, quotient %.1e\n", op->name,
            sum->checked, own_sizes, sum->alive, sum->dot, sum->quotient);
    if (sum->checked != count)
        fail_msg("%s: %d shapes, expected %d", op->name, sum->checked, count);
}

TEST(derivatives_hold_on_drawn_shapes) {
    HELD(mo_context) *ctx = device_context_of(MO_CPU, 1);
    layout_tally all = {0};
    int ops = 0, without = 0, constant = 0;
    assert_int_equal(mo_register_ops(ctx), MO_OK);
    for (int i = 0; i < mo_n_ops(ctx); i++) {
        const mo_op *op = mo_op_at(ctx, i);
        layout_tally sum = {0};
        without += !op->vjp;
        if (!op->vjp)
            continue;
        check_op(ctx, op, &sum);
        add_tally(&all, &sum);
        constant += sum.alive == 0;
        ops++;
    }
    print_message("%d ops, %d without a derivative: %d shapes; worst dot %.2g, quotient %.2g\n", ops, without,
        all.checked, all.dot, all.quotient);
    assert_true(ops >= 60 && count > 0 && all.checked == ops * count && constant <= STEPS);
}

int main(int argc, char **argv) {
    if (argc > 1)
        count = atoi(argv[1]);
    return run_suite();
}
