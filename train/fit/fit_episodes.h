/* train/fit/fit_episodes.h - the episodes of one head at one k, in batches that do not depend on one another (library
 * internal). */
#ifndef MO_FIT_EPISODES_H
#define MO_FIT_EPISODES_H

#include "train/fit/fit_batch.h"

enum { MO_FIT_VALUES = 13 };

/* The sums over the queries of a batch. */
typedef struct mo_fit_tally {
    mo_calibration by_norm[MO_NORM_PARTS], scaled; /* without a temperature, and at the temperature */
    bool tempered;                                 /* every episode had held-out rows to fit a temperature to */
} mo_fit_tally;

typedef struct mo_fit_job {
    const mo_draws *draws;
    const uint8_t *part; /* [n] quarter of |z| */
    int n_values;        /* number of tuned values; the value after the last is NaN, the head's own */
    double values[MO_FIT_VALUES + 1];
    int64_t B, batches;    /* episodes per batch; the last batch may have fewer */
    int64_t numbers;       /* doubles in the rows and the matrix of an episode */
    double *accuracy;      /* [episodes], in percent */
    mo_fit_choice *choice; /* [episodes] */
    int64_t *predicted;    /* [episodes, n_query]: classes of the episode */
    mo_fit_tally *tally;   /* [batches] */
    mo_progress progress;  /* called with the episodes done, or NULL */
    void *state;
    char title[96]; /* k and head, for progress */
} mo_fit_job;

/* Buffers of a batch, and the choices of its episodes. */
typedef struct mo_fit_space {
    double *held, *logits;                              /* [values, B, n_s, C], [B, n_q, C] */
    double *rows;                                       /* [n_s, C]: the held-out rows of one episode */
    int64_t *label;                                     /* [n_s] the labels of rows */
    int64_t *support, *support_label, *query, *episode; /* the episodes that chose the same value */
    int *choice;                                        /* [B] */
} mo_fit_space;

/* Makes the buffers; release in any case. Returns false on failure. */
bool mo_fit_space_create(mo_context *ctx, const mo_fit_job *job, mo_fit_space *s);
void mo_fit_space_release(mo_fit_space *s);
/* Computes batch `number` of the job; writes job->tally[number] and the accuracies of its episodes. Returns false on
 * failure. */
bool mo_fit_episodes(const mo_fitting *f, const mo_fit_job *job, int64_t number, mo_fit_space *s);

#endif
