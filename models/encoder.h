/* models/encoder.h - encoders: graph code from the rows of an episode to embeddings, and the episode, which holds the
 * data of one few-shot problem. */
#ifndef MO_ENCODER_H
#define MO_ENCODER_H

#include "models/head.h"

/* ---- episode: the data of one few-shot problem, as a model sees them ---- */

typedef enum mo_task { MO_TASK_NC = 0, MO_TASK_LP, MO_TASK_GC, MO_TASKS } mo_task; /* nodes, links, graphs */

enum { MO_MAX_ROWS = 8, MO_MAX_EXPERTS = 32 };

/* A tensor that an episode carries under a name by which an encoder asks for it, such as "hops" [hops + 1, N, d]
 * (hop-major). With an index, int64 [K, N], the tensor [K, n, d] is read as K n rows, and row (k, i) of the episode is
 * row index[k, i] of these K n rows, so that an encoder can gather the episode's rows block by block. */
typedef struct mo_named {
    const char *name;
    mo_tensor *tensor, *index; /* index: NULL if the tensor holds the episode's rows themselves */
} mo_named;

/* Borrowed tensors of one episode. Rows of nodes: one row per node (nc, lp), or the nodes of all graphs (gc); `support`
 * and `query` number nodes or graphs, and a link is two such numbers. Rows of examples ("blocks": [2, hops + 1, n_s +
 * n_q, d]; "spectrum": [2, d]; "extras": [n_s + n_q, p]): the n_s support examples come first, in the order of their
 * labels, then the queries; `support` and `query` are not read. Episodes may also carry "kernels"
 * [E, n_s, n_s] of the support and "query kernels" [E, n_q, n_s] between queries and support. They hold the values of E
 * kernels, each with 1 added for the intercept; each kernel is a further expert of the readout. */
typedef struct mo_episode {
    mo_task task;
    int64_t classes;
    int n_rows;
    mo_named rows[MO_MAX_ROWS];
    mo_tensor *support[2], *query[2];       /* int64 [n_s], [n_q]; lp: both ends; else [1] is NULL. All NULL: the first
                                             * n_s nodes or graphs are the support, the others the queries */
    mo_tensor *support_label, *query_label; /* int64, 0 .. classes-1 */
    mo_tensor *support_weight; /* int64 [n_s]: an example's first row has the number of its copies, its other
                                * rows 0. NULL: no copies */
    mo_tensor *class_weight;   /* float64 [n_s]: weight of each row in a fit, larger in small classes, with mean 1
                                * (mo_class_weight). NULL: 1 each */
    mo_tensor *centres;        /* int64 [m], ascending: the support rows that represent a large support; "kernels" are
                                  then [E, n_s, m]. NULL: all rows */
    mo_tensor *segment;        /* gc: int64 [graphs + 1], first row of each graph; else NULL */
    double assortativity;      /* nc: how much more alike the attributes of neighbours are than the attributes of random
                                * pairs of nodes, in standard deviations over random pairs; 0: not more alike, or
                                * unknown */
    bool inductive;            /* gc: the readout's only experts are the episode's kernels; embeddings are not used */
    int64_t max_rows; /* rows encoded at once; backward encodes each block of rows again. 0: all rows, kept in memory */
    mo_tensor *support_target; /* [n_s, classes]: real targets in place of classes; NULL: support_label says them */
    int columns;               /* for targets: how many of "kernels", the last, are those of columns (mo_support) */
    double kernel_prior;       /* how much more "kernels" are believed before labels are seen, in nats */
} mo_episode;

/* Returns the rows of that name, gathered by their index if any. Raises MO_INVALID with the name if there are none. */
MO_API mo_tensor *mo_episode_rows(mo_tape *t, const mo_episode *e, const char *name);

/* ---- encoder: parameters, and graph code from an episode's rows to embeddings ---- */

#define MO_ENCODER_ABI 5
enum { MO_MAX_ENCODER_PARAMETERS = 36 };
#define MO_ENCODER_DIM (-1)    /* as an axis of a parameter's shape: d, the width of rows of nodes */
#define MO_ENCODER_BLOCKS (-2) /* as an axis of a parameter's shape: l + 1, the number of hops with hop 0 */

/* A tensor that training learns. Its first values are start + U(-spread, spread) / sqrt(fan_in). */
typedef struct mo_encoder_parameter {
    const char *name; /* in weights files "encoder.NAME" */
    double start, spread;
    int ndim; /* 0 to 3 */
    int64_t shape[3];
    int64_t fan_in;       /* 0: the size of the parameter's last axis */
    const double *values; /* all initial values, row-major; NULL: drawn at random */
} mo_encoder_parameter;

/* One call of an encoder: rows first .. first + n - 1 of the `all` rows of an episode. */
typedef struct mo_encoding {
    const struct mo_encoder *encoder;
    mo_tensor *const *parameters; /* in the order of the encoder's table */
    const mo_episode *episode;    /* the task and these n rows, without labels */
    int64_t n, max_rows;          /* max_rows: at most so many rows are encoded at once (mo_in_blocks) */
    int64_t first, all;
    mo_random *r; /* dropout's random position at row 0, or NULL */
} mo_encoding;

/* Returns embeddings Z [n, k], for any k, of the n rows. A row of Z must depend on the same row of the inputs alone.
 * Rows of nodes: "hops" [l + 1, n, d] (mo_episode_rows). Rows of examples: "blocks" [2, l + 1, n, d], "spectrum" [2, d]
 * and "extras" [n, p] (models/invariant.c). If n exceeds max_rows, returns mo_in_blocks. */
typedef mo_tensor *(*mo_encode)(mo_tape *t, const mo_encoding *x);
/* The embeddings of all n rows: calls the encoder for each block of at most max_rows rows, and again in backward
 * (mo_recompute), so that memory holds one block and the results. The order of all sums, forward and backward, depends
 * on the numbers of rows alone. */
MO_API mo_tensor *mo_in_blocks(mo_tape *t, const mo_encoding *x);

/* An encoder is one `const mo_encoder`. The library adds head, temperature, loss, means over graphs, products of links
 * and weights files, so that every head works with every encoder. Several threads may call its functions at once, each
 * with a context of its own. */
typedef struct mo_encoder {
    int abi;          /* MO_ENCODER_ABI */
    size_t size;      /* sizeof(mo_encoder) of the program that made it */
    const char *name; /* names the encoder, also in weights files */
    bool of_examples; /* reads rows of examples; false: rows of nodes */
    int n_parameters;
    const mo_encoder_parameter *parameters;
    mo_encode encode;
    /* The fields below are 0 for most encoders. */
    bool reads_first; /* mo_encoding.parameters lists the parameters' first values after the parameters */
    /* The encoder's options, which weights files keep, and the table of their members (tensor/files/fields.h). NULL:
     * "hops" and "dim". */
    const struct mo_field *fields;
    const void *options;
    void *state;
    /* Called with `state` when a model of the encoder is released, or when making one from a valid encoder fails. NULL:
     * no call. */
    void (*release)(void *state);
} mo_encoder;

/* The encoder that the shared object at path exports as `const mo_encoder mo_encoder_plugin`. A path without a slash is
 * a file in the current folder. The object stays loaded. Returns NULL on failure; the status names the file. */
MO_API const mo_encoder *mo_load_encoder(mo_context *ctx, const char *path);
/* Checks an encoder on drawn rows in float64: the gradients to its parameters (to 1e-6 at order 1, 1e-5 at order 2),
 * and that rows encoded in blocks equal rows encoded at once. */
MO_API mo_check_result mo_check_encoder(mo_context *ctx, const mo_encoder *encoder, int order, uint64_t seed);

#endif
