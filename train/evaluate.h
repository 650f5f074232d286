/* train/evaluate.h - evaluation of models, encoders and heads, including your own, on held-out data. */
#ifndef MO_EVALUATE_H
#define MO_EVALUATE_H

#include "train/train.h"

/* Share of the edges to hold out from graphs whose links are evaluated: a fifth of the edges for the test, and a tenth
 * of the rest to fit the heads. So the features come from a graph without the support links and the test links. */
#define MO_EVAL_LINK_SHARE 0.28

/* Embeddings of every node, or of every graph of a set: [nodes or graphs, d], encoded max_rows rows at a time (0: all
 * at once). Release with mo_tensor_release. The null tensor on failure. */
MO_API mo_tensor *mo_embed_all(mo_model *model, const mo_source *source, int64_t max_rows);
/* MO_PROTOCOL_PUBLIC: for graphs of nodes; one problem per published division into training and test nodes
 * (mo_plan_public), at that division's k. */
typedef enum mo_protocol { MO_PROTOCOL_SPLIT = 0, MO_PROTOCOL_EPISODE, MO_PROTOCOL_PUBLIC, MO_PROTOCOLS } mo_protocol;

struct mo_plan; /* train/graph.h */

typedef struct mo_eval_options {
    mo_protocol protocol;
    int n_shots;
    const int64_t *shots; /* k, the support examples per class (for lp, support links and as many non-edges); for
                           * protocol `public` one number, ignored */
    int64_t episodes;     /* for protocol `episode`; `mochi eval` takes 100 */
    int64_t queries;      /* per class, for protocol `episode`; 0: 30 */
    int64_t seeds;        /* number of seeds, for protocol `split` and for links; `mochi eval` takes 10 */
    uint64_t seed;
    int64_t max_rows; /* rows encoded at once; 0: all */
    /* Called with each plan before it is evaluated, borrowed for the call; may be NULL. For links the queries are the
     * whole test, and support_pair and query_pair number the source's links, positives before negatives. */
    void (*on_plan)(const mo_source *source, const struct mo_plan *plan, int64_t k, int64_t repeat, void *state);
    void *state;
    bool calibration; /* nodes and graphs: evaluate every metric of mo_class_metric_name, not accuracy alone */
} mo_eval_options;

/* An expert's weight in a readout of nodes or graphs, 0 to 1; the shares sum to 1. The name is T (the trained
 * embedding), Tg (the trained embedding under a Gaussian kernel, for graphs), or a kernel's
 * (train/features/nodes/kernels.c, train/features/sets/kernels.c); borrowed. */
typedef struct mo_expert_share {
    const char *name;
    double share;
} mo_expert_share;

typedef struct mo_eval_row {
    const char *data, *task, *head, *features; /* features: label of the candidate */
    int64_t k;
    const char *metric;    /* a name of mo_class_metric_name or, for links, of mo_link_metric_name */
    double mean, ci95, sd; /* in percent */
    int64_t n;             /* number of seeds, episodes or divisions */
    const double *values;  /* one per seed, episode or division, paired between candidates; borrowed for the visit */
    int64_t n_test;        /* queries per seed or episode */
    int64_t classes;       /* number of classes in a problem; 2 for links */
    int64_t small_classes; /* classes with fewer than k examples for the support (`episode`: than k + queries in all),
                            * which repeat some; the largest number over the problems */
    int64_t left_out;      /* classes left out, as in mo_plan; the largest number over the problems */
    int n_experts;         /* number of experts; 0 for a readout without experts */
    const mo_expert_share *experts; /* [n_experts]: mean shares over the repeats; borrowed for the visit */
    const char *failure;            /* why the figures are NaN: the first numerical error of the readout; else NULL */
} mo_eval_row;

typedef void (*mo_eval_visit)(const mo_eval_row *row, void *state);

/* A candidate: a model, or (without a model) a head on the rows of one hop. */
typedef struct mo_candidate {
    const char *features; /* label: trained | random | x0 | hop */
    mo_model *model;
    mo_transductive transductive; /* anything but OFF needs a model's own readout of nodes or graphs (NEVER: of graphs).
                                   * AUTO chooses ON or OFF in each problem, by its support */
    int hop;
    const mo_head *head;
    double lambda;
    bool dot;    /* links are scored by <z_u, z_v> of node embeddings; only the head's name is used, and k is 0 */
    int encoder; /* models with the same number above 0 share an encoder, whose embeddings are computed once */
} mo_candidate;

/* Evaluates candidates on one source of held-out data, all on the same plans, and visits a row for each candidate, k
 * and metric. A model uses its own head, temperature and lambda; the row names the head. For links, protocols `split`
 * and `episode` are the same: the test is 5/7 of the source's positives and as many non-edges, and heads are fitted on
 * the rest. If the source holds out MO_EVAL_LINK_SHARE of the edges, the test is 5/7 * 0.28, a fifth of them. k is 1000
 * in hits_rank and hits_pooled, and 50 in hits_ogb. */
MO_API mo_code mo_evaluate(mo_context *ctx, const mo_source *source, const mo_candidate *candidates, int n,
    const mo_eval_options *options, mo_eval_visit visit, void *state);

#endif
