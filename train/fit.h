/* train/fit.h - labelled embeddings from array files: few-shot accuracy and calibration of heads on them, and the
 * effect of their geometry on prototypes. Part of train/inside.h. */
#ifndef MO_FIT_H
#define MO_FIT_H

#include "train/graph.h"
#include "train/metrics.h"

/* ---- embeddings: rows with labels ---- */

typedef struct mo_embeddings {
    mo_tensor *Z;           /* [n, d] float32 or float64: the labelled rows */
    mo_graph *graph;        /* n nodes without edges, for plans; label: 0 .. classes - 1 */
    int64_t *value, *count; /* [classes]: each class's label as given (ascending), and its number of rows */
    char **name;            /* [classes]: the classes' names: texts, or numbers */
    bool texts;             /* the labels were texts: value[c] is c */
    int64_t *row;           /* [n]: each row's number in the rows given */
    int64_t unlabelled;     /* number of given rows with a negative label, left out */
    mo_dtype given;         /* dtype of the given rows, before they became Z */
} mo_embeddings;

/* Makes embeddings from rows [n, d] of numbers (float64 stays float64, integers that float32 cannot represent become
 * float64, all others float32) and one label per row, [n] or [n, 1], of any integer dtype or whole numbers; both are
 * copied. A row with a negative label is unlabelled and left out. Raises if lengths differ, a number or the squared
 * norm of a kept row is not finite, or there are fewer than two classes. NULL on failure; errors begin with name. */
MO_API mo_embeddings *mo_embeddings_create(const mo_tensor *Z, const mo_tensor *label, const char *name);
/* Reads rows and labels from files: .npy, .npz or .safetensors; FILE:NAME picks one of several arrays of a file. Labels
 * can also be texts: an .npy array, a .txt with one label per line, or a column of a .csv or .tsv with a header (its
 * only one, the one named `label`, or FILE:NAME). Texts that are all whole numbers become these numbers, others are
 * classes in byte order, empty ones unlabelled. Real numbers are an error. */
MO_API mo_embeddings *mo_embeddings_open(mo_context *ctx, const char *rows, const char *labels);
/* Takes the labelled rows of a table (mo_rows_open). */
MO_API mo_embeddings *mo_embeddings_of_rows(const mo_graph *rows);
/* Attributes [n, d] of n rows of a table, float32. The null tensor on failure. */
MO_API mo_tensor *mo_rows_attributes(const mo_graph *rows, const int64_t *id, int64_t n);
MO_API void mo_embeddings_release(mo_embeddings *E);

/* Progress of long work, called from the calling thread: `done` of `of` units of a part are done. */
typedef void (*mo_progress)(const char *part, int64_t done, int64_t of, void *state);

/* ---- episodes ---- */

/* Scaling of the rows before a head reads them, by means and spreads of the support alone: NONE; CENTRE: each column
 * minus its mean; STANDARDISE: also divided by its standard deviation (a column that is constant in the support becomes
 * 0); NORMALISE: each row divided by its norm. */
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
    int64_t episodes, queries; /* queries: per class. `mochi readouts` takes 100 and 30 */
    int64_t ways; /* if the rows have more classes, an episode draws this number; `mochi readouts` takes 64 */
    uint64_t seed;
    const double *lambda;         /* the lambda of every head that has one; NULL: each head's own */
    const struct mo_draws *split; /* one problem given by the user instead of episodes; NULL: episodes */
    mo_scaling scaling;
    bool tune;            /* each episode chooses its head's regularisation by the held-out rows of its support */
    bool sweep;           /* each head's row is followed by one row per value that tuning tries */
    mo_progress progress; /* called over a head's episodes at one k; or NULL */
    void *state;
} mo_fit_options;

/* The episodes of one k: row numbers, and classes 0 .. classes - 1 of each episode. */
typedef struct mo_draws {
    int64_t k, classes, episodes, n_support, n_query; /* per episode: n_support = classes * k, n_query = classes * q */
    int64_t most;                                     /* support rows of the largest class; k without a split */
    int64_t *support, *support_label;                 /* [episodes, n_support] */
    int64_t *query, *query_label;                     /* [episodes, n_query] */
    int64_t small_classes, left_out;                  /* numbers of classes per episode, as in mo_plan */
    bool split; /* the user gave the division: k counts the support rows of the smallest class, n_query is arbitrary */
} mo_draws;

/* Draws all episodes (mo_plan_draw). Returns the status; release even on failure. */
MO_API mo_code mo_draws_create(const mo_embeddings *E, int64_t k, const mo_fit_options *options, mo_draws *draws);
/* Makes one problem from files that list the row numbers of its parts (mo_division_read); if train or test is NULL,
 * that part is all rows outside the other part. Ignores unlabelled rows. Raises if a test row's class has no training
 * row. Returns the status; release even on failure. */
MO_API mo_code mo_draws_read(const mo_embeddings *E, const char *train, const char *test, mo_draws *draws);
MO_API void mo_draws_release(mo_draws *draws);

/* ---- heads on episodes ---- */

#define MO_NORM_PARTS 4

/* What an episode chose by held-out rows of its support. */
typedef struct mo_fit_choice {
    double value, temperature; /* regularisation (NaN: the head's own); temperature of the probabilities (NaN: none) */
    int64_t held_out, right;   /* rows held out in turn at `value`; number of correct predictions among them */
    double held_nll;           /* mean cross-entropy of the held-out rows at the temperature; NaN: none */
} mo_fit_choice;

/* One head at one k. Probabilities are softmax(logits); sums run over all queries of all episodes. */
typedef struct mo_fit_row {
    const char *head;
    int64_t k;
    double accuracy, ci95; /* in percent: mean over episodes, and half width of its 95% interval; for a split, the share
                            * of correct queries and half of Wilson's interval */
    double nll, brier, ece;
    double ece_temperature; /* ece with a temperature per episode, fitted to held-out rows of its support; NaN: none */
    double auc, top; /* mo_ranking: area under the curve, one class against the rest; accuracy of the MO_TOP first
                      * classes, in percent */
    double seconds;
    mo_calibration by_norm[MO_NORM_PARTS]; /* of the queries in each quarter of the rows' |z|, lowest first */
    const mo_draws *draws;                 /* borrowed for the call, like the pointers below; NULL without a fit */
    const double *outcome;    /* [n_outcomes]: accuracy of each episode; for a split, 100 or 0 per query. Heads can be
                               * compared pairwise by them (mo_summarize_pairs). */
    const int64_t *predicted; /* [episodes, n_query]: predicted classes, as in mo_embeddings */
    const mo_fit_choice *choice; /* [episodes] */
    int64_t n_outcomes;
    bool swept;          /* whether this is a row of a sweep; only such rows use the next three fields */
    double value;        /* the regularisation, the same for all episodes; NaN outside a sweep */
    double held_nll;     /* mean over episodes of mo_fit_choice.held_nll; NaN outside a sweep */
    int64_t chosen;      /* episodes whose tuning chose `value`; -1: nothing is tuned */
    const char *failure; /* why the head has no fit at this k (its figures are NaN), borrowed for the call; or NULL */
} mo_fit_row;

/* Confusion matrix: count[true, predicted] of all queries of all episodes. */
typedef struct mo_confusion {
    int64_t classes, *count; /* [classes, classes] */
} mo_confusion;

/* Figures of one class, from its row and column; NaN if the divisor is 0. */
typedef struct mo_class_figures {
    int64_t n, predicted; /* queries of the class; queries predicted as the class */
    double precision, recall, f1;
} mo_class_figures;

/* row: must have a fit; call this only inside the visitor. Returns the status; release confusion even on failure. */
MO_API mo_code mo_confusion_count(const mo_embeddings *E, const mo_fit_row *row, mo_confusion *confusion);
MO_API void mo_confusion_release(mo_confusion *confusion);
MO_API mo_class_figures mo_confusion_class(const mo_confusion *confusion, int64_t c);
/* Writes the most frequent confusions (true, predicted), ordered by count and then by class, at most n of them, to pair
 * [n, 2]. Returns their number. */
MO_API int64_t mo_confusion_worst(const mo_confusion *confusion, int64_t n, int64_t *pair);

typedef void (*mo_fit_visit)(const mo_fit_row *row, void *state);

/* Fits every head on every episode and visits a row for each k and head; all heads of one k get the same episodes.
 * Held-out rows come from cross-validation of the support: 5 balanced folds (k folds if k < 5), all copies of a row in
 * one fold. The temperature minimises their cross-entropy with Platt's targets; there is none at k = 1. Tuning takes
 * the value with the least cross-entropy of held-out rows at their temperature, or the head's own if no value does
 * better than chance; for a head with mo_head.leave_one_out it holds out one row at a time. A head without a fit at
 * some k (MO_NUMERICAL) gets a row with the reason; the other heads go on, and the first such failure is the status at
 * the end. Returns the status. */
MO_API mo_code mo_fit(const mo_embeddings *E, const mo_head *const *heads, int n, const mo_fit_options *options,
    mo_fit_visit visit, void *state);

/* ---- a readout that is kept ---- */

/* A head fitted on rows, to predict rows given later. Zero-initialise; release. */
typedef struct mo_row_readout {
    mo_state state;           /* the fitted head */
    mo_tensor *mean, *spread; /* [1, d]: of the rows before their scaling; NULL where `scaling` reads none */
    mo_dtype real;            /* of the rows */
    int64_t classes;
    char **name;        /* [classes] */
    double value;       /* that tuning chose; NaN: the head's own */
    double temperature; /* of the probabilities */
    mo_scaling scaling;
    int64_t n, held_out, right; /* numbers of support rows; held_out and right: as in mo_fit_choice */
} mo_row_readout;

/* Fits a head on the support of options->split, or on all rows. Returns the status; release even on failure. */
MO_API mo_code mo_row_readout_fit(
    const mo_embeddings *E, const mo_head *head, const mo_fit_options *options, mo_row_readout *readout);
/* Probabilities [m, classes] of rows [m, d], row-major. A row's result depends on other rows only by rounding. Returns
 * the status. */
MO_API mo_code mo_row_readout_probabilities(const mo_row_readout *readout, const mo_tensor *rows, double *probability);
MO_API void mo_row_readout_release(mo_row_readout *readout);
/* Reads rows [n, d] of finite numbers from a file, as mo_embeddings_open does. The null tensor on failure. */
MO_API mo_tensor *mo_embedding_rows_read(mo_context *ctx, const char *path);

/* ---- the geometry of prototypes (paper, section 2) ---- */

/* The prototype (mean) of a class. Distances are in units of mo_diagnosis.mean_distance. */
typedef struct mo_prototype {
    double norm;     /* |p_c|, not normalised */
    double distance; /* to the convex hull of the other prototypes */
    bool inside;     /* `distance` is at most 1e-7, so for no z is <z, p_c> the only largest score */
    bool included;   /* epsilon-inclusion: `distance` is below epsilon */
    double x, y;     /* in the plane of the first two principal components of the prototypes, not normalised */
    bool outer;      /* a corner of the convex hull of all prototypes in that plane */
    bool flagged; /* `distance` is smaller than that of every outer prototype; so the paper marks interior prototypes */
} mo_prototype;

typedef struct mo_diagnosis {
    int64_t classes;
    double offset;           /* |mean of all rows| */
    double spread;           /* root mean squared distance of a row to its prototype */
    double radius;           /* R, the largest |z|: an included class wins by at most epsilon R mean_distance */
    double mean_distance;    /* between two prototypes */
    int64_t pairs;           /* pairs of classes */
    int64_t missed;          /* pairs with all rows of both classes on one side of <z, p_i - p_j> = 0 */
    mo_prototype *prototype; /* [classes] */
} mo_diagnosis;

typedef struct mo_diagnosis_options {
    double epsilon;       /* bound of `distance` for `included`, in units of mean_distance */
    mo_progress progress; /* or NULL */
    void *state;
} mo_diagnosis_options;

/* Returns the status; release diagnosis even on failure. */
MO_API mo_code mo_diagnose(const mo_embeddings *E, const mo_diagnosis_options *options, mo_diagnosis *diagnosis);
MO_API void mo_diagnosis_release(mo_diagnosis *diagnosis);

#endif
