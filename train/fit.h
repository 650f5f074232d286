/* train/fit.h - labelled embeddings from array files: few-shot accuracy and calibration of heads on them, and what
 * their geometry does to prototypes. Part of train/inside.h. */
#ifndef MO_FIT_H
#define MO_FIT_H

#include "train/graph.h"
#include "train/metrics.h"

/* ---- embeddings: rows with labels ---- */

typedef struct mo_embeddings {
    mo_tensor *Z;           /* [n, d] float32 or float64: the labelled rows */
    mo_graph *graph;        /* of n nodes without edges, for the plans: label 0 .. classes - 1 */
    int64_t *value, *count; /* [classes]: the labels as they were given, rising, and the rows of each */
    char **name;            /* [classes]: what the labels are called: their texts, or the numbers */
    bool texts;             /* the labels were texts: value[c] is c */
    int64_t *row;           /* [n]: the number that each row has among those that were given */
    int64_t unlabelled;     /* given rows that are left out, as their label is negative */
    mo_dtype given;         /* of the rows before they became those of Z */
} mo_embeddings;

/* Rows [n, d] of numbers (computed in float64 where they are float64, or integers that float32 cannot hold; in float32
 * else) and one label a row, [n] or [n, 1], of any integer dtype or whole numbers; both are copied. A negative label
 * means unlabelled: its row is left out. Raises where lengths differ, a number or the squared norm of a kept row is not
 * finite or there are fewer than two classes. NULL on failure; the name is used in errors. */
MO_API mo_embeddings *mo_embeddings_create(const mo_tensor *Z, const mo_tensor *label, const char *name);
/* Reads rows and labels from files: .npy, .npz or .safetensors; FILE:NAME picks one of several arrays of a file. Labels
 * may also be texts: of an .npy array, a .txt of one label a line, or a column of a .csv or .tsv with a header (its
 * only one, the one named `label`, or FILE:NAME). Texts that are all whole numbers are those numbers, others classes in
 * the order of their bytes, empty ones unlabelled. Real numbers are refused. */
MO_API mo_embeddings *mo_embeddings_open(mo_context *ctx, const char *rows, const char *labels);
MO_API void mo_embeddings_release(mo_embeddings *E);

/* Called by the calling thread during long work: `done` of `of` units of a part are done. */
typedef void (*mo_progress)(const char *part, int64_t done, int64_t of, void *state);

/* ---- episodes ---- */

/* What is done to the rows before a head meets them, by means and spreads of the support alone: nothing; each column
 * less its mean; that, divided by its standard deviation (a column that is constant in the support becomes 0); each row
 * divided by its norm. */
typedef enum mo_scaling {
    MO_SCALING_NONE = 0,
    MO_SCALING_CENTRE,
    MO_SCALING_STANDARDISE,
    MO_SCALING_NORMALISE,
    MO_SCALINGS
} mo_scaling;

typedef struct mo_fit_options {
    int n_shots;
    const int64_t *shots;      /* k: support rows per class */
    int64_t episodes, queries; /* 100, and 30 per class */
    int64_t ways;              /* the most classes of an episode; if there are more, they are drawn: 64 */
    uint64_t seed;
    const double *lambda;         /* for every head that has a lambda; NULL: each head's own */
    const struct mo_draws *split; /* one problem of the user's own in place of episodes; NULL: episodes */
    mo_scaling scaling;
    bool tune;  /* each episode chooses its head's regularisation by the held-out rows of its support */
    bool sweep; /* each head's row is followed by one for every value of its regularisation that tuning tries */
    mo_progress progress; /* called over the episodes of a head at a k; or NULL */
    void *state;
} mo_fit_options;

/* The episodes of one k, numbered from 0: row numbers and classes of the episode, 0 .. classes - 1. */
typedef struct mo_draws {
    int64_t k, classes, episodes, n_support, n_query; /* rows per episode: classes k, classes q */
    int64_t most;                                     /* support rows of the largest class: k, but of a split */
    int64_t *support, *support_label;                 /* [episodes, n_support] */
    int64_t *query, *query_label;                     /* [episodes, n_query] */
    int64_t small_classes, left_out;                  /* of one episode, as in mo_plan */
    bool split; /* a user's own: k is the support rows of the smallest class, n_query any number */
} mo_draws;

/* Plans (mo_plan_draw) of all episodes. Returns the status; release in any case. */
MO_API mo_code mo_draws_create(const mo_embeddings *E, int64_t k, const mo_fit_options *options, mo_draws *draws);
/* One problem from lists of rows, as they are numbered in their file (mo_division_read); a part whose list is NULL is
 * all other rows. Unlabelled rows take no part. Raises where a test row is of a class without a row to learn from.
 * Returns the status; release in any case. */
MO_API mo_code mo_draws_read(const mo_embeddings *E, const char *train, const char *test, mo_draws *draws);
MO_API void mo_draws_release(mo_draws *draws);

/* ---- heads on episodes ---- */

#define MO_NORM_PARTS 4

/* What an episode chose by its held-out rows. */
typedef struct mo_fit_choice {
    double value, temperature; /* of the regularisation; NaN: the head's own. Of the probabilities; NaN: none */
    int64_t held_out, right;   /* rows that were held out in turn at that value, and those predicted right */
    double held_nll;           /* mean cross-entropy of these rows at the temperature; NaN: none */
} mo_fit_choice;

/* One head at one k. Probabilities are softmax(logits); sums run over all queries of all episodes. */
typedef struct mo_fit_row {
    const char *head;
    int64_t k;
    double accuracy, ci95; /* in percent: mean over episodes and half width of its 95% interval; of a split the share
                              of its queries, and half of Wilson's interval */
    double nll, brier, ece;
    double ece_temperature; /* after a temperature per episode, fitted to the held-out rows of its support; NaN: none */
    double seconds;
    mo_calibration by_norm[MO_NORM_PARTS]; /* queries by quarters of |z| over all rows, lowest first */
    const mo_draws *draws;                 /* borrowed for the call, as are the next; NULL without a fit */
    const double *outcome;    /* [n_outcomes]: the accuracy of each episode; of a split 100 or 0 of each query: paired
                                 with those of other heads (mo_summarize_pairs) */
    const int64_t *predicted; /* [episodes, n_query]: classes of the embeddings */
    const mo_fit_choice *choice; /* [episodes] */
    int64_t n_outcomes;
    bool swept;          /* of a sweep: */
    double value;        /* the regularisation, the same for all episodes; NaN but of a sweep */
    double held_nll;     /* mean over episodes of mo_fit_choice.held_nll; NaN but of a sweep */
    int64_t chosen;      /* episodes whose tuning chose the value; -1: nothing is tuned */
    const char *failure; /* the reason why the head has no fit at this k (its figures are NaN), borrowed for the call;
                            or NULL */
} mo_fit_row;

/* Which classes are taken for which: count[true, predicted], over all queries of all episodes. */
typedef struct mo_confusion {
    int64_t classes, *count; /* [classes, classes] */
} mo_confusion;

/* What a class's row and column say; NaN where there is nothing to divide by. */
typedef struct mo_class_figures {
    int64_t n, predicted; /* queries of the class; queries that were taken for it */
    double precision, recall, f1;
} mo_class_figures;

/* Returns the status; release in any case. row: with a fit, inside its visit. */
MO_API mo_code mo_confusion_count(const mo_embeddings *E, const mo_fit_row *row, mo_confusion *confusion);
MO_API void mo_confusion_release(mo_confusion *confusion);
MO_API mo_class_figures mo_confusion_class(const mo_confusion *confusion, int64_t c);
/* The pairs of a true and another predicted class that are taken for each other most often, by their number and then in
 * the order of the classes: at most n of them, to pair [n, 2]. Returns how many. */
MO_API int64_t mo_confusion_worst(const mo_confusion *confusion, int64_t n, int64_t *pair);

typedef void (*mo_fit_visit)(const mo_fit_row *row, void *state);

/* Fits every head on every episode and visits a row for each k and head, all heads of a k on the same episodes.
 * Held-out rows come from cross-validation of the support: 5 balanced folds (k folds if k < 5), all copies of a row in
 * one fold. The temperature minimises their cross-entropy with Platt's targets; there is none at k = 1. Tuning takes
 * the value whose held-out rows have the least cross-entropy at their temperature; for the head ridge the held-out rows
 * come from leave-one-out in closed form. A head without a fit at some k (MO_NUMERICAL) gets a row with the reason; the
 * other heads go on, and the first such failure is the status at the end. Returns the status. */
MO_API mo_code mo_fit(const mo_embeddings *E, const mo_head *const *heads, int n, const mo_fit_options *options,
    mo_fit_visit visit, void *state);

/* ---- a readout that is kept ---- */

/* A head fitted on rows, for rows that come later. Zero-initialise; release. */
typedef struct mo_row_readout {
    mo_tensor *Z;            /* [n, d]: the rows learned from */
    int64_t *label, classes; /* [n] */
    char **name;             /* [classes] */
    const mo_head *head;     /* borrowed */
    double lambda, value;    /* NaN: the head's own; value: what tuning chose */
    double temperature;      /* of the probabilities */
    mo_scaling scaling;
    uint64_t seed;
    int64_t held_out, right; /* of the rows learned from, as in mo_fit_choice */
} mo_row_readout;

/* Fits a head on the support of options->split, or on all rows. Returns the status; release in any case. */
MO_API mo_code mo_row_readout_fit(
    const mo_embeddings *E, const mo_head *head, const mo_fit_options *options, mo_row_readout *readout);
/* Probabilities [m, classes] of rows [m, d], row-major; each depends on no other row but by rounding. Returns the
 * status. */
MO_API mo_code mo_row_readout_probabilities(const mo_row_readout *readout, const mo_tensor *rows, double *probability);
MO_API void mo_row_readout_release(mo_row_readout *readout);
/* Rows [n, d] of numbers from a file, as mo_embeddings_open reads them, all finite. The null tensor on failure. */
MO_API mo_tensor *mo_embedding_rows_read(mo_context *ctx, const char *path);

/* ---- the geometry of prototypes (paper, section 2) ---- */

/* The mean of a class. Distances in units of mo_diagnosis.mean_distance. */
typedef struct mo_prototype {
    double norm;     /* |p_c|, not normalised */
    double distance; /* to the convex hull of the other prototypes */
    bool inside;     /* the distance is 0 to rounding: never the only largest score */
    bool included;   /* epsilon-inclusion: the distance is below epsilon */
    double x, y;     /* in the plane of the first two principal components of the prototypes, not normalised */
    bool outer;      /* a corner of the outer hull in that plane */
    bool flagged; /* nearer to the hull of the others than every outer one: the paper's mark of interior prototypes */
} mo_prototype;

typedef struct mo_diagnosis {
    int64_t classes;
    double offset;           /* |mean of all rows| */
    double spread;           /* root mean squared distance of the rows to their prototypes */
    double radius;           /* R, the largest |z|: an included class wins by at most epsilon R */
    double mean_distance;    /* between two prototypes */
    int64_t pairs;           /* of classes */
    int64_t missed;          /* those of them whose boundary <z, p_i - p_j> = 0 has all their rows on one side */
    mo_prototype *prototype; /* [classes] */
} mo_diagnosis;

typedef struct mo_diagnosis_options {
    double epsilon;       /* of inclusion, in units of the mean distance */
    mo_progress progress; /* or NULL */
    void *state;
} mo_diagnosis_options;

/* Returns the status; release in any case. */
MO_API mo_code mo_diagnose(const mo_embeddings *E, const mo_diagnosis_options *options, mo_diagnosis *diagnosis);
MO_API void mo_diagnosis_release(mo_diagnosis *diagnosis);

#endif
