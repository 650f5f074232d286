/* tools/eval/eval_run.h - the state of a run of `mochi eval`. */
#ifndef EVAL_RUN_H
#define EVAL_RUN_H

#include "tools/eval/eval_subject.h"
#include "tools/eval/table.h"

/* The subjects of an evaluation and its results. */
typedef struct evaluation {
    mo_context *ctx;
    eval_options *options;
    subject subjects[MAX_WEIGHTS]; /* the first has the baselines */
    int n_subjects;
    mo_suite *suite;
    unsigned metrics;    /* bits: the metrics of links that the suite names; 0: all */
    results rows, paper; /* all rows so far */
    names absent;        /* "cs nc" */
    seen_graphs seen;    /* by any of the weights */
    bool lost_output;    /* go no further */
    bool in_paper;
} evaluation;

/* Evaluates one data set: opened, evaluated and released, once for each form of features; task: -1 for all. Prints its
 * table or lines. */
void evaluate_name(evaluation *e, const char *name, int task);
/* Every data set of the options. Of protocol public, those that are not there are reported where none was named. */
void evaluate_data(evaluation *e);
/* Notes, and prints with --json, that a data set is not there. */
void report_absent(evaluation *e, const mo_suite_task *task);

#endif
