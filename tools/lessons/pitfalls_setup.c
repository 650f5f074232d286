/* tools/lessons/pitfalls_setup.c - the parameters of the synthetic experiments, and the draws of their rows. */
#include "tools/lessons/pitfalls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const pitfalls_setup pitfalls_parameters = {
    .d = 64,
    .origin = {.per_class = 400,
        .margin = 4,
        .noise = 0.5,
        .lambda = 1,
        .n_steps = 17,
        .step = {0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.25, 2.5, 2.75, 3, 3.5, 4, 4.5, 5}},
    .hull = {.per_class = 100,
        .mode = 1,
        .height = 1,
        .side = 0.6,
        .depth = 0.5,
        .noise = 0.38,
        .lambda = 0.3,
        .n_steps = 16,
        .step = {0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 5, 6, 8, 10}},
    .calibration = {.classes = 5,
        .per_class = 100,
        .shifted_radius = 3.5,
        .shifted_noise = 0.5,
        .shift = 25,
        .shifted_lambda = 0.01,
        .radius_low = 0.4,
        .radius_high = 12,
        .radius_noise = 0.3,
        .radius_lambda = 0.007},
};

/* Notes on where the paper's text and its set-up disagree, and on the effect of the seeds. */
const char *const pitfalls_hull_notes[] = {
    "The paper says that the three classes coincide at delta = 0, that predictions are at chance there, and that p_A",
    "enters the hull of p_B and p_C as delta grows. In its set-up A is 1.5 above B and C at every delta: p_A stays",
    "outside, and the recall of A falls because the norms of p_B and p_C grow.",
    NULL,
};
const char *const pitfalls_calibration_notes[] = {
    "How much a shift harms depends on its direction: the ece of shifted prototypes has a standard deviation of 0.2",
    "over draws, so a mean of 20 may lie 0.1 from the paper's. And one temperature need not help on every draw: that",
    "of the least cross-entropy on the support did harm on 5% of 400 draws.",
    NULL,
};

double pitfalls_paper_ece(const char *setting, const char *head) {
    bool shifted = !strcmp(setting, "shifted");
    if (!strcmp(head, "prototype_inner"))
        return shifted ? 0.44 : 0.12;
    return !strcmp(head, "temperature") ? (shifted ? 0.22 : 0.08) : 0.001;
}

/* Rows during the draw: one class after the other, or one row of each class in turn. Vectors have d numbers. */
typedef struct sheet {
    mo_tape *t;
    int64_t classes, each, rows, d;
    bool in_turn;
    mo_random r;
    double *base, *direction, *vector; /* [rows, d], [rows, d], [classes + 1, d] */
    int64_t *place, *member;           /* place: of a row in the result; member: rows of a class */
} sheet;

static int64_t class_of(const sheet *s, int64_t row) {
    return s->in_turn ? row % s->classes : row / (2 * s->each);
}

static bool open_sheet(sheet *s, uint64_t seed) {
    s->d = pitfalls_parameters.d;
    s->rows = 2 * s->classes * s->each;
    s->r = mo_random_at(seed, MO_PURPOSE_OWN, 0);
    s->base = calloc((size_t)((2 * s->rows + s->classes + 1) * s->d), sizeof *s->base);
    s->place = calloc((size_t)(s->rows + 2 * s->each), sizeof *s->place);
    if (!s->base || !s->place) {
        mo_fail(mo_tape_context(s->t), MO_MEMORY, "pitfalls: out of memory");
        return false;
    }
    s->direction = s->base + s->rows * s->d;
    s->vector = s->direction + s->rows * s->d;
    s->member = s->place + s->rows;
    return true;
}

static void draw_noise(sheet *s, double noise) {
    for (int64_t i = 0; i < s->rows * s->d; i++)
        s->base[i] = noise * mo_random_normal(&s->r);
}

/* Draws a vector of standard normals. */
static double *draw_vector(sheet *s, int64_t index) {
    double *v = s->vector + index * s->d;
    for (int64_t k = 0; k < s->d; k++)
        v[k] = mo_random_normal(&s->r);
    return v;
}

static void set_length(double *v, int64_t d, double length) {
    double squares = 0;
    for (int64_t k = 0; k < d; k++)
        squares += v[k] * v[k];
    for (int64_t k = 0; k < d; k++)
        v[k] *= length / sqrt(squares);
}

static void add_vector(double *row, double scale, const double *v, int64_t d) {
    for (int64_t k = 0; k < d; k++)
        row[k] += scale * v[k];
}

/* Shuffles the members of each class: the first half is support. Within each half the rows keep their order. */
static void split_classes(sheet *s) {
    enum { UNSEEN, SUPPORT };
    for (int64_t c = 0; c < s->classes; c++) {
        int64_t n = 0, next[2] = {c * s->each, (s->classes + c) * s->each};
        for (int64_t i = 0; i < s->rows; i++)
            if (class_of(s, i) == c)
                s->member[n++] = i;
        for (int64_t i = 0; i + 1 < n; i++) { /* Fisher and Yates */
            int64_t j = i + mo_random_below(&s->r, n - i), held = s->member[i];
            s->member[i] = s->member[j];
            s->member[j] = held;
        }
        for (int64_t i = 0; i < s->each; i++)
            s->place[s->member[i]] = SUPPORT;
        for (int64_t i = 0; i < s->rows; i++)
            if (class_of(s, i) == c)
                s->place[i] = next[s->place[i] == SUPPORT ? 0 : 1]++;
    }
}

/* Copies the rows to their places, as a tensor of the tape. */
static mo_tensor *take_sheet_rows(const sheet *s, const double *rows) {
    int64_t shape[] = {s->rows, s->d};
    double *placed = malloc((size_t)(s->rows * s->d) * sizeof *placed);
    for (int64_t i = 0; placed && i < s->rows; i++)
        memcpy(placed + s->place[i] * s->d, rows + i * s->d, (size_t)s->d * sizeof *rows);
    if (!placed)
        mo_fail(mo_tape_context(s->t), MO_MEMORY, "pitfalls: out of memory");
    mo_tensor *T = placed ? mo_from(s->t, MO_F64, 2, shape, placed) : NULL;
    free(placed);
    return T;
}

static pitfall_draw close_sheet(sheet *s, bool moving) {
    pitfall_draw draw = {.classes = s->classes, .each = s->each};
    if (mo_ok(mo_tape_context(s->t))) {
        split_classes(s);
        draw.base = take_sheet_rows(s, s->base);
        draw.direction = moving ? take_sheet_rows(s, s->direction) : NULL;
    }
    free(s->base);
    free(s->place);
    return draw;
}

pitfall_draw draw_origin(mo_tape *t, uint64_t seed) {
    sheet s = {.t = t, .classes = 2, .each = pitfalls_parameters.origin.per_class / 2, .in_turn = true};
    if (open_sheet(&s, seed)) {
        double *u = draw_vector(&s, 0);
        set_length(u, s.d, 1);
        draw_noise(&s, pitfalls_parameters.origin.noise);
        for (int64_t i = 0; i < s.rows; i++) {
            add_vector(s.base + i * s.d, ((double)class_of(&s, i) - 0.5) * pitfalls_parameters.origin.margin, u, s.d);
            add_vector(s.direction + i * s.d, 1, u, s.d);
        }
    }
    return close_sheet(&s, true);
}

/* The first half of A is its left mode. */
pitfall_draw draw_hull(mo_tape *t, uint64_t seed) {
    sheet s = {.t = t, .classes = 3, .each = pitfalls_parameters.hull.per_class / 2};
    if (open_sheet(&s, seed)) {
        draw_noise(&s, pitfalls_parameters.hull.noise);
        for (int64_t i = 0; i < s.rows; i++) {
            bool A = class_of(&s, i) == 0, left = A ? i < s.each : class_of(&s, i) == 1;
            double aside = A ? pitfalls_parameters.hull.mode : pitfalls_parameters.hull.side;
            s.direction[i * s.d] = left ? -aside : aside;
            s.base[i * s.d + 1] += A ? pitfalls_parameters.hull.height : -pitfalls_parameters.hull.depth;
        }
    }
    return close_sheet(&s, true);
}

pitfall_draw draw_calibration(mo_tape *t, uint64_t seed, bool shifted) {
    const pitfalls_setup *p = &pitfalls_parameters;
    sheet s = {.t = t, .classes = p->calibration.classes, .each = p->calibration.per_class / 2, .in_turn = true};
    if (open_sheet(&s, seed)) {
        double low = p->calibration.radius_low, high = p->calibration.radius_high;
        for (int64_t c = 0; c < s.classes; c++)
            set_length(draw_vector(&s, c), s.d,
                shifted ? p->calibration.shifted_radius : low + (high - low) * (double)c / (double)(s.classes - 1));
        if (shifted)
            set_length(draw_vector(&s, s.classes), s.d, p->calibration.shift);
        draw_noise(&s, shifted ? p->calibration.shifted_noise : p->calibration.radius_noise);
        for (int64_t i = 0; i < s.rows; i++) {
            add_vector(s.base + i * s.d, 1, s.vector + class_of(&s, i) * s.d, s.d);
            add_vector(s.base + i * s.d, 1, s.vector + s.classes * s.d, s.d); /* the shift; 0 if there is none */
        }
    }
    return close_sheet(&s, false);
}
