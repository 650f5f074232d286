/* tools/lessons/pitfalls_run.c - the synthetic experiments: readouts fitted on the support of each draw, and their
 * figures on its queries. All in float64. */
#include "tools/lessons/pitfalls.h"

#include <math.h>
#include <stb/stb_ds.h>
#include <stdlib.h>
#include <string.h>

/* Stores the figures of each seed in the order in which the first seed made the rows. */
typedef struct recorder {
    mo_context *ctx;
    mo_tape *t;
    pitfall_figures *figures;
    int64_t seed, row, diagram; /* the next of each */
} recorder;

static void record_figure(recorder *r, pitfall_row row, double value) {
    pitfall_figures *f = r->figures;
    if (r->row == arrlen(f->rows)) {
        row.values = calloc((size_t)f->seeds, sizeof *row.values);
        arrput(f->rows, row);
    }
    double *values = f->rows[r->row++].values;
    if (values)
        values[r->seed] = value;
    else
        mo_fail(r->ctx, MO_MEMORY, "pitfalls: out of memory");
}

static void record_diagram(recorder *r, const char *setting, const char *head, const mo_calibration *counts) {
    pitfall_figures *f = r->figures;
    if (r->diagram == arrlen(f->reliability))
        arrput(f->reliability, ((pitfall_reliability){.setting = setting, .head = head}));
    mo_calibration_merge(&f->reliability[r->diagram++].counts, counts);
}

/* ---- one readout ---- */

/* Labels 0 0 .. 1 1 .., for the support and for the queries. */
static void fill_labels(const pitfall_draw *draw, int64_t *label) {
    for (int64_t i = 0; i < draw->classes * draw->each; i++)
        label[i] = i / draw->each;
}

/* Logits of the rows from .. from + classes * each - 1 by the readout of the support, into numbers
 * [classes * each, classes]. */
static bool read_logits(recorder *r, const pitfall_draw *draw, mo_tensor *Z, const mo_head *head, double lambda,
    bool of_support, double *x) {
    int64_t n = draw->classes * draw->each, *label = malloc((size_t)n * sizeof *label);
    mo_tensor *parameters[MO_MAX_HEAD_PARAMETERS];
    if (!label) {
        mo_fail(r->ctx, MO_MEMORY, "pitfalls: out of memory");
        return false;
    }
    fill_labels(draw, label);
    mo_tensor *Ys = mo_one_hot(r->t, mo_from(r->t, MO_I64, 1, &n, label), draw->classes, MO_F64);
    mo_tensor *Zs = mo_slice(r->t, Z, MO_AXIS(0), 0, n),
              *Zq = of_support ? Zs : mo_slice(r->t, Z, MO_AXIS(0), n, 2 * n);
    free(label);
    return mo_head_start(r->t, head, MO_F64, pitfalls_parameters.d, lambda > 0 ? &lambda : NULL, 0, parameters) ==
               MO_OK &&
           mo_tensor_read(
               mo_head_apply(r->t, head, Zs, Ys, Zq, parameters), x, (size_t)(n * draw->classes) * sizeof *x) == MO_OK;
}

static double accuracy_percent(const mo_calibration *c) {
    return 100 * (double)c->right / (double)c->n;
}

/* ---- origin and hull: accuracy along a path ---- */

static const char *const recall_names[] = {"recall_A", "recall_B", "recall_C"};

static void record_accuracy(
    recorder *r, const pitfall_draw *draw, pitfall_row row, const double *logits, bool recalls) {
    mo_calibration all = {0};
    for (int64_t c = 0; c < draw->classes; c++) {
        mo_calibration own = {0};
        for (int64_t i = c * draw->each; i < (c + 1) * draw->each; i++)
            mo_calibration_add(&own, logits + i * draw->classes, &c, 1, draw->classes, 1);
        mo_calibration_merge(&all, &own);
        row.metric = recall_names[c];
        if (recalls)
            record_figure(r, row, accuracy_percent(&own));
    }
    row.metric = "accuracy";
    record_figure(r, row, accuracy_percent(&all));
}

/* Records the distance from the first prototype to the hull of the others. */
static void record_hull_distance(recorder *r, const pitfall_draw *draw, mo_tensor *Z, pitfall_row row) {
    int64_t C = draw->classes, d = pitfalls_parameters.d;
    mo_tensor *Zs = mo_slice(r->t, Z, MO_AXIS(0), 0, C * draw->each);
    mo_tensor *P = mo_mean(r->t, mo_reshape(r->t, Zs, 3, (int64_t[]){C, draw->each, d}), MO_AXIS(1), MO_DROP_AXES);
    double *p = malloc((size_t)(C * d) * sizeof *p);
    if (!p)
        mo_fail(r->ctx, MO_MEMORY, "pitfalls: out of memory");
    else if (mo_tensor_read(P, p, (size_t)(C * d) * sizeof *p) == MO_OK)
        record_figure(r, row, mo_hull_distance(r->ctx, p + d, C - 1, d, p, NULL));
    free(p);
}

typedef struct path {
    const char *pitfall, *setting;
    const double *step;
    int n_steps;
    double lambda;
    bool hull; /* also records recalls and the first prototype's distance */
} path;

static void run_path(recorder *r, const pitfall_draw *draw, const path *p) {
    static const struct {
        const char *name;
        const mo_head *head;
    } readouts[] = {{"prototype_inner", &mo_head_prototype_inner}, {"ridge", &mo_head_ridge}};
    double *logits = malloc((size_t)(draw->each * draw->classes * draw->classes) * sizeof *logits);
    if (!logits)
        mo_fail(r->ctx, MO_MEMORY, "pitfalls: out of memory");
    for (int i = 0; i < p->n_steps && mo_ok(r->ctx); i++) {
        pitfall_row row = {.pitfall = p->pitfall, .setting = p->setting, .x = p->step[i]};
        mo_tensor *Z = mo_add(r->t, draw->base, mo_scale(r->t, draw->direction, row.x, 0));
        for (int j = 0; j < 2; j++) {
            row.head = readouts[j].name;
            if (read_logits(r, draw, Z, readouts[j].head, p->lambda, false, logits))
                record_accuracy(r, draw, row, logits, p->hull);
        }
        row.head = "prototype_inner";
        row.metric = "hull_distance";
        if (p->hull)
            record_hull_distance(r, draw, Z, row);
    }
    free(logits);
}

static void run_origin(recorder *r) {
    pitfall_draw draw = draw_origin(r->t, (uint64_t)r->seed);
    run_path(r, &draw,
        &(path){.pitfall = "origin",
            .setting = "t",
            .step = pitfalls_parameters.origin.step,
            .n_steps = pitfalls_parameters.origin.n_steps,
            .lambda = pitfalls_parameters.origin.lambda});
}

static void run_hull(recorder *r) {
    pitfall_draw draw = draw_hull(r->t, (uint64_t)r->seed);
    run_path(r, &draw,
        &(path){.pitfall = "hull",
            .setting = "delta",
            .step = pitfalls_parameters.hull.step,
            .n_steps = pitfalls_parameters.hull.n_steps,
            .lambda = pitfalls_parameters.hull.lambda,
            .hull = true});
}

/* ---- calibration ---- */

static void record_calibration(
    recorder *r, const pitfall_draw *draw, pitfall_row row, const double *logits, double temperature) {
    mo_calibration counts = {0};
    for (int64_t c = 0; c < draw->classes; c++)
        for (int64_t i = c * draw->each; i < (c + 1) * draw->each; i++)
            mo_calibration_add(&counts, logits + i * draw->classes, &c, 1, draw->classes, temperature);
    row.metric = "ece";
    record_figure(r, row, mo_calibration_ece(&counts));
    row.metric = "accuracy";
    record_figure(r, row, accuracy_percent(&counts));
    record_diagram(r, row.setting, row.head, &counts);
}

/* The temperature minimises the cross-entropy on the support itself, as in the paper. */
static void run_geometry(recorder *r, bool shifted) {
    const pitfalls_setup *p = &pitfalls_parameters;
    pitfall_draw draw = draw_calibration(r->t, (uint64_t)r->seed, shifted);
    pitfall_row row = {.pitfall = "calibration", .setting = shifted ? "shifted" : "radius", .x = NAN};
    int64_t n = draw.classes * draw.each, *label = malloc((size_t)n * sizeof *label);
    double *logits = malloc((size_t)(n * draw.classes) * sizeof *logits), temperature = NAN;
    double lambda = shifted ? p->calibration.shifted_lambda : p->calibration.radius_lambda;
    if (!label || !logits) {
        mo_fail(r->ctx, MO_MEMORY, "pitfalls: out of memory");
    } else if (read_logits(r, &draw, draw.base, &mo_head_prototype_inner, 0, true, logits)) {
        fill_labels(&draw, label);
        temperature = mo_fit_temperature(logits, label, n, draw.classes, 0, NULL);
        row.head = "temperature";
        row.metric = "temperature";
        record_figure(r, row, temperature);
    }
    if (mo_ok(r->ctx) && read_logits(r, &draw, draw.base, &mo_head_prototype_inner, 0, false, logits)) {
        row.head = "prototype_inner";
        record_calibration(r, &draw, row, logits, 1);
        row.head = "temperature";
        record_calibration(r, &draw, row, logits, temperature);
    }
    row.head = "logistic";
    if (mo_ok(r->ctx) && read_logits(r, &draw, draw.base, &mo_head_logistic_penalised, lambda, false, logits))
        record_calibration(r, &draw, row, logits, 1);
    free(label);
    free(logits);
}

mo_code pitfalls_run(mo_context *ctx, int which, int64_t seeds, pitfall_figures *figures) {
    recorder r = {.ctx = ctx, .t = mo_tape_create(ctx, MO_EVAL), .figures = figures};
    *figures = (pitfall_figures){.seeds = seeds};
    for (; r.seed < seeds && r.t && mo_ok(ctx); r.seed++) {
        r.row = r.diagram = 0;
        if (which & PITFALL_ORIGIN)
            run_origin(&r);
        if (which & PITFALL_HULL)
            run_hull(&r);
        for (int shifted = 1; shifted >= 0 && which & PITFALL_CALIBRATION; shifted--)
            run_geometry(&r, shifted);
        mo_tape_reset(r.t);
    }
    mo_tape_release(r.t);
    return mo_context_status(ctx)->code;
}

void pitfalls_free(pitfall_figures *figures) {
    for (int i = 0; i < arrlen(figures->rows); i++)
        free(figures->rows[i].values);
    arrfree(figures->rows);
    arrfree(figures->reliability);
}

const pitfall_row *find_pitfall(
    const pitfall_figures *f, const char *setting, double x, const char *head, const char *metric) {
    for (int i = 0; i < arrlen(f->rows); i++) {
        const pitfall_row *r = &f->rows[i];
        if (!strcmp(r->setting, setting) && (isnan(x) || r->x == x) && !strcmp(r->head, head) &&
            !strcmp(r->metric, metric))
            return r;
    }
    return NULL;
}
