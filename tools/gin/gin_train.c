/* tools/gin/gin_train.c - trains a GIN as a graph autoencoder: edges and drawn pairs are told apart by inner products.
 */
#include "tools/command.h"
#include "tools/gin/gin.h"

#include "tools/memory.h"

#include <math.h>
#include <stdlib.h>

enum { PAIRS = 8192 }; /* edges of a step, and as many drawn pairs; a drawn pair may be an edge */

/* ---- graphs ---- */

bool gin_graph_open(mo_context *ctx, const char *name, const mo_feature_options *features, gin_graph *g) {
    *g = (gin_graph){.graph = mo_graph_open(ctx, name)};
    print_left_out(g->graph);
    if (g->graph && g->graph->graphs > 1)
        mo_fail(ctx, MO_INVALID, "%s is a set of graphs, expected a single graph, whose links are learned", name);
    else if (g->graph && !g->graph->nnz)
        mo_fail(ctx, MO_INVALID, "%s has no edges, expected one or more", name);
    g->A = mo_ok(ctx) ? gin_adjacency(g->graph) : NULL;
    mo_features *f = mo_ok(ctx) ? mo_features_open(g->graph, features) : NULL;
    g->X = f ? mo_embed_hop(&(mo_source){.graph = g->graph, .task = MO_TASK_NC, .features = f}, 0) : NULL;
    mo_features_release(f);
    return mo_ok(ctx);
}

void gin_graph_release(gin_graph *g) {
    mo_tensor_release(g->X);
    mo_csr_release(g->A);
    mo_graph_release(g->graph);
}

/* ---- the loss ---- */

typedef struct drawn_pairs {
    int64_t u[2 * PAIRS], v[2 * PAIRS];
    float linked[2 * PAIRS];
} drawn_pairs;

/* The node whose row has entry e of the adjacency. */
static int64_t row_of(const mo_graph *graph, int64_t e) {
    int64_t low = 0, high = graph->nodes;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        *(graph->row_pointer[middle] <= e ? &low : &high) = middle;
    }
    return low;
}

static void draw_pairs(const mo_graph *graph, mo_random *random, drawn_pairs *d) {
    for (int i = 0; i < 2 * PAIRS; i++) {
        bool linked = i < PAIRS;
        int64_t e = linked ? mo_random_below(random, graph->nnz) : 0;
        d->linked[i] = linked;
        d->u[i] = linked ? row_of(graph, e) : mo_random_below(random, graph->nodes);
        d->v[i] = linked ? graph->column[e] : mo_random_below(random, graph->nodes);
    }
}

static mo_tensor *pair_loss(mo_tape *t, mo_tensor *Z, const drawn_pairs *d) {
    const int64_t n = 2 * PAIRS;
    mo_tensor *Zu = mo_gather_rows(t, Z, mo_from(t, MO_I64, 1, &n, d->u));
    mo_tensor *Zv = mo_gather_rows(t, Z, mo_from(t, MO_I64, 1, &n, d->v));
    mo_tensor *logits = mo_sum(t, mo_mul(t, Zu, Zv), MO_AXIS(1), MO_DROP_AXES);
    return mo_binary_cross_entropy(t, logits, mo_from(t, MO_F32, 1, &n, d->linked));
}

double gin_loss(const gin *g, const gin_graph *graph, uint64_t seed) {
    drawn_pairs *d = needed(malloc(sizeof *d));
    mo_random random = mo_random_at(seed, MO_PURPOSE_EPISODE, UINT64_MAX);
    mo_tape *t = mo_tape_create(g->ctx, MO_EVAL);
    draw_pairs(graph->graph, &random, d);
    mo_tensor *loss = t ? pair_loss(t, gin_encode(t, g, graph->A, graph->X), d) : NULL;
    double value = mo_ok(g->ctx) ? mo_item(loss) : NAN;
    mo_tape_release(t);
    free(d);
    return value;
}

/* ---- steps ---- */

static void gin_step(
    gin *g, mo_tape *t, mo_optimizer *adamw, const gin_graph *graph, int64_t step, const gin_training *o) {
    drawn_pairs *d = needed(malloc(sizeof *d));
    mo_tensor *grad[GIN_PARAMETERS];
    mo_random random = mo_random_at(o->seed, MO_PURPOSE_EPISODE, (uint64_t)step);
    draw_pairs(graph->graph, &random, d);
    mo_tensor *loss = pair_loss(t, gin_encode(t, g, graph->A, graph->X), d);
    double value = mo_ok(g->ctx) ? mo_item(loss) : NAN;
    if (mo_gradients(t, loss, g->p, grad, GIN_PARAMETERS) == MO_OK)
        mo_optimizer_step(adamw, grad, mo_cosine(o->lr, 0, step, o->steps), NULL);
    if (mo_ok(g->ctx) && o->report)
        o->report(step, graph->graph, value, o->state);
    mo_tape_reset(t);
    free(d);
}

mo_code gin_train(gin *g, const gin_graph *graphs, int n, const gin_training *o) {
    mo_adamw_options options = {.weight_decay = 1e-4, .clip = 1};
    mo_tape *t = mo_tape_create(g->ctx, MO_RECORD);
    mo_optimizer *adamw = mo_adamw_create(g->ctx, g->p, GIN_PARAMETERS, &options);
    for (int64_t step = 0; step < o->steps && mo_ok(g->ctx); step++)
        gin_step(g, t, adamw, &graphs[step % n], step, o);
    mo_optimizer_release(adamw);
    mo_tape_release(t);
    return mo_context_status(g->ctx)->code;
}
