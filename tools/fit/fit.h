/* tools/fit/fit.h - the parts of `mochi fit`. */
#ifndef FIT_H
#define FIT_H

#include "tools/options.h"

/* ---- fit_options.c ---- */

enum { FIT_HEADS = 32, FIT_SHOTS = 64 };

typedef struct fit_options {
    const char *rows, *labels, *draws;
    const char *label;                          /* the column of the table `rows` that has the labels, or NULL */
    const char *train, *test;                   /* files that list the rows of a split, or NULL */
    const char *save, *readout, *predict, *out; /* the files, or NULL, of the readout to write, the readout to read, the
                                                 * rows to predict, and the predictions */
    double least;                               /* rows whose largest probability is smaller get no label */
    const char *confusion;                      /* the head whose confusion matrix is shown, or NULL */
    const mo_head *heads[FIT_HEADS];
    int n_heads;
    int64_t shots[FIT_SHOTS];
    mo_eval_options fit;
    mo_scaling scaling;
    double lambda, epsilon;
    mo_context_options device; /* device, math mode and threads */
    const char *tune;          /* "loo", or NULL */
    int argc;
    char **argv;
    bool standardise, centre, normalise; /* at most one is set */
    bool diagnose, no_geometry, pairs, probabilities, json, quiet;
    given_options given;
} fit_options;

/* Whether the command fits one head on all labelled rows, to keep it or to predict by it. */
bool uses_one_head(const fit_options *o);
/* Head i as a candidate. */
mo_candidate fit_candidate(const fit_options *o, int i);
/* Reads the command line; ends the program on wrong usage. */
void parse_fit_options(fit_options *o, int argc, char **argv);

/* ---- fit_report.c ---- */

/* Print the table: a title and column names, then one line per row. The title names the data, the rows of a split, and
 * the number of classes in an episode if the data have more. split: NULL for episodes. */
void fit_print_title(const mo_embeddings *E, const char *rows, int64_t ways, const mo_plan *split);
void fit_print_row(const mo_eval_row *row);
/* Prints the geometry, then the sentence of fit_print_norm_line or, if `whole`, a line for each class and each row.
 * rows: all rows of the table. */
void fit_print_diagnosis(
    const mo_embeddings *E, const mo_diagnosis *x, const mo_eval_row *rows, int n_rows, bool whole, double epsilon);
/* Prints one sentence on the row of the table (a head at a k) whose mean confidence differs most between the queries in
 * the lowest and in the highest quarter of the norms |z| of embeddings. */
void fit_print_norm_line(const mo_eval_row *rows, int n_rows);

/* Print a row and the diagnosis as JSON lines; return false if a line could not be written. */
bool fit_print_row_object(const mo_eval_row *row);
bool fit_print_diagnosis_objects(const mo_embeddings *E, const mo_diagnosis *x, const mo_eval_row *rows, int n_rows);

/* ---- fit_compare.c ---- */

/* Prints one line for each k: the best head, and the heads within noise of it. A head is within noise if the 95%
 * interval of the paired difference contains 0. Prints nothing if there are fewer than two heads or two outcomes.
 * If no head's interval lies above chance, which is 1 / classes (0: unknown), says so instead. rows: n_heads per k,
 * with their outcomes. */
void fit_print_verdict(const mo_eval_row *rows, int n_rows, int n_heads, int64_t classes);
/* Prints every difference of two heads with its interval, and * if the interval leaves out 0. */
void fit_print_pairs(const mo_eval_row *rows, int n_rows, int n_heads);
/* Prints the differences as JSON lines; returns false if a line could not be written. */
bool fit_print_pair_objects(const mo_eval_row *rows, int n_rows, int n_heads);

/* Prints the rows of a sweep: figures for each value of the regularisation, and how often --tune chose it. */
void fit_print_sweep(const mo_eval_row *rows, int n_rows);
bool fit_print_sweep_objects(const mo_eval_row *rows, int n_rows);

/* ---- fit_confusion.c ---- */

/* Prints the confusion matrix (of at most 20 classes), the figures of each class and the ten worst pairs. row must be a
 * fitted row; call this inside its visit. */
void fit_print_confusion(const mo_embeddings *E, const mo_eval_row *row, const mo_confusion *confusion);
/* As fit_print_confusion, as JSON lines with the whole matrix; returns false if a line could not be written. */
bool fit_print_confusion_objects(const mo_embeddings *E, const mo_eval_row *row, const mo_confusion *confusion);

/* ---- fit_readout.c ---- */

/* Writes a readout: its state, and the head and its settings as metadata. Returns false on failure. */
bool save_row_readout(mo_context *ctx, const char *path, const mo_row_readout *r);
/* Reads a readout; release r even on failure. Returns false on failure. */
bool load_row_readout(mo_context *ctx, const char *path, mo_row_readout *r);

/* `mochi fit` with one head: fits it on the rows of E (NULL: reads the readout), saves it, and predicts the rows of a
 * file or those of the table that have no label. table: the rows of --label, or NULL. Returns whether everything was
 * written. */
bool use_fit(mo_context *ctx, const fit_options *o, const mo_embeddings *E, const mo_graph *table);

#endif
