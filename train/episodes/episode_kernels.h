/* train/episodes/episode_kernels.h - the centres of a large support, and the kernels of an episode of nodes or graphs
 * (library internal). */
#ifndef MO_EPISODE_KERNELS_H
#define MO_EPISODE_KERNELS_H

#include "train/inside.h"

/* The most support rows for which a mixture of kernels solves the full system; a larger support is represented by this
 * number of its rows, the centres. */
enum { MO_MOST_CENTRES = 1024 };

/* Chooses the centres of a support of more than MO_MOST_CENTRES rows: where possible the same number in each class,
 * spread evenly over the class's distinct examples. Writes their positions, ascending, to at[MO_MOST_CENTRES] and
 * returns their number; 0 if the support has no more rows than that, and on failure. */
int64_t mo_choose_centres(
    mo_context *ctx, const int64_t *id, const int64_t *label, int64_t n, int64_t classes, int64_t *at);

/* The examples of an episode. reference: the support examples (all, or the centres) with which kernels compare support
 * and queries. */
typedef struct mo_kernel_examples {
    const int64_t *support, *query, *reference;
    int64_t n_s, n_q, n_reference;
} mo_kernel_examples;

/* Adds the kernels "kernels" [E, n_s, n_reference] or "query kernels" [E, n_q, n_reference] (float32, from the source;
 * for real targets also "query diagonal" [E, n_q])
 * of these examples to the episode's rows, or nothing if the source has no kernels. Both functions set the episode's
 * `inductive`, and mo_put_kernels its assortativity. */
void mo_put_kernels(mo_tape *t, const mo_source *source, const mo_kernel_examples *of, mo_episode *e);
void mo_put_query_kernels(mo_tape *t, const mo_source *source, const mo_kernel_examples *of, mo_episode *e);
/* The centres of a plan's support, as in mo_episode; NULL if the support needs none. */
mo_tensor *mo_plan_centres(mo_tape *t, const mo_plan *plan);
/* Adds to the episode what a readout of nodes or graphs reads besides embeddings: centres, "kernels", and "query
 * kernels" for these n_q queries. */
void mo_put_plan_kernels(
    mo_tape *t, const mo_source *source, const mo_plan *plan, const int64_t *query, int64_t n_q, mo_episode *e);

#endif
