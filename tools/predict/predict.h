/* tools/predict/predict.h - labels that a user gives, and predictions for all other examples. */
#ifndef PREDICT_H
#define PREDICT_H

#include "tools/cli/command.h"

/* Reads labels of a graph's examples: a table as for mo_labels_read, or .npy with one entry per example (a whole
 * number, negative: unknown; or a text, empty: unknown). Returns false on failure; the status names file and line. */
bool read_known(const mo_graph *graph, const char *labels, mo_labels *known);
/* Takes the data's own labels: of the first n examples of each class, or of all if a class has fewer; or all, if n is
 * 0, where other examples have none. Returns false on failure, also if the data have no labels, or none to predict. */
bool take_own_labels(const mo_graph *graph, int64_t n, mo_labels *known);

/* With fewer labels per class than this, predictions print ROUGH_PROBABILITIES: the temperature that calibrates
 * probabilities then depends on a handful of left-out examples. */
enum { LEAST_CALIBRATED = 4 };
/* The measured errors of probabilities from few labels (train/evaluation/RESULTS.md). */
#define ROUGH_PROBABILITIES                                                                                            \
    "probabilities are rough below 4 labels of a class: over 25 graphs their mean lay up to 41 points below the "      \
    "accuracy and up to 20 above it with 1, up to 20 below and 19 above with 2"

/* How the data's own labels can check a prediction. */
typedef enum truth_kind {
    TRUTH_NONE = 0, /* not at all: the data have no labels, or a class of the user's labels is none of the data's
                     * classes */
    TRUTH_NAMES,    /* by name: every class of the user's labels is one of the data's */
    TRUTH_NUMBERS   /* by number: every class of the user's labels is a class number of the data */
} truth_kind;

/* Predictions of n examples. */
typedef struct predictions {
    const mo_graph *graph; /* gives the examples' names */
    int64_t n, classes;
    const int64_t *id;
    const double *probability; /* [n, classes] */
    char *const *name;         /* [classes] */
    const char *what;          /* "node" or "graph" */
    bool json;                 /* without a file, writes JSON lines in place of CSV */
    bool all;                  /* writes every class's probability, not only the largest */
    double coverage;           /* of sets of classes, in a column `set`; 0: no such column */
    double bound;              /* mo_few_shot_set_bound */
    double least;              /* examples whose largest probability is smaller get no label */
    const mo_few_shot *fit;    /* tells which examples no label reaches; NULL: all are reached */
    int64_t unreached;         /* how many these are; if any, a column `reached` says which */
    const mo_labels *known;
    truth_kind truth;
} predictions;

/* A class of the data as the user's labels have it: its name, or its number, written to `number`. */
const char *class_text(const mo_graph *graph, truth_kind kind, int64_t c, char number[24]);
truth_kind find_truth(const mo_graph *graph, const mo_labels *known);
/* For each class of the data, the known class of the same text, or -1; owned. */
int64_t *match_classes(const mo_graph *graph, truth_kind kind, const mo_labels *known);
/* Returns an example's class by the data's own labels, borrowed; NULL if it has none or truth is TRUTH_NONE. */
const char *true_class(const predictions *p, int64_t id, char number[24]);

/* The suffixes of a file of predictions, for take_output. */
#define PREDICTIONS ".csv, .tsv, .jsonl or .npy"

/* Writes an array of n rows, which it releases, and the names of its rows, which are the examples id, beside it.
 * Returns false on failure. */
bool write_by_row(mo_tensor *T, const mo_graph *graph, const char *path, const int64_t *id, int64_t n);
/* Writes the predictions in the format of path's suffix, whole or not at all: .csv, .tsv, .jsonl, or .npy (int64:
 * numbers of the classes, -1 below `least`). path NULL: CSV or JSON lines on standard output. Returns false on failure.
 */
bool write_predictions(mo_context *ctx, const predictions *p, const char *path);
/* Which links to score: a file of pairs, and a readout, which is fitted on the file `labels`, read from a saved fit, or
 * (both NULL) fitted on drawn pairs. */
typedef struct link_request {
    const char *pairs, *labels, *readout, *save, *out;
    int64_t best; /* partners to list of each node, in place of the pairs of a file; 0: a file is scored */
    bool json;
} link_request;
/* Writes the pairs in the format of out's suffix (.csv, .tsv or .jsonl; NULL: on standard output, as CSV or JSON
 * lines): from, to, score, whether they are linked, and the probability. Linked pairs have neither score nor
 * probability. Returns false on failure. */
bool predict_links(mo_graph *graph, mo_few_shot_options *o, const mo_weights *weights, const link_request *r);
/* Predicts real targets from a file of some (path), or from a saved readout that was read (not NULL). */
typedef struct target_request {
    const char *path, *save, *out;
    const mo_saved_readout *saved;
    mo_target_transform transform;
    double coverage; /* of the intervals */
    bool json, quiet;
} target_request;
/* Writes a line of prediction, low and high for each example without a target, in the format of out's suffix, and the
 * summary. Returns false on failure. */
bool predict_targets(mo_graph *graph, mo_few_shot_options *o, const mo_weights *weights, const target_request *r);
/* The same for rows of a table, which the options have; r needs no path. */
bool predict_row_targets(
    const mo_graph *table, const mo_targets *y, const mo_few_shot_options *o, const target_request *r);
/* Prints why the example of that name is predicted as it is, as text or as one JSON object. Returns false on failure.
 */
bool explain_prediction(mo_few_shot *f, const mo_graph *graph, const mo_labels *known, const char *name, bool json);
/* Prints the number of labels, the expected accuracy and the number of predictions on standard error. */
void print_summary(const mo_labels *known, const mo_few_shot *f, const mo_few_shot_cover *cover, const predictions *p);
void print_number_of_predictions(const predictions *p);
/* The same facts as one JSON object; false if the line could not be written. */
bool print_summary_object(
    const mo_labels *known, const mo_few_shot *f, const mo_few_shot_cover *cover, const predictions *p);
/* A row of the table. */
typedef struct example {
    int64_t id, best;           /* best: the class with the largest probability, the first if several share it */
    const char *label;          /* NULL: below `least` */
    const double *row;          /* probabilities */
    bool reached;               /* whether a label reaches it */
    double probability, margin; /* probability: of `best`; margin: its distance from the second largest */
} example;
example predicted_example(const predictions *p, int64_t i);
/* Whether a class belongs to an example's set of classes; row: its probabilities. */
bool is_in_set(const predictions *p, int64_t id, const double *row, int64_t c);

/* Prints on standard error how a readout of other data is applied; nothing for the fit's own data, or saved NULL. */
void say_elsewhere(const mo_saved_readout *saved, const mo_graph *graph);
/* Writes the numbers of the examples that are not known to id; returns how many. */
int64_t list_unknown(const int64_t *known, int64_t n_known, int64_t examples, int64_t *id);

#endif
