/* tools/cli/synthetic.c - episodes of standard normal rows, for commands that run a training step without a graph. */
#include "tools/cli/synthetic.h"

#include <stdlib.h>

static int64_t synthetic_examples(const synthetic *s) {
    return s->classes * (s->k + s->q);
}

int64_t synthetic_rows(const synthetic *s) {
    return synthetic_examples(s) * (s->task == MO_TASK_GC ? s->nodes : s->task == MO_TASK_LP ? 2 : 1);
}

mo_tensor *synthetic_normal_of(mo_context *ctx, mo_dtype dtype, int ndim, const int64_t *shape, uint64_t stream) {
    mo_tensor *T = mo_tensor_create(ctx, dtype, ndim, shape);
    size_t n = (size_t)mo_numel(T), bytes = n * (dtype == MO_F64 ? sizeof(double) : sizeof(float));
    void *values = malloc(bytes + 1);
    mo_random r = mo_random_at(0, MO_PURPOSE_BENCH, stream);
    if (!values)
        mo_fail(ctx, MO_MEMORY, "synthetic values: out of memory");
    for (size_t i = 0; values && i < n; i++)
        if (dtype == MO_F64)
            ((double *)values)[i] = mo_random_normal(&r);
        else
            ((float *)values)[i] = (float)mo_random_normal(&r);
    if (values)
        mo_tensor_write(T, values, bytes);
    free(values);
    return T;
}

mo_tensor *synthetic_normal(mo_context *ctx, int ndim, const int64_t *shape, uint64_t stream) {
    return synthetic_normal_of(ctx, MO_F32, ndim, shape, stream);
}

/* Returns the n indices at *next as a tensor, and advances *next. */
static mo_tensor *take_indices(mo_context *ctx, int64_t **next, int64_t n) {
    *next += n;
    return mo_tensor_create_from(ctx, MO_I64, 1, &n, *next - n);
}

/* Returns the labels 0 0 0 1 1 1 .., `each` times each class. */
static mo_tensor *make_synthetic_labels(mo_context *ctx, int64_t classes, int64_t each, int64_t *buffer) {
    int64_t n = classes * each;
    for (int64_t i = 0; i < n; i++)
        buffer[i] = i / each;
    return mo_tensor_create_from(ctx, MO_I64, 1, &n, buffer);
}

/* Returns the first row of each graph. Mixed sizes come in pairs c, 2 nodes - c, which sum to 2 nodes as equal sizes
 * do. */
static mo_tensor *make_segment(mo_context *ctx, const synthetic *s, int64_t *buffer) {
    int64_t graphs = synthetic_examples(s), n = graphs + 1;
    mo_random r = mo_random_at(0, MO_PURPOSE_BENCH, 3);
    buffer[0] = 0;
    for (int64_t i = 0, size = 0; i < graphs; i++) {
        if (s->mixed)
            size = i % 2 ? 2 * s->nodes - size : 2 + mo_random_below(&r, 2 * s->nodes - 3);
        buffer[i + 1] = buffer[i] + (s->mixed ? size : s->nodes);
    }
    return mo_tensor_create_from(ctx, MO_I64, 1, &n, buffer);
}

mo_episode synthetic_episode(mo_context *ctx, const synthetic *s, int dim) {
    int64_t ns = s->classes * s->k, nq = s->classes * s->q, rows = synthetic_rows(s);
    int64_t n = s->task == MO_TASK_LP ? rows : ns + nq, *buffer = malloc((size_t)(n + 1) * sizeof *buffer);
    mo_episode e = {.task = s->task, .classes = s->classes, .n_rows = 1};
    if (!buffer) {
        mo_fail(ctx, MO_MEMORY, "synthetic episode: out of memory");
        return e;
    }
    e.rows[0] = (mo_named){"hops", synthetic_normal(ctx, 3, (int64_t[]){SYNTHETIC_BLOCKS, rows, dim}, 0), NULL};
    e.support_label = make_synthetic_labels(ctx, s->classes, s->k, buffer);
    e.query_label = make_synthetic_labels(ctx, s->classes, s->q, buffer);
    if (s->task == MO_TASK_GC)
        e.segment = make_segment(ctx, s, buffer);
    for (int64_t i = 0; i < n; i++)
        buffer[i] = i;
    mo_random r = mo_random_at(0, MO_PURPOSE_BENCH, 1);
    mo_random_shuffle(&r, buffer, n);
    int64_t *next = buffer;
    for (int end = 0; end < 2 && s->task == MO_TASK_LP; end++) { /* else the support's rows come first */
        e.support[end] = take_indices(ctx, &next, ns);
        e.query[end] = take_indices(ctx, &next, nq);
    }
    free(buffer);
    return e;
}

void release_synthetic(mo_episode *e) {
    mo_tensor *owned[] = {e->rows[0].tensor, e->support[0], e->support[1], e->query[0], e->query[1], e->support_label,
        e->query_label, e->segment};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        mo_tensor_release(owned[i]);
}
