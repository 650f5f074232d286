/* train/few_shot/few_shot.h - the parts of a few-shot object (library internal). */
#ifndef MO_FEW_SHOT_H
#define MO_FEW_SHOT_H

#include "train/inside.h"

enum { MO_FEW_SHOT_ROWS = 4096 /* examples whose logits are computed together */ };
/* From this assortativity on neighbours' attributes are alike: the similarity of neighbours' attributes, in standard
 * deviations (mo_example_kernels_assortativity; train/evaluation/RESULTS.md). */
#define MO_ALIKE 0.8

/* A readout fitted on labelled examples, owned. */
typedef struct mo_fitted_examples {
    mo_state state;
    int64_t n, *id;          /* [n]: the examples */
    int64_t m, *centre, *of; /* [m]: positions and ids of the centres that stand for a large support; m = 0: none do */
} mo_fitted_examples;

struct mo_few_shot {
    mo_context *ctx;
    mo_source source; /* owns its features and kernels; holds its graph (made without edges if rows alone are given) */
    mo_candidate candidate; /* owns its model */
    mo_tensor *rows;        /* embeddings of all examples [N, d]; NULL: the model embeds rows of examples itself */
    mo_population all;      /* for a transductive readout; else null */
    bool chooses;           /* each fit decides whether to set candidate.transductive */
    mo_tape *t;             /* MO_EVAL */
    int64_t max_rows;
    int64_t n;      /* labelled examples, in rising order of their classes and, within a class, as they were given */
    int64_t *id;    /* [n] */
    int64_t *label; /* [n]: 0 .. classes - 1 */
    int64_t classes;
    mo_fitted_examples fitted; /* the readout of all labelled examples, once it is fitted */
    int n_experts;             /* experts in the mixture of kernels behind the last logits; 0: no mixture */
    mo_expert_share expert[MO_MAX_EXPERTS];
    uint8_t *reached;   /* [nodes]: whether a label reaches the node (few_shot_reach.c); NULL: all */
    double temperature; /* applied to the probabilities; 1 without held-out examples */
    mo_few_shot_estimate estimate;
    /* [2, n]: for each held-out example 1 minus the probability of its label, rising, and room for another readout's.
     * Of targets: distances from the left-out prediction, in its standard deviations. */
    double *score;
    double *target; /* [n]: real targets as the fit reads them, in place of classes; NULL: classes */
    mo_target_estimate told;
};

/* few_shot.c: the model of the weights that are read already, or (NULL) that the options name, owned by the candidate,
 * and the options of the rows that it reads. Returns the status. */
mo_code mo_few_shot_candidate(mo_context *ctx, const mo_few_shot_options *options, const mo_weights *read,
    mo_candidate *candidate, mo_feature_options *features);

/* few_shot.c: returns whether n ids are examples; raises at the first that is not. */
bool mo_few_shot_are_examples(mo_few_shot *f, const int64_t *id, int64_t n);

/* few_shot_logits.c: logits [n_query, classes] of examples by a readout fitted on `support`, computed in blocks of
 * MO_FEW_SHOT_ROWS examples. Returns the status. */
typedef struct mo_few_shot_support {
    const int64_t *id, *label;
    int64_t n, classes;
} mo_few_shot_support;
mo_code mo_few_shot_read(
    mo_few_shot *f, const mo_few_shot_support *support, const int64_t *query, int64_t n_query, double *logits);

/* few_shot_logits.c: fits all labelled examples, if they are not fitted yet, and applies a state of their readout's
 * form (NULL: its own) to one example: logits [state->classes]; NULL: only fits. Returns the status. */
mo_code mo_few_shot_apply_state(mo_few_shot *f, const mo_state *state, int64_t example, double *logits);

/* few_shot_logits.c: returns whether the readout is the mixture of kernels and not transductive. */
bool mo_few_shot_mixes_kernels(const mo_few_shot *f);
/* few_shot_logits.c: returns whether the readout has centres, a part of the labelled examples that represents all. */
bool mo_few_shot_reads_centres(const mo_few_shot *f);

/* few_shot_logits.c: mo_few_shot_fit_whole fits all labelled examples and returns whether this makes fits without some
 * of them cheap: the head has a closed form, no centres stand for the examples, and the readout is not transductive.
 * mo_few_shot_without gives the logits [n, classes] of the labelled examples at at[0 .. n - 1] by the fit without them,
 * and in hop the logits of a ridge on the features two hops away alone (NaN if there is none); it returns the
 * status. */
bool mo_few_shot_fit_whole(mo_few_shot *f);
mo_code mo_few_shot_without(mo_few_shot *f, const int64_t *at, int64_t n, double *logits, double *hop);
void mo_few_shot_forget_fit(mo_few_shot *f);
/* few_shot_logits.c: the readout of all labelled examples, fitted if it is not yet; NULL on failure. */
const mo_fitted_examples *mo_few_shot_fitted(mo_few_shot *f);
/* few_shot.c: forgets labels, targets and what was found from them. */
void mo_few_shot_forget(mo_few_shot *f);
/* few_shot.c: checks the labels and takes them in place of those of an earlier fit. Returns false on failure. */
bool mo_few_shot_label(mo_few_shot *f, const int64_t *id, const int64_t *label, int64_t n);

/* few_shot_logits.c: embeddings [n, d] of examples, on the object's tape. */
mo_tensor *mo_few_shot_rows_of(mo_few_shot *f, const int64_t *id, const int64_t *label, int64_t n, int64_t classes);

enum { MO_LEAST_TARGETS = 3 };
/* few_shot_targets.c: takes n targets, as the fit reads them, in place of an earlier fit. Returns false on failure. */
bool mo_few_shot_take_targets(
    mo_few_shot *f, const int64_t *id, const double *target, int64_t n, mo_target_transform transform);

/* few_shot_logits.c: predictions [n] of a fit of targets, and their standard deviations (NULL: not asked for). */
mo_code mo_few_shot_read_targets(mo_few_shot *f, const int64_t *query, int64_t n, double *prediction, double *spread);

/* few_shot_rows.c: owned embeddings [N, d] of all examples, with d at most 512. The null tensor on failure. */
mo_tensor *mo_few_shot_short_rows(mo_few_shot *f);

/* few_shot_reach.c: finds which nodes the labels reach; the probabilities [classes] of the others. */
mo_code mo_few_shot_reach(mo_few_shot *f);
void mo_few_shot_prior(const mo_few_shot *f, double *p);

/* few_shot_held_out.c: sets the temperature and the estimate from the labelled examples alone. Returns the status. */
mo_code mo_few_shot_hold_out(mo_few_shot *f);

/* link_support.c: the pairs as links, held out of the graph: those given or, for NULL, drawn. Writes them in order to
 * s, which the caller releases even on failure. Returns NULL on failure. */
mo_links *mo_link_support_take(const mo_graph *graph, const mo_link_support *given, mo_link_support *s);

#endif
