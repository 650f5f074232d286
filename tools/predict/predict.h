/* tools/predict/predict.h - labels that a user knows, and predictions of the others. */
#ifndef PREDICT_H
#define PREDICT_H

#include "tools/command.h"

/* Labels of a graph's examples: of a table as mo_labels_read takes it, or .npy (of each example a whole number,
 * negative: unknown, or a text, empty: unknown). Returns false on failure; the status names file and line. */
bool read_known(const mo_graph *graph, const char *labels, mo_labels *known);

/* With fewer labels of a class the temperatures of the probabilities hang on a handful of left-out ones. */
enum { LEAST_CALIBRATED = 4 };
/* What is measured of them (train/few_shot/README.md). */
#define ROUGH_PROBABILITIES                                                                                            \
    "probabilities are rough below 4 labels of a class: over 25 graphs their mean lay up to 41 points below the "      \
    "accuracy and up to 20 above it with 1, up to 20 below and 19 above with 2"

/* How the data's own labels say whether a prediction is right. */
typedef enum truth_kind {
    TRUTH_NONE = 0, /* it has none, or a known class is none of its classes */
    TRUTH_NAMES,    /* every known class is one of the data's, as the data calls it */
    TRUTH_NUMBERS   /* the same, by the number of the class */
} truth_kind;

/* Predictions of n examples. */
typedef struct predictions {
    const mo_graph *graph; /* for the examples' names */
    int64_t n, classes;
    const int64_t *id;
    const double *probability; /* [n, classes] */
    char *const *name;         /* [classes] */
    const char *what;          /* "node" or "graph" */
    bool all;                  /* with every class's probability */
    double least;              /* examples whose probability is below it have no label */
    const mo_labels *known;
    truth_kind truth;
    const double *plane; /* [examples, 2]: the place of each example in a picture of the embedding, for `mochi-report`;
                            known examples are written too then. NULL: neither */
} predictions;

truth_kind find_truth(const mo_graph *graph, const mo_labels *known);
/* The class of an example by the data's own labels, borrowed; NULL where it has none or the truth is TRUTH_NONE. */
const char *true_class(const predictions *p, int64_t id, char number[24]);

/* The forms of predictions, as take_output wants them. */
#define PREDICTIONS ".csv, .tsv, .jsonl or .npy"

/* Writes them by the suffix of path, whole or not at all: .csv, .tsv, .jsonl, or .npy (int64: the numbers of the
 * classes, -1 below `least`). path NULL: CSV on standard output. Returns false on failure. */
bool write_predictions(mo_context *ctx, const predictions *p, const char *path);
/* What is asked of links: pairs of a table, by a readout of the pairs of a table `labels`, of a kept one, or (both
 * NULL) of pairs that are drawn. */
typedef struct link_request {
    const char *pairs, *labels, *readout, *save, *out;
} link_request;
/* Writes pairs by the suffix of out (.csv, .tsv or .jsonl; NULL: CSV on standard output): from, to, score, and whether
 * they are linked already, then without a score. Returns false on failure. */
bool predict_links(mo_graph *graph, mo_few_shot_options *o, const link_request *r);
/* Prints the number of labels, the accuracy to expect and the number of predictions on standard error. */
void print_summary(const mo_labels *known, const mo_few_shot *f, const mo_few_shot_cover *cover, const predictions *p);
void print_number_of_predictions(const predictions *p);
/* An example of the table: a prediction, or a known label. */
typedef struct example {
    int64_t id, best;           /* best: the class, the first of the largest probability */
    const char *label;          /* NULL: below `least` */
    const double *row;          /* probabilities; NULL: known */
    double probability, margin; /* of a prediction; margin: the difference to the second largest */
} example;
example predicted_example(const predictions *p, int64_t i);

/* ---- a fit that is kept: the labels, the readout, and what they belong to ---- */

extern const char *const transductive_names[4]; /* no, yes, auto, never: in the order of mo_transductive */

/* Writes labels and readout with the digests of weights and data. Returns false on failure. */
bool save_readout(const char *path, const mo_graph *graph, const mo_few_shot_options *o, const mo_labels *known);
/* Reads such a file and sets head and lambda of o as it says. Raises where the weights or the data are others: every
 * coordinate of a graph's features depends on the whole graph, so that a readout is of one graph. */
bool load_readout(const char *path, const mo_graph *graph, mo_few_shot_options *o, mo_labels *known);

/* The same for a readout of links, whose labels are pairs. */
bool save_link_readout(
    const char *path, const mo_graph *graph, const mo_few_shot_options *o, const mo_link_support *support);
bool load_link_readout(const char *path, const mo_graph *graph, mo_few_shot_options *o, mo_link_support *support);

/* ---- kept.c: the file of a fit that is kept, of any command: arrays, and texts as metadata ---- */

/* A file that is read. Whatever is asked of it raises an error where it is not there, or not as expected. */
typedef struct kept_fit {
    mo_context *ctx;
    const char *path;
    mo_arrays *arrays;
    json_t *metadata;
} kept_fit;

/* Opens a file of that format; what: what it should be, "`mochi predict --save`". Release it in any case. */
kept_fit open_kept(mo_context *ctx, const char *path, const char *format, const char *what);
void release_kept(kept_fit *f);
/* The text of a key; NULL after an error. */
const char *kept_text(const kept_fit *f, const char *key);
/* A number of 0 or more; none: or "none", NaN. */
double kept_real(const kept_fit *f, const char *key, bool none);
/* The place of a text among n words. */
int kept_word(const kept_fit *f, const char *key, const char *const *words, int n);
/* The head of that name, one of the library's; NULL without an error where the text is empty. */
const mo_head *kept_head(const kept_fit *f);
/* The names of two classes or more, none twice, owned: free each of *classes, and the list, also on failure. */
char **kept_names(const kept_fit *f, int64_t *classes);
/* An int64 array [n] of the file, owned; *n 0: receives its length. NULL on failure. */
int64_t *kept_numbers(const kept_fit *f, const char *name, int64_t *n);

/* Writes arrays and metadata, both taken; name [classes] is kept as "classes". Returns false on failure. */
bool write_kept(mo_context *ctx, const char *path, mo_arrays *arrays, json_t *metadata, char *const *name, int64_t n);

#endif
