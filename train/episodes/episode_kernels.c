/* train/episodes/episode_kernels.c - the kernels between the nodes of an episode, as tensors of its tape: those of the
 * support with itself and with the queries, and no others, so that an episode costs as much on any graph. */
#include "train/episodes/episode_kernels.h"

#include "autograd/tape.h"
#include "train/episodes/episode_rows.h"
#include "train/features/nodes/kernels.h"

/* The kernels [E, n_a, n_b] between two lists of nodes. */
static mo_tensor *kernels_between(
    mo_tape *t, mo_node_kernels *k, const int64_t *a, int64_t n_a, const int64_t *b, int64_t n_b) {
    int64_t shape[] = {mo_node_kernels_count(k), n_a, n_b};
    float *K = mo_tape_scratch(t, shape[0] * n_a * n_b, sizeof *K);
    if (!K || mo_node_kernels_gram(k, a, n_a, b, n_b, K) != MO_OK)
        return mo_null_tensor(t->ctx);
    return mo_from(t, MO_F32, 3, shape, K);
}

void mo_put_kernels(mo_tape *t, const mo_source *source, const int64_t *support, int64_t n_s, const int64_t *query,
    int64_t n_q, mo_episode *e) {
    mo_node_kernels *k = source->kernels;
    if (!k || !mo_node_kernels_count(k) || !mo_ok(t->ctx))
        return;
    e->rows[e->n_rows++] = (mo_named){"kernels", kernels_between(t, k, support, n_s, support, n_s), NULL};
    e->rows[e->n_rows++] = (mo_named){"query kernels", kernels_between(t, k, query, n_q, support, n_s), NULL};
}
