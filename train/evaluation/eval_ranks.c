/* train/evaluation/eval_ranks.c - an evaluation that several processes share. Each prepares the same rows and has some
 * of the problems; rank 0 receives their figures. A problem is drawn from its number alone, and no problem leaves
 * anything behind that another reads, so that no figure depends on who computes it. */
#include "train/evaluation/evaluation.h"

#include "tensor/files/number_text.h"
#include "tensor/files/safetensors.h"
#include "tensor/storage.h"
#include "train/ranks/description.h"

#include <stdlib.h>

static bool of_links(const mo_evaluation *ev) {
    return ev->source->task == MO_TASK_LP;
}

int64_t mo_eval_number(const mo_evaluation *ev, int shot, int64_t repeat) {
    return 1 + (of_links(ev) ? repeat : shot * ev->repeats + repeat);
}

/* Problems go round: a rank has some of each shot, which take longer the more support there is. */
static int rank_of(const mo_evaluation *ev, int64_t number) {
    return ev->ranks ? (int)((number - 1) % ev->ranks->size) : 0;
}

bool mo_eval_has(const mo_evaluation *ev, int64_t number) {
    return !ev->ranks || rank_of(ev, number) == ev->ranks->rank;
}

bool mo_eval_shows(const mo_evaluation *ev) {
    return ev->options->on_plan && !(ev->ranks && ev->ranks->rank);
}

/* ---- inputs ---- */

static json_t *digest_of(const void *bytes, size_t n) {
    char digits[MO_DIGITS + 1];
    mo_safetensors_digest(bytes, n, digits);
    return json_string(digits);
}

/* One digest of the digests of all parameters. */
static json_t *digest_parameters(mo_context *ctx, mo_model *model) {
    int n = mo_model_n_parameters(model);
    size_t all = (size_t)n * MO_DIGITS + 1;
    char *digits = mo_host_alloc(ctx, all);
    for (int i = 0; i < n && mo_ok(ctx); i++) {
        const mo_tensor *P = mo_model_parameter(model, i);
        size_t bytes = (size_t)mo_numel(P) * mo_dtype_size(P->dtype);
        void *values = mo_host_alloc(ctx, bytes + 1);
        if (values && mo_tensor_read(P, values, bytes) == MO_OK)
            mo_safetensors_digest(values, bytes, digits + (size_t)i * MO_DIGITS);
        mo_host_free(ctx, values, bytes + 1);
    }
    json_t *digest = mo_ok(ctx) ? digest_of(digits, all) : NULL;
    mo_host_free(ctx, digits, all);
    return digest;
}

static json_t *describe_candidate(mo_context *ctx, const mo_candidate *c) {
    mo_description d = mo_description_of(json_pack("{s:s, s:i, s:b, s:b, s:i}", "features", c->features, "hop", c->hop,
        "transductive", c->transductive, "dot", c->dot, "encoder", c->encoder));
    mo_describe(&d, "lambda", mo_json_figure(c->lambda));
    if (c->head)
        mo_describe(&d, "head", json_string(c->head->name));
    if (c->model) {
        mo_description of_model = mo_describe_model(c->model);
        mo_describe(&of_model, "parameters", digest_parameters(ctx, c->model));
        mo_describe(&d, "model", mo_description_end(&of_model));
    }
    return mo_description_end(&d);
}

static json_t *describe_candidates(const mo_evaluation *ev) {
    mo_description list = mo_description_of(json_array());
    for (int i = 0; i < ev->n; i++)
        mo_describe(&list, NULL, describe_candidate(ev->ctx, &ev->candidate[i]));
    return mo_description_end(&list);
}

static json_t *describe_source(const mo_evaluation *ev) {
    const mo_source *s = ev->source;
    const mo_features *f = s->features;
    char hash[40];
    mo_description d = mo_description_of(json_pack("{s:s, s:s, s:I, s:i, s:i, s:i, s:I}", "hash",
        mo_hash_digits(s->graph, hash), "task", mo_task_name(s->task), "nodes", (json_int_t)s->graph->nodes, "dim",
        f->dim, "hops", f->hops, "power_iterations", f->power_iterations, "feature_seed", (json_int_t)f->seed));
    if (of_links(ev)) {
        mo_describe(&d, "positive", json_integer((json_int_t)s->links->n_positive));
        mo_describe(&d, "negative", json_integer((json_int_t)s->links->n_negative));
    }
    if (ev->options->protocol == MO_PROTOCOL_PUBLIC && s->graph->division)
        mo_describe(&d, "division", digest_of(s->graph->division, (size_t)(s->graph->divisions * s->graph->nodes)));
    return mo_description_end(&d);
}

static json_t *describe_evaluation(const mo_evaluation *ev) {
    const mo_eval_options *o = ev->options;
    mo_description shots = mo_description_of(json_array());
    for (int i = 0; i < o->n_shots; i++)
        mo_describe(&shots, NULL, json_integer((json_int_t)o->shots[i]));
    mo_description d = mo_description_of(json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:b, s:o}", "protocol",
        mo_protocol_name(o->protocol), "episodes", (json_int_t)o->episodes, "queries", (json_int_t)o->queries, "seeds",
        (json_int_t)o->seeds, "seed", (json_int_t)o->seed, "max_rows", (json_int_t)o->max_rows, "calibration",
        o->calibration, "shots", mo_description_end(&shots)));
    mo_describe(&d, "data", describe_source(ev));
    mo_describe(&d, "candidates", describe_candidates(ev));
    return mo_description_end(&d);
}

bool mo_eval_same_inputs(const mo_evaluation *ev) {
    json_t *all = mo_ok(ev->ctx) ? describe_evaluation(ev) : NULL;
    char *text = all ? mo_json_encode(all, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    bool same = mo_ranks_compare(ev->ctx, ev->ranks, "evaluate", text);
    free(text);
    json_decref(all);
    return same;
}

/* ---- figures ---- */

/* Adds the figures of another rank. */
static void take_figures(mo_evaluation *ev, int rank, const mo_eval_figures *from) {
    mo_eval_figures *to = &ev->figures;
    int shots = ev->options->n_shots;
    *to->last = mo_eval_join(*to->last, *from->last);
    for (int shot = 0; shot < shots; shot++)
        to->small[shot] = from->small[shot] > to->small[shot] ? from->small[shot] : to->small[shot];
    for (int i = 0; i < ev->n * shots; i++) {
        const mo_eval_failure *theirs = &from->failure[i];
        if (theirs->reason[0] && (!to->failure[i].reason[0] || theirs->repeat < to->failure[i].repeat))
            to->failure[i] = *theirs;
    }
    for (int c = 0; c < ev->n; c++)
        for (int shot = 0; shot < shots; shot++)
            for (int metric = 0; metric < ev->metrics + ev->experts; metric++) {
                double *value = mo_eval_values(ev, c, shot, metric);
                const double *theirs = from->value + (value - to->value);
                for (int64_t repeat = 0; repeat < ev->repeats; repeat++)
                    if (rank_of(ev, mo_eval_number(ev, shot, repeat)) == rank)
                        value[repeat] = theirs[repeat];
            }
}

bool mo_eval_gather(mo_evaluation *ev) {
    const mo_ranks *ranks = ev->ranks;
    mo_eval_figures theirs = {0};
    if (!ranks)
        return mo_ok(ev->ctx);
    if (!ranks->rank && mo_ok(ev->ctx))
        mo_eval_figures_create(ev, &theirs);
    bool all = mo_ranks_agree(ev->ctx, ranks, true);
    if (all && ranks->rank)
        ranks->send(ranks->state, 0, ev->figures.last, ev->figures.bytes);
    for (int r = 1; all && !ranks->rank && r < ranks->size; r++) {
        ranks->receive(ranks->state, r, theirs.last, theirs.bytes);
        take_figures(ev, r, &theirs);
    }
    mo_eval_figures_release(ev, &theirs);
    return all;
}
