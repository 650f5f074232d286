/* train/episodes/episode_kernels.h - the rows that stand for a large support, and the further experts of an episode of
 * nodes or graphs (library internal). */
#ifndef MO_EPISODE_KERNELS_H
#define MO_EPISODE_KERNELS_H

#include "train/inside.h"

/* Support rows that a mixture of kernels reads with a system of their own; of more, as many stand for all. */
enum { MO_MOST_CENTRES = 1024 };

/* The rows that stand for a support of more than MO_MOST_CENTRES rows: as many of each class as of the others, while it
 * has them, spread evenly over its distinct examples. Writes their positions, in rising order, to at[MO_MOST_CENTRES]
 * and returns their number; 0 where all rows stand for themselves, and on failure. */
int64_t mo_choose_centres(
    mo_context *ctx, const int64_t *id, const int64_t *label, int64_t n, int64_t classes, int64_t *at);

/* The examples of an episode; n_reference of the support, all of it or the centres, that others are compared with. */
typedef struct mo_kernel_examples {
    const int64_t *support, *query, *reference;
    int64_t n_s, n_q, n_reference;
} mo_kernel_examples;

/* Adds "kernels" [E, n_s, n_reference] or "query kernels" [E, n_q, n_reference], float32, of these examples to the
 * episode's rows, from the source's kernels, and to the first the graph's assortativity; nothing where it has none. */
void mo_put_kernels(mo_tape *t, const mo_source *source, const mo_kernel_examples *of, mo_episode *e);
void mo_put_query_kernels(mo_tape *t, const mo_source *source, const mo_kernel_examples *of, mo_episode *e);
/* The centres of a plan's support, as mo_episode has them; NULL where all rows stand for themselves. */
mo_tensor *mo_plan_centres(mo_tape *t, const mo_plan *plan);
/* What a readout of nodes or graphs reads of a plan beside embeddings: its centres, and both kernels, of these n_q
 * queries. */
void mo_put_plan_kernels(
    mo_tape *t, const mo_source *source, const mo_plan *plan, const int64_t *query, int64_t n_q, mo_episode *e);

#endif
