/* train/episodes/plan.c - which examples take part in episode `number`: a function of (seed, number) alone.
 *
 * One stream gives, in this order: k, q, the classes in the order of their labels, the members class by class, and the
 * order of support and of query. */
#include "tensor/library.h"
#include "train/episodes/plan_members.h"
#include "train/graphs/draw.h"

#include <math.h>
#include <stdlib.h>

#define AT(member) offsetof(mo_plan_options, member)
const mo_field mo_plan_fields[] = {
    {MO_FIELD_RANGE, "k", "A:B", AT(k_min), /* and k_max, which follows it */
        "support examples per class, drawn between A and B"},
    {MO_FIELD_RANGE, "q", "A:B", AT(q_min), "query examples per class"},
    {MO_FIELD_INT64, "max_classes", "C", AT(max_classes), "most classes per episode", 2, 1 << 20},
    {MO_FIELD_SEED, "seed", NULL, AT(seed)},
    {MO_FIELD_EITHER, "log_uniform", NULL, AT(log_uniform), .choices = "no|yes"},
    {MO_FIELD_FACTORS, "k_times", NULL, AT(k_times), .high = MO_TASKS},
    {MO_FIELD_FACTORS, "q_times", NULL, AT(q_times), .high = MO_TASKS},
    {MO_FIELD_EITHER, "support_first", NULL, AT(support_first), .choices = "no|yes"},
    {MO_FIELDS_END},
};
#undef AT

typedef struct drawing {
    mo_random r;
    mo_context *ctx;
    mo_members *members;
    const mo_links *links; /* lp, else NULL */
    bool support_first;
    mo_plan *plan;
} drawing;

static bool check_plan_options(const mo_graph *graph, const mo_plan_options *o) {
    if (o->k_min >= 1 && o->k_max >= o->k_min && o->q_min >= 1 && o->q_max >= o->q_min && o->k_max < INT32_MAX &&
        o->q_max < INT32_MAX && o->max_classes >= 2) {
        return true;
    }
    return mo_fail(graph->ctx, MO_INVALID,
        "plan of graph %s: expected 1 <= k_min <= k_max, 1 <= q_min <= q_max, max_classes >= 2, found k %lld..%lld, q "
        "%lld..%lld, max_classes %lld",
        graph->name, (long long)o->k_min, (long long)o->k_max, (long long)o->q_min, (long long)o->q_max,
        (long long)o->max_classes);
}

/* The classes that take part, in the order of their labels: at most max_classes classes with two or more members. Links
 * keep both classes, in order, since label 1 means an edge. Returns NULL after raising. */
static int64_t *draw_classes(drawing *d, const mo_graph *graph, int64_t max_classes) {
    mo_plan *plan = d->plan;
    int64_t *class_drawn = mo_host_array(d->ctx, d->members->classes, sizeof *class_drawn);
    if (!class_drawn)
        return NULL;
    int64_t usable = 0;
    for (int64_t c = 0; c < d->members->classes; c++) {
        int64_t count = mo_members_count(d->members, c);
        plan->left_out += count == 1;
        if (count > 1)
            class_drawn[usable++] = c;
    }
    if (usable < 2) {
        mo_fail(d->ctx, MO_INVALID,
            "plan of graph %s (%s): expected at least two classes of two or more examples, found %lld of %lld (%lld of "
            "one)",
            graph->name, mo_task_name(plan->task), (long long)usable, (long long)d->members->classes,
            (long long)plan->left_out);
        free(class_drawn);
        return NULL;
    }
    plan->classes = usable < max_classes ? usable : max_classes;
    if (plan->task != MO_TASK_LP)
        mo_draw_front(&d->r, class_drawn, usable, plan->classes);
    return class_drawn;
}

/* Where examples are written: a plan's support or its queries. */
typedef struct side {
    int64_t **ends, *label, *pair;
} side;

static side support_of(mo_plan *plan) {
    return (side){plan->support, plan->support_label, plan->support_pair};
}

static side query_of(mo_plan *plan) {
    return (side){plan->query, plan->query_label, plan->query_pair};
}

static void place_example(const drawing *d, side s, int64_t at, int64_t id, int64_t as) {
    s.label[at] = as;
    if (!d->links) {
        s.ends[0][at] = id;
        return;
    }
    int64_t *const *pairs = as ? d->links->positive : d->links->negative;
    s.ends[0][at] = pairs[0][id];
    s.ends[1][at] = pairs[1][id];
    s.pair[at] = as ? id : d->links->n_positive + id;
}

/* The number of members in the support's part, for a class with n < k + q members. */
static int64_t support_part(const drawing *d, int64_t n) {
    int64_t k = d->plan->k, q = d->plan->q, part = n * k / (k + q);
    if (d->support_first)
        return n - (q < n / 2 ? q : n / 2);
    return part < 1 ? 1 : part;
}

/* Draws k support and q query examples of class c under a label. A class with fewer than k + q members is split into
 * two parts, so that support and query share no example; each part is drawn from with replacement. support_first:
 * a support member repeats only after its whole part has been drawn. */
static void draw_members(drawing *d, int64_t c, int64_t label) {
    mo_plan *plan = d->plan;
    int64_t k = plan->k, q = plan->q, n = mo_members_count(d->members, c);
    int64_t *member = d->members->member + d->members->start[c];
    bool small = n < k + q;
    int64_t part = small ? support_part(d, n) : k, rest = small ? n - part : q;
    int64_t once[2] = {part, rest}; /* number of draws from each part without repetition */
    if (small && !d->support_first)
        once[0] = once[1] = 0;
    plan->small_classes += small;
    mo_draw_front(&d->r, member, n, small ? n : k + q);
    for (int64_t i = 0; i < k; i++) {
        int64_t id = member[i < once[0] ? i : mo_random_below(&d->r, part)];
        place_example(d, support_of(plan), label * k + i, id, label);
    }
    for (int64_t i = 0; i < q; i++) {
        int64_t id = member[part + (i < once[1] ? i : mo_random_below(&d->r, rest))];
        place_example(d, query_of(plan), label * q + i, id, label);
    }
}

static void plan_swap(int64_t *items, int64_t i, int64_t j) {
    int64_t item = items[i];
    items[i] = items[j];
    items[j] = item;
}

static void shuffle_examples(mo_random *r, side s, int64_t n) {
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t j = mo_random_below(r, i + 1);
        plan_swap(s.label, i, j);
        plan_swap(s.ends[0], i, j);
        if (s.ends[1]) {
            plan_swap(s.ends[1], i, j);
            plan_swap(s.pair, i, j);
        }
    }
}

/* k between its bounds, log-uniformly if the options say so. */
static int64_t draw_shots(mo_random *r, const mo_plan_options *o) {
    if (!o->log_uniform)
        return o->k_min + mo_random_below(r, o->k_max - o->k_min + 1);
    return llround((double)o->k_min * pow((double)o->k_max / (double)o->k_min, mo_random_uniform(r)));
}

static int64_t plan_times(int factor) {
    return factor > 0 ? factor : 1;
}

static void draw_plan(drawing *d, const mo_graph *graph, const mo_plan_options *options) {
    mo_plan *plan = d->plan;
    plan->k = draw_shots(&d->r, options) * plan_times(options->k_times[plan->task]);
    plan->q = options->q_min + mo_random_below(&d->r, options->q_max - options->q_min + 1);
    plan->q *= plan_times(options->q_times[plan->task]);
    int64_t *class_drawn = draw_classes(d, graph, options->max_classes);
    if (class_drawn && mo_plan_reserve(d->ctx, plan, plan->classes * plan->k, plan->classes * plan->q)) {
        for (int64_t label = 0; label < plan->classes; label++)
            draw_members(d, class_drawn[label], label);
        shuffle_examples(&d->r, support_of(plan), plan->n_support);
        shuffle_examples(&d->r, query_of(plan), plan->n_query);
    }
    free(class_drawn);
}

mo_code mo_plan_draw(const mo_graph *graph, const mo_links *links, mo_task task, uint64_t number,
    const mo_plan_options *options, mo_plan *plan) {
    if (plan)
        *plan = (mo_plan){.task = task};
    if (!graph || !mo_given(graph->ctx, "plan", "options", options) || !mo_given(graph->ctx, "plan", "plan", plan))
        return graph ? mo_code_of(graph->ctx) : MO_INVALID;
    mo_context *ctx = graph->ctx;
    if (!mo_ok(ctx) || !check_plan_options(graph, options))
        return mo_code_of(ctx);
    mo_members members = {0};
    bool grouped = task == MO_TASK_LP ? mo_members_of_links(graph, links, &members)
                                      : mo_members_group(graph, task, NULL, 0, &members);
    if (grouped) {
        drawing d = {
            .r = mo_random_at(options->seed, MO_PURPOSE_EPISODE, number),
            .ctx = ctx,
            .members = &members,
            .links = task == MO_TASK_LP ? links : NULL,
            .support_first = options->support_first,
            .plan = plan,
        };
        draw_plan(&d, graph, options);
    }
    mo_members_release(&members);
    if (!mo_ok(ctx))
        mo_plan_release(plan);
    return mo_code_of(ctx);
}
