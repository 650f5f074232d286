/* train/evaluation/eval_link_rows.c - rows of links for an evaluation: the head's support and its queries.
 *
 * The source's rows come from the graph without any held-out link. Test links can use a larger graph: all edges except
 * the test links. The rows of test pairs are computed from it and appended to the source's rows. All columns are
 * standardised by the rows that heads are fitted on, so no statistic of the test part enters. */
#include "tensor/library.h"
#include "train/evaluation/evaluation.h"
#include "train/features/pairs/pair_columns.h"
#include "train/graphs/graph_build.h"

#include <stdlib.h>
#include <string.h>

/* Makes *seen: the test pairs as links, and as `masked` the graph without the test links. */
static bool list_test(const mo_source *s, const mo_link_test *test, mo_links *seen) {
    mo_context *ctx = s->graph->ctx;
    *seen = (mo_links){.n_positive = test->n_positive, .n_negative = test->n_negative};
    for (int side = 0; side < 2; side++) {
        seen->positive[side] = mo_host_array(ctx, seen->n_positive, sizeof(int64_t));
        seen->negative[side] = mo_host_array(ctx, seen->n_negative, sizeof(int64_t));
        if (!seen->positive[side] || !seen->negative[side])
            return false;
        for (int64_t i = 0; i < seen->n_positive; i++)
            seen->positive[side][i] = s->links->positive[side][test->positive[i]];
        for (int64_t i = 0; i < seen->n_negative; i++)
            seen->negative[side][i] = s->links->negative[side][test->negative[i]];
    }
    seen->masked = mo_graph_without(s->graph, seen->positive, seen->n_positive);
    return seen->masked != NULL;
}

/* Copies rows [outer, n, w], with their standardisation undone, to x [outer, room, w] from row `at` on. */
static bool put_raw(const mo_features *f, const mo_pair_part *part, mo_rows all, int64_t at) {
    mo_tensor *rows = mo_arrays_find(f->arrays, part->name);
    int64_t n = mo_dim(rows, -2);
    float *x = mo_host_values(rows, MO_F32), *m = mo_host_values(mo_arrays_find(f->arrays, part->moments), MO_F32);
    bool read = x && m;
    for (int64_t o = 0; read && o < all.outer; o++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < all.w; j++)
                all.x[(o * all.n + at + i) * all.w + j] =
                    x[(o * n + i) * all.w + j] * m[(all.outer + o) * all.w + j] + m[o * all.w + j];
    free(x);
    free(m);
    return read;
}

/* Concatenates one part of `own` and `asked` along the rows, and standardises it by the rows test->reference. */
static void join_link_rows(mo_features *out, const mo_features *own, const mo_features *asked, const mo_pair_part *part,
    const mo_link_test *test) {
    mo_context *ctx = out->arrays->ctx;
    const mo_tensor *first = mo_arrays_find(own->arrays, part->name);
    int64_t shape[4], n = mo_dim(first, -2), w = mo_dim(first, -1);
    int ndim = mo_ndim(first);
    for (int i = 0; i < ndim; i++)
        shape[i] = mo_dim(first, i);
    shape[ndim - 2] += mo_dim(mo_arrays_find(asked->arrays, part->name), -2);
    mo_rows all = {.outer = mo_numel(first) / (n * w), .n = shape[ndim - 2], .w = w};
    all.x = mo_host_array(ctx, all.outer * all.n * w, sizeof *all.x);
    mo_tensor *rows = mo_own_array(out, part->name, ndim, shape);
    if (mo_ok(ctx) && put_raw(own, part, all, 0) && put_raw(asked, part, all, n)) {
        mo_standardize(all, test->reference, test->n_reference, part->epsilon, NULL);
        mo_tensor_write(rows, all.x, (size_t)(all.outer * all.n * w) * sizeof *all.x);
    }
    free(all.x);
}

/* Copies between tensors of any two contexts. */
static void copy_between(mo_tensor *to, const mo_tensor *from) {
    float *x = mo_ok(mo_tensor_context(to)) ? mo_host_values(from, MO_F32) : NULL;
    if (x)
        mo_tensor_write(to, x, (size_t)mo_numel(from) * sizeof *x);
    free(x);
}

mo_features *mo_link_test_features(const mo_source *s, const mo_link_test *test) {
    mo_context *ctx = s->graph->ctx;
    const mo_features *own = s->features;
    mo_feature_options o = {.form = MO_ROWS_PER_EXAMPLE,
        .dim = own->dim,
        .hops = own->hops,
        .power_iterations = own->power_iterations,
        .seed = own->seed};
    mo_links seen;
    bool listed = list_test(s, test, &seen);
    mo_features *asked = listed ? mo_task_features_open(seen.masked, MO_TASK_LP, &seen, &o) : NULL;
    mo_features *all = asked ? mo_host_array(ctx, 1, sizeof *all) : NULL;
    if (all) {
        *all = *own;
        all->arrays = mo_arrays_create(ctx);
        const mo_tensor *l = mo_arrays_find(own->arrays, "spectrum");
        if (all->arrays)
            copy_between(mo_own_array(all, "spectrum", 2, (int64_t[]){MO_BLOCKS, mo_dim(l, 1)}), l);
        for (int i = 0; i < MO_PAIR_PARTS && all->arrays; i++)
            join_link_rows(all, own, asked, &mo_pair_parts[i], test);
    }
    mo_features_release(asked);
    for (int side = 0; side < 2; side++) {
        free(seen.positive[side]);
        free(seen.negative[side]);
    }
    mo_graph_release(seen.masked);
    if (mo_ok(ctx))
        return all;
    mo_features_release(all);
    return NULL;
}
