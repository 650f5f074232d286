/* tests/models/test_one_step.c - tools/examples/one_step.c, the whole idea in one file without the library, gives the
 * library's digits: loss, gradients and steps of AdamW. */
#define main one_step_main
#include "tools/examples/one_step.c"
#undef main
#include "tests/scratch.h"

static mo_tensor *rows_of(mo_tape *t, int rows, const double *x) {
    return mo_from(t, MO_F64, 2, (int64_t[]){rows, IN}, x);
}

/* The episode as graph code on the library's ops and its ridge head. */
static mo_tensor *loss_of(mo_tape *t, mo_tensor *P) {
    const int64_t label[QUERIES] = {answer[0], answer[1], answer[2], answer[3]};
    mo_tensor *W = mo_reshape(t, mo_slice(t, P, MO_AXIS(0), 0, IN * WIDTH), 2, (int64_t[]){IN, WIDTH});
    mo_tensor *T = mo_exp(t, mo_slice(t, P, MO_AXIS(0), IN * WIDTH, PARAMETERS));
    mo_tensor *Zs = mo_tanh(t, mo_matmul(t, rows_of(t, SUPPORT, support), W));
    mo_tensor *Zq = mo_tanh(t, mo_matmul(t, rows_of(t, QUERIES, queries), W));
    mo_tensor *Ys = mo_from(t, MO_F64, 2, (int64_t[]){SUPPORT, CLASSES}, labels),
              *penalty = mo_scalar(t, MO_F64, lambda);
    mo_tensor *logits = mo_mul(t, mo_head_apply(t, &mo_head_ridge, Zs, Ys, Zq, &penalty), T);
    return mo_softmax_cross_entropy(t, logits, mo_from(t, MO_I64, 1, (int64_t[]){QUERIES}, label), 0);
}

static void expect_digits(const double *ours, mo_tensor *theirs) {
    double x[PARAMETERS];
    assert_true(mo_read_as(theirs, MO_F64, x));
    for (int i = 0; i < PARAMETERS; i++)
        assert_true(fabs(ours[i] - x[i]) <= 1e-12 * fmax(1, fabs(x[i])));
}

/* From three starting points, thirty steps each. */
TEST_OF(one_file_has_the_librarys_digits, scratch *s) {
    HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_RECORD);
    for (uint64_t seed = 0; seed < 3; seed++) {
        double p[PARAMETERS], g[PARAMETERS], m[PARAMETERS] = {0}, v[PARAMETERS] = {0}, first = 0;
        mo_random r = mo_random_at(seed, MO_PURPOSE_INIT, 0);
        for (int i = 0; i < PARAMETERS; i++)
            p[i] = 0.5 * mo_random_normal(&r);
        HELD(mo_tensor) *P = mo_parameter(s->ctx, "p", MO_F64, 1, (int64_t[]){PARAMETERS});
        mo_tensor_write(P, p, sizeof p);
        mo_adamw_options options = {.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 1e-2};
        HELD(mo_optimizer) *optimizer = mo_adamw_create(s->ctx, &P, 1, &options);
        for (int step = 0; step < 30; step++) {
            mo_tensor *loss = loss_of(t, P), *gradient;
            double ours = episode(p, g);
            mo_gradients(t, loss, &P, &gradient, 1);
            assert_true(fabs(ours - mo_item(loss)) <= 1e-12);
            expect_digits(g, gradient);
            mo_optimizer_step(optimizer, &gradient, 0.05, NULL);
            adamw(p, g, m, v, PARAMETERS, step + 1, 0.05);
            expect_digits(p, P);
            first = step ? first : ours;
            mo_tape_reset(t);
        }
        assert_true(episode(p, g) < first);
    }
    expect_ok(s->ctx);
}
