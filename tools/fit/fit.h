/* tools/fit/fit.h - the parts of `mochi fit`. */
#ifndef FIT_H
#define FIT_H

#include "tools/options.h"

/* ---- fit_options.c ---- */

enum { FIT_HEADS = 32, FIT_SHOTS = 64 };

typedef struct fit_options {
    const char *rows, *labels, *draws;
    const char *train, *test;                   /* lists of a split's rows, or NULL */
    const char *save, *readout, *predict, *out; /* files: readout to write, to read; rows, predictions; or NULL */
    double least;                               /* rows with a smaller probability get no label */
    const char *confusion;                      /* the head whose confusion matrix is shown, or NULL */
    const mo_head *heads[FIT_HEADS];
    int n_heads;
    int64_t shots[FIT_SHOTS];
    mo_fit_options fit;
    double lambda, epsilon;
    mo_context_options device; /* device, math mode and threads */
    const char *tune;          /* "loo", or NULL */
    int argc;
    char **argv;
    bool standardise, centre, normalise; /* at most one */
    bool diagnose, no_geometry, pairs, probabilities, json, quiet;
    given_options given;
} fit_options;

/* Reads the command line; ends the program on wrong usage. */
void parse_fit_options(fit_options *o, int argc, char **argv);

/* ---- fit_report.c ---- */

/* The table: a title with the data and, if the data have more classes, the classes of an episode, or the rows of a
 * split; column names; one line per row. */
void fit_print_title(const mo_embeddings *E, const char *rows, int64_t ways, const mo_draws *split);
void fit_print_row(const mo_fit_row *row);
/* The diagnosis: three lines, or one per class and head; rows: all rows of the table. */
void fit_print_diagnosis(
    const mo_embeddings *E, const mo_diagnosis *x, const mo_fit_row *rows, int n_rows, bool whole, double epsilon);
/* One sentence on the row whose confidence differs most between the outer quarters of the norms. */
void fit_print_norm_line(const mo_fit_row *rows, int n_rows);

/* Row and diagnosis as JSON lines; return false if a line could not be written. */
bool fit_print_row_object(const mo_fit_row *row);
bool fit_print_diagnosis_objects(const mo_embeddings *E, const mo_diagnosis *x, const mo_fit_row *rows, int n_rows);

/* ---- fit_compare.c ---- */

/* rows: k by k, n_heads each, with their outcomes. */

/* One line for each k: the best head, and the heads within noise of it: the 95% interval of their paired difference
 * contains 0. Nothing if there are fewer than two heads or two outcomes. */
void fit_print_verdict(const mo_fit_row *rows, int n_rows, int n_heads);
/* Every difference of two heads with its interval, and * if the interval leaves out 0. */
void fit_print_pairs(const mo_fit_row *rows, int n_rows, int n_heads);
/* The differences as JSON lines; returns false if a line could not be written. */
bool fit_print_pair_objects(const mo_fit_row *rows, int n_rows, int n_heads);

/* The rows of a sweep: figures for each value of the regularisation, and how often --tune chose it. */
void fit_print_sweep(const mo_fit_row *rows, int n_rows);
bool fit_print_sweep_objects(const mo_fit_row *rows, int n_rows);

/* ---- fit_confusion.c ---- */

/* The matrix (of at most 20 classes), the figures of each class and the ten worst pairs. Call it while row is
 * visited. */
void fit_print_confusion(const mo_embeddings *E, const mo_fit_row *row, const mo_confusion *confusion);
/* As fit_print_confusion, as JSON lines with the whole matrix; returns false if a line could not be written. */
bool fit_print_confusion_objects(const mo_embeddings *E, const mo_fit_row *row, const mo_confusion *confusion);

/* ---- fit_readout.c ---- */

/* Writes a readout: the rows it was fitted on, their labels, and as metadata the head and its settings. Returns false
 * on failure. */
bool save_row_readout(mo_context *ctx, const char *path, const mo_row_readout *r);
/* Reads a readout; release r even on failure. Returns false on failure. */
bool load_row_readout(mo_context *ctx, const char *path, mo_row_readout *r);

/* `mochi fit` with --save, --predict or --readout: fits one head on the rows of E (NULL: reads the readout), saves it
 * and predicts. Returns whether everything was written. */
bool use_fit(mo_context *ctx, const fit_options *o, const mo_embeddings *E);

#endif
