/* train/fit/fit_batch.h - heads on batches of episodes of equal shapes, from host numbers to host logits (library
 * internal).
 */
#ifndef MO_FIT_BATCH_H
#define MO_FIT_BATCH_H

#include "train/inside.h"

/* One head on embeddings. */
typedef struct mo_fitting {
    mo_context *ctx;
    mo_tape *t; /* MO_EVAL */
    mo_tensor *Z;
    const mo_head *head;
    int64_t classes;
    const double *lambda; /* for a head that has a lambda; NULL: its own */
    int tuned;            /* the number of the parameter that tuning sets; -1: none */
    uint64_t seed;
    mo_scaling scaling;
} mo_fitting;

/* Row numbers of B episodes: support [B, n_s] with labels, and the rows [B, n_q] to be predicted. */
typedef struct mo_fit_batch {
    int64_t B, n_s, n_q;
    const int64_t *support, *support_label, *query;
} mo_fit_batch;

/* Writes the logits [B, n_q, classes]. value: of the tuned parameter; NaN: the head's own. Returns false on failure. */
bool mo_fit_logits(const mo_fitting *f, const mo_fit_batch *b, double value, double *logits);

/* held_out.c: both functions write logits [values, B, n_s, classes] of the support rows, each by a fit that has not
 * seen the row, for each value of the tuned parameter (NaN: the head's own). The queries of the batch are ignored. The
 * logits are NaN if there is no such fit: rows that cannot be held out, systems without a solution. Return false on
 * failure. */

/* Leaves out one row at a time, in closed form, for the head ridge only. */
bool mo_leave_one_out(const mo_fitting *f, const mo_fit_batch *b, const double *values, int n_values, double *logits);
/* Leaves out one fold at a time, at most 5 folds, for any head; uses the head's cross_validate if it has one. k:
 * support rows per class; repeated: rows may repeat, and B is 1. query (may be NULL): receives the logits of
 * mo_fit_logits at values[0]. */
bool mo_cross_validate(const mo_fitting *f, const mo_fit_batch *b, int64_t k, bool repeated, const double *values,
    int n_values, double *logits, double *query);

/* Parts of both: the head's parameters with that value of the tuned one, on a tape that is reset first; row numbers as
 * rows [B, m, d] of Z, labels as one-hot [B, m, C]; a tensor as doubles. */
bool mo_fit_parameters(const mo_fitting *f, double value, mo_tensor **parameters);
mo_tensor *mo_fit_rows(const mo_fitting *f, const int64_t *row, int64_t B, int64_t m);
mo_tensor *mo_fit_one_hot(const mo_fitting *f, const int64_t *label, int64_t B, int64_t m);
bool mo_fit_read(mo_tensor *T, double *host);
/* The number of the head's parameter lambda, else of its first share (a scalar from 0 to 1); -1: none (fit.c). */
int mo_fit_regularisation(const mo_head *head);
/* scaling.c: rows [B, m, d] as the head meets them, scaled by the support Zs; Zq may be NULL. */
void mo_fit_scale(const mo_fitting *f, mo_tensor **Zs, mo_tensor **Zq);
/* The mean squared norm of a row of [Z | 1] after scaling, about; row_scale: before it. */
double mo_fit_scaled_norm(const mo_fitting *f, double row_scale);
/* part [n]: the quarter of each row of Z by its norm; row_scale: the mean squared norm of a row of [Z | 1]. */
bool mo_fit_quarters(const mo_fitting *f, uint8_t *part, double *row_scale);

#endif
