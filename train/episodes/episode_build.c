/* train/episodes/episode_build.c - turns a plan (which examples) into a list of feature rows, and these into an episode
 * (tensors on a tape).
 *
 * Only the plan's rows are read. Rows of nodes: each node once, in rising order; for graphs, all nodes of each graph,
 * one graph after another. The episode's indices number these rows or graphs. Rows of examples: the support's, then the
 * queries'. Of features of the tape's context, in memory or in a file, the encoder gathers the rows of nodes itself. */
#include "autograd/tape.h"
#include "ops/inside.h"
#include "train/episodes/episode_kernels.h"
#include "train/episodes/episode_rows.h"
#include "train/episodes/plan_members.h"
#include "train/features/example_rows.h"
#include "train/features/pairs/pair_columns.h"

#include <inttypes.h>
#include <string.h>

/* ---- rows of examples, as tensors of the tape ---- */

/* Tensors that exist for some tasks only, besides "blocks", "spectrum" and "extras". */
const mo_part_row mo_part_rows[] = {{"statistics", 0}, {"subtrees", 0}, {"waves", 0}, {"walks", MO_EXTRAS_LIMIT},
    {"matches", MO_EXTRAS_LIMIT}, {NULL, 0}};

void mo_example_tensors(
    mo_tape *t, const mo_source *source, const int64_t *example, int64_t n, const mo_ready_rows *ready, mo_episode *e) {
    const mo_arrays *arrays = source->features->arrays;
    mo_tensor *mixed = mo_arrays_find(arrays, "mixed"), *blocks = mixed ? mixed : mo_arrays_find(arrays, "blocks"),
              *spectrum = mo_arrays_find(arrays, "spectrum"), *extras = mo_arrays_find(arrays, "extras");
    if (!blocks || !spectrum || !extras) {
        mo_fail(t->ctx, MO_INVALID, "episode: the features of %s have no \"blocks\"", source->graph->name);
        return;
    }
    mo_tensor *H = mo_gather_listed(t, blocks, example, n, ready);
    if (mixed) /* only kernels read the last sum */
        H = mo_whole_blocks(
            t, mo_slice(t, H, MO_AXIS(0), 0, mo_dim(H, 0) - 1), mo_arrays_find(arrays, "columns"), mo_dim(spectrum, 1));
    if (source->task == MO_TASK_LP)
        H = mo_clamp(t, H, -MO_BLOCK_LIMIT, MO_BLOCK_LIMIT);
    mo_tensor *x = mo_clamp(t, mo_gather_listed(t, extras, example, n, ready), -MO_EXTRAS_LIMIT, MO_EXTRAS_LIMIT);
    int64_t hops = mixed ? mo_dim(H, 1) : source->features->hops + 1;
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
        X = mo_gather_listed(t, X, example, n, ready);
        e->rows[e->n_rows++] = (mo_named){mo_part_rows[i].name, most > 0 ? mo_clamp(t, X, -most, most) : X, NULL};
    }
}

/* ---- plans ---- */

static void *episode_scratch(mo_context *ctx, mo_host_arena *host, int64_t count, size_t element) {
    size_t bytes;
    if (count < 0 || __builtin_mul_overflow((size_t)count, element, &bytes) || bytes > PTRDIFF_MAX) {
        mo_fail(ctx, MO_MEMORY, "episode: %" PRId64 " elements overflow", count);
        return NULL;
    }
    return mo_host_arena_alloc(host, bytes ? bytes : 1);
}

void *mo_tape_scratch(mo_tape *t, int64_t count, size_t element) {
    return episode_scratch(t->ctx, t->host, count, element);
}

/* ---- lists ---- */

/* Lists the plan's distinct examples: in its order where all are distinct, so that the first rows are the support and
 * the others the queries. */
static bool list_examples(mo_context *ctx, mo_host_arena *host, const mo_plan *plan, mo_row_list *r) {
    int64_t ends = plan->task == MO_TASK_LP ? 2 : 1, n = 0, most = ends * (plan->n_support + plan->n_query);
    int64_t *id = episode_scratch(ctx, host, most, sizeof *id), *sorted = episode_scratch(ctx, host, most, sizeof *id);
    if (!id || !sorted)
        return false;
    for (int side = 0; side < ends; side++) {
        memcpy(id + n, plan->support[side], (size_t)plan->n_support * sizeof *id);
        n += plan->n_support;
        memcpy(id + n, plan->query[side], (size_t)plan->n_query * sizeof *id);
        n += plan->n_query;
    }
    memcpy(sorted, id, (size_t)n * sizeof *id);
    r->examples = mo_sort_distinct(sorted, n);
    r->in_order = ends == 1 && r->examples == n;
    r->example = r->in_order ? id : sorted;
    return true;
}

/* Lists all nodes of the graphs, one graph after another, and the first row of each graph. */
static bool list_graphs(mo_context *ctx, mo_host_arena *host, mo_row_list *r) {
    const int64_t *offset = r->source->graph->graph_offset;
    int64_t *segment = r->segment = episode_scratch(ctx, host, r->examples + 1, sizeof *segment);
    for (int64_t g = 0; segment && g < r->examples; g++) {
        r->n += offset[r->example[g] + 1] - offset[r->example[g]];
        segment[g + 1] = r->n;
    }
    r->row = segment ? episode_scratch(ctx, host, r->n, sizeof *r->row) : NULL;
    for (int64_t g = 0; r->row && g < r->examples; g++)
        for (int64_t i = 0; i < segment[g + 1] - segment[g]; i++)
            r->row[segment[g] + i] = offset[r->example[g]] + i;
    return r->row != NULL;
}

/* Lists the rows of the support, then those of the queries: numbers of pairs for links, else ids of nodes or graphs. */
static bool list_pairs_or_nodes(mo_context *ctx, mo_host_arena *host, const mo_plan *plan, mo_row_list *r) {
    bool links = plan->task == MO_TASK_LP;
    r->n = plan->n_support + plan->n_query;
    r->row = episode_scratch(ctx, host, r->n, sizeof *r->row);
    if (!r->row)
        return false;
    memcpy(r->row, links ? plan->support_pair : plan->support[0], (size_t)plan->n_support * sizeof *r->row);
    memcpy(r->row + plan->n_support, links ? plan->query_pair : plan->query[0], (size_t)plan->n_query * sizeof *r->row);
    return true;
}

bool mo_list_rows(mo_host_arena *host, const mo_source *source, const mo_plan *plan, mo_row_list *r, mo_context *ctx) {
    *r = (mo_row_list){.source = source};
    if (!mo_ok(ctx))
        return false;
    if (mo_has_example_rows(source))
        return list_pairs_or_nodes(ctx, host, plan, r);
    if (!list_examples(ctx, host, plan, r))
        return false;
    if (plan->task == MO_TASK_GC)
        return list_graphs(ctx, host, r);
    r->n = r->examples;
    r->row = r->example;
    return true;
}

int mo_episode_arrays(const mo_source *source, const mo_tensor *array[MO_MOST_PIECES]) {
    static const char *const first[] = {"hops", "blocks", "mixed", "extras"};
    const char *name[MO_MOST_PIECES + 2];
    int n = 0, names = 0;
    while (names < 4) {
        name[names] = first[names];
        names++;
    }
    for (int i = 0; mo_part_rows[i].name; i++)
        name[names++] = mo_part_rows[i].name;
    for (int i = 0; i < names; i++) {
        const mo_tensor *X = source->features ? mo_arrays_find(source->features->arrays, name[i]) : NULL;
        if (X && mo_context_device(X->ctx) == MO_CPU)
            array[n++] = X;
    }
    return n;
}

/* ---- tensors ---- */

/* Rows of nodes at every hop: an index into the graph's rows or, if they are of another context, copies. */
static mo_named hop_rows(mo_tape *t, const mo_row_list *r, const mo_ready_rows *ready) {
    mo_context *ctx = t->ctx;
    mo_tensor *hops = mo_arrays_find(r->source->features->arrays, "hops");
    if (mo_ok(ctx) && (!hops || mo_ndim(hops) != 3))
        mo_fail(ctx, MO_INVALID, "episode: the features of %s have no \"hops\"", r->source->graph->name);
    if (mo_ok(ctx) && hops->ctx != ctx)
        return (mo_named){"hops", mo_gather_listed(t, hops, r->row, r->n, ready), NULL};
    int64_t K = mo_ok(ctx) ? mo_dim(hops, 0) : 0, nodes = mo_ok(ctx) ? mo_dim(hops, 1) : 0;
    int64_t *row = mo_ok(ctx) ? mo_tape_scratch(t, K * r->n, sizeof *row) : NULL;
    if (!row)
        return (mo_named){"hops", mo_null_tensor(ctx), NULL};
    if (!ready) {
        mo_row_stack s = mo_row_stack_of(hops, 1);
        mo_announce_rows(&s, r->row, r->n);
    }
    for (int64_t k = 0; k < K; k++)
        for (int64_t i = 0; i < r->n; i++)
            row[k * r->n + i] = k * nodes + r->row[i];
    return (mo_named){"hops", hops, mo_from(t, MO_I64, 2, (int64_t[]){K, r->n}, row)};
}

/* The position of each example among the distinct ones, as a tensor. */
static mo_tensor *example_positions(mo_tape *t, const mo_row_list *r, const int64_t *id, int64_t n) {
    int64_t *at = mo_tape_scratch(t, n, sizeof *at);
    for (int64_t i = 0; at && i < n; i++)
        at[i] = mo_find_sorted(r->example, r->examples, id[i]);
    return at ? mo_from(t, MO_I64, 1, &n, at) : mo_null_tensor(t->ctx);
}

mo_tensor *mo_plan_weight(mo_tape *t, const mo_plan *plan) {
    const int64_t *id = plan->task == MO_TASK_LP ? plan->support_pair : plan->support[0], n = plan->n_support;
    if (!id)
        return NULL;
    int64_t *scratch = mo_tape_scratch(t, 2 * n, sizeof *scratch), *weight = mo_tape_scratch(t, n, sizeof *weight);
    bool repeated = scratch && weight && mo_count_repeats(id, n, scratch, weight) < n;
    return repeated ? mo_from(t, MO_I64, 1, &n, weight) : NULL;
}

mo_tensor *mo_class_weight(mo_tape *t, const int64_t *label, int64_t n, int64_t classes) {
    static const double pseudo = 32;
    int64_t *rows = mo_tape_scratch(t, classes, sizeof *rows);
    double *weight = mo_tape_scratch(t, n, sizeof *weight), sum = 0;
    bool equal = true;
    if (!rows || !weight)
        return NULL;
    for (int64_t i = 0; i < n; i++)
        rows[label[i]]++;
    for (int64_t i = 0; i < n; i++) {
        equal = equal && rows[label[i]] == rows[label[0]];
        sum += weight[i] = 1 + pseudo / (double)rows[label[i]];
    }
    for (int64_t i = 0; i < n; i++)
        weight[i] *= (double)n / sum;
    return equal ? NULL : mo_from(t, MO_F64, 1, &n, weight);
}

bool mo_has_example_rows(const mo_source *source) {
    const mo_arrays *arrays = source->features ? source->features->arrays : NULL;
    return arrays && (mo_arrays_find(arrays, "blocks") || mo_arrays_find(arrays, "mixed"));
}

static void put_nodes(
    mo_tape *t, const mo_plan *plan, const mo_row_list *r, const mo_ready_rows *ready, mo_episode *e) {
    e->n_rows = 1;
    if (r->segment)
        e->segment = mo_from(t, MO_I64, 1, (int64_t[]){r->examples + 1}, r->segment);
    e->rows[0] = hop_rows(t, r, ready);
    for (int side = 0; !r->in_order && side < (plan->task == MO_TASK_LP ? 2 : 1); side++) {
        e->support[side] = example_positions(t, r, plan->support[side], plan->n_support);
        e->query[side] = example_positions(t, r, plan->query[side], plan->n_query);
    }
}

/* The kernels between the rows' similarities: of the support, and of the queries, with the support or its centres. */
static void put_pair_kernels(mo_tape *t, const mo_row_list *r, int64_t n_s, mo_episode *e) {
    mo_tensor *all = mo_arrays_find(r->source->features->arrays, mo_pair_parts[MO_PAIR_SIMILARITIES].name);
    mo_tensor *X = all ? mo_gather_listed(t, all, r->row, r->n, NULL) : mo_null_tensor(t->ctx);
    mo_tensor *Xs = mo_slice(t, X, MO_AXIS(0), 0, n_s), *own = e->centres ? mo_gather_rows(t, Xs, e->centres) : Xs;
    e->rows[e->n_rows++] = (mo_named){"kernels", mo_pair_kernel(t, Xs, own), NULL};
    e->rows[e->n_rows++] =
        (mo_named){"query kernels", mo_pair_kernel(t, mo_slice(t, X, MO_AXIS(0), n_s, r->n), own), NULL};
}

mo_code mo_episode_tensors(
    mo_tape *t, const mo_plan *plan, const mo_row_list *r, const mo_ready_rows *ready, mo_episode *e) {
    *e = (mo_episode){.task = plan->task, .classes = plan->classes};
    if (mo_has_example_rows(r->source))
        mo_example_tensors(t, r->source, r->row, r->n, ready, e);
    else
        put_nodes(t, plan, r, ready, e);
    e->support_label = mo_from(t, MO_I64, 1, &plan->n_support, plan->support_label);
    e->support_weight = mo_plan_weight(t, plan);
    e->class_weight = mo_class_weight(t, plan->support_label, plan->n_support, plan->classes);
    e->query_label = mo_from(t, MO_I64, 1, &plan->n_query, plan->query_label);
    if (plan->task == MO_TASK_LP) {
        e->centres = mo_plan_centres(t, plan);
        if (r->source->similarities)
            put_pair_kernels(t, r, plan->n_support, e);
    } else
        mo_put_plan_kernels(t, r->source, plan, plan->query[0], plan->n_query, e);
    return mo_code_of(t->ctx);
}

mo_code mo_episode_build(mo_tape *t, const mo_source *source, const mo_plan *plan, mo_episode *e) {
    mo_context *ctx = mo_tape_context(t);
    if (!mo_given(ctx, "episode", "the source", source) || !mo_given(ctx, "episode", "its graph", source->graph) ||
        !mo_given(ctx, "episode", "the plan", plan) || !mo_given(ctx, "episode", "e", e))
        return mo_code_of(ctx);
    mo_row_list rows;
    *e = (mo_episode){.task = plan->task, .classes = plan->classes};
    if (mo_list_rows(t->host, source, plan, &rows, t->ctx))
        mo_episode_tensors(t, plan, &rows, NULL, e);
    return mo_code_of(t->ctx);
}
