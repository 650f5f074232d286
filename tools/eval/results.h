/* tools/eval/results.h - results of evaluations: from this run, from a file that `mochi eval --json` wrote, from the
 * paper's tables, or published by others for the public split. */
#ifndef RESULTS_H
#define RESULTS_H

#include "tools/command.h"

/* One figure of an evaluation, in percent. */
typedef struct result {
    char data[64], task[4], protocol[8], features[48], head[32], metric[20];
    char block[32]; /* the head whose table shows the figure; baselines appear in the table of the trained model's
                     * readout */
    int64_t k;      /* 0 if the task has no k */
    double mean, sd, ci95;
    int64_t n;                                /* number of seeds, episodes or divisions */
    int64_t small_classes, left_out, classes; /* as in mo_eval_row; 0 if unknown */
    char experts[320];                        /* the shares of the experts in a mixture readout, as text; "" if the
                                               * readout has none */
    double *values;                           /* [n]; owned, NULL if unknown */
    mo_seen seen;                             /* whether the weights were trained on the graph; baselines never are */
} result;

typedef struct results {
    char label[64];
    bool paper;    /* published figures: the paper's, or other methods' on the public split */
    char best[16]; /* if published: the `features` of the best method's figures */
    result *items; /* stb_ds array */
} results;

/* Appends the figure that a line of kind "cell" holds. Returns false if data, task, protocol, features, head,
 * metric, k or values is missing, or a member has another form than `mochi eval` gives it. */
bool results_add_cell(results *r, const json_t *line);
/* Reads a file that `mochi eval --json` wrote; "paper" means the paper's tables, "public" the tables of
 * train/data/public.json. Returns false with one line in `why` that names file and line. */
bool results_read(results *r, const char *path, char *why, size_t bytes);
void results_free(results *r);
/* json_seen: returns JSON false, null (unknown) or true. seen_of_cell: reads it from a line of kind "cell". */
json_t *json_seen(mo_seen seen);
mo_seen seen_of_cell(const json_t *line);

/* Returns whether two figures have the same data set, task and metric. The paper's figures for links have no k. */
bool same_subject(const result *a, const result *b);
/* equal_shots: returns whether a figure of a list can be compared at k. Figures without a k (inner products) can at
 * every k. The paper gives no k for links: its figures are compared at k = 512, the largest of its other tasks, and
 * with figures without a k. */
enum { PAPER_LINKS_K = 512 };
bool equal_shots(const results *r, const result *figure, int64_t k);
/* Returns the figure for this subject, k, features and block (in published tables: with the block as its head, or
 * without a head); NULL if there is none. */
const result *find_result(const results *r, const result *subject, int64_t k, const char *features, const char *block);

/* The difference of two means and the half width of its 95% interval. The interval is paired if both figures have the
 * same protocol and number of values, else Welch's (1947). ci95 is NaN if there are too few values. */
typedef struct difference {
    double mean, ci95;
    bool paired;
    mo_seen seen; /* whether the weights of either figure have seen the graph */
} difference;
difference subtract_results(const result *a, const result *b);

#endif
