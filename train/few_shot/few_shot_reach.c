/* train/few_shot/few_shot_reach.c - which nodes the labels reach. Of a node that they do not reach nothing is known but
 * how often each class was given: it gets the classes' shares of the labels as probabilities.
 *
 * A label reaches the nodes of its connected component. It reaches a node of another component if that node has
 * attributes and attributes tell the classes apart: if those of neighbours are alike (an assortativity of 0.8 or more;
 * over 25 graphs those with such nodes have 0.9 to 3.5, attributes that tell little 0 to 0.4), or if labels, left out
 * in turn, are found by the class whose other labels have the most alike attributes. This class must be right more
 * often than the largest class, by 3 standard deviations of that count and by 0.4 of the rest to certainty. Graphs of a
 * set, and rows that the user gives, are always reached. */
#include "tensor/library.h"
#include "train/features/example_kernels.h"
#include "train/few_shot/few_shot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COMPARED = 512 /* labels of the test of the attributes, spread over all */ };
static const double deviations = 3, surely = 0.4;

/* Marks the nodes of the components with a label. */
static bool spread_labels(const mo_few_shot *f, uint8_t *reached) {
    const mo_graph *g = f->source.graph;
    int64_t *queue = mo_host_array(f->ctx, g->nodes, sizeof *queue), n = 0;
    for (int64_t i = 0; queue && i < f->n; i++) {
        reached[f->id[i]] = 1;
        queue[n++] = f->id[i];
    }
    for (int64_t at = 0; queue && at < n; at++)
        for (int64_t e = g->row_pointer[queue[at]]; e < g->row_pointer[queue[at] + 1]; e++)
            if (!reached[g->column[e]]) {
                reached[g->column[e]] = 1;
                queue[n++] = g->column[e];
            }
    free(queue);
    return mo_ok(f->ctx);
}

/* Compared labels. */
typedef struct compared {
    int64_t *id, *label, n, *count; /* count [classes] */
    double *sum;                    /* [classes] */
} compared;

/* The number of labels that K [n, n] finds, left out in turn; tested: how many can be. */
static int64_t count_found(const compared *c, int64_t classes, const float *K, int64_t *tested) {
    int64_t right = 0;
    for (int64_t i = 0; i < c->n; i++) {
        if (c->count[c->label[i]] < 2)
            continue;
        memset(c->sum, 0, (size_t)classes * sizeof *c->sum);
        for (int64_t j = 0; j < c->n; j++)
            c->sum[c->label[j]] += j == i ? 0 : (double)K[i * c->n + j];
        for (int64_t k = 0; k < classes; k++)
            c->sum[k] = c->count[k] ? c->sum[k] / (double)(c->count[k] - (k == c->label[i])) : -INFINITY;
        right += mo_first_largest(c->sum, classes) == c->label[i];
        ++*tested;
    }
    return right;
}

/* Chooses the labels, which lie class by class, evenly. Free all of them. */
static compared choose_labels(const mo_few_shot *f) {
    int64_t n = f->n < MOST_COMPARED ? f->n : MOST_COMPARED;
    compared c = {mo_host_array(f->ctx, n, sizeof *c.id), mo_host_array(f->ctx, n, sizeof *c.label), n,
        mo_host_array(f->ctx, f->classes, sizeof *c.count), mo_host_array(f->ctx, f->classes, sizeof *c.sum)};
    for (int64_t i = 0; mo_ok(f->ctx) && i < n; i++) {
        c.id[i] = f->id[i * f->n / n];
        c.label[i] = f->label[i * f->n / n];
        c.count[c.label[i]]++;
    }
    return c;
}

/* Whether the attributes alone tell the classes of the labels apart. */
static bool attributes_tell(mo_few_shot *f) {
    mo_example_kernels *k = f->source.kernels;
    int experts = mo_example_kernels_count(k);
    if (!experts || strcmp(mo_example_kernels_name(k, 0), "Xc") != 0 || /* a head without kernels */
        mo_example_kernels_assortativity(k) >= MO_ALIKE)
        return true;
    compared c = choose_labels(f);
    float *K = mo_host_array(f->ctx, experts * c.n * c.n, sizeof *K);
    int64_t right = 0, tested = 0, largest = 0;
    if (mo_ok(f->ctx) && mo_example_kernels_gram(k, c.id, c.n, c.id, c.n, K) == MO_OK)
        right = count_found(&c, f->classes, K, &tested);
    for (int64_t j = 0; mo_ok(f->ctx) && j < f->classes; j++)
        largest = c.count[j] > largest ? c.count[j] : largest;
    free(c.id);
    free(c.label);
    free(c.count);
    free(c.sum);
    free(K);
    double share = (double)largest / (double)c.n, m = (double)tested, above = (double)right - m * share;
    return tested && above >= deviations * sqrt(m * share * (1 - share)) && above >= surely * m * (1 - share);
}

/* By the attributes as loaded: if they are centred, a row of zeros is not one any more. */
static bool has_attributes(const mo_graph *read, int64_t u) {
    const mo_graph *g = read->loaded ? read->loaded : read;
    bool any = false;
    for (int64_t e = g->features ? g->feature_pointer[u] : 0; g->features && e < g->feature_pointer[u + 1]; e++)
        any |= g->feature_value[e] != 0;
    return any;
}

mo_code mo_few_shot_reach(mo_few_shot *f) {
    const mo_graph *g = f->source.graph;
    free(f->reached);
    f->reached = NULL;
    if (!mo_ok(f->ctx) || f->source.task != MO_TASK_NC || !f->candidate.model)
        return mo_code_of(f->ctx);
    uint8_t *reached = mo_host_array(f->ctx, g->nodes, sizeof *reached);
    bool tell = true, asked = false, all = true;
    if (reached && spread_labels(f, reached))
        for (int64_t u = 0; u < g->nodes && mo_ok(f->ctx); u++) {
            if (!reached[u] && has_attributes(g, u)) {
                tell = asked ? tell : attributes_tell(f);
                asked = true;
                reached[u] = tell;
            }
            all &= reached[u];
        }
    if (mo_ok(f->ctx) && !all) {
        f->reached = reached;
        return MO_OK;
    }
    free(reached);
    return mo_code_of(f->ctx);
}

bool mo_few_shot_reaches(const mo_few_shot *f, int64_t id) {
    return !f || !f->reached || f->reached[id];
}

void mo_few_shot_prior(const mo_few_shot *f, double *p) {
    memset(p, 0, (size_t)f->classes * sizeof *p);
    for (int64_t i = 0; i < f->n; i++)
        p[f->label[i]] += 1 / (double)f->n;
}
