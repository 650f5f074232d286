/* tools/bench/synthetic.h - episodes of standard normal rows, for what needs a training step and no graph. */
#ifndef SYNTHETIC_H
#define SYNTHETIC_H

#include "tools/inside.h"

enum { SYNTHETIC_BLOCKS = 4 }; /* hops + 1 */

typedef struct synthetic {
    mo_task task;
    int64_t classes, k, q, nodes; /* nodes of a graph; mixed: in the mean */
    bool mixed;                   /* sizes vary between 2 and twice the mean less 2 */
} synthetic;

int64_t synthetic_examples(const synthetic *s);
/* The rows that they stand on. */
int64_t synthetic_rows(const synthetic *s);
/* A function of s and dim alone. Its tensors are owned; on failure the context's error is set, and what was made is
 * still to be released. */
mo_episode synthetic_episode(mo_context *ctx, const synthetic *s, int dim);
void release_synthetic(mo_episode *e);
/* Standard normal numbers, a function of the stream; a float32 tensor that outlives tapes. */
mo_tensor *synthetic_normal(mo_context *ctx, int ndim, const int64_t *shape, uint64_t stream);

#endif
