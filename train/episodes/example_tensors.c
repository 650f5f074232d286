/* train/episodes/example_tensors.c - rows of the examples of one episode, as tensors of its tape. */
#include "autograd/tape.h"
#include "ops/inside.h"
#include "train/episodes/episode_rows.h"
#include "train/features/example_rows.h"

/* The rows `example` of a features tensor [.., E, w], in that order: [.., n, w]. */
static mo_tensor *gather_examples(
    mo_tape *t, mo_tensor *X, const int64_t *example, int64_t n, const mo_fetched *fetched) {
    int64_t E = mo_dim(X, -2), w = mo_dim(X, -1), outer = 1, shape[MO_MAX_AXES];
    if (mo_ok(t->ctx) && !mo_rows_resident(t->ctx, X))
        return mo_fetch_episode_rows(t, X, example, n, fetched);
    for (int i = 0; i < mo_ndim(X); i++)
        shape[i] = mo_dim(X, i);
    shape[mo_ndim(X) - 2] = n;
    for (int i = 0; i < mo_ndim(X) - 2; i++)
        outer *= shape[i];
    int64_t *row = mo_tape_scratch(t, outer * n, sizeof *row);
    if (!row)
        return mo_null_tensor(t->ctx);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < n; i++)
            row[o * n + i] = o * E + example[i];
    mo_tensor *index = mo_from(t, MO_I64, 1, (int64_t[]){outer * n}, row);
    return mo_reshape(t, mo_gather_rows(t, mo_reshape(t, X, 2, (int64_t[]){outer * E, w}), index), mo_ndim(X), shape);
}

/* Tensors that exist for some tasks only, besides "blocks", "spectrum" and "extras". */
const mo_part_row mo_part_rows[] = {{"statistics", 0}, {"subtrees", 0}, {"waves", 0}, {"walks", MO_EXTRAS_LIMIT},
    {"matches", MO_EXTRAS_LIMIT}, {NULL, 0}};

void mo_example_tensors(
    mo_tape *t, const mo_source *source, const int64_t *example, int64_t n, const mo_fetched *fetched, mo_episode *e) {
    const mo_arrays *arrays = source->features->arrays;
    mo_tensor *mixed = mo_arrays_find(arrays, "mixed"), *blocks = mixed ? mixed : mo_arrays_find(arrays, "blocks"),
              *spectrum = mo_arrays_find(arrays, "spectrum"), *extras = mo_arrays_find(arrays, "extras");
    if (!blocks || !spectrum || !extras) {
        mo_fail(t->ctx, MO_INVALID, "episode: the features of %s have no \"blocks\"", source->graph->name);
        return;
    }
    mo_tensor *H = gather_examples(t, blocks, example, n, fetched);
    if (source->task == MO_TASK_LP)
        H = mo_clamp(t, H, -MO_BLOCK_LIMIT, MO_BLOCK_LIMIT);
    mo_tensor *x = mo_clamp(t, gather_examples(t, extras, example, n, fetched), -MO_EXTRAS_LIMIT, MO_EXTRAS_LIMIT);
    int64_t hops = mixed ? mo_dim(H, 1) - 1 : source->features->hops + 1; /* the last of the mixed rows is a hop */
    if (spectrum->ctx != t->ctx)
        spectrum = mo_fetch_range(t, spectrum, 0, 0, mo_dim(spectrum, 0));
    e->n_rows = 3;
    e->rows[0] = (mo_named){mixed ? "mixed" : "blocks", mo_slice(t, H, MO_AXIS(1), 0, hops), NULL};
    e->rows[1] = (mo_named){"spectrum", spectrum, NULL};
    e->rows[2] = (mo_named){"extras", x, NULL};
    if (mo_ok(t->ctx) && !mixed && mo_dim(H, 1) > hops)
        e->rows[e->n_rows++] = (mo_named){"diffused", mo_slice(t, H, MO_AXIS(1), hops, mo_dim(H, 1)), NULL};
    for (int i = 0; mo_part_rows[i].name; i++) {
        mo_tensor *X = mo_arrays_find(arrays, mo_part_rows[i].name);
        double most = mo_part_rows[i].limit;
        if (!X)
            continue;
        X = gather_examples(t, X, example, n, fetched);
        e->rows[e->n_rows++] = (mo_named){mo_part_rows[i].name, most > 0 ? mo_clamp(t, X, -most, most) : X, NULL};
    }
}
