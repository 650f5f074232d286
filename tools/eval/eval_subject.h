/* tools/eval/eval_subject.h - the subjects of `mochi eval`: weights, or none, and the baselines beside them. */
#ifndef EVAL_SUBJECT_H
#define EVAL_SUBJECT_H

#include "tools/eval/eval_json.h"

enum { MAX_CANDIDATES = 6 * (MAX_HEADS + 1) };

/* Weights, or none, and the candidates that read the same features. */
typedef struct subject {
    char label[40], transductive_label[44], inductive_label[44];
    mo_feature_options features;
    mo_mochi_options mochi;
    double lambda;          /* penalty of heads on single hops */
    const char *block_head; /* the readout under whose name figures of all heads are shown; NULL: each head's own */
    int best_hop[MO_TASKS];
    mo_model *models[2 * (MAX_HEADS + 1)]; /* trained and random for each head */
    mo_candidate candidates[MAX_CANDIDATES];
    int n_models, n_candidates;
    bool has_weights;
    eval_weights weights;
    mo_weights *read; /* of has_weights: the file, which says what it was trained on */
    mo_seen seen;     /* whether on the graph that is evaluated now */
} subject;

/* Fills s from weights (a file, "none" or "random"), after n earlier subjects; the first has the
 * baselines. Failures are raised on the context; release s in any case. */
void open_subject(mo_context *ctx, const eval_options *o, const char *name, const subject *others, int n, subject *s);
void release_subject(subject *s);
/* Ends the program if an option of the command line has no effect on these subjects and tasks (eval_options.c). */
void refuse_eval_options(const eval_options *o, const subject *subjects, int n, const mo_suite *suite);

#endif
