/* train/evaluation/evaluation.h - shared by the parts of an evaluation (library internal). */
#ifndef MO_EVALUATION_H
#define MO_EVALUATION_H

#include "train/episodes/pool.h"

enum { MO_EVAL_REASON = 256 };

/* ---- a candidate on the problems of one k ---- */

/* A candidate as one thread reads problems with it. */
typedef struct mo_reader {
    mo_context *ctx;
    mo_tape *t; /* MO_EVAL */
    const mo_source *source;
    mo_candidate candidate;
    mo_tensor *rows;          /* [E, d]: its embeddings of all examples; NULL: the model embeds those of each problem */
    const mo_population *all; /* of a transductive candidate */
    int64_t max_rows;
} mo_reader;

enum { MO_TUNED_VALUES = 13 };

/* The sums over the queries of a problem. */
typedef struct mo_tally {
    mo_calibration plain, scaled; /* scaled: at the fitted temperature */
    mo_ranking ranking;           /* of rows of a file */
    bool tempered;                /* there were held-out rows to fit a temperature to */
} mo_tally;

/* The problems of one candidate at one k, and what is found on each. */
typedef struct mo_job {
    const mo_plan *plan; /* [n] */
    int64_t n;
    bool calibrated, hold_out, ranks; /* calibrated: figures of the probabilities are summed up */
    int n_values;                     /* number of tuned values; the value after the last is NaN, the head's own */
    double values[MO_TUNED_VALUES + 1];
    int metrics, experts;
    double *figure;         /* [metrics + experts, n]: metrics in percent, then shares; NaN where the readout failed */
    mo_tally *tally;        /* [n] */
    mo_eval_choice *choice; /* [n] */
    int64_t *first, *predicted; /* predicted: of problem i from first[i] on, classes of the problem */
    int64_t failed;             /* the first problem without a fit; n: all have one */
    char *failure;              /* [MO_EVAL_REASON]: why */
    mo_progress progress;       /* called with the problems done, or NULL */
    void *state;
    char title[96]; /* the k and the head, for progress messages */
} mo_job;

/* Buffers of a problem. */
typedef struct mo_job_space {
    double *held, *logits; /* [values, n_s, C], [n_q, C] */
    double *rows;          /* [n_s, C]: the held-out rows */
    int64_t *label;        /* [n_s]: the labels of `rows` */
} mo_job_space;

/* episode.c: makes a job's buffers, of the largest sizes; release them even on failure. Returns false on failure. */
bool mo_job_space_create(mo_context *ctx, const mo_job *job, mo_job_space *s);
void mo_job_space_release(mo_job_space *s);
/* episode.c: computes problem i of the job. A readout without a fit leaves NaN and is noted in the job. Returns false
 * on any other failure. */
bool mo_job_run(const mo_reader *r, mo_job *job, int64_t i, mo_job_space *s);

/* crew.c: threads that share the problems of a job. own: computes in the caller's context, with all of its threads
 * inside an op. member [n] (n can be 0): each computes on a thread of its own, in a context of one thread that borrows
 * the rows. */
typedef struct mo_crew {
    mo_reader own, *member;
    int n;
} mo_crew;
/* Makes a crew; release it even on failure. Returns false on failure. */
bool mo_crew_create(mo_context *ctx, mo_crew *crew);
void mo_crew_release(mo_crew *crew);
/* Runs all problems of the job by crew->own; the bits do not depend on which member takes a problem. Returns false on
 * failure and raises the error of the first failed problem. */
bool mo_crew_run(mo_crew *crew, mo_job *job);

/* readout.c: writes the logits [n_q, C] of a problem's queries. value: of the head's regularisation; NaN: the
 * candidate's. share: as mo_model_readout. Returns false on failure. */
bool mo_reader_logits(const mo_reader *r, const mo_plan *plan, double value, double *logits, mo_tensor **share);
/* readout.c: fits the candidate to the support of a problem, on a tape that is reset first. Zq (may be NULL): receives
 * the queries' rows. Only for a reader with rows. Returns false on failure. */
bool mo_reader_fit(
    const mo_reader *r, const mo_plan *plan, double value, bool held_out, mo_tensor **Zq, mo_state *state);

/* held_out.c: both functions write logits [values, n_s, classes] of the support rows, each by a fit that has not seen
 * the row, for each value of the head's regularisation. The queries of the problem are ignored. The logits are NaN if
 * there is no such fit, because a row cannot be held out or a system has no solution. Return false on failure. */

/* mo_leave_one_out leaves out one row at a time, for a head with mo_head.leave_one_out and rows that do not repeat. */
bool mo_leave_one_out(const mo_reader *r, const mo_plan *plan, const double *values, int n_values, double *logits);
/* Leaves out one fold at a time, at most 5 folds, for any head. query (may be NULL): receives the logits of the
 * queries by the fit of all rows at values[0]. */
bool mo_cross_validate(
    const mo_reader *r, const mo_plan *plan, const double *values, int n_values, double *logits, double *query);
/* The number of support rows of a problem's largest class; 0 on failure. */
int64_t mo_most_rows(mo_context *ctx, const mo_plan *plan);

/* tune.c: writes the values that tuning tries, ascending, then NaN; returns their number. scale: mo_rows_spread. */
int mo_tuned_values(const mo_head *head, double scale, double values[MO_TUNED_VALUES + 1]);

/* scaling.c: the support's mean and spread [1, d], NULL where the scaling reads none; and the rows Z scaled by them. */
void mo_scaling_measure(mo_tape *t, mo_scaling scaling, mo_tensor *Zs, mo_tensor **mean, mo_tensor **spread);
mo_tensor *mo_scaling_apply(mo_tape *t, mo_scaling scaling, mo_tensor *mean, mo_tensor *spread, mo_tensor *Z);
/* scaling.c: the scale of the rows [n, d] that penalties are tried about: the sum of the variances of the columns after
 * scaling, in which no column counts more than 100 times the median of the columns that vary. A column in other units
 * than the rest would otherwise carry every penalty beyond the others, and a mean far from 0 too. 1 if no column
 * varies. */
double mo_rows_spread(mo_tape *t, mo_tensor *Z, mo_scaling scaling);

/* ---- the evaluation ---- */

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
    mo_eval_visit visit;
    void *state; /* of visit */
    mo_tape *t;  /* the crew's own */
    mo_crew crew;
    mo_tensor **rows;          /* per candidate: its embeddings [E, d], owned unless they are the source's, or NULL */
    mo_population *all;        /* per candidate: its population if it is transductive (ON or AUTO), owned; else NULLs */
    double scale[MO_SCALINGS]; /* of the rows under each scaling, once it is known; 0: not yet */
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

/* Visits a candidate's rows at a shot, one for each metric. more: what they have in common beside the figures. */
void mo_eval_visit_rows(const mo_evaluation *ev, int candidate, int shot, const mo_eval_row *more);

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
/* The candidate's head. Its parts on an episode, as mo_model_fit, mo_model_apply and mo_model_held_out. */
const mo_head *mo_candidate_head(const mo_candidate *candidate);
mo_code mo_candidate_fit(
    mo_tape *t, const mo_candidate *candidate, const mo_episode *e, mo_tensor *Zs, bool held_out, mo_state *state);
mo_tensor *mo_candidate_apply(
    mo_tape *t, const mo_candidate *candidate, const mo_episode *e, const mo_state *state, mo_tensor *Zq);
mo_tensor *mo_candidate_held_out(
    mo_tape *t, const mo_candidate *candidate, const mo_state *state, const int64_t *row, int64_t groups, int64_t h);
/* Logits of the plan's queries by the model's transductive readout. state: as mo_model_transduce. */
mo_tensor *mo_population_logits(mo_tape *t, const mo_source *source, const mo_candidate *candidate,
    const mo_population *all, const mo_plan *plan, mo_state *state);
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

/* problems.c, eval_links.c: compute mo_evaluation.value and visit the rows. */
void mo_evaluate_classes(mo_evaluation *ev);
void mo_evaluate_links(mo_evaluation *ev);
/* train/few_shot/eval_targets.c: the same for real targets. */
void mo_evaluate_targets(mo_evaluation *ev);

#endif
