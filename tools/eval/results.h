/* tools/eval/results.h - figures of evaluations: of the run at hand, of a file that `mochi eval --json` wrote, of the
 * paper. */
#ifndef RESULTS_H
#define RESULTS_H

#include "tools/command.h"

/* One figure, in percent. */
typedef struct result {
    char data[64], task[4], protocol[8], features[48], head[32], metric[20];
    char block[32]; /* the head whose table shows the figure: another one for baselines beside a model's own readout */
    int64_t k;      /* 0 where there are no shots */
    double mean, sd, ci95;
    int64_t n;                      /* seeds or episodes */
    int64_t small_classes, classes; /* as mo_eval_row has them; 0 where they are not known */
    double *values;                 /* of each of them; owned, NULL where they are not known */
} result;

typedef struct results {
    char label[64];
    bool paper;
    result *items; /* of stb_ds: arrlen(items) */
} results;

void results_add_row(results *r, const mo_eval_row *row, const char *protocol);
/* The file that `mochi eval --json` wrote; "paper" names the paper's tables. False with one line in `why`, which names
 * file and line. */
bool results_read(results *r, const char *path, char *why, size_t bytes);
void results_free(results *r);

/* Whether two figures are of the same data set, task and metric. Links have no shots in the paper. */
bool same_subject(const result *a, const result *b);
/* The figure for that subject, k, features and block (of the paper: head, or where it says none); NULL where there is
 * none. Links of the paper answer any k. */
const result *find_result(const results *r, const result *subject, int64_t k, const char *features, const char *block);

/* The difference of two means and the half width of its 95% interval: of pairs where both have values of as many seeds
 * by one protocol, else Welch's (1947). NaN where there are not enough. */
typedef struct difference {
    double mean, ci95;
    bool paired;
} difference;
difference subtract_results(const result *a, const result *b);

#endif
