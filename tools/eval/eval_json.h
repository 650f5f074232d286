/* tools/eval/eval_json.h - an evaluation as JSON, one object per line; tools/eval/README.md describes them. */
#ifndef EVAL_JSON_H
#define EVAL_JSON_H

#include "tools/eval/eval_options.h"
#include "tools/eval/results.h"

/* A file of weights and the label of its rows. */
typedef struct eval_weights {
    const char *label, *file;
    char recipe[32]; /* "" if unknown */
    uint64_t hash[2];
} eval_weights;

/* Each prints one line; returns false if it could not be written. */
bool print_eval_run(const eval_options *o, const eval_weights *weights, int n_weights);
bool print_eval_data(const mo_source *source);
/* A task of a suite whose data set is not installed. */
bool print_eval_absent(const mo_suite_task *task);
/* hop: the hop of the candidate `hop`; block: the head under whose name the figure is shown (NULL: its own). */
bool print_eval_cell(const eval_options *o, const mo_eval_row *row, mo_seen seen, int hop, const char *block);

#endif
