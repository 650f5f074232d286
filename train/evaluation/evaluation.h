/* train/evaluation/evaluation.h - shared by the parts of an evaluation (library internal). */
#ifndef MO_EVALUATION_H
#define MO_EVALUATION_H

#include "train/episodes/pool.h"

enum { MO_EVAL_REASON = 256 };

/* One evaluation: candidates x shots x metrics x repeats of one source. */
typedef struct mo_evaluation {
    mo_context *ctx;
    const mo_source *source; /* points to `own`: the caller's source, with the kernels that readouts read */
    mo_source own;
    struct mo_example_kernels *kernels; /* owned; NULL: the caller owns them, or there are none */
    mo_source inductive; /* the source with inductive kernels, owned; NULL kernels if no candidate reads them */
    const mo_candidate *candidate;
    int n; /* candidates */
    const mo_eval_options *options;
    mo_tape *t;
    mo_tensor **rows;   /* per candidate: its embeddings [E, d], owned, or NULL */
    mo_population *all; /* per candidate: its population if it is transductive (ON or AUTO), owned; else NULLs */
    int metrics;
    int experts; /* number of experts in readouts of nodes or graphs; 0 if no candidate has experts */
    int64_t repeats;
    int64_t n_test, classes;         /* of the last problem */
    int64_t left_out;                /* the most classes left out of a problem */
    int64_t public_k;                /* the smallest k of a division; 0 outside protocol `public` */
    double *value;                   /* [n, n_shots, metrics + experts, repeats]: metrics in percent, then shares */
    int64_t *small;                  /* [n_shots]: the most classes with too few examples in one problem */
    char (*failure)[MO_EVAL_REASON]; /* [n, n_shots]: the first error of a candidate; "": none */
} mo_evaluation;

/* Returns whether the candidate has failed numerically at this shot. If so, records the reason and clears the error, so
 * that the evaluation goes on; the candidate's figure is NaN. */
bool mo_eval_failed(mo_evaluation *ev, int candidate, int shot);

/* Records the plan of a problem of that shot, and shows it to the caller's on_plan. */
void mo_eval_note(mo_evaluation *ev, int shot, int64_t repeat, const mo_plan *plan);

/* mo_eval_known_rows: the rows of an earlier candidate with the same encoder as candidate c, or NULL.
 * mo_eval_release_rows: releases all rows, each once. */
mo_tensor *mo_eval_known_rows(const mo_evaluation *ev, mo_tensor *const *rows, int c);
void mo_eval_release_rows(mo_tensor **rows, int n);
/* Pointer to the first value of one candidate, shot and metric; experts' shares follow the metrics. */
double *mo_eval_values(const mo_evaluation *ev, int candidate, int shot, int metric);

/* expert_shares.c: the number of experts in a readout of the source's nodes or graphs, and the name of expert e:
 * experts on the embeddings come first, then the source's kernels. */
int mo_expert_count(const mo_source *source);
const char *mo_expert_name(const mo_source *source, int e);
/* Writes each expert's name and share, summed over the penalties of share [experts, R]. Returns the number of experts;
 * 0 if share is NULL, and on failure. */
int mo_shares_of(mo_tape *t, const mo_source *source, mo_tensor *share, mo_expert_share out[MO_MAX_EXPERTS]);
/* readout.c: the number of rows of logits [n, C] whose first maximum is not at the label [n]: a float64 scalar, without
 * a gradient. */
mo_tensor *mo_count_wrong(mo_tape *t, mo_tensor *logits, mo_tensor *label);
/* readout.c: logits of the plan's queries. rows: the candidate's embeddings of all examples [E, d]; NULL for a model of
 * rows of examples, which embeds them itself, max_rows at a time (0: all). share (may be NULL): as mo_model_readout. */
mo_tensor *mo_candidate_logits(mo_tape *t, const mo_source *source, const mo_candidate *candidate, mo_tensor *rows,
    const mo_plan *plan, int64_t max_rows, mo_tensor **share);
/* Logits of the episode's queries; rows: the candidate's embeddings [E, d] that the episode's indices refer to. */
mo_tensor *mo_episode_logits(
    mo_tape *t, const mo_candidate *candidate, const mo_episode *e, mo_tensor *rows, mo_tensor **share);
/* The candidate's head. Its two halves on an episode, as mo_model_fit and mo_model_apply. */
const mo_head *mo_candidate_head(const mo_candidate *candidate);
mo_code mo_candidate_fit(
    mo_tape *t, const mo_candidate *candidate, const mo_episode *e, mo_tensor *Zs, bool held_out, mo_state *state);
mo_tensor *mo_candidate_apply(
    mo_tape *t, const mo_candidate *candidate, const mo_episode *e, const mo_state *state, mo_tensor *Zq);
/* Logits of the plan's queries by the model's transductive readout. */
mo_tensor *mo_population_logits(
    mo_tape *t, const mo_source *source, const mo_candidate *candidate, const mo_population *all, const mo_plan *plan);
/* train/few_shot/few_shot.c: float64 logits of the plan's queries, divided by their temperature, by the readout that
 * MO_TRANSDUCTIVE_AUTO chooses from the plan's support. */
mo_tensor *mo_few_shot_chosen(
    mo_tape *t, const mo_source *source, const mo_candidate *candidate, const mo_population *all, const mo_plan *plan);
/* The percentage of the plan's queries whose first largest logit is the label's. NaN on failure. */
double mo_plan_accuracy(mo_tape *t, mo_tensor *logits, const mo_plan *plan);

/* embed.c: mo_embed_all, with every row multiplied by a matrix [d, r] (NULL: unchanged), block by block. */
mo_tensor *mo_embed_sketched(mo_model *model, const mo_source *source, int64_t max_rows, mo_tensor *sketch);
/* embed.c: rows [n, d] of listed examples by a model of rows of examples, on the tape. The null tensor on failure. */
mo_tensor *mo_embed_listed(mo_tape *t, mo_model *model, const mo_source *source, const int64_t *id, int64_t n);
/* embed.c: a model's embeddings of all nodes or graphs, a 1 appended to each, and their Gram matrix; release both. Null
 * tensors on failure. */
mo_population mo_embed_population(mo_model *model, const mo_source *source, int64_t max_rows);

/* eval_link_rows.c: the test part of a source's links (indices of its positives and its negatives), and the pairs,
 * positives then negatives, on which heads are fitted. */
typedef struct mo_link_test {
    const int64_t *positive, *negative, *reference;
    int64_t n_positive, n_negative, n_reference;
} mo_link_test;
/* For rows of examples: the rows of all the source's pairs, then of the test's positives and negatives. Returns NULL on
 * failure. */
mo_features *mo_link_test_features(const mo_source *s, const mo_link_test *test);

/* eval_split.c, eval_links.c: compute mo_evaluation.value. */
void mo_evaluate_classes(mo_evaluation *ev);
void mo_evaluate_links(mo_evaluation *ev);

#endif
