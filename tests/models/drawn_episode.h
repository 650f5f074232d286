/* tests/models/drawn_episode.h - an episode of random rows for the invariant encoder, its loss as a function of the
 * model's parameters, and the logits of a pool's episodes. */
#ifndef DRAWN_EPISODE_H
#define DRAWN_EPISODE_H

#include "tests/copies.h"
#include "tests/drawn.h"
#include "tests/worst_of.h"

enum { SUPPORT = 6, QUERIES = 4, WIDTH = 5, EXTRAS = 3, MOST = 8192 };

/* Returns an episode with the three kinds of rows that every invariant encoder reads. */
static inline mo_episode drawn_episode(mo_tape *t, mo_dtype real, mo_task task) {
    static const int64_t labels[] = {0, 1, 0, 1, 1, 0};
    mo_episode e = {.task = task, .classes = 2, .n_rows = 3};
    int64_t n = SUPPORT + QUERIES;
    e.rows[0] = (mo_named){"blocks", drawn(t, real, 1, 4, (int64_t[]){2, 4, n, WIDTH}), NULL};
    e.rows[1] = (mo_named){"spectrum", drawn(t, real, 2, 2, (int64_t[]){2, WIDTH}), NULL};
    e.rows[2] = (mo_named){"extras", drawn(t, real, 3, 2, (int64_t[]){n, EXTRAS}), NULL};
    e.support_label = mo_from(t, MO_I64, 1, (int64_t[]){SUPPORT}, labels);
    e.query_label = mo_from(t, MO_I64, 1, (int64_t[]){QUERIES}, labels);
    return e;
}

typedef struct problem {
    mo_model *model;
    mo_task task;
    void (*more)(mo_tape *t, mo_episode *e); /* adds the rows of the encoder's optional parts; or NULL */
} problem;

/* The loss of a problem's episode in float64, for mo_check_function; state: the problem. */
static inline void loss_function(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    (void)in; /* the inputs are the model's own parameters */
    (void)n_in;
    (void)n_out;
    const problem *p = state;
    mo_episode e = drawn_episode(t, MO_F64, p->task);
    if (p->more)
        p->more(t, &e);
    out[0] = mo_model_loss(t, p->model, &e, NULL, NULL);
}

/* Writes the logits of a few episodes of every source, one after another; returns their number. */
static inline int64_t logits_of(mo_pool *pool, mo_model *model, double out[MOST]) {
    mo_context *ctx = pool->ctx;
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    mo_plan_options plans = {.k_min = 3, .k_max = 9, .q_min = 6, .q_max = 6, .max_classes = 8, .seed = 3};
    int64_t count = 0;
    for (uint64_t number = 0; number < 12; number++) {
        mo_episode e;
        assert_int_equal(mo_pool_draw(pool, t, number, MO_FAMILY_IN_TURN, &plans, &e, NULL), MO_OK);
        for (int i = 0; i < e.n_rows; i++) /* casts the float32 features, so that logits are compared in float64 */
            e.rows[i].tensor = mo_cast(t, e.rows[i].tensor, MO_F64);
        mo_tensor *logits = mo_contiguous(t, mo_model_logits(t, model, &e, NULL));
        int64_t n = mo_numel(logits);
        assert_true(count + n <= MOST);
        mo_tensor_read(logits, out + count, (size_t)n * sizeof *out);
        expect_ok(ctx);
        count += n;
        mo_tape_reset(t);
    }
    return count;
}

/* Returns the largest difference of n logits, which must not all be near 0, where no change could be seen. */
static inline double change_of(const double *before, const double *after, int64_t n) {
    double worst = 0, largest = 0;
    for (int64_t i = 0; i < n; i++) {
        worst = worst_of(worst, fabs(after[i] - before[i]));
        largest = fmax(largest, fabs(before[i]));
    }
    assert_true(largest > 1);
    return worst;
}

#endif
