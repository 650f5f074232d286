/* ops/fits/logistic_newton.c - the minimiser of a penalised softmax regression, by Newton's method.
 *
 * f(W) = sum_i T_i lse(F_i) - <Y, F> + ½ <W, mu W>,  F = Phi W. Each step solves H[V] = -grad f by conjugate gradients
 * (Dembo, Eisenstat and Steihaug 1982: as far as the gradient has fallen), halves it until f falls enough (Armijo 1966)
 * and adds it. The items of a batch converge independently; a finished item does not move. An item is finished at the
 * level of rounding: its gradient is a few units in the last place of the first one, or is small and no longer falls.
 *
 * A dense factor of H does not pay, even if H is small: it costs (C n)^3 / 3 operations, 2.5, 161 and 10,300 million
 * for n = 28, 112 and 448 rows of Cora in C = 7 classes (lambda = 1), where all steps together take 27, 37 and 79
 * products with H of 2 n^2 C operations, 0.3, 6.5 and 222 million. Where conjugate gradients alone take long (lambda
 * near 0, columns of very different scale), one matrix for all classes preconditions them, at n^3 / 3 operations per
 * step.
 *
 * With lambda = 0, or for an intercept without penalty, there may be no minimiser: data that W separates are separated
 * better by 2 W. That is certain if every row gives its class more than one half; and if steps still move the logits
 * although the gradient has vanished, some rows are being separated without end. */
#include "autograd/tape.h"
#include "ops/fits/logistic_system.h"

#include <float.h>
#include <math.h>

enum { NEWTON_STEPS = 100, PLAIN_STEPS = 60, CONJUGATE_STEPS = 250, HALVINGS = 40 };

typedef struct newton {
    mo_logistic_system *s;
    mo_tape *t;
    mo_tensor *Y;
    double epsilon;
    bool hard;         /* plain conjugate gradients took too long once: precondition them */
    bool cleared;      /* the component of the coordinates that X^T x does not contain has been removed once */
    bool just_cleared; /* in this step */
    mo_tensor *first;  /* norm of the first gradient, [B, 1, 1] */
    mo_tensor *size;   /* gradient_size, [B, 1, 1] */
    /* A large system's equation is solved by this one (logistic_narrow.c); NULL otherwise. */
    mo_logistic_system *narrow;
} newton;

/* The tensors kept from one step to the next. */
typedef struct newton_state {
    mo_krylov_vector W;
    mo_tensor *norm;   /* of the last gradient */
    mo_tensor *moved;  /* the largest change of a logit in the last step */
    mo_tensor *active; /* 1: still moving; 0: finished */
} newton_state;

enum { STATE_TENSORS = sizeof(newton_state) / sizeof(mo_tensor *) };

static mo_tensor *item_inner(mo_tape *t, mo_tensor *X, mo_tensor *Y) {
    return mo_item_sum(t, mo_mul(t, X, Y));
}

static mo_tensor *complement(mo_tape *t, mo_tensor *mask) {
    return mo_scale(t, mask, -1, 1);
}

static double any(mo_tape *t, mo_tensor *mask) {
    return mo_item(mo_sum(t, mask, MO_ALL, MO_DROP_AXES));
}

static mo_tensor *weighted_logsumexp(const newton *m, mo_tensor *F) {
    return mo_item_sum(m->t, mo_mul(m->t, m->s->weight, mo_logsumexp(m->t, F, MO_AXIS(2), MO_KEEP_AXES)));
}

/* The step length: 1, halved until f has fallen by a ten-thousandth of the slope's prediction, up to the rounding of f;
 * 0 for finished items. */
static mo_tensor *step_length(const newton *m, const newton_state *w, mo_tensor *gradient, const mo_krylov_vector *V) {
    mo_tape *t = m->t;
    mo_tensor *slope = item_inner(t, gradient, V->G), *muG = mo_mul(t, m->s->mu, V->G);
    mo_tensor *start = weighted_logsumexp(m, w->W.F), *linear = item_inner(t, m->Y, V->F);
    mo_tensor *q1 = mo_sub(t, item_inner(t, w->W.x, muG), linear), *q2 = mo_scale(t, item_inner(t, V->x, muG), 0.5, 0);
    mo_tensor *size = mo_add(t, mo_abs(t, start), mo_abs(t, item_inner(t, m->Y, w->W.F)));
    mo_tensor *rounding = mo_scale(t, mo_add(t, size, mo_abs(t, q1)), 10 * m->epsilon, 0), *length = w->active;
    for (int k = 0; k < HALVINGS; k++) {
        mo_tensor *F = mo_add(t, w->W.F, mo_mul(t, length, V->F));
        mo_tensor *rest = mo_mul(t, length, mo_add(t, q1, mo_mul(t, length, q2)));
        mo_tensor *change = mo_add(t, mo_sub(t, weighted_logsumexp(m, F), start), rest);
        mo_tensor *bound = mo_add(t, mo_scale(t, mo_mul(t, length, slope), 1e-4, 0), rounding);
        mo_tensor *bad = complement(t, mo_greater_equal(t, bound, change));
        if (!(any(t, bad) > 0))
            break;
        length = mo_sub(t, length, mo_scale(t, mo_mul(t, bad, length), 0.5, 0));
    }
    return length;
}

static mo_tensor *forcing(const newton *m, mo_tensor *norm) {
    mo_tape *t = m->t;
    mo_tensor *fallen = mo_sqrt(t, mo_div_or_zero(t, norm, m->first)),
              *third = mo_full(t, mo_tensor_dtype(norm), 0, NULL, 0.3);
    mo_tensor *rounding = mo_scale(t, mo_div_or_zero(t, m->first, norm), m->epsilon, 0);
    return mo_maximum(t, mo_minimum(t, fallen, third), rounding);
}

static void advance(newton *m, newton_state *w, mo_tensor *gradient) {
    mo_tape *t = m->t;
    mo_krylov_vector V;
    m->just_cleared = false;
    mo_tensor *r = mo_mul(t, w->active, mo_neg(t, mo_class_centred(t, gradient)));
    int limit = m->hard ? CONJUGATE_STEPS : PLAIN_STEPS; /* stopped early, the step is still a descent direction */
    mo_tensor *eta = forcing(m, w->norm);
    if (m->narrow)
        mo_logistic_follow(m->narrow, m->s);
    if (m->hard)
        mo_logistic_factor(m->narrow ? m->narrow : m->s);
    bool solved = m->narrow ? mo_logistic_conjugate_narrow(m->s, m->narrow, r, w->norm, eta, limit, &V)
                            : mo_logistic_conjugate(m->s, r, eta, limit, &V);
    m->hard |= !solved;
    mo_tensor *length = step_length(m, w, gradient, &V), *x = mo_add(t, w->W.x, mo_mul(t, length, V.x));
    mo_tensor *change = mo_max(t, mo_abs(t, mo_mul(t, length, V.F)), MO_AXES(1, 2), MO_KEEP_AXES);
    w->moved = mo_where(t, w->active, change, w->moved);
    w->W = mo_logistic_image(m->s, x);
}

/* 1 where norm <= factor times the first gradient's. */
static mo_tensor *fallen_to(const newton *m, mo_tensor *norm, double factor) {
    return mo_greater_equal(m->t, mo_scale(m->t, m->first, factor, 0), norm);
}

/* The gradient at W, and its norm. */
static mo_tensor *gradient_at(const newton *m, const mo_krylov_vector *W, mo_tensor **norm) {
    mo_tape *t = m->t;
    mo_logistic_move(m->s, W->F);
    mo_tensor *pulled = mo_logistic_pull(m->s, mo_sub(t, m->s->TP, m->Y));
    mo_tensor *gradient = mo_add(t, pulled, mo_mul(t, m->s->mu, W->x));
    *norm = mo_sqrt(t, mo_item_sum(t, mo_square(t, mo_logistic_weights(m->s, gradient))));
    return gradient;
}

/* The part of coordinates g [B, n (+ 1), C] that K = X X^T maps to nothing, delta (K + delta I)^-1 g with a delta that
 * is large beside the rounding of K and small beside its other eigenvalues; 0 for the intercept. */
static mo_tensor *null_part(const newton *m, mo_tensor *g) {
    mo_tape *t = m->t;
    mo_tensor *K = m->s->Phi;
    int64_t n = mo_dim(K, -1);
    mo_tensor *delta = mo_scale(t, mo_trace(t, K), 64 * m->epsilon, (double)FLT_MIN);
    mo_tensor *rows = mo_solve_spd(t, mo_add_diag(t, K, delta), mo_contiguous(t, mo_slice(t, g, MO_AXIS(1), 0, n)));
    rows = mo_mul(t, rows, mo_reshape(t, delta, 3, (int64_t[]){mo_dim(K, 0), 1, 1}));
    return m->s->free_intercept ? mo_pad(t, rows, MO_AXIS(1), 0, 1) : rows;
}

/* On dependent rows, the part of the gradient's coordinates g that K maps to nothing may be large although X^T g is
 * small, and its rounding then hides the rest. x less that part over lambda has the same X^T x and none of it; it is
 * taken for items whose gradient stays small, or does not double. The part grows again with each step: it is removed
 * whenever an item is stuck, after the first time only where the item is not near the level of rounding anyway. */
static void remove_null_part(const newton *m, newton_state *w, mo_tensor *gradient, mo_tensor *norm, mo_tensor *mask) {
    mo_tape *t = m->t;
    mo_tensor *excess = mo_mul(t, mask, mo_div_or_zero(t, null_part(m, gradient), m->s->mu)), *after;
    mo_krylov_vector cleared = mo_logistic_image(m->s, mo_sub(t, w->W.x, excess));
    gradient_at(m, &cleared, &after);
    mo_tensor *small = fallen_to(m, after, sqrt(m->epsilon));
    mo_tensor *taken = mo_maximum(t, small, mo_greater_equal(t, mo_scale(t, norm, 2, 0), after));
    w->W = mo_logistic_image(m->s, mo_where(t, taken, cleared.x, w->W.x));
}

/* An upper bound of the gradient's terms before they cancel, the root of sum_i T_i sum_i T_i |X_i|^2: a first gradient
 * far below it is rounding, for example if all rows are equal. */
static mo_tensor *gradient_size(const newton *m) {
    mo_tape *t = m->t;
    mo_tensor *T = m->s->weight, *squares = mo_logistic_row_squares(m->s, m->s->X, mo_dim(m->Y, 2));
    squares = mo_scale(t, squares, 1, m->s->free_intercept);
    return mo_sqrt(t, mo_mul(t, mo_item_sum(t, T), mo_item_sum(t, mo_mul(t, T, squares))));
}

/* The gradient at W; marks the items that are finished there. */
static mo_tensor *evaluate_gradient(newton *m, newton_state *w) {
    mo_tape *t = m->t;
    mo_tensor *norm, *gradient = gradient_at(m, &w->W, &norm);
    m->first = m->first ? m->first : mo_maximum(t, norm, mo_scale(t, m->size, 0.125, 0));
    mo_tensor *finished = fallen_to(m, norm, 16 * m->epsilon);
    if (w->norm) {
        mo_tensor *stalled = mo_greater_equal(t, mo_scale(t, norm, 4, 0), w->norm);
        mo_tensor *near = mo_maximum(t, finished, mo_mul(t, stalled, fallen_to(m, norm, 1e4 * m->epsilon)));
        mo_tensor *near_solution = mo_mul(
            t, mo_mul(t, stalled, fallen_to(m, norm, sqrt(m->epsilon))), complement(t, m->cleared ? near : finished));
        mo_tensor *still = mo_greater_equal(t, mo_scale(t, w->moved, 0, 0), w->moved); /* no logit moved */
        mo_tensor *stuck = mo_maximum(t, near_solution, mo_mul(t, still, complement(t, near)));
        if (m->s->dual && !m->just_cleared && any(t, stuck) > 0) {
            m->cleared = m->just_cleared = true;
            remove_null_part(m, w, gradient, norm, stuck);
            return evaluate_gradient(m, w);
        }
        finished = near;
    }
    w->active = w->active ? mo_mul(t, w->active, complement(t, finished)) : complement(t, finished);
    w->norm = norm;
    return gradient;
}

/* The first item of the mask, for messages. */
static int64_t first_item(mo_tape *t, mo_tensor *mask) {
    int64_t i = 0;
    while (i + 1 < mo_dim(mask, 0) && !(mo_item(mo_slice(t, mask, MO_AXIS(0), i, i + 1)) > 0))
        i++;
    return i;
}

/* Items whose rows all give their class more than one half. */
static mo_tensor *separated(const newton *m) {
    mo_tape *t = m->t;
    mo_tensor *one = mo_full(t, mo_tensor_dtype(m->Y), 0, NULL, 1);
    mo_tensor *least = mo_neg(t, mo_max(t, mo_neg(t, mo_where(t, m->Y, m->s->P, one)), MO_AXES(1, 2), MO_KEEP_AXES));
    return mo_greater_equal(t, least, mo_scale(t, one, 0.5 + 1e-6, 0));
}

static bool fail_at_infinity(mo_call *c, mo_tape *t, mo_tensor *mask) {
    return mo_call_fail(c, MO_NUMERICAL,
        "the classes of item %lld are separable: with lambda 0 the optimum is at infinity; take lambda above 0",
        (long long)first_item(t, mask));
}

static bool check_progress(mo_call *c, const newton *m, const newton_state *w, bool penalised) {
    mo_tape *t = m->t;
    double sum = mo_item(mo_sum(t, w->norm, MO_ALL, MO_DROP_AXES));
    if (!mo_ok(c->ctx))
        return false;
    if (!isfinite(sum))
        return mo_call_fail(c, MO_NUMERICAL, "rows, labels or lambda hold a value that is not finite");
    if (penalised || mo_dim(m->Y, 2) == 1)
        return true;
    mo_tensor *tenth = mo_full(t, mo_tensor_dtype(w->norm), 0, NULL, 0.1), *apart = separated(m);
    if (any(t, apart) > 0)
        return fail_at_infinity(c, t, apart);
    mo_tensor *drifting = w->moved ? mo_mul(t, complement(t, w->active), mo_greater_equal(t, w->moved, tenth)) : NULL;
    return drifting && any(t, drifting) > 0 ? fail_at_infinity(c, t, drifting) : true;
}

/* Whether the system is large, and its sums of squares are numbers of float32. */
static bool may_be_narrow(const newton *m) {
    if (!mo_logistic_passes(m->s, mo_dim(m->Y, 2)))
        return false;
    double size = mo_item(m->size), lambda = mo_item(m->s->lambda);
    return size > 1e-12 && size < 1e15 && lambda < 1e30;
}

bool mo_logistic_minimise(mo_call *c, mo_logistic_system *s, mo_tensor *Y, mo_krylov_vector *W) {
    mo_tape *t = s->t;
    newton m = {s, t, .Y = Y, .epsilon = mo_tensor_dtype(Y) == MO_F64 ? DBL_EPSILON : (double)FLT_EPSILON};
    int64_t rows = mo_dim(s->Phi, s->dual ? -2 : -1) + (s->dual && s->free_intercept);
    bool penalised = mo_item(mo_max(t, mo_neg(t, s->lambda), MO_ALL, MO_DROP_AXES)) < 0;
    union {
        newton_state w;
        mo_tensor *tensors[STATE_TENSORS + 1];
    } u = {.w.W = mo_logistic_image(
               s, mo_full(t, mo_tensor_dtype(Y), 3, (int64_t[]){mo_dim(Y, 0), rows, mo_dim(Y, 2)}, 0))};
    newton_state *w = &u.w;
    mo_logistic_system narrow;
    m.size = gradient_size(&m);
    if (mo_ok(c->ctx) && may_be_narrow(&m)) {
        narrow = mo_logistic_narrow(s, w->W.F);
        m.narrow = &narrow;
    }
    w->moved = mo_scale(t, mo_item_sum(t, Y), 0, 0);
    int64_t mark = t->n_tensors;
    for (int k = 0; mo_ok(c->ctx); k++) {
        mo_tensor *gradient = evaluate_gradient(&m, w);
        if (!check_progress(c, &m, w, penalised) || !(any(t, w->active) > 0))
            break;
        if (k == NEWTON_STEPS)
            return mo_call_fail(c, MO_NUMERICAL,
                "item %lld has not converged after %d Newton steps (largest gradient norm %g)",
                (long long)first_item(t, w->active), k, mo_item(mo_max(t, w->norm, MO_ALL, MO_DROP_AXES)));
        advance(&m, w, gradient);
        u.tensors[STATE_TENSORS] = m.first;
        mo_tape_sweep(t, mark, u.tensors, STATE_TENSORS + 1);
    }
    *W = w->W;
    s->L = NULL; /* of the step before */
    return mo_ok(c->ctx);
}
