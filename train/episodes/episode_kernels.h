/* train/episodes/episode_kernels.h - further experts of an episode of nodes (library internal). */
#ifndef MO_EPISODE_KERNELS_H
#define MO_EPISODE_KERNELS_H

#include "train/inside.h"

/* Adds "kernels" [E, n_s, n_s] and "query kernels" [E, n_q, n_s], float32, of the nodes support and query to the
 * episode's rows, from the source's kernels; nothing where it has none. */
void mo_put_kernels(mo_tape *t, const mo_source *source, const int64_t *support, int64_t n_s, const int64_t *query,
    int64_t n_q, mo_episode *e);

#endif
