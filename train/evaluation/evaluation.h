/* train/evaluation/evaluation.h - what the parts of an evaluation share (library internal). */
#ifndef MO_EVALUATION_H
#define MO_EVALUATION_H

#include "train/episodes/pool.h"

enum { MO_EVAL_REASON = 256 };

/* One evaluation: candidates x shots x metrics x repeats of one source. */
typedef struct mo_evaluation {
    mo_context *ctx;
    const mo_source *source;
    const mo_candidate *candidate;
    int n; /* candidates */
    const mo_eval_options *options;
    mo_tape *t;
    mo_tensor **rows;   /* per candidate: the examples that it encoded [E, d], owned, or NULL */
    mo_population *all; /* per candidate: its population if it is transductive, owned; else null tensors */
    int metrics;
    int64_t repeats, n_test; /* n_test: queries per repeat */
    int64_t public_k;        /* of protocol public: the k of the division; else 0 */
    int64_t classes, *small; /* of a problem; [n_shots]: the most of any with too few examples for the support */
    double *value;           /* [n, n_shots, metrics, repeats], in percent */
    char (*failure)[MO_EVAL_REASON]; /* [n, n_shots]: the reason why there is no figure; "" if there is one */
} mo_evaluation;

/* A numerical failure of a candidate at a shot leaves its figure without a value and does not end the evaluation.
 * Returns whether one occurred; its reason is kept and the error cleared. */
bool mo_eval_failed(mo_evaluation *ev, int candidate, int shot);

/* Notes how many classes a problem of that shot has, and how many of them have too few examples for the support. */
void mo_eval_note_classes(mo_evaluation *ev, int shot, int64_t classes, int64_t small);

/* The rows of an earlier candidate with the same encoder as candidate c, or NULL; and the release of all rows, each
 * once. */
mo_tensor *mo_eval_known_rows(const mo_evaluation *ev, mo_tensor *const *rows, int c);
void mo_eval_release_rows(mo_tensor **rows, int n);
/* The first of the values of one candidate, shot and metric. */
double *mo_eval_values(const mo_evaluation *ev, int candidate, int shot, int metric);

/* readout.c: the number of rows of logits [n, C] whose first maximum is not at the label [n]: a float64 scalar, without
 * a gradient. */
mo_tensor *mo_count_wrong(mo_tape *t, mo_tensor *logits, mo_tensor *label);
/* readout.c: logits of the plan's queries. rows: the candidate's embeddings of all examples [E, d]; NULL for a model of
 * rows of examples, which embeds them itself, max_rows at a time (0: all). */
mo_tensor *mo_candidate_logits(mo_tape *t, const mo_source *source, const mo_candidate *candidate, mo_tensor *rows,
    const mo_plan *plan, int64_t max_rows);
/* Logits of the plan's queries by the model's transductive readout. */
mo_tensor *mo_population_logits(
    mo_tape *t, const mo_source *source, const mo_candidate *candidate, const mo_population *all, const mo_plan *plan);
/* Share of the plan's queries whose first largest logit is at the label, in percent. NaN on failure. */
double mo_plan_accuracy(mo_tape *t, mo_tensor *logits, const mo_plan *plan);

/* embed.c: mo_embed_all with every row multiplied by a matrix [d, r] (NULL: as it is), block by block. */
mo_tensor *mo_embed_sketched(mo_model model, const mo_source *source, int64_t max_rows, mo_tensor *sketch);
/* embed.c: rows [n, d] of listed examples by a model of rows of examples, on the tape. The null tensor on failure. */
mo_tensor *mo_embed_listed(mo_tape *t, mo_model model, const mo_source *source, const int64_t *id, int64_t n);
/* embed.c: all nodes or graphs as a model's experts embed them, and their Gram matrices; release both. Null tensors on
 * failure. */
mo_population mo_embed_population(mo_model model, const mo_source *source, int64_t max_rows);

/* eval_link_rows.c: the test part of a source's links, as numbers of its positives and of its negatives, and the pairs
 * (positives, then negatives) on which heads are fitted. */
typedef struct mo_link_test {
    const int64_t *positive, *negative, *reference;
    int64_t n_positive, n_negative, n_reference;
} mo_link_test;
/* For rows of examples: rows of all the source's pairs, then of the test's positives and negatives. Returns NULL on
 * failure. */
mo_features *mo_link_test_features(const mo_source *s, const mo_link_test *test);

/* eval_split.c, eval_links.c: compute the values. */
void mo_evaluate_classes(mo_evaluation *ev);
void mo_evaluate_links(mo_evaluation *ev);

#endif
