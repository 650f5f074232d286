/* tools/eval/eval.h - the parts of `mochi eval`: command line, subjects, output, run. */
#ifndef EVAL_H
#define EVAL_H

#include "tools/cli/options.h"
#include "tools/eval/table.h"

/* ---- eval_options.c ---- */

enum { MAX_HEADS = 8, MAX_SHOTS = 64, MAX_WEIGHTS = 8 };

/* Metrics are numbered in one list: first the link metrics, in the library's order, then the metrics of nodes and
 * graphs, accuracy first. */
enum { METRIC_ACCURACY = MO_LINK_METRICS, N_METRICS = MO_LINK_METRICS + MO_CLASS_METRICS };
const char *metric_name(int i);

typedef struct eval_options {
    const char *recipe; /* the recipe that the weights must have, or NULL */
    names weights;      /* weights files, or "random", or "none" */
    names data, pool;
    const mo_head *heads[MAX_HEADS]; /* if n_heads is 0: the head trained with the weights */
    int n_heads;
    const mo_encoder *encoder; /* the user's encoder, for weights trained with it; or NULL */
    int negatives;             /* of links: 0 random, 1 near */
    bool dot;                  /* also score links by inner products */
    const char *suite;         /* a name or path, or NULL */
    given_options given;
    unsigned metrics; /* bits 1 << metric number; 0: all */
    bool seeds_said;  /* the command line or the suite sets the number of seeds */
    int task, hop;    /* -1: not given */
    int64_t shots[MAX_SHOTS];
    mo_eval_options evaluation;
    int dim;                   /* width of untrained encoders */
    double lambda;             /* 0: not given */
    const char *cache, *draws; /* folders, or NULL */
    mo_feature_place place;
    mo_attributes attributes;
    mo_context_options device; /* device, math mode and threads */
    bool targets;              /* task is that of real targets */
    bool json, quiet;
    mo_transductive transductive; /* OFF, ON or AUTO: the further columns of --transductive */
    int argc;                     /* the command's words; argv[0] is its full name */
    char **argv;
} eval_options;

/* Reads the command line; ends the program on wrong usage. */
void parse_eval_options(eval_options *o, int argc, char **argv);
void free_eval_options(eval_options *o);
/* The metrics of a task, as bits of their numbers. */
unsigned metrics_of(mo_task task);
/* The name of a task's protocol in the results. */
const char *eval_protocol_name(const eval_options *o, const char *task);

/* ---- eval_subject.c: weights, or none, and their baselines ---- */

enum { MAX_CANDIDATES = 6 * (MAX_HEADS + 1) };
enum { TRAINED = 1, UNTRAINED }; /* mo_candidate.encoder: equal numbers in a subject share an encoder */

/* One --weights value ("none": no weights), and the candidates that read the same features. */
typedef struct subject {
    char label[40], transductive_label[2][44];
    mo_feature_options features;
    mo_mochi_options mochi;
    double lambda;          /* penalty of heads, but of one's own */
    bool lambda_given;      /* then of these too */
    const char *block_head; /* the readout whose table shows the figures of all readouts; NULL: each readout has its own
                             * table */
    int best_hop[MO_TASKS];
    mo_model *models[2 * (MAX_HEADS + 1)]; /* for each readout: the trained model, and an untrained one */
    mo_candidate candidates[MAX_CANDIDATES];
    int n_models, n_candidates;
    const char *file;
    mo_weights *weights; /* NULL: none; the weights list the graphs they were trained on */
    mo_seen seen;        /* whether the weights were trained on the current graph */
} subject;

/* Fills s from weights (a file, "none" or "random"); n earlier subjects are in `others`. Only the first subject has
 * baselines. Raises on the context; release s even on failure. */
void open_subject(mo_context *ctx, const eval_options *o, const char *name, const subject *others, int n, subject *s);
void release_subject(subject *s);
/* Ends the program if an option of the command line has no effect on these subjects and tasks (eval_options.c). */
void refuse_eval_options(const eval_options *o, const subject *subjects, int n, const mo_suite *suite);

/* ---- eval_draws.c ---- */

/* The on_plan of mo_eval_options: writes a plan's support and test examples to the folder `state`, which it creates if
 * necessary. For links also writes the graph without the test links, so that `mochi predict` can compute features for
 * the test pairs. Raises on the graph's context. */
void write_draw(const mo_source *source, const mo_plan *plan, int64_t k, int64_t repeat, void *state);

/* ---- eval_data.c ---- */

/* The subjects of an evaluation and its results. */
typedef struct evaluation {
    mo_context *ctx;
    eval_options *options;
    subject subjects[MAX_WEIGHTS]; /* [n_subjects]; only the first has baselines */
    int n_subjects;
    mo_suite *suite;
    figure *rows;     /* stb_ds array: all figures so far */
    names absent;     /* missing data sets with their task: "cs nc" */
    seen_graphs seen; /* graphs that any of the weights have seen */
    bool lost_output; /* standard output failed: stop */
} evaluation;

/* Opens, evaluates and releases one data set, once for each subject; task: -1 for all. Prints its table or, with
 * --json, its lines. */
void evaluate_name(evaluation *e, const char *name, int task);
/* Evaluates every data set of the options. For protocol `public` without named data sets, reports the missing ones. */
void evaluate_data(evaluation *e);
/* Records that a task's data set is missing, and prints it with --json. */
void report_absent(evaluation *e, const mo_suite_task *task);

/* ---- eval_json.c: one object per line; README.md describes them ---- */

/* Print the JSON line of the run, or of a data set; return false if it could not be written. */
bool print_eval_run(const eval_options *o, const subject *subjects, int n);
bool print_eval_data(const mo_source *source);
/* Prints a task of a suite whose data set is not installed. */
bool print_eval_absent(const mo_suite_task *task);
/* Returns a new object of kind "cell" for a figure; block: the head whose table shows it. */
json_t *eval_cell(const evaluation *e, const mo_eval_row *row, const char *block, mo_seen seen);

#endif
