/* models/encoder.h - encoders: graph code from the rows of an episode to embeddings, and what a model sees of one
 * few-shot problem. */
#ifndef MO_ENCODER_H
#define MO_ENCODER_H

#include "models/head.h"

/* ---- episode: what a model sees of one few-shot problem ---- */

typedef enum mo_task { MO_TASK_NC = 0, MO_TASK_LP, MO_TASK_GC, MO_TASKS } mo_task; /* nodes, links, graphs */

enum { MO_MAX_ROWS = 8, MO_MAX_EXPERTS = 32 };

/* A tensor that an episode carries by name; an encoder asks for the tensors it reads ("hops": [hops + 1, N, d],
 * hop-major). With an index, int64 [K, N], the tensor is [K, n, d], read as K n rows, and the episode's row (k, i) is
 * row index[k, i] of them: an encoder can then gather a part of the episode's rows at a time. */
typedef struct mo_named {
    const char *name;
    mo_tensor *tensor, *index; /* index: NULL if the tensor holds the episode's rows themselves */
} mo_named;

/* Borrowed tensors of one episode. Rows of nodes: the rows are nodes (nc, lp) or all nodes of each graph (gc), indices
 * count nodes or graphs, and a link has two ends. Rows of examples ("blocks": [2, hops + 1, n_s + n_q, d]; "spectrum":
 * [2, d]; "extras": [n_s + n_q, p]): the n_s support examples come first, in the order of their labels, then the
 * queries; there are no indices. Nodes and graphs may also have "kernels" [E, n_s, n_s], kernels 1 + k of the support,
 * and "query kernels" [E, n_q, n_s], between the queries and the support, which a readout takes as further experts. */
typedef struct mo_episode {
    mo_task task;
    int64_t classes;
    int n_rows;
    mo_named rows[MO_MAX_ROWS];
    mo_tensor *support[2], *query[2];       /* int64 [n_s], [n_q]; the second ends only for lp, else NULL */
    mo_tensor *support_label, *query_label; /* int64, 0 .. classes-1 */
    mo_tensor *support_weight; /* int64 [n_s]: at the first row of an example, how often the support has the example; 0
                                * at its copies. NULL: no copies */
    mo_tensor *class_weight;   /* float64 [n_s]: the weight of a row in fits, larger if its class has few rows, 1 on
                                * average (mo_class_weight). NULL: 1 each */
    mo_tensor *centres;        /* int64 [m], in rising order: support rows that stand for a large support; the second
                                  size of kernels is then m. NULL: all rows */
    mo_tensor *segment;        /* gc: int64 [graphs + 1], first row of each graph; else NULL */
    double assortativity;      /* nc: how much more alike neighbours' attributes are than those of two random nodes, in
                                * standard deviations of the latter; 0: no more, or unknown */
    bool inductive;            /* gc: the readout's only experts are the episode's kernels; embeddings are not used */
    int64_t max_rows; /* rows encoded at once; backward encodes them again. 0: all rows at once, kept in memory */
} mo_episode;

/* The rows of that name, gathered if they have an index. Raises MO_INVALID with the name if the episode has none. */
MO_API mo_tensor *mo_episode_rows(mo_tape *t, const mo_episode *e, const char *name);

/* ---- encoder: parameters, and graph code from an episode's rows to embeddings ---- */

#define MO_ENCODER_ABI 4
enum {
    MO_MAX_ENCODER_PARAMETERS = 36,
    MO_MAX_ENCODER_SETTINGS = 16,
    MO_MAX_SETTINGS = MO_MAX_ENCODER_SETTINGS + 8 /* with the readout's */
};
#define MO_ENCODER_DIM (-1)    /* in the shape of a parameter: d, the width of rows of nodes */
#define MO_ENCODER_BLOCKS (-2) /* l + 1, the hops and the rows themselves */

/* A tensor that training learns, at first start + U(-spread, spread) / sqrt(fan_in). */
typedef struct mo_encoder_parameter {
    const char *name; /* in weights files "encoder.NAME" */
    double start, spread;
    int ndim; /* 0 to 3 */
    int64_t shape[3];
    int64_t fan_in;       /* 0: its last size */
    const double *values; /* all first values, row-major; NULL: drawn, as above */
} mo_encoder_parameter;

/* One setting, as weights files keep it: a word, or a number if word is NULL. */
typedef struct mo_setting {
    const char *key, *word;
    double number;
} mo_setting;

/* Returns embeddings Z [n, k], for any k, of the n rows that the episode carries by name; a row of Z depends on its own
 * rows alone, so that they can be encoded in blocks. Rows of nodes: "hops" [l + 1, n, d] (mo_episode_rows). Rows of
 * examples: "blocks" [2, l + 1, n, d], "spectrum" [2, d] and "extras" [n, p] (models/invariant.c). The episode holds no
 * labels. parameters: in the order of the table. */
typedef mo_tensor *(*mo_encode)(mo_tape *t, mo_tensor *const *parameters, const mo_episode *e);

/* An encoder is one `const mo_encoder`. Head, temperature, loss, blocks of rows, means over graphs, products of links
 * and weights files come from the library, so that every head works with it. Several threads may call its functions at
 * once, each with a context of its own. */
typedef struct mo_encoder {
    int abi;          /* MO_ENCODER_ABI */
    size_t size;      /* sizeof(mo_encoder) of the program that made it */
    const char *name; /* the kind of its weights */
    bool of_examples; /* reads rows of examples; else of nodes */
    int n_parameters;
    const mo_encoder_parameter *parameters;
    mo_encode encode; /* NULL: whole */
    /* The rest is 0 for most encoders. whole: encodes all of an episode -> [n, k], for an encoder that itself handles
     * blocks of e->max_rows rows and means over graphs. r: dropout's random position, or NULL. */
    mo_tensor *(*whole)(
        mo_tape *t, const struct mo_encoder *encoder, mo_tensor *const *parameters, const mo_episode *e, mo_random *r);
    bool reads_first; /* `whole` gets the first values of its parameters after the parameters */
    /* Returns the number of settings. NULL: "hops" and "dim". */
    int (*settings)(const struct mo_encoder *encoder, mo_setting list[MO_MAX_ENCODER_SETTINGS]);
    void *state;
    /* Called with the state when a model of the encoder is released, or cannot be made although the encoder is valid;
     * or NULL. */
    void (*release)(void *state);
} mo_encoder;

/* The encoder that a shared object exports as `const mo_encoder mo_encoder_plugin`; path: with a slash, or a name that
 * the loader finds. The object stays loaded. Returns NULL on failure; the status names the file. */
MO_API const mo_encoder *mo_load_encoder(mo_context *ctx, const char *path);
/* Checks an encoder on drawn rows in float64: the gradients to its parameters, to 1e-6 at order 1 and 1e-5 at order 2;
 * and that rows encoded in blocks equal rows encoded at once. */
MO_API mo_check_result mo_check_encoder(mo_context *ctx, const mo_encoder *encoder, int order, uint64_t seed);

#endif
