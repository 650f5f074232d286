/* train/episodes/episode_kernels.h - the centres of a large support, and the kernels of an episode of nodes or graphs
 * (library internal). */
#ifndef MO_EPISODE_KERNELS_H
#define MO_EPISODE_KERNELS_H

#include "train/inside.h"

/* Most support rows for which a mixture of kernels solves the full system; of more rows, this many centres stand for
 * all. */
enum { MO_MOST_CENTRES = 1024 };

/* Chooses the centres, the rows that stand for a support of more than MO_MOST_CENTRES rows: equally many per class, as
 * far as it has them, spread evenly over its distinct examples. Writes their positions, in rising order, to
 * at[MO_MOST_CENTRES] and returns their number; 0 if every row stands for itself, and on failure. */
int64_t mo_choose_centres(
    mo_context *ctx, const int64_t *id, const int64_t *label, int64_t n, int64_t classes, int64_t *at);

/* The examples of an episode; n_reference: those of the support (all, or the centres) that the others are compared
 * with. */
typedef struct mo_kernel_examples {
    const int64_t *support, *query, *reference;
    int64_t n_s, n_q, n_reference;
} mo_kernel_examples;

/* Adds the kernels "kernels" [E, n_s, n_reference] or "query kernels" [E, n_q, n_reference] (float32, from the source)
 * of these examples to the episode's rows; with the first also the graph's assortativity. Adds nothing if the source
 * has no kernels. */
void mo_put_kernels(mo_tape *t, const mo_source *source, const mo_kernel_examples *of, mo_episode *e);
void mo_put_query_kernels(mo_tape *t, const mo_source *source, const mo_kernel_examples *of, mo_episode *e);
/* The centres of a plan's support, as in mo_episode; NULL if every row stands for itself. */
mo_tensor *mo_plan_centres(mo_tape *t, const mo_plan *plan);
/* Adds to the episode what a readout of nodes or graphs reads beside embeddings: centres, and both kernels, for these
 * n_q queries. */
void mo_put_plan_kernels(
    mo_tape *t, const mo_source *source, const mo_plan *plan, const int64_t *query, int64_t n_q, mo_episode *e);

#endif
