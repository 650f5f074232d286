/* models/encoder.h - encoders outside the library: parameters, and graph code from an episode's rows to embeddings.
 *
 * An encoder is one `const mo_encoder`. Head, temperature, loss, blocks of rows, means over graphs, products of links
 * and weights files come from the library, so that any head reads it. Several threads may be in its function at once,
 * each with a context of its own. */
#ifndef MO_ENCODER_H
#define MO_ENCODER_H

#include "models/inside.h"

#define MO_ENCODER_ABI 2
#define MO_MAX_ENCODER_PARAMETERS 32
#define MO_ENCODER_DIM (-1)    /* in the shape of a parameter: d, the width of rows of nodes */
#define MO_ENCODER_BLOCKS (-2) /* l + 1, the hops and the rows themselves */

/* A tensor that training learns, at first start + U(-spread, spread) / sqrt(its last size). */
typedef struct mo_encoder_parameter {
    const char *name; /* in weights files "encoder.NAME" */
    double start, spread;
    int ndim; /* 0 to 3 */
    int64_t shape[3];
} mo_encoder_parameter;

/* Embeddings Z [n, k] of the n rows that the episode carries by name, k at will; a row of Z depends on its own rows
 * alone, so that they can be encoded in blocks. Rows of nodes: "hops" [l + 1, n, d] (mo_episode_rows). Rows of
 * examples: "blocks" [2, l + 1, n, d], "spectrum" [2, d] and "extras" [n, p] (models/invariant.c). The episode holds no
 * labels. parameters: in the order of the table. */
typedef mo_tensor *(*mo_encode)(mo_tape *t, mo_tensor *const *parameters, const mo_episode *e);

typedef struct mo_encoder {
    int abi;          /* MO_ENCODER_ABI */
    size_t size;      /* sizeof(mo_encoder) of the program that made it */
    const char *name; /* the kind of its weights */
    bool of_examples; /* reads rows of examples; else of nodes */
    int n_parameters;
    const mo_encoder_parameter *parameters;
    mo_encode encode;
} mo_encoder;

/* Returns whether the encoder was built for this library and is complete; if not, raises MO_INVALID with the field. */
MO_API bool mo_encoder_validate(mo_context *ctx, const mo_encoder *encoder);
/* The encoder that a shared object exports as `const mo_encoder mo_encoder_plugin`; path: with a slash, or a name that
 * the loader finds. The object stays loaded. Returns NULL on failure; the status names the file. */
MO_API const mo_encoder *mo_load_encoder(mo_context *ctx, const char *path);

/* What rows it is made for: l and d. */
typedef struct mo_encoder_rows {
    int hops, dim;
} mo_encoder_rows;
/* The encoder under a head, as a model of its name; its first parameters are drawn from the seed. A model without a
 * table on failure. */
MO_API mo_model mo_encoder_create(mo_context *ctx, mo_dtype real, const mo_encoder *encoder, mo_encoder_rows rows,
    const mo_readout_options *readout, uint64_t seed);

/* Checks an encoder on drawn rows in float64: the gradients to its parameters, to 1e-6 at order 1 and 1e-5 at order 2;
 * and that rows encoded in blocks are those encoded at once. */
MO_API mo_check_result mo_check_encoder(mo_context *ctx, const mo_encoder *encoder, int order, uint64_t seed);

#endif
