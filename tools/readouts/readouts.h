/* tools/readouts/readouts.h - the parts of `mochi readouts`. */
#ifndef READOUTS_H
#define READOUTS_H

#include "tools/fit/labelled_rows.h"

/* ---- knn.c ---- */

/* The k nearest support rows vote; 2 axes only. */
extern const mo_head knn_head;

/* ---- readouts_options.c ---- */

enum { MOST_SHOTS = 64 };

typedef struct readouts_options {
    labelled_rows in;
    const char *train, *test; /* files that list the rows of a split, or NULL */
    const char *confusion;    /* the head whose confusion matrix is shown, or NULL */
    int64_t shots[MOST_SHOTS];
    mo_context_options device; /* device, math mode and threads */
    int argc;
    char **argv;
    bool pairs, metrics, json;
    given_options given;
} readouts_options;

/* Reads the command line; ends the program on wrong usage. */
void parse_readouts_options(readouts_options *o, int argc, char **argv);

/* ---- readouts_report.c ---- */

/* Print the table: a title and column names, then one line per row. The title names the data, the rows of a split, and
 * the number of classes in an episode if the data have more. */
void readouts_print_title(const mo_embeddings *E, const readouts_options *o, const mo_plan *split);
/* f1: macro-F1 in percent, NaN without a fit. */
void readouts_print_row(const mo_eval_row *row, const readouts_options *o, double f1);
/* The mean of the classes' F1 over the predictions of a row, inside its visit; NaN without a fit. */
double readouts_macro_f1(const mo_embeddings *E, const mo_eval_row *row);
/* Prints a row as a JSON line; returns false if it could not be written. */
bool readouts_print_row_object(const mo_eval_row *row, double f1);

/* ---- readouts_compare.c ---- */

/* Prints one line for each k: the best head, and the heads within noise of it. A head is within noise if the 95%
 * interval of the paired difference contains 0. Prints nothing if there are fewer than two heads or two outcomes.
 * If no head's interval lies above chance, which is 1 / classes (0: unknown), says so instead. rows: n_heads per k,
 * with their outcomes. */
void readouts_print_verdict(const mo_eval_row *rows, int n_rows, int n_heads, int64_t classes);
/* The next two print text or, with json, JSON lines; they return false if a line could not be written. Every difference
 * of two heads with its interval, and * if the interval leaves out 0. */
bool readouts_print_pairs(const mo_eval_row *rows, int n_rows, int n_heads, bool json);

/* Prints the rows of a sweep: figures for each value of the regularisation, and how often --tune chose it. */
bool readouts_print_sweep(const mo_eval_row *rows, int n_rows, bool json);

/* ---- readouts_confusion.c ---- */

/* Prints the confusion matrix (of at most 20 classes), the figures of each class and the ten worst pairs. row must be a
 * fitted row; call this inside its visit. */
void readouts_print_confusion(const mo_embeddings *E, const mo_eval_row *row, const mo_confusion *confusion);
/* As readouts_print_confusion, as JSON lines with the whole matrix; returns false if a line could not be written. */
bool readouts_print_confusion_objects(const mo_embeddings *E, const mo_eval_row *row, const mo_confusion *confusion);

#endif
