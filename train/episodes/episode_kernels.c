/* train/episodes/episode_kernels.c - the kernels between the examples of an episode, as tensors of its tape: only
 * support against support and queries against support, so that the cost does not grow with the graph. Of a large
 * support, only some rows, the centres, are compared. */
#include "train/episodes/episode_kernels.h"

#include "autograd/tape.h"
#include "train/episodes/episode_rows.h"
#include "train/episodes/plan_members.h"
#include "train/features/example_kernels.h"

#include <stdlib.h>
#include <string.h>

/* ---- centres ---- */

/* The number q of centres per class: the largest with sum over c of min(q, distinct rows of c) <= MO_MOST_CENTRES. */
static int64_t rows_of_each_class(const int64_t *count, int64_t classes) {
    int64_t q = 0;
    for (int64_t sum = 0; sum <= MO_MOST_CENTRES && q <= MO_MOST_CENTRES; q++) {
        sum = 0;
        for (int64_t c = 0; c < classes; c++)
            sum += count[c] < q + 1 ? count[c] : q + 1;
        if (sum > MO_MOST_CENTRES)
            break;
    }
    return q;
}

int64_t mo_choose_centres(
    mo_context *ctx, const int64_t *id, const int64_t *label, int64_t n, int64_t classes, int64_t *at) {
    int64_t chosen = 0;
    if (n <= MO_MOST_CENTRES || !mo_ok(ctx))
        return 0;
    int64_t *times = mo_host_array(ctx, 3 * n, sizeof *times), *count = mo_host_array(ctx, 2 * classes, sizeof *count);
    if (times && count) {
        int64_t *within = count + classes; /* distinct rows of each class seen so far */
        mo_count_repeats(id, n, times + n, times);
        for (int64_t i = 0; i < n; i++)
            count[label[i]] += times[i] > 0;
        int64_t q = rows_of_each_class(count, classes);
        q = q ? q : 1;
        for (int64_t i = 0; i < n && chosen < MO_MOST_CENTRES; i++) {
            int64_t all = count[label[i]], wanted = all < q ? all : q;
            if (times[i] == 0)
                continue;
            int64_t j = within[label[i]]++;
            if ((j + 1) * wanted / all > j * wanted / all) /* spreads `wanted` choices evenly over j = 0 .. all - 1 */
                at[chosen++] = i;
        }
    }
    free(times);
    free(count);
    return chosen;
}

/* ---- kernels ---- */

static void put_kernels_between(mo_tape *t, const mo_source *source, const char *name, const int64_t *a, int64_t n_a,
    const mo_kernel_examples *of, mo_episode *e) {
    int64_t m = of->n_reference, shape[] = {mo_example_kernels_count(source->kernels), n_a, m};
    mo_example_kernels_refer(source->kernels, of->support, of->n_s);
    float *K = mo_ok(t->ctx) ? mo_tape_scratch(t, shape[0] * n_a * m, sizeof *K) : NULL;
    if (K && mo_example_kernels_gram(source->kernels, a, n_a, of->reference, m, K) == MO_OK)
        e->rows[e->n_rows++] = (mo_named){name, mo_from(t, MO_F32, 3, shape, K), NULL};
}

static bool has_kernels(const mo_source *source) {
    return source->kernels && mo_example_kernels_count(source->kernels) > 0;
}

void mo_put_kernels(mo_tape *t, const mo_source *source, const mo_kernel_examples *of, mo_episode *e) {
    e->assortativity = mo_example_kernels_assortativity(source->kernels);
    e->inductive = source->inductive;
    e->columns = source->kernels ? source->kernels->columns : 0;
    if (has_kernels(source))
        put_kernels_between(t, source, "kernels", of->support, of->n_s, of, e);
}

void mo_put_query_kernels(mo_tape *t, const mo_source *source, const mo_kernel_examples *of, mo_episode *e) {
    e->inductive = source->inductive;
    if (has_kernels(source))
        put_kernels_between(t, source, "query kernels", of->query, of->n_q, of, e);
    if (!has_kernels(source) || !source->kernels->targets)
        return;
    int64_t shape[] = {mo_example_kernels_count(source->kernels), of->n_q};
    float *D = mo_ok(t->ctx) ? mo_tape_scratch(t, shape[0] * shape[1], sizeof *D) : NULL;
    if (D) {
        mo_example_kernels_diagonal(source->kernels, of->query, of->n_q, D);
        e->rows[e->n_rows++] = (mo_named){"query diagonal", mo_from(t, MO_F32, 2, shape, D), NULL};
    }
}

/* Writes the positions of a plan's centres; returns their number. */
static int64_t choose_plan_centres(mo_tape *t, const mo_plan *plan, int64_t at[MO_MOST_CENTRES]) {
    const int64_t *id = plan->task == MO_TASK_LP ? plan->support_pair : plan->support[0];
    return id ? mo_choose_centres(t->ctx, id, plan->support_label, plan->n_support, plan->classes, at) : 0;
}

mo_tensor *mo_plan_centres(mo_tape *t, const mo_plan *plan) {
    int64_t at[MO_MOST_CENTRES], m = choose_plan_centres(t, plan, at);
    return m ? mo_from(t, MO_I64, 1, &m, at) : NULL;
}

void mo_put_plan_kernels(
    mo_tape *t, const mo_source *source, const mo_plan *plan, const int64_t *query, int64_t n_q, mo_episode *e) {
    int64_t reference[MO_MOST_CENTRES], m = choose_plan_centres(t, plan, reference);
    const int64_t *support = plan->support[0];
    mo_kernel_examples of = {support, query, support, plan->n_support, n_q, plan->n_support};
    if (m) {
        e->centres = mo_from(t, MO_I64, 1, &m, reference);
        for (int64_t i = 0; i < m; i++)
            reference[i] = support[reference[i]];
        of.reference = reference;
        of.n_reference = m;
    }
    mo_put_kernels(t, source, &of, e);
    mo_put_query_kernels(t, source, &of, e);
}
