/* train/few_shot/suggest.c - which examples to label next: a design for a ridge readout, in closed form.
 *
 * Rows z_i are the embeddings, centred, of unit length. After a set S is labelled, a ridge readout of penalty lambda
 * has the posterior covariance M = (lambda I + sum_S z z^T)^-1, whatever the labels are, and the logits of example j
 * have the variance z_j^T M z_j. A label of example i lowers the mean of these variances over all N examples by
 *
 *     g_i = (z_i^T M C M z_i) / (1 + z_i^T M z_i),        C = 1/N sum_j z_j z_j^T
 *
 * (V-optimal design: Fedorov 1972; as active learning: Cohn, Ghahramani and Jordan 1996). The example with the largest
 * g_i is chosen, then the next. With u = M z and s = 1 + z^T u, Sherman and Morrison's M - u u^T / s changes
 *
 *     v_i = z_i^T M z_i       by  - (z_i^T u)^2 / s,
 *     w_i = z_i^T M C M z_i   by  - 2 (z_i^T u) (z_i^T M C u) / s + (z_i^T u)^2 (u^T C u) / s^2,
 *
 * so that a choice takes two products of all rows with a vector, and M is kept as the lists of u and s. Rows are short
 * (few_shot_rows.c), which keeps inner products to about 4%. */
#include "train/evaluation/evaluation.h"
#include "train/few_shot/few_shot.h"

#include "autograd/tape.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { MOST_ROWS = 65536 /* rows whose intermediate results share scratch memory */ };

/* The penalty on rows of unit length. Values from 0.1 to 1.5 choose almost the same examples; this one is in the middle
 * for most graphs. */
static const double penalty = 0.7;

typedef struct design {
    mo_context *ctx;
    mo_tape *t;
    mo_tensor *Z; /* [N, r] float32 */
    int64_t N, r, n;
    double *C;     /* [r, r] */
    double *v, *w; /* [N] */
    uint8_t *used; /* [N] */
    double *u, *s; /* [most, r], [most]: M = (I / lambda - sum u u^T / s) of n labels */
} design;

/* Rows first .. stop - 1 of Z become centred, of unit length. */
static void suggest_centre(mo_tape *t, mo_tensor *Z, mo_tensor *mean, int64_t first, int64_t stop) {
    mo_tensor *rows = mo_slice(t, Z, MO_AXIS(0), first, stop), *unit = mo_l2_normalize(t, mo_sub(t, rows, mean), 1e-12);
    if (mo_ok(mo_tape_context(t)))
        mo_tensor_copy(rows, unit);
}

/* Owned rows [N, r]: centred, of unit length. */
static mo_tensor *suggest_rows(mo_few_shot *f) {
    mo_tensor *Z = mo_few_shot_short_rows(f);
    mo_tape *t = mo_tape_create(f->ctx, MO_EVAL);
    int64_t N = mo_ok(f->ctx) ? mo_dim(Z, 0) : 0, shape[] = {1, N ? mo_dim(Z, 1) : 1};
    mo_tensor *mean = mo_tensor_create(f->ctx, MO_F32, 2, shape), *sum = mo_mean(t, Z, MO_AXIS(0), MO_KEEP_AXES);
    if (mo_ok(f->ctx))
        mo_tensor_copy(mean, sum);
    mo_tape_reset(t);
    for (int64_t first = 0; first < N && mo_ok(f->ctx); first += MOST_ROWS, mo_tape_reset(t))
        suggest_centre(t, Z, mean, first, first + MOST_ROWS < N ? first + MOST_ROWS : N);
    mo_tensor_release(mean);
    mo_tape_release(t);
    return Z;
}

/* lambda v and lambda^2 w of rows first .. stop - 1 before any example is labelled. */
static void suggest_spread(design *d, int64_t first, int64_t stop) {
    mo_tensor *Z = mo_slice(d->t, d->Z, MO_AXIS(0), first, stop);
    mo_tensor *C = mo_cast(d->t, mo_from(d->t, MO_F64, 2, (int64_t[]){d->r, d->r}, d->C), MO_F32);
    mo_read_as(mo_sum(d->t, mo_mul(d->t, mo_matmul(d->t, Z, C), Z), MO_AXIS(1), MO_DROP_AXES), MO_F64, d->w + first);
    mo_read_as(mo_sum(d->t, mo_mul(d->t, Z, Z), MO_AXIS(1), MO_DROP_AXES), MO_F64, d->v + first);
    mo_tape_reset(d->t);
}

/* v, w and C before any example is labelled: M = I / lambda. */
static bool suggest_start(design *d, int64_t most) {
    d->N = mo_dim(d->Z, 0);
    d->r = mo_dim(d->Z, 1);
    d->C = mo_host_array(d->ctx, d->r * d->r, sizeof *d->C);
    d->v = mo_host_array(d->ctx, d->N, sizeof *d->v);
    d->w = mo_host_array(d->ctx, d->N, sizeof *d->w);
    d->used = mo_host_array(d->ctx, d->N, 1);
    d->u = mo_host_array(d->ctx, (most + 2) * d->r, sizeof *d->u); /* two extra rows: temporaries of a step */
    d->s = mo_host_array(d->ctx, most, sizeof *d->s);
    if (!mo_ok(d->ctx))
        return false;
    mo_read_as(mo_scale(d->t, mo_matmul(d->t, mo_transpose(d->t, d->Z), d->Z), 1 / (double)d->N, 0), MO_F64, d->C);
    mo_tape_reset(d->t);
    for (int64_t first = 0; first < d->N && mo_ok(d->ctx); first += MOST_ROWS)
        suggest_spread(d, first, first + MOST_ROWS < d->N ? first + MOST_ROWS : d->N);
    for (int64_t i = 0; i < d->N; i++) {
        d->v[i] /= penalty;
        d->w[i] /= penalty * penalty;
    }
    return mo_ok(d->ctx);
}

static double inner(const double *x, const double *y, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* y = M x. */
static void suggest_apply(const design *d, const double *x, double *y) {
    for (int64_t i = 0; i < d->r; i++)
        y[i] = x[i] / penalty;
    for (int64_t k = 0; k < d->n; k++) {
        const double *u = d->u + k * d->r;
        double share = inner(u, x, d->r) / d->s[k];
        for (int64_t i = 0; i < d->r; i++)
            y[i] -= share * u[i];
    }
}

/* x Z^T [2, N]: the products of two vectors x [2, r] with all rows, in the tape's memory. */
static double *suggest_products(design *d, const double *x) {
    double *host = mo_tape_scratch(d->t, 2 * d->N, sizeof *host);
    mo_tensor *X = mo_cast(d->t, mo_from(d->t, MO_F64, 2, (int64_t[]){2, d->r}, x), MO_F32);
    if (host)
        mo_read_as(mo_matmul(d->t, X, mo_transpose(d->t, d->Z)), MO_F64, host);
    return mo_ok(d->ctx) ? host : NULL;
}

/* Adds example i to the labelled set. */
static bool suggest_take(design *d, int64_t i) {
    double *u = d->u + d->n * d->r, *MCu = u + d->r, *x = u + 2 * d->r;
    mo_tape_reset(d->t);
    mo_read_as(mo_slice(d->t, d->Z, MO_AXIS(0), i, i + 1), MO_F64, x);
    suggest_apply(d, x, u);
    double s = 1 + inner(x, u, d->r);
    for (int64_t k = 0; k < d->r; k++)
        x[k] = inner(d->C + k * d->r, u, d->r); /* x = C u */
    double uCu = inner(u, x, d->r);
    suggest_apply(d, x, MCu);
    const double *a = suggest_products(d, u), *b = a ? a + d->N : NULL;
    for (int64_t k = 0; a && k < d->N; k++) {
        d->v[k] -= a[k] * a[k] / s;
        d->w[k] += a[k] * (a[k] * uCu / s - 2 * b[k]) / s;
    }
    d->s[d->n++] = s;
    d->used[i] = 1;
    return a;
}

/* The first example with the largest gain. */
static int64_t suggest_best(const design *d) {
    int64_t best = -1;
    double most = -INFINITY;
    for (int64_t i = 0; i < d->N; i++) {
        double gain = d->w[i] / (1 + d->v[i]);
        if (!d->used[i] && gain > most) {
            most = gain;
            best = i;
        }
    }
    return best;
}

static bool suggest_check(mo_few_shot *f, const int64_t *known, int64_t n_known, int64_t n) {
    int64_t examples = mo_graph_examples(f->source.graph);
    for (int64_t i = 0; i < n_known && mo_ok(f->ctx); i++)
        if (known[i] < 0 || known[i] >= examples)
            mo_fail(f->ctx, MO_INVALID, "suggest: example %" PRId64 " is %" PRId64 ", expected 0 to %" PRId64, i,
                known[i], examples - 1);
    if (mo_ok(f->ctx) && (n < 1 || n_known < 0 || n > examples - n_known))
        mo_fail(f->ctx, MO_INVALID, "suggest: %" PRId64 " examples of %" PRId64 ", of which %" PRId64 " are known", n,
            examples, n_known);
    return mo_ok(f->ctx);
}

mo_code mo_few_shot_suggest(mo_few_shot *f, const int64_t *known, int64_t n_known, int64_t n, int64_t *id) {
    if (!f)
        return MO_INVALID;
    if (!mo_given(f->ctx, "suggest", "ids", id) || (n_known && !mo_given(f->ctx, "suggest", "known", known)) ||
        !suggest_check(f, known, n_known, n))
        return mo_code_of(f->ctx);
    design d = {.ctx = f->ctx, .t = mo_tape_create(f->ctx, MO_EVAL), .Z = suggest_rows(f)};
    bool fine = mo_ok(f->ctx) && suggest_start(&d, n_known + n);
    for (int64_t i = 0; fine && i < n_known; i++)
        fine = d.used[known[i]] || suggest_take(&d, known[i]);
    for (int64_t i = 0; fine && i < n; i++) {
        id[i] = suggest_best(&d);
        if (id[i] < 0)
            mo_fail(f->ctx, MO_NUMERICAL, "suggest: the embeddings of %s are not finite", f->source.graph->name);
        fine = id[i] >= 0 && suggest_take(&d, id[i]);
    }
    void *owned[] = {d.C, d.v, d.w, d.used, d.u, d.s};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    mo_tensor_release(d.Z);
    mo_tape_release(d.t);
    return mo_code_of(f->ctx);
}
