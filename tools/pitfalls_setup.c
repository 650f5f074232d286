/* tools/pitfalls_setup.c - the parameters of the synthetic experiments, and the rows that they draw. */
#include "tools/pitfalls.h"

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

/* Where the paper's text and its set-up disagree, and what follows from the choice of seeds. */
const char *const pitfalls_hull_notes[] = {
    "The paper says that the three classes coincide at delta = 0, that predictions are at chance there, and that p_A",
    "enters the hull of p_B and p_C as delta grows. In its set-up A is 1.5 above B and C at every delta: p_A stays",
    "outside, and the recall of A falls because the norms of p_B and p_C grow.",
    NULL,
};
const char *const pitfalls_calibration_notes[] = {
    "How much a shift harms depends on its direction: the ece of shifted prototypes has a standard deviation of 0.2",
    "over draws, so a mean of 20 may lie 0.1 from the paper's. And one temperature need not help on every draw: that",
    "of the least cross-entropy on the support did harm on 7% of 400 draws.",
    NULL,
};

double pitfalls_paper_ece(const char *setting, const char *head) {
    bool shifted = !strcmp(setting, "shifted");
    if (!strcmp(head, "prototype"))
        return shifted ? 0.44 : 0.12;
    return !strcmp(head, "temperature") ? (shifted ? 0.22 : 0.08) : 0.001;
}

/* Rows while they are written: base and direction, [2 classes each, d], and vectors of d numbers. */
typedef struct sheet {
    mo_tape *t;
    int64_t classes, each, d;
    mo_random r;
    double *base, *direction, *vector;
} sheet;

/* Noise everywhere in the base. Streams of the experiments are apart. */
static bool open_sheet(sheet *s, uint64_t seed, uint64_t stream, double noise) {
    s->d = pitfalls_parameters.d;
    int64_t numbers = 2 * s->classes * s->each * s->d;
    s->r = mo_random_at(seed, MO_PURPOSE_EPISODE, stream);
    s->base = calloc((size_t)(2 * numbers + (s->classes + 1) * s->d), sizeof *s->base);
    if (!s->base) {
        mo_fail(mo_tape_context(s->t), MO_MEMORY, "pitfalls: out of memory");
        return false;
    }
    s->direction = s->base + numbers;
    s->vector = s->direction + numbers;
    for (int64_t i = 0; i < numbers; i++)
        s->base[i] = noise * mo_random_normal(&s->r);
    return true;
}

static pitfall_draw close_sheet(sheet *s, bool moving) {
    int64_t shape[] = {2 * s->classes * s->each, s->d};
    pitfall_draw draw = {.classes = s->classes, .each = s->each};
    if (s->base) {
        draw.base = mo_from(s->t, MO_F64, 2, shape, s->base);
        draw.direction = moving ? mo_from(s->t, MO_F64, 2, shape, s->direction) : NULL;
    }
    free(s->base);
    return draw;
}

/* A random direction of that length. */
static void draw_vector(sheet *s, double *v, double length) {
    double squares = 0;
    for (int64_t k = 0; k < s->d; k++) {
        v[k] = mo_random_normal(&s->r);
        squares += v[k] * v[k];
    }
    for (int64_t k = 0; k < s->d; k++)
        v[k] *= length / sqrt(squares);
}

static void add_vector(double *row, double scale, const double *v, int64_t d) {
    for (int64_t k = 0; k < d; k++)
        row[k] += scale * v[k];
}

pitfall_draw draw_origin(mo_tape *t, uint64_t seed) {
    sheet s = {.t = t, .classes = 2, .each = pitfalls_parameters.origin.per_class / 2};
    if (open_sheet(&s, seed, 0, pitfalls_parameters.origin.noise)) {
        draw_vector(&s, s.vector, 1);
        for (int64_t i = 0; i < 4 * s.each; i++) {
            double side = i / s.each % 2 == 0 ? -0.5 : 0.5;
            add_vector(s.base + i * s.d, side * pitfalls_parameters.origin.margin, s.vector, s.d);
            add_vector(s.direction + i * s.d, 1, s.vector, s.d);
        }
    }
    return close_sheet(&s, true);
}

/* Members of A are shuffled before they are divided, so that support and queries differ in how many each mode has. */
pitfall_draw draw_hull(mo_tape *t, uint64_t seed) {
    sheet s = {.t = t, .classes = 3, .each = pitfalls_parameters.hull.per_class / 2};
    int64_t *member = calloc((size_t)(2 * s.each), sizeof *member);
    if (open_sheet(&s, seed, 1, pitfalls_parameters.hull.noise) && member) {
        for (int64_t i = 0; i < 2 * s.each; i++)
            member[i] = i;
        mo_random_shuffle(&s.r, member, 2 * s.each);
        for (int64_t i = 0; i < 6 * s.each; i++) {
            int64_t class = i / s.each % 3, half = i / (3 * s.each);
            double left = class == 0 ? member[half * s.each + i % s.each] < s.each ? -1 : 1 : class == 1 ? -1 : 1;
            s.direction[i * s.d] = left * (class == 0 ? pitfalls_parameters.hull.mode : pitfalls_parameters.hull.side);
            s.base[i * s.d + 1] += class == 0 ? pitfalls_parameters.hull.height : -pitfalls_parameters.hull.depth;
        }
    }
    free(member);
    return close_sheet(&s, true);
}

pitfall_draw draw_calibration(mo_tape *t, uint64_t seed, bool shifted) {
    const pitfalls_setup *p = &pitfalls_parameters;
    sheet s = {.t = t, .classes = p->calibration.classes, .each = p->calibration.per_class / 2};
    if (open_sheet(&s, seed, shifted ? 2 : 3, shifted ? p->calibration.shifted_noise : p->calibration.radius_noise)) {
        double low = p->calibration.radius_low, high = p->calibration.radius_high;
        double *shift = s.vector + s.classes * s.d;
        for (int64_t c = 0; c < s.classes; c++)
            draw_vector(&s, s.vector + c * s.d,
                shifted ? p->calibration.shifted_radius : low + (high - low) * (double)c / (double)(s.classes - 1));
        draw_vector(&s, shift, shifted ? p->calibration.shift : 0);
        for (int64_t i = 0; i < 2 * s.classes * s.each; i++) {
            add_vector(s.base + i * s.d, 1, s.vector + i / s.each % s.classes * s.d, s.d);
            add_vector(s.base + i * s.d, 1, shift, s.d);
        }
    }
    return close_sheet(&s, false);
}
