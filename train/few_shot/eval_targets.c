/* train/few_shot/eval_targets.c - figures of real targets, in episodes: k known targets are drawn, the others are
 * predicted. The draws of one k are the same for all candidates, so that their differences are paired.
 *
 *     r2        1 - squared errors / squared distances of the queries to their mean, in percent
 *     mae       absolute errors in percent of those of the mean of the known targets
 *     coverage  the share of queries that their 90% interval holds, in percent; NaN with too few targets for one */
#include "tensor/library.h"
#include "train/evaluation/evaluation.h"
#include "train/few_shot/few_shot.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { R2, MAE, COVERAGE };
static const double interval = 0.9;

const char *mo_target_metric_name(int i) {
    static const char *const names[MO_TARGET_METRICS] = {"r2", "mae", "coverage"};
    return i >= 0 && i < MO_TARGET_METRICS ? names[i] : NULL;
}

/* The examples with a target; the first k of them are drawn anew for each problem. */
typedef struct drawn_targets {
    int64_t n, *id;
    double *known, *prediction, *low, *high; /* [n] each */
} drawn_targets;

static void draw_targets(const mo_evaluation *ev, drawn_targets *d, int64_t k, int64_t repeat) {
    const double *y = ev->options->target;
    mo_random r = mo_random_at(ev->options->seed, MO_PURPOSE_SPLIT, (uint64_t)repeat);
    d->n = 0;
    for (int64_t i = 0; i < mo_graph_examples(ev->source->graph); i++)
        if (isfinite(y[i]))
            d->id[d->n++] = i;
    for (int64_t i = 0; i < k; i++) {
        int64_t j = i + mo_random_below(&r, d->n - i), first = d->id[i];
        d->id[i] = d->id[j];
        d->id[j] = first;
        d->known[i] = y[d->id[i]];
    }
}

static void measure_targets(const mo_evaluation *ev, const drawn_targets *d, int64_t k, double figure[]) {
    double n = (double)(d->n - k), mean = 0, of_known = 0, squares = 0, all = 0, errors = 0, off = 0, held = 0;
    const double *y = ev->options->target;
    for (int64_t i = k; i < d->n; i++)
        mean += y[d->id[i]] / n;
    for (int64_t i = 0; i < k; i++)
        of_known += d->known[i] / (double)k;
    for (int64_t i = k; i < d->n; i++) {
        double x = y[d->id[i]], e = x - d->prediction[i];
        squares += e * e;
        all += (x - mean) * (x - mean);
        errors += fabs(e);
        off += fabs(x - of_known);
        held += isnan(d->low[i]) ? NAN : d->low[i] <= x && x <= d->high[i];
    }
    figure[R2] = all > 0 ? 100 * (1 - squares / all) : NAN;
    figure[MAE] = off > 0 ? 100 * errors / off : NAN;
    figure[COVERAGE] = 100 * held / n;
}

/* The targets of a draw, all of which may be equal: then there is no fit. */
static void evaluate_draw(mo_evaluation *ev, int c, int shot, int64_t repeat, drawn_targets *d) {
    int64_t k = ev->options->shots[shot];
    mo_few_shot f = {.ctx = ev->ctx,
        .source = *ev->source,
        .candidate = ev->candidate[c],
        .rows = ev->rows[c],
        .t = ev->t,
        .max_rows = MO_EXAMPLE_ROWS};
    double figure[MO_TARGET_METRICS] = {NAN, NAN, NAN};
    bool varies = false;
    draw_targets(ev, d, k, repeat);
    for (int64_t i = 1; i < k; i++)
        varies |= d->known[i] != d->known[0];
    if (varies && mo_few_shot_fit_targets(&f, d->id, d->known, k, MO_TRANSFORM_AUTO) == MO_OK &&
        mo_few_shot_predict_targets(&f, d->id + k, d->n - k, interval, d->prediction + k, d->low + k, d->high + k) ==
            MO_OK)
        measure_targets(ev, d, k, figure);
    mo_few_shot_forget(&f);
    if (!mo_ok(ev->ctx))
        mo_eval_failed(ev, c, shot);
    for (int metric = 0; metric < MO_TARGET_METRICS; metric++)
        mo_eval_values(ev, c, shot, metric)[repeat] = figure[metric];
}

void mo_evaluate_targets(mo_evaluation *ev) {
    int64_t N = mo_graph_examples(ev->source->graph), evaluated = 0;
    drawn_targets d = {
        .id = mo_host_array(ev->ctx, N, sizeof *d.id), .known = mo_host_array(ev->ctx, 4 * N, sizeof *d.known)};
    if (mo_ok(ev->ctx)) {
        d.prediction = d.known + N;
        d.low = d.prediction + N;
        d.high = d.low + N;
        draw_targets(ev, &d, 0, 0);
    }
    for (int shot = 0; shot < ev->options->n_shots && mo_ok(ev->ctx); shot++) {
        int64_t k = ev->options->shots[shot];
        if (k < MO_LEAST_TARGETS || 5 * k > 4 * d.n) /* at least a fifth is predicted */
            continue;
        evaluated++;
        ev->n_test = d.n - k;
        for (int c = 0; c < ev->n && mo_ok(ev->ctx); c++) {
            for (int64_t i = 0; i < ev->repeats && mo_ok(ev->ctx); i++)
                evaluate_draw(ev, c, shot, i, &d);
            if (mo_ok(ev->ctx))
                mo_eval_visit_rows(ev, c, shot, &(mo_eval_row){.value = NAN, .held_nll = NAN, .chosen = -1});
        }
    }
    if (mo_ok(ev->ctx) && !evaluated)
        mo_fail(ev->ctx, MO_INVALID,
            "evaluate: %s has %" PRId64 " targets, too few: expected a number of shots from %d to four fifths of them",
            ev->source->graph->name, d.n, MO_LEAST_TARGETS);
    free(d.id);
    free(d.known);
}
