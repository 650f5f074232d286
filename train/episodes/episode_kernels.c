/* train/episodes/episode_kernels.c - the kernels between the nodes of an episode, as tensors of its tape: those of the
 * support with itself and with the queries, and no others, so that an episode costs as much on any graph. */
#include "train/episodes/episode_kernels.h"

#include "autograd/tape.h"
#include "train/episodes/episode_rows.h"
#include "train/features/nodes/kernels.h"

static void put_kernels_between(mo_tape *t, const mo_source *source, const char *name, const int64_t *a, int64_t n_a,
    const mo_kernel_nodes *nodes, mo_episode *e) {
    int64_t n_s = nodes->n_s, shape[] = {mo_node_kernels_count(source->kernels), n_a, n_s};
    float *K = mo_ok(t->ctx) ? mo_tape_scratch(t, shape[0] * n_a * n_s, sizeof *K) : NULL;
    if (K && mo_node_kernels_gram(source->kernels, a, n_a, nodes->support, n_s, K) == MO_OK)
        e->rows[e->n_rows++] = (mo_named){name, mo_from(t, MO_F32, 3, shape, K), NULL};
}

static bool has_kernels(const mo_source *source) {
    return source->kernels && mo_node_kernels_count(source->kernels) > 0;
}

void mo_put_kernels(mo_tape *t, const mo_source *source, const mo_kernel_nodes *nodes, mo_episode *e) {
    if (has_kernels(source))
        put_kernels_between(t, source, "kernels", nodes->support, nodes->n_s, nodes, e);
}

void mo_put_query_kernels(mo_tape *t, const mo_source *source, const mo_kernel_nodes *nodes, mo_episode *e) {
    if (has_kernels(source))
        put_kernels_between(t, source, "query kernels", nodes->query, nodes->n_q, nodes, e);
}
