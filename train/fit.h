/* train/fit.h - labelled embeddings from array files, as a source of problems for mo_evaluate; a head that is kept; and
 * the effect of their geometry on prototypes. Part of train/inside.h. */
#ifndef MO_FIT_H
#define MO_FIT_H

#include "train/graph.h"
#include "train/metrics.h"

/* ---- embeddings: rows with labels ---- */

typedef struct mo_embeddings {
    mo_tensor *Z;           /* [n, d] float32 or float64: the labelled rows */
    mo_source *source;      /* the rows as a source, whose encoder is the identity; borrows Z and graph */
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

/* ---- a split given by the user ---- */

/* Makes one problem from files that list the row numbers of its parts (mo_division_read); if train or test is NULL,
 * that part is all rows outside the other part. Ignores unlabelled rows. plan->k counts the training rows of the
 * smallest class. Raises if a test row's class has no training row. Returns the status; release even on failure. */
MO_API mo_code mo_split_read(const mo_embeddings *E, const char *train, const char *test, mo_plan *plan);

/* ---- figures by class ---- */

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
MO_API mo_code mo_confusion_count(const mo_embeddings *E, const mo_eval_row *row, mo_confusion *confusion);
MO_API void mo_confusion_release(mo_confusion *confusion);
MO_API mo_class_figures mo_confusion_class(const mo_confusion *confusion, int64_t c);
/* Writes the most frequent confusions (true, predicted), ordered by count and then by class, at most n of them, to pair
 * [n, 2]. Returns their number. */
MO_API int64_t mo_confusion_worst(const mo_confusion *confusion, int64_t n, int64_t *pair);

/* ---- a readout that is kept ---- */

/* A head fitted on rows, to predict rows given later. Zero-initialise; release. */
typedef struct mo_row_readout {
    mo_state state; /* the fitted head; with "rows.mean" and "rows.spread" [1, d] where `scaling` reads them */
    mo_dtype real;  /* of the rows */
    int64_t classes;
    char **name;        /* [classes] */
    double value;       /* that tuning chose; NaN: the head's own */
    double temperature; /* of the probabilities */
    mo_scaling scaling;
    int64_t n, held_out, right; /* numbers of support rows; held_out and right: as in mo_eval_choice */
} mo_row_readout;

/* Fits a candidate without a model on the support of a split or, if it is NULL, on all rows; tune: as in
 * mo_eval_options. Returns the status; release even on failure. */
MO_API mo_code mo_row_readout_fit(
    const mo_embeddings *E, const mo_candidate *candidate, const mo_plan *split, bool tune, mo_row_readout *readout);
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
