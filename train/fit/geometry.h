/* train/fit/geometry.h - prototypes and the parts of their diagnosis (library internal). */
#ifndef MO_GEOMETRY_H
#define MO_GEOMETRY_H

#include "train/fit.h"

typedef struct mo_geometry {
    mo_context *ctx;
    const mo_embeddings *E;
    const mo_diagnosis_options *options;
    int64_t n, d, C;
    double *P;       /* [C, d]: the prototypes */
    double *mean;    /* [d], of all rows */
    double *scratch; /* [d] */
    void *rows;      /* the rows Z, in their dtype */
} mo_geometry;

/* Adds 1 to *done, which all threads share; on the caller's thread, reports *done of `of` to its progress function. */
void mo_geometry_progress(const mo_geometry *g, const char *part, int64_t *done, int64_t of);

/* boundaries.c: counts pairs of classes whose boundary misses their rows: x->pairs and x->missed. False on failure. */
bool mo_count_missed(const mo_geometry *g, mo_diagnosis *x);

/* hull.c: writes the distance of each of the n >= 2 points X [n, d] to the convex hull of the others. False on
 * failure. */
bool mo_hull_leave_one_out(const mo_geometry *g, const double *X, int64_t n, int64_t d, double *distance);

#endif
