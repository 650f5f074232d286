/* tools/lessons/pitfalls.h - the paper's three synthetic experiments on prototypes under inner products: a shift of all
 * embeddings, a class of two modes, and unequal norms of prototypes spoil them, but not a readout with an intercept. */
#ifndef PITFALLS_H
#define PITFALLS_H

#include "tools/command.h"

/* ---- pitfalls_setup.c: parameters and draws ---- */

enum { MOST_STEPS = 24 };

/* Parameters that the paper gives (n, d, classes, means, bins, the ranges of t and delta), and parameters that it
 * leaves open (margin, noise, penalties, norms), chosen to reproduce its figures. Half of every class is support. */
typedef struct pitfalls_setup {
    int64_t d;
    struct { /* two Gaussians, margin apart along u, moved by t u */
        int64_t per_class;
        double margin, noise, lambda;
        int n_steps;
        double step[MOST_STEPS]; /* t */
    } origin;
    struct { /* A: two modes (-+ delta, 1, 0 ..); B, C: (-+ 0.6 delta, -0.5, 0 ..) */
        int64_t per_class;
        double mode, height, side, depth; /* A at (-+ mode delta, height), B and C at (-+ side delta, -depth) */
        double noise, lambda;
        int n_steps;
        double step[MOST_STEPS]; /* delta */
    } hull;
    struct { /* classes in random directions */
        int64_t classes, per_class;
        double shifted_radius, shifted_noise, shift, shifted_lambda; /* all at one radius, then all moved by a vector */
        double radius_low, radius_high, radius_noise, radius_lambda; /* radii spaced evenly */
    } calibration;
} pitfalls_setup;

extern const pitfalls_setup pitfalls_parameters;
/* Notes on where the paper's text and its set-up disagree; the last one is NULL. */
extern const char *const pitfalls_hull_notes[], *const pitfalls_calibration_notes[];
/* The paper's figure. */
double pitfalls_paper_ece(const char *setting, const char *head);

/* Labelled rows of one seed: the support first, both in the order of their classes, all classes
 * equal in number. Row i at a step x is base_i + x direction_i (origin and hull; calibration has no direction). Float64
 * tensors of the tape. */
typedef struct pitfall_draw {
    int64_t classes, each; /* each: support rows per class, and query rows per class */
    mo_tensor *base;       /* [2 classes each, d] */
    mo_tensor *direction;  /* [2 classes each, d] or NULL */
} pitfall_draw;

pitfall_draw draw_origin(mo_tape *t, uint64_t seed);
pitfall_draw draw_hull(mo_tape *t, uint64_t seed);
/* shifted: all classes at one radius, moved by one vector; else each class at its own radius. */
pitfall_draw draw_calibration(mo_tape *t, uint64_t seed, bool shifted);

/* ---- pitfalls_run.c: readouts on them ---- */

/* One figure of one readout for every seed. Accuracies and recalls are in percent. */
typedef struct pitfall_row {
    const char *pitfall; /* "origin", "hull", "calibration" */
    const char *setting; /* "t" or "delta", the meaning of x; "shifted", "radius" */
    double x;            /* NaN in calibration */
    const char *head;    /* "prototype_inner", "ridge", "temperature" (prototype_inner after it), "logistic" */
    const char *metric;  /* "accuracy", "recall_A" .., "hull_distance" (of p_A), "ece", "temperature" */
    double *values;      /* [seeds] */
} pitfall_row;

/* Predictions of a readout by confidence, over all seeds. */
typedef struct pitfall_reliability {
    const char *setting, *head;
    mo_calibration counts;
} pitfall_reliability;

typedef struct pitfall_figures {
    int64_t seeds;
    pitfall_row *rows; /* stb_ds arrays */
    pitfall_reliability *reliability;
} pitfall_figures;

enum { PITFALL_ORIGIN = 1, PITFALL_HULL = 2, PITFALL_CALIBRATION = 4, PITFALL_CONE = 8 };

/* Runs the experiments whose bits are set, for the seeds 0 .. seeds - 1. Returns the status; free in any case. */
mo_code pitfalls_run(mo_context *ctx, int which, int64_t seeds, pitfall_figures *figures);
void pitfalls_free(pitfall_figures *figures);
/* The row with these names, NULL if there is none; x is not compared if it is NaN. */
const pitfall_row *find_pitfall(
    const pitfall_figures *f, const char *setting, double x, const char *head, const char *metric);

/* ---- pitfalls_print.c ---- */

void pitfalls_print(const pitfall_figures *figures, int which);
/* Returns false if a line could not be written. */
bool pitfalls_print_objects(const pitfall_figures *figures);

#endif
