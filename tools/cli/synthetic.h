/* tools/cli/synthetic.h - episodes of standard normal rows, for commands that run a training step without a graph. */
#ifndef SYNTHETIC_H
#define SYNTHETIC_H

#include "tools/inside.h"

enum { SYNTHETIC_BLOCKS = 4 }; /* blocks of columns, one per hop: 3 hops + 1 */

typedef struct synthetic {
    mo_task task;
    int64_t classes, k, q, nodes; /* nodes: of each graph or, if mixed, on average */
    bool mixed;                   /* graphs have from 2 to 2 nodes - 2 nodes */
} synthetic;

/* The number of rows of the episode. */
int64_t synthetic_rows(const synthetic *s);
/* Returns an episode determined by s and dim. The caller releases it by release_synthetic, also after a failure, whose
 * error the context has. */
mo_episode synthetic_episode(mo_context *ctx, const synthetic *s, int dim);
void release_synthetic(mo_episode *e);
/* Returns a float32 tensor of standard normal numbers, determined by `stream`; it outlives tapes. */
mo_tensor *synthetic_normal(mo_context *ctx, int ndim, const int64_t *shape, uint64_t stream);
/* As synthetic_normal, in float32 or float64. */
mo_tensor *synthetic_normal_of(mo_context *ctx, mo_dtype dtype, int ndim, const int64_t *shape, uint64_t stream);

#endif
