/* tools/synthetic.h - episodes of standard normal rows, for commands that need a training step and no graph. */
#ifndef SYNTHETIC_H
#define SYNTHETIC_H

#include "tools/inside.h"

enum { SYNTHETIC_BLOCKS = 4 }; /* hops + 1 */

typedef struct synthetic {
    mo_task task;
    int64_t classes, k, q, nodes; /* nodes: per graph; if mixed, on average */
    bool mixed;                   /* sizes vary between 2 and twice the mean less 2 */
} synthetic;

/* The number of rows of the episode. */
int64_t synthetic_rows(const synthetic *s);
/* An episode that depends on s and dim alone. The caller owns its tensors; on failure the context's error is set, and
 * the caller still releases the episode. */
mo_episode synthetic_episode(mo_context *ctx, const synthetic *s, int dim);
void release_synthetic(mo_episode *e);
/* A float32 tensor of standard normal numbers, determined by the stream; it outlives tapes. */
mo_tensor *synthetic_normal(mo_context *ctx, int ndim, const int64_t *shape, uint64_t stream);
/* The same in float32 or float64. */
mo_tensor *synthetic_normal_of(mo_context *ctx, mo_dtype dtype, int ndim, const int64_t *shape, uint64_t stream);

#endif
