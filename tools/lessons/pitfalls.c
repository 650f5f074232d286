/* tools/lessons/pitfalls.c - `mochi pitfalls`: the paper's three synthetic experiments on prototypes. A shift of all
 * embeddings, a class with two modes, and unequal norms each spoil prototypes, but not a readout with an intercept. An
 * experiment fits readouts on a draw's support and evaluates them on its queries, in float64. */
#include "tools/memory.h"
#include "tools/options.h"

#include <inttypes.h>
#include <math.h>
#include <stb/stb_ds.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- parameters. The paper gives rows, D, classes, means and the ranges of t and delta; margin, noise, penalties and
 * norms are chosen to reproduce its figures. Half of every class is support. ---- */

enum { D = 64, PLOT = 31 };
enum { PITFALL_ORIGIN = 1, PITFALL_HULL = 2, PITFALL_CALIBRATION = 4 };

/* An experiment that moves rows: at step x, row i is base_i + x direction_i. */
typedef struct path {
    const char *pitfall, *setting;
    int64_t per_class;
    double noise, lambda;
    int n_steps;
    double step[24];
} path;

/* Two Gaussians at a distance of MARGIN along a vector u; step t moves both by t u. */
static const double MARGIN = 4;
static const path origin = {
    "origin", "t", 400, 0.5, 1, 17, {0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.25, 2.5, 2.75, 3, 3.5, 4, 4.5, 5}};
/* Class A has two modes (-+ delta, 1, 0 ..); B and C have one each, (-+ 0.6 delta, -0.5, 0 ..). */
static const path hull = {
    "hull", "delta", 100, 0.38, 0.3, 16, {0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 5, 6, 8, 10}};

/* Classes lie in random directions at radii from low to high; a vector of length `shift` moves all of them. */
typedef struct geometry {
    const char *setting;
    double low, high, noise, shift, lambda;
    double paper[3]; /* the ece (expected calibration error) that the paper gives for prototypes, for prototypes with a
                      * temperature, and for logistic regression */
} geometry;

enum { GEOMETRIES = 2, GEOMETRY_CLASSES = 5, GEOMETRY_ROWS = 100 /* of each class */ };
static const geometry geometries[GEOMETRIES] = {
    {"shifted", 3.5, 3.5, 0.5, 25, 0.01, {0.44, 0.22, 0.001}}, {"radius", 0.4, 12, 0.3, 0, 0.007, {0.12, 0.08, 0.001}}};

/* ---- draws ---- */

/* Labelled rows of one seed, float64 tensors on the tape: first the support, then the queries, each sorted by class.
 * All classes have the same size. */
typedef struct draw {
    int64_t classes, each; /* each: support rows per class, and query rows per class */
    mo_tensor *base;       /* [2 classes each, D] */
    mo_tensor *direction;  /* direction_i of each row [2 classes each, D], or NULL */
} draw;

/* Rows while they are drawn: sorted by class or, if in_turn, one row of each class in turn. */
typedef struct sheet {
    int64_t classes, each, rows;
    bool in_turn;
    mo_random r;
    double *base, *direction, *vector; /* [rows, D], [rows, D], [classes + 1, D]; one array, to be freed as base */
} sheet;

static int64_t class_of(const sheet *s, int64_t row) {
    return s->in_turn ? row % s->classes : row / (2 * s->each);
}

static sheet open_sheet(uint64_t seed, int64_t classes, int64_t per_class, bool in_turn) {
    sheet s = {.classes = classes, .each = per_class / 2, .rows = classes * per_class, .in_turn = in_turn};
    s.r = mo_random_at(seed, MO_PURPOSE_OWN, 0);
    s.base = needed(calloc((size_t)((2 * s.rows + classes + 1) * D), sizeof *s.base));
    s.direction = s.base + s.rows * D;
    s.vector = s.direction + s.rows * D;
    return s;
}

static void draw_noise(sheet *s, double noise) {
    for (int64_t i = 0; i < s->rows * D; i++)
        s->base[i] = noise * mo_random_normal(&s->r);
}

/* Draws a standard normal vector and scales it to a length. */
static double *draw_vector(sheet *s, int64_t index, double length) {
    double *v = s->vector + index * D, squares = 0;
    for (int64_t k = 0; k < D; k++) {
        v[k] = mo_random_normal(&s->r);
        squares += v[k] * v[k];
    }
    for (int64_t k = 0; k < D; k++)
        v[k] *= length / sqrt(squares);
    return v;
}

static void add_vector(double *row, double scale, const double *v) {
    for (int64_t k = 0; k < D; k++)
        row[k] += scale * v[k];
}

/* Returns the place of each row after the split: each class is shuffled, and its first half becomes support; within
 * each half rows keep their order. Owned. */
static int64_t *split_classes(sheet *s) {
    enum { UNSEEN, SUPPORT };
    int64_t *place = needed(calloc((size_t)(s->rows + 2 * s->each), sizeof *place)), *member = place + s->rows;
    for (int64_t c = 0; c < s->classes; c++) {
        int64_t n = 0, next[2] = {c * s->each, (s->classes + c) * s->each};
        for (int64_t i = 0; i < s->rows; i++)
            if (class_of(s, i) == c)
                member[n++] = i;
        for (int64_t i = 0; i + 1 < n; i++) { /* shuffles (Fisher and Yates) */
            int64_t j = i + mo_random_below(&s->r, n - i), held = member[i];
            member[i] = member[j];
            member[j] = held;
        }
        for (int64_t i = 0; i < s->each; i++)
            place[member[i]] = SUPPORT;
        for (int64_t i = 0; i < s->rows; i++)
            if (class_of(s, i) == c)
                place[i] = next[place[i] == SUPPORT ? 0 : 1]++;
    }
    return place;
}

/* Returns a new tensor on the tape with the rows at their places. */
static mo_tensor *place_rows(mo_tape *t, const sheet *s, const int64_t *place, const double *rows) {
    double *placed = needed(malloc((size_t)(s->rows * D) * sizeof *placed));
    for (int64_t i = 0; i < s->rows; i++)
        memcpy(placed + place[i] * D, rows + i * D, D * sizeof *rows);
    mo_tensor *T = mo_from(t, MO_F64, 2, (int64_t[]){s->rows, D}, placed);
    free(placed);
    return T;
}

static draw close_sheet(mo_tape *t, sheet *s, bool moving) {
    int64_t *place = split_classes(s);
    draw drawn = {.classes = s->classes,
        .each = s->each,
        .base = place_rows(t, s, place, s->base),
        .direction = moving ? place_rows(t, s, place, s->direction) : NULL};
    free(place);
    free(s->base);
    return drawn;
}

static draw draw_origin(mo_tape *t, uint64_t seed) {
    sheet s = open_sheet(seed, 2, origin.per_class, true);
    double *u = draw_vector(&s, 0, 1);
    draw_noise(&s, origin.noise);
    for (int64_t i = 0; i < s.rows; i++) {
        add_vector(s.base + i * D, ((double)class_of(&s, i) - 0.5) * MARGIN, u);
        add_vector(s.direction + i * D, 1, u);
    }
    return close_sheet(t, &s, true);
}

/* Draws the experiment hull; the first half of A's rows has the left mode. */
static draw draw_hull(mo_tape *t, uint64_t seed) {
    sheet s = open_sheet(seed, 3, hull.per_class, false);
    draw_noise(&s, hull.noise);
    for (int64_t i = 0; i < s.rows; i++) {
        bool A = class_of(&s, i) == 0, left = A ? i < s.each : class_of(&s, i) == 1;
        s.direction[i * D] = (left ? -1 : 1) * (A ? 1 : 0.6);
        s.base[i * D + 1] += A ? 1 : -0.5;
    }
    return close_sheet(t, &s, true);
}

static draw draw_geometry(mo_tape *t, uint64_t seed, const geometry *g) {
    sheet s = open_sheet(seed, GEOMETRY_CLASSES, GEOMETRY_ROWS, true);
    for (int64_t c = 0; c < s.classes; c++)
        draw_vector(&s, c, g->low + (g->high - g->low) * (double)c / (double)(s.classes - 1));
    if (g->shift > 0)
        draw_vector(&s, s.classes, g->shift);
    draw_noise(&s, g->noise);
    for (int64_t i = 0; i < s.rows; i++) {
        add_vector(s.base + i * D, 1, s.vector + class_of(&s, i) * D);
        add_vector(s.base + i * D, 1, s.vector + s.classes * D); /* adds the shift, the last vector; it is 0 if there is
                                                                  * none */
    }
    return close_sheet(t, &s, false);
}

/* ---- figures ---- */

/* A figure of one readout, for every seed. Accuracy and recall are in percent. */
typedef struct figure {
    const char *pitfall; /* "origin", "hull", "calibration" */
    const char *setting; /* "t" or "delta", the meaning of x; "shifted", "radius" */
    double x;            /* value of t or delta; NaN for calibration */
    const char *head;   /* "prototype_inner", "ridge", "logistic", "temperature" (prototype_inner with a temperature) */
    const char *metric; /* "accuracy", "recall_A" .., "hull_distance" (from A's prototype to the hull of the prototypes
                         * of B and C), "ece", "temperature" */
    double *values;     /* [seeds] */
} figure;

/* The calibration of a readout's predictions, over all seeds. */
typedef struct diagram {
    const char *setting, *head;
    mo_calibration counts;
} diagram;

/* The figures so far. The first seed adds them; later seeds visit them in the same order, by which `record` finds
 * them. */
typedef struct run {
    mo_context *ctx;
    mo_tape *t;
    int64_t seeds, seed;
    figure *figures; /* stb_ds arrays */
    diagram *diagrams;
    int64_t next_figure, next_diagram;
} run;

static void record(run *r, figure row, double value) {
    if (r->next_figure == arrlen(r->figures)) {
        row.values = needed(calloc((size_t)r->seeds, sizeof *row.values));
        arrput(r->figures, row);
    }
    r->figures[r->next_figure++].values[r->seed] = value;
}

static void record_diagram(run *r, const figure *row, const mo_calibration *counts) {
    if (r->next_diagram == arrlen(r->diagrams))
        arrput(r->diagrams, ((diagram){.setting = row->setting, .head = row->head}));
    mo_calibration_merge(&r->diagrams[r->next_diagram++].counts, counts);
}

/* Returns the labels 0 0 .. 1 1 .. of the support; the queries have the same labels. Owned. */
static int64_t *labels_of(const draw *drawn) {
    int64_t n = drawn->classes * drawn->each, *label = needed(malloc((size_t)n * sizeof *label));
    for (int64_t i = 0; i < n; i++)
        label[i] = i / drawn->each;
    return label;
}

/* Fits a readout on the support. Returns its logits [classes each, classes] for the queries or, if of_support, the
 * support. Owned. */
static double *read_logits(
    run *r, const draw *drawn, mo_tensor *Z, const mo_head *head, double lambda, bool of_support) {
    int64_t n = drawn->classes * drawn->each, *label = labels_of(drawn);
    double *x = needed(calloc((size_t)(n * drawn->classes), sizeof *x));
    mo_tensor *parameters[MO_MAX_HEAD_PARAMETERS];
    mo_tensor *Ys = mo_one_hot(r->t, mo_from(r->t, MO_I64, 1, &n, label), drawn->classes, MO_F64);
    mo_tensor *Zs = mo_slice(r->t, Z, MO_AXIS(0), 0, n),
              *Zq = of_support ? Zs : mo_slice(r->t, Z, MO_AXIS(0), n, 2 * n);
    free(label);
    if (mo_head_start(r->t, head, MO_F64, D, lambda > 0 ? &lambda : NULL, 0, parameters) == MO_OK)
        mo_tensor_read(mo_head_apply(r->t, head, Zs, Ys, Zq, parameters), x, (size_t)(n * drawn->classes) * sizeof *x);
    return x;
}

static double accuracy_percent(const mo_calibration *c) {
    return 100 * (double)c->right / (double)c->n;
}

/* Returns the calibration sums of the queries; `own` receives the sums of each class, unless it is NULL. */
static mo_calibration count_answers(const draw *drawn, const double *logits, double temperature, mo_calibration *own) {
    mo_calibration all = {0};
    for (int64_t c = 0; c < drawn->classes; c++) {
        mo_calibration *counts = own ? &own[c] : &all;
        if (own)
            own[c] = (mo_calibration){0};
        for (int64_t i = c * drawn->each; i < (c + 1) * drawn->each; i++)
            mo_calibration_add(counts, logits + i * drawn->classes, &c, 1, drawn->classes, temperature);
        if (own)
            mo_calibration_merge(&all, &own[c]);
    }
    return all;
}

/* Returns the distance of the first class's prototype from the hull of the other classes' prototypes. */
static double hull_distance(run *r, const draw *drawn, mo_tensor *Z) {
    int64_t C = drawn->classes;
    double p[4 * D] = {0};
    mo_tensor *Zs = mo_slice(r->t, Z, MO_AXIS(0), 0, C * drawn->each);
    mo_tensor *P = mo_mean(r->t, mo_reshape(r->t, Zs, 3, (int64_t[]){C, drawn->each, D}), MO_AXIS(1), MO_DROP_AXES);
    mo_tensor_read(P, p, (size_t)(C * D) * sizeof *p);
    return mo_ok(r->ctx) ? mo_hull_distance(r->ctx, p + D, C - 1, D, p, NULL) : NAN;
}

static void run_path(run *r, const path *p, const draw drawn) {
    static const char *const recall_names[] = {"recall_A", "recall_B", "recall_C"};
    const mo_head *const heads[] = {&mo_head_prototype_inner, &mo_head_ridge};
    for (int i = 0; i < p->n_steps && mo_ok(r->ctx); i++) {
        figure row = {.pitfall = p->pitfall, .setting = p->setting, .x = p->step[i]};
        mo_tensor *Z = mo_add(r->t, drawn.base, mo_scale(r->t, drawn.direction, row.x, 0));
        for (int j = 0; j < 2 && mo_ok(r->ctx); j++) {
            mo_calibration own[3];
            double *logits = read_logits(r, &drawn, Z, heads[j], p->lambda, false);
            mo_calibration all = count_answers(&drawn, logits, 1, own);
            row.head = j ? "ridge" : "prototype_inner";
            for (int64_t c = 0; p == &hull && c < drawn.classes; c++) {
                row.metric = recall_names[c];
                record(r, row, accuracy_percent(&own[c]));
            }
            row.metric = "accuracy";
            record(r, row, accuracy_percent(&all));
            free(logits);
        }
        row.head = "prototype_inner";
        row.metric = "hull_distance";
        if (p == &hull)
            record(r, row, hull_distance(r, &drawn, Z));
    }
}

static void record_calibration(run *r, const draw *drawn, figure row, const double *logits, double temperature) {
    mo_calibration counts = count_answers(drawn, logits, temperature, NULL);
    row.metric = "ece";
    record(r, row, mo_calibration_ece(&counts));
    row.metric = "accuracy";
    record(r, row, accuracy_percent(&counts));
    record_diagram(r, &row, &counts);
}

/* Runs one geometry. As in the paper, the temperature minimises the cross-entropy on the support. */
static void run_geometry(run *r, const geometry *g) {
    const draw drawn = draw_geometry(r->t, (uint64_t)r->seed, g);
    figure row = {.pitfall = "calibration", .setting = g->setting, .x = NAN};
    int64_t *label = labels_of(&drawn);
    double *on_support = read_logits(r, &drawn, drawn.base, &mo_head_prototype_inner, 0, true),
           *prototypes = read_logits(r, &drawn, drawn.base, &mo_head_prototype_inner, 0, false),
           *logistic = read_logits(r, &drawn, drawn.base, &mo_head_logistic_penalised, g->lambda, false);
    if (mo_ok(r->ctx)) {
        double temperature = mo_fit_temperature(on_support, label, drawn.classes * drawn.each, drawn.classes, 0, NULL);
        row.head = "temperature";
        row.metric = "temperature";
        record(r, row, temperature);
        row.head = "prototype_inner";
        record_calibration(r, &drawn, row, prototypes, 1);
        row.head = "temperature";
        record_calibration(r, &drawn, row, prototypes, temperature);
        row.head = "logistic";
        record_calibration(r, &drawn, row, logistic, 1);
    }
    free(label);
    free(on_support);
    free(prototypes);
    free(logistic);
}

/* ---- tables, with a plot beside them ---- */

static const figure *find_figure(const run *r, const char *setting, double x, const char *head, const char *metric) {
    for (int i = 0; i < arrlen(r->figures); i++) {
        const figure *f = &r->figures[i];
        if (!strcmp(f->setting, setting) && (isnan(x) || f->x == x) && !strcmp(f->head, head) &&
            !strcmp(f->metric, metric))
            return f;
    }
    return NULL;
}

/* Prints the mean of a figure and returns it. */
static double print_value(const run *r, const char *setting, double x, const char *head, const char *metric) {
    const int digits = strcmp(metric, "ece") ? 1 : 4;
    mo_summary s = mo_summarize(find_figure(r, setting, x, head, metric)->values, r->seeds);
    if (isnan(s.ci95))
        printf("  %7.*f      ", digits, s.mean);
    else
        printf("  %7.*f ± %-4.*f", digits, s.mean, digits, s.ci95);
    return s.mean;
}

/* Plots p and r as letters on an axis from low to high; * if they coincide. */
static void print_plot(double p, double r, double low, double high) {
    char line[PLOT + 1];
    int at[2] = {
        (int)lround((p - low) / (high - low) * (PLOT - 1)), (int)lround((r - low) / (high - low) * (PLOT - 1))};
    memset(line, ' ', PLOT);
    line[PLOT] = '\0';
    for (int i = 0; i < 2; i++)
        at[i] = at[i] < 0 ? 0 : at[i] >= PLOT ? PLOT - 1 : at[i];
    line[at[0]] = 'p';
    line[at[1]] = at[0] == at[1] ? '*' : 'r';
    printf("   |%s|\n", line);
}

static void print_origin(const run *r) {
    printf("origin: two classes %g apart, noise %g, all moved by t along the line between them\n"
           "        (%" PRId64 " rows in %d dimensions, half of them support; ridge with lambda = %g)\n\n",
        MARGIN, origin.noise, 2 * origin.per_class, D, origin.lambda);
    printf("%6s  %14s  %14s    %-*s%s\n", "t", "prototype %", "ridge %", PLOT - 2, "40", "100");
    for (int i = 0; i < origin.n_steps; i++) {
        double t = origin.step[i];
        printf("%6.2f", t);
        double a = print_value(r, "t", t, "prototype_inner", "accuracy"),
               b = print_value(r, "t", t, "ridge", "accuracy");
        print_plot(a, b, 40, 100);
    }
    puts("\n        Distances between rows stay as they are; the boundary of two prototypes stays at the origin.\n");
}

/* Prints the experiment hull. The paper's text contradicts its set-up; a note below the table says how. */
static void print_hull(const run *r) {
    printf("hull: A has two modes at (-+delta, 1), B and C lie at (-0.6 delta, -0.5) and (0.6 delta, -0.5), noise %g\n"
           "      (%" PRId64 " rows a class in %d dimensions, half of them support; ridge with lambda = %g)\n\n",
        hull.noise, hull.per_class, D, hull.lambda);
    printf("%36s%32s%28s\n%6s  %14s", "recall of A %", "accuracy %", "recall of A", "delta", "prototype");
    printf("  %14s  %14s  %14s  %5s    %-*s%s\n", "ridge", "prototype", "ridge", "p_A", PLOT - 3, "0", "100");
    for (int i = 0; i < hull.n_steps; i++) {
        double delta = hull.step[i];
        printf("%6.2f", delta);
        double a = print_value(r, "delta", delta, "prototype_inner", "recall_A"),
               b = print_value(r, "delta", delta, "ridge", "recall_A");
        print_value(r, "delta", delta, "prototype_inner", "accuracy");
        print_value(r, "delta", delta, "ridge", "accuracy");
        const figure *distance = find_figure(r, "delta", delta, "prototype_inner", "hull_distance");
        printf("  %5.2f", mo_summarize(distance->values, r->seeds).mean);
        print_plot(a, b, 0, 100);
    }
    puts(
        "\n      p_A: distance of A's prototype to the hull of the others'.\n"
        "      The paper says that the three classes coincide at delta = 0, that predictions are at chance there, and "
        "that p_A\n"
        "      enters the hull of p_B and p_C as delta grows. In its set-up A is 1.5 above B and C at every delta: p_A "
        "stays\n"
        "      outside, and the recall of A falls because the norms of p_B and p_C grow.\n");
}

/* Returns the number of seeds for which the ece of `above` exceeds that of `below`. */
static int64_t count_above(const run *r, const char *setting, const char *above, const char *below) {
    const figure *a = find_figure(r, setting, NAN, above, "ece"), *b = find_figure(r, setting, NAN, below, "ece");
    int64_t count = 0;
    for (int64_t i = 0; i < r->seeds; i++)
        count += a->values[i] > b->values[i];
    return count;
}

static void print_calibration(const run *r) {
    static const char *const heads[] = {"prototype_inner", "temperature", "logistic"};
    const geometry *shifted = &geometries[0], *radius = &geometries[1];
    printf("calibration: %d classes of %d rows in %d dimensions, in random directions, half of them support\n"
           "             shifted: at radius %g, noise %g, all moved by a vector of length %g; logistic, lambda = %g\n"
           "             radius:  at radii %g to %g, noise %g; logistic, lambda = %g\n\n",
        GEOMETRY_CLASSES, GEOMETRY_ROWS, D, shifted->low, shifted->noise, shifted->shift, shifted->lambda, radius->low,
        radius->high, radius->noise, radius->lambda);
    printf("  %-9s%-12s  %15s  %7s  %15s\n", "", "", "ece", "paper", "accuracy %");
    for (int i = 0; i < 3 * GEOMETRIES; i++) {
        const geometry *g = &geometries[i / 3];
        printf("  %-9s%-12s", g->setting, heads[i % 3]);
        print_value(r, g->setting, NAN, heads[i % 3], "ece");
        printf("  %7.3g", g->paper[i % 3]);
        print_value(r, g->setting, NAN, heads[i % 3], "accuracy");
        putchar('\n');
    }
    puts("\n             temperature: prototypes after one temperature, fitted to the support.");
    for (int i = 0; i < GEOMETRIES; i++)
        printf("             %s: prototype above temperature on %" PRId64 " of %" PRId64
               " seeds, temperature above logistic on %" PRId64 ".\n",
            geometries[i].setting, count_above(r, geometries[i].setting, heads[0], heads[1]), r->seeds,
            count_above(r, geometries[i].setting, heads[1], heads[2]));
    puts("             How much a shift harms depends on its direction: the ece of shifted prototypes has a standard "
         "deviation of 0.2\n"
         "             over draws, so a mean of 20 may lie 0.1 from the paper's. And one temperature need not help on "
         "every draw: that\n"
         "             of the least cross-entropy on the support did harm on 5% of 400 draws.\n");
}

static void print_tables(const run *r, int which) {
    if (which & PITFALL_ORIGIN)
        print_origin(r);
    if (which & PITFALL_HULL)
        print_hull(r);
    if (which & PITFALL_CALIBRATION)
        print_calibration(r);
    printf("%" PRId64 " seeds; ± is the half width of the 95%% interval of the mean\n", r->seeds);
}

/* ---- JSON ---- */

static bool print_figure_object(const figure *f, int64_t seeds) {
    mo_summary s = mo_summarize(f->values, seeds);
    json_t *values = json_array();
    for (int64_t i = 0; i < seeds; i++)
        json_array_append_new(values, json_number(f->values[i]));
    return print_json(json_pack("{s:s, s:s, s:s, s:o, s:s, s:s, s:o, s:o, s:o, s:o}", "kind", "pitfall", "pitfall",
        f->pitfall, "setting", f->setting, "x", json_number(f->x), "head", f->head, "metric", f->metric, "mean",
        json_number(s.mean), "sd", json_number(s.sd), "ci95", json_number(s.ci95), "values", values));
}

static bool print_objects(const run *r) {
    bool written = true;
    for (int i = 0; written && i < arrlen(r->figures); i++)
        written = print_figure_object(&r->figures[i], r->seeds);
    for (int i = 0; written && i < arrlen(r->diagrams); i++) {
        const diagram *d = &r->diagrams[i];
        json_t *o = json_pack("{s:s, s:s, s:s}", "kind", "reliability", "setting", d->setting, "head", d->head);
        written = json_object_update_new(o, calibration_bins(&d->counts)) == 0 && print_json(o);
    }
    return written;
}

/* Runs the experiments whose bits are set in `which`, with seeds 0 .. seeds - 1. Returns false if a line could not be
 * written. */
static bool run_experiments(mo_context *ctx, int which, int64_t seeds, bool json) {
    run r = {.ctx = ctx, .t = mo_tape_create(ctx, MO_EVAL), .seeds = seeds};
    bool written = true;
    for (; r.seed < seeds && r.t && mo_ok(ctx); r.seed++) {
        const uint64_t seed = (uint64_t)r.seed;
        r.next_figure = r.next_diagram = 0;
        if (which & PITFALL_ORIGIN)
            run_path(&r, &origin, draw_origin(r.t, seed));
        if (which & PITFALL_HULL)
            run_path(&r, &hull, draw_hull(r.t, seed));
        for (int i = 0; i < GEOMETRIES && which & PITFALL_CALIBRATION; i++)
            run_geometry(&r, &geometries[i]);
        mo_tape_reset(r.t);
    }
    if (mo_ok(ctx) && json)
        written = print_objects(&r);
    else if (mo_ok(ctx))
        print_tables(&r, which);
    for (int i = 0; i < arrlen(r.figures); i++)
        free(r.figures[i].values);
    arrfree(r.figures);
    arrfree(r.diagrams);
    mo_tape_release(r.t);
    return written;
}

/* ---- the command ---- */

typedef struct pitfalls_options {
    int which;
    int64_t seeds;
    int threads;
    bool json;
    given_options given;
} pitfalls_options;

static const char *const experiments[] = {"origin", "hull", "calibration", "all"};

#define AT(field) offsetof(pitfalls_options, field)

static const option table[] = {
    {OPTION_INT64, "seeds", "N", AT(seeds), "draws of each synthetic experiment (default 20)", 1, 100000},
    THREADS_OPTION(pitfalls_options, threads),
    JSON_OPTION(
        pitfalls_options, json, "one JSON object per figure on standard output, nothing else; mochi-report draws them"),
    {OPTION_END},
};

static const char about[] =
    "Shows how class means fail as a readout under inner products: the paper's three synthetic experiments.\n\n"
    "origin: all embeddings are moved by one vector; distances stay, prototypes fall to chance, ridge does not.\n"
    "hull: the mean of a class with two modes lies where other classes win; `mochi readouts Z y --diagnose` tests your "
    "embeddings for it.\n"
    "calibration: confidence against accuracy; one temperature cannot undo a shift or unequal norms.\vExamples:\n"
    "  mochi pitfalls all --json > pitfalls.jsonl; mochi-report pitfalls.jsonl --out pitfalls.html\n"
    "  mochi pitfalls calibration --seeds 120 --json";

static void take_argument(void *options, const char *text, const struct argp_state *state) {
    pitfalls_options *o = options;
    static const int bits[] = {
        PITFALL_ORIGIN, PITFALL_HULL, PITFALL_CALIBRATION, PITFALL_ORIGIN | PITFALL_HULL | PITFALL_CALIBRATION};
    if (state->arg_num > 0)
        usage_error(state, "ARGUMENT", "nothing after the experiment", text);
    o->which = bits[parse_choice(state, "EXPERIMENT", text, experiments, 4)];
}

static void check_pitfalls_options(void *options, const struct argp_state *state) {
    if (!((pitfalls_options *)options)->which)
        usage_error(state, "EXPERIMENT", "origin, hull, calibration or all", "nothing");
}

const command_line pitfalls_line = {.table = table,
    .words = "origin|hull|calibration|all",
    .about = about,
    .take_word = take_argument,
    .end = check_pitfalls_options};

int pitfalls_command(int argc, char **argv) {
    pitfalls_options o = {.seeds = 20, .threads = 1};
    read_command_line(&pitfalls_line, argc, argv, &o, &o.given);
    mo_context *ctx = open_context(o.threads);
    if (!ctx)
        return EXIT_FAILED;
    bool written =
        (!o.json || print_json(command_object(argc, argv))) && run_experiments(ctx, o.which, o.seeds, o.json);
    int code = !mo_ok(ctx) ? report_failure(ctx) : written ? EXIT_FINE : EXIT_FAILED;
    mo_context_release(ctx);
    return code;
}
