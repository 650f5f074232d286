/* train/episodes/episode_kernels.h - further experts of an episode of nodes (library internal). */
#ifndef MO_EPISODE_KERNELS_H
#define MO_EPISODE_KERNELS_H

#include "train/inside.h"

/* Nodes of the support and others. */
typedef struct mo_kernel_nodes {
    const int64_t *support, *query;
    int64_t n_s, n_q;
} mo_kernel_nodes;

/* Adds "kernels" [E, n_s, n_s] or "query kernels" [E, n_q, n_s], float32, of these nodes to the episode's rows, from
 * the source's kernels; nothing where it has none. */
void mo_put_kernels(mo_tape *t, const mo_source *source, const mo_kernel_nodes *nodes, mo_episode *e);
void mo_put_query_kernels(mo_tape *t, const mo_source *source, const mo_kernel_nodes *nodes, mo_episode *e);

#endif
