/* train/fit/fit_parts.h - a head on one episode, from host numbers to host logits; the episodes of one head at one k;
 * the threads that share them (library internal). */
#ifndef MO_FIT_PARTS_H
#define MO_FIT_PARTS_H

#include "train/inside.h"

/* One head on embeddings. */
typedef struct mo_fitting {
    mo_context *ctx;
    mo_tape *t; /* MO_EVAL */
    mo_tensor *Z;
    const mo_head *head;
    int64_t classes;
    const double *lambda; /* [1]: a value for a head that has a lambda; NULL: the head's own */
    int tuned;            /* index of the parameter that tuning sets; -1: none */
    uint64_t seed;
    mo_scaling scaling;
} mo_fitting;

/* Row numbers of an episode: n_s support rows with labels, and the n_q rows to be predicted. */
typedef struct mo_fit_problem {
    int64_t n_s, n_q;
    const int64_t *support, *support_label, *query;
} mo_fit_problem;

/* Writes the logits [n_q, classes]. value: for the tuned parameter; NaN: the head's own. Returns false on failure. */
bool mo_fit_logits(const mo_fitting *f, const mo_fit_problem *p, double value, double *logits);

/* held_out.c: both functions write logits [values, n_s, classes] of the support rows, each by a fit that has not seen
 * the row, for each value of the tuned parameter (NaN: the head's own). The queries of the problem are ignored. The
 * logits are NaN if there is no such fit, because a row cannot be held out or a system has no solution. Return false on
 * failure. */

/* mo_leave_one_out leaves out one row at a time, for a head with mo_head.leave_one_out and rows that do not repeat. */
bool mo_leave_one_out(const mo_fitting *f, const mo_fit_problem *p, const double *values, int n_values, double *logits);
/* Leaves out one fold at a time, at most 5 folds, for any head. k: support rows per class; repeated: rows may repeat.
 * query (may be NULL): receives the logits of the queries by the fit of all rows at values[0]. */
bool mo_cross_validate(const mo_fitting *f, const mo_fit_problem *p, int64_t k, bool repeated, const double *values,
    int n_values, double *logits, double *query);

/* Parts of the functions above. mo_fit_parameters: the head's parameters, the tuned one set to value, on a tape that is
 * reset first. mo_fit_rows: rows [m, d] of Z by number. mo_fit_one_hot: labels as [m, C]. */
bool mo_fit_parameters(const mo_fitting *f, double value, mo_tensor **parameters);
mo_tensor *mo_fit_rows(const mo_fitting *f, const int64_t *row, int64_t m);
mo_tensor *mo_fit_one_hot(const mo_fitting *f, const int64_t *label, int64_t m);
/* The index of the head's parameter lambda, else of its first share (a scalar from 0 to 1); -1: none (fit.c). */
int mo_fit_regularisation(const mo_head *head);
/* Scales rows [m, d] by the support Zs, as the head reads them; Zq may be NULL. */
void mo_fit_scale(const mo_fitting *f, mo_tensor **Zs, mo_tensor **Zq);
/* The two halves of mo_fit_scale: the support's mean and spread [1, d], NULL where the scaling reads none; and the rows
 * Z scaled by them. */
void mo_fit_measure(mo_tape *t, mo_scaling scaling, mo_tensor *Zs, mo_tensor **mean, mo_tensor **spread);
mo_tensor *mo_fit_rescale(mo_tape *t, mo_scaling scaling, mo_tensor *mean, mo_tensor *spread, mo_tensor *Z);
/* The scale of the rows that penalties are tried about: the sum of the variances of the columns after scaling, in which
 * no column counts more than 100 times the median of the columns that vary. A column in other units than the rest would
 * otherwise carry every penalty beyond the others, and a mean far from 0 too. 1 if no column varies. */
double mo_fit_spread(const mo_fitting *f);
/* part [n]: the quarter (by norm) of each row of Z. */
bool mo_fit_quarters(const mo_fitting *f, uint8_t *part);

/* ---- fit_episodes.c: the episodes of one head at one k ---- */

enum { MO_FIT_VALUES = 13 };

/* The sums over the queries of an episode. */
typedef struct mo_fit_tally {
    mo_calibration by_norm[MO_NORM_PARTS], scaled; /* scaled: at the fitted temperatures */
    mo_ranking ranking;
    bool tempered; /* there were held-out rows to fit a temperature to */
} mo_fit_tally;

typedef struct mo_fit_job {
    const mo_draws *draws;
    const uint8_t *part; /* [n] quarter of |z| */
    int n_values;        /* number of tuned values; the value after the last is NaN, the head's own */
    double values[MO_FIT_VALUES + 1];
    int64_t numbers;       /* number of doubles in an episode's rows and matrix */
    double *accuracy;      /* [episodes], in percent */
    mo_fit_choice *choice; /* [episodes] */
    int64_t *predicted;    /* [episodes, n_query]: classes of the episode */
    mo_fit_tally *tally;   /* [episodes] */
    mo_progress progress;  /* called with the episodes done, or NULL */
    void *state;
    char title[96]; /* the k and the head, for progress messages */
} mo_fit_job;

/* Buffers of an episode. */
typedef struct mo_fit_space {
    double *held, *logits; /* [values, n_s, C], [n_q, C] */
    double *rows;          /* [n_s, C]: the held-out rows */
    int64_t *label;        /* [n_s]: the labels of `rows` */
} mo_fit_space;

/* Allocates the buffers; release them even on failure. Returns false on failure. */
bool mo_fit_space_create(mo_context *ctx, const mo_fit_job *job, mo_fit_space *s);
void mo_fit_space_release(mo_fit_space *s);
/* Computes an episode of the job and writes its members of accuracy, choice, predicted and tally. Returns false on
 * failure. */
bool mo_fit_episode(const mo_fitting *f, const mo_fit_job *job, int64_t e, mo_fit_space *s);

/* ---- fit_crew.c: the threads that share the episodes ---- */

/* own: computes in the caller's context, with all of its threads inside an op. member [n] (n can be 0): each computes
 * on a thread of its own, in a context of one thread that borrows the rows. */
typedef struct mo_fit_crew {
    mo_fitting own, *member;
    int n;
} mo_fit_crew;

/* Makes a crew for the rows Z; release it even on failure, before Z. Returns false on failure. */
bool mo_fit_crew_create(mo_tensor *Z, mo_fit_crew *crew);
void mo_fit_crew_release(mo_fit_crew *crew);
/* Runs all episodes of the job under the head of crew->own, with its settings; the bits do not depend on which member
 * takes an episode. Returns false on failure and raises the error of the first failed episode. */
bool mo_fit_crew_run(mo_fit_crew *crew, const mo_fit_job *job);

#endif
