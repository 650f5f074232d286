/* tools/eval/results.h - figures of evaluations: of this run, of a file that `mochi eval --json` wrote, of the paper,
 * or of other methods on the public split. */
#ifndef RESULTS_H
#define RESULTS_H

#include "tools/command.h"

/* One figure, in percent. */
typedef struct result {
    char data[64], task[4], protocol[8], features[48], head[32], metric[20];
    char block[32]; /* the head whose table shows the figure: not its own for baselines beside a model's own readout */
    int64_t k;      /* 0 if there are no shots */
    double mean, sd, ci95;
    int64_t n;                                /* seeds or episodes */
    int64_t small_classes, left_out, classes; /* as in mo_eval_row; 0 if unknown */
    char experts[320];                        /* what its readout rests on, in words; "" if it does not say */
    double *values;                           /* one per seed or episode; owned, NULL if unknown */
    mo_seen seen;                             /* whether the weights were trained on the graph; baselines never are */
} result;

typedef struct results {
    char label[64];
    bool paper;    /* published figures: of the paper, or of other methods on the public split */
    char best[16]; /* of published figures: the features under which the best of any method stands */
    result *items; /* stb_ds array */
} results;

/* Adds the figure of a line of kind "cell". Returns false if a member is missing, or is none that `mochi eval` writes.
 */
bool results_add_cell(results *r, const json_t *line);
/* Reads a file that `mochi eval --json` wrote; "paper" names the paper's tables, "public" those of
 * train/data/public.json. Returns false with one line in `why` that names file and line. */
bool results_read(results *r, const char *path, char *why, size_t bytes);
void results_free(results *r);
/* JSON false, null (unknown) or true; and what a line of kind "cell" says. */
json_t *json_seen(mo_seen seen);
mo_seen seen_of_cell(const json_t *line);

/* Whether two figures have the same data set, task and metric. In the paper links have no shots. */
bool same_subject(const result *a, const result *b);
/* Whether a figure of a list is of k: those without shots, as of inner products, are of any. The paper names no k of
 * its links; they stand beside 512, the largest of its other tasks, alone, and beside what has no k. */
enum { PAPER_LINKS_K = 512 };
bool equal_shots(const results *r, const result *figure, int64_t k);
/* The figure for this subject, k, features and block (for the paper: head, or no head); NULL if there is none. */
const result *find_result(const results *r, const result *subject, int64_t k, const char *features, const char *block);

/* The difference of two means and the half width of its 95% interval: paired if both have values of equally many seeds
 * by one protocol, else Welch's (1947). NaN if there are too few. */
typedef struct difference {
    double mean, ci95;
    bool paired;
    mo_seen seen; /* by the weights of either */
} difference;
difference subtract_results(const result *a, const result *b);

#endif
