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

/* Progress of long work, called from the calling thread: `done` of `of` units of a part are done. */
typedef void (*mo_progress)(const char *part, int64_t done, int64_t of, void *state);

typedef struct mo_eval_options {
    mo_protocol protocol;
    int n_shots;
    const int64_t *shots; /* k, the support examples per class (for lp, support links and as many non-edges); for
                           * protocol `public` one number, ignored */
    int64_t episodes;     /* for protocol `episode`; `mochi eval` and `mochi fit` take 100 */
    int64_t queries;      /* per class, for protocol `episode`; 0: 30 */
    int64_t ways;         /* for protocol `episode`: of more classes, an episode draws this number; 0: 64 */
    int64_t seeds;        /* number of seeds, for protocol `split` and for links; `mochi eval` takes 10 */
    uint64_t seed;
    const struct mo_plan *split; /* nodes and rows: one problem given by the caller, in place of a protocol; or NULL */
    int64_t max_rows;            /* rows encoded at once; 0: all */
    /* Called with each plan before it is evaluated, borrowed for the call; may be NULL. For links the queries are the
     * whole test, and support_pair and query_pair number the source's links, positives before negatives. */
    void (*on_plan)(const mo_source *source, const struct mo_plan *plan, int64_t k, int64_t repeat, void *state);
    mo_progress progress; /* called over a candidate's episodes at one k; or NULL. Not for links */
    void *state;
    const double *target; /* nodes, graphs: real targets [examples] in place of classes, NaN: unknown; or NULL. Then k
                           * is their number in all, protocol `episode` (repeats: episodes) predicts all others, and the
                           * candidates are weights with their own readout, and the head mixture on rows */
    bool calibration;     /* nodes and graphs: evaluate every metric of mo_class_metric_name, not accuracy alone */
    /* Nodes, graphs and rows: what each episode finds out from its support alone (mo_eval_choice). */
    bool hold_out; /* the temperature of its probabilities */
    bool tune;     /* also the head's regularisation, for candidates without a model */
    bool sweep;    /* each row is followed by one row per value that tuning tries */
    bool ranking;  /* rows of a file: also auc and top, which take longer than many a readout (many classes) */
} mo_eval_options;

/* An expert's weight in a readout of nodes or graphs, 0 to 1; the shares sum to 1. The name is T (the trained
 * embedding), Tg (the trained embedding under a Gaussian kernel, for graphs), or a kernel's
 * (train/features/nodes/kernels.c, train/features/sets/kernels.c); borrowed. */
typedef struct mo_expert_share {
    const char *name;
    double share;
} mo_expert_share;

#define MO_ECE_BINS 15

/* Sums over the predictions counted so far; zero-initialise. */
typedef struct mo_calibration {
    int64_t n, right;  /* numbers of all and of correct predictions (the first largest logit is the label's) */
    double nll, brier; /* sums of -log p_label and of |p - one-hot|^2 over the classes (Brier 1950) */
    struct {
        int64_t n, right;
        double confidence; /* sum of the largest probabilities */
    } bin[MO_ECE_BINS];    /* by confidence: bin b holds (b / 15, (b + 1) / 15] */
} mo_calibration;

/* What an episode chose by held-out rows of its support. */
typedef struct mo_eval_choice {
    double value, temperature; /* regularisation (NaN: the head's own); temperature of the probabilities (NaN: none) */
    int64_t held_out, right;   /* rows held out in turn at `value`; number of correct predictions among them */
    double held_nll;           /* mean cross-entropy of the held-out rows at the temperature; NaN: none */
} mo_eval_choice;

/* A candidate's figures in one metric at one k. Pointers are borrowed for the visit. */
typedef struct mo_eval_row {
    const char *data, *task, *head, *features; /* features: label of the candidate */
    int64_t k;
    const char *metric;    /* a name of mo_class_metric_name or, for links, of mo_link_metric_name */
    double mean, ci95, sd; /* in percent; for a caller's split ci95 is half of Wilson's interval */
    int64_t n;             /* number of seeds, episodes or divisions; for a caller's split, of queries */
    const double *values;  /* [n]: paired between candidates (mo_summarize_pairs); for a caller's split 100 or 0 */
    int64_t n_test;        /* queries per seed or episode */
    int64_t classes;       /* number of classes in a problem; 2 for links */
    int64_t small_classes; /* classes with fewer than k examples for the support (`episode`: than k + queries in all),
                            * which repeat some; the largest number over the problems */
    int64_t left_out;      /* classes left out, as in mo_plan; the largest number over the problems */
    int n_experts;         /* number of experts; 0 for a readout without experts */
    const mo_expert_share *experts; /* [n_experts]: mean shares over the repeats */
    const char *failure;            /* why the figures are NaN: the first numerical error of the readout; else NULL */

    /* Nodes, graphs and rows: over all queries of all problems, with probabilities softmax(logits). NaN and 0 if only
     * accuracies of a graph's examples are asked for. */
    double nll, brier, ece, nll_temperature, ece_temperature; /* .._temperature: at each problem's own; NaN: none */
    double auc, top; /* with `ranking`, else NaN: area under the curve, one class against the rest; accuracy of the
                      * first three classes, in percent, of more than three (mo_ranking) */
    double seconds;  /* that the candidate took at this k, for all its metrics */
    const struct mo_plan *plans; /* [n_plans]: the problems */
    int64_t n_plans;
    const int64_t *predicted;     /* of the queries of all problems, one after another: classes of the graph; or NULL */
    const mo_eval_choice *choice; /* [n_plans] */
    bool split;                   /* of a caller's split */

    bool swept;      /* whether this is a row of a sweep; only such rows use the next three fields */
    double value;    /* the regularisation, the same for all problems; NaN outside a sweep */
    double held_nll; /* mean over problems of mo_eval_choice.held_nll; NaN outside a sweep */
    int64_t chosen;  /* problems whose tuning chose `value`; -1: nothing is tuned */
} mo_eval_row;

typedef void (*mo_eval_visit)(const mo_eval_row *row, void *state);

/* Scaling of the rows before a head reads them, by means and spreads of the support alone: NONE; CENTRE: each column
 * minus its mean; STANDARDISE: also divided by its standard deviation (a column that is constant in the support becomes
 * 0); NORMALISE: each row divided by its norm. */
typedef enum mo_scaling {
    MO_SCALING_NONE = 0,
    MO_SCALING_CENTRE,
    MO_SCALING_STANDARDISE,
    MO_SCALING_NORMALISE,
    MO_SCALINGS
} mo_scaling;

/* A candidate: a model, or (without a model) a head on the rows of one hop, or on the rows of a file. */
typedef struct mo_candidate {
    const char *features; /* label: trained | random | x0 | hop | rows */
    mo_model *model;
    mo_transductive transductive; /* anything but OFF needs a model's own readout of nodes or graphs (NEVER: of graphs).
                                   * AUTO chooses ON or OFF in each problem, by its support */
    int hop;
    const mo_head *head;
    double lambda; /* the head's penalty; 0: its own */
    double value;  /* if `fixed`: of the head's regularisation, that is its lambda or else its first share */
    bool fixed;
    uint64_t seed; /* draws the first values of the head's tensors */
    mo_scaling scaling;
    bool dot;    /* links are scored by <z_u, z_v> of node embeddings; only the head's name is used, and k is 0 */
    int encoder; /* models with the same number above 0 share an encoder, whose embeddings are computed once */
} mo_candidate;

/* Evaluates candidates on one source of held-out data, all on the same plans, and visits a row for each k, candidate
 * and metric. A model uses its own head, temperature and lambda; the row names the head. A candidate without a fit at
 * some k (MO_NUMERICAL) gets a row with the reason; the others go on.
 * Held-out rows come from cross-validation of the support: 5 balanced folds (k folds if k < 5), all copies of a row in
 * one fold. The temperature minimises their cross-entropy with Platt's targets; there is none at k = 1. Tuning takes
 * the value with the least cross-entropy of held-out rows at their temperature, or the head's own if no value does
 * better than chance; for a head with mo_head.leave_one_out it holds out one row at a time. For links, protocols
 * `split` and `episode` are the same: the test is 5/7 of the source's positives and as many non-edges, and heads are
 * fitted on the rest. If the source holds out MO_EVAL_LINK_SHARE of the edges, the test is 5/7 * 0.28, a fifth of them.
 * k is 1000 in hits_rank and hits_pooled, and 50 in hits_ogb. */
MO_API mo_code mo_evaluate(mo_context *ctx, const mo_source *source, const mo_candidate *candidates, int n,
    const mo_eval_options *options, mo_eval_visit visit, void *state);

#endif
