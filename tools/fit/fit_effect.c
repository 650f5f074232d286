/* tools/fit/fit_effect.c - options of `mochi fit` that would have no effect are refused. */
#include "tools/fit/fit_options.h"

#include <string.h>

static bool may_tune(const mo_head *head) {
    bool may = head_has(head, "lambda");
    for (int i = 0; i < head->n_parameters; i++) {
        const mo_head_parameter *p = &head->parameters[i];
        may |= p->ndim == 0 && p->low >= 0 && p->low < p->high && p->high <= 1; /* a share, such as a shrinkage */
    }
    return may;
}

/* Of a split, what episodes are made of has no effect. */
static void refuse_split(const fit_options *o) {
    static const char *const of_episodes[] = {"shots", "episodes", "queries", "ways", "draws"};
    for (int i = 0; i < 5; i++)
        refuse_given(&o->given, of_episodes[i], o->train || o->test, "--train and --test are one split, no episodes");
}

static void refuse_confusion(const fit_options *o) {
    bool there = false;
    for (int i = 0; i < o->n_heads; i++)
        there |= o->confusion && !strcmp(o->heads[i]->name, o->confusion);
    refuse_given(&o->given, "confusion", !there, "expected one of the heads of --head");
}

/* One head that is kept or applied: nothing is measured. */
static void refuse_readout(const fit_options *o) {
    static const char *const of_figures[] = {"shots", "episodes", "queries", "ways", "draws", "train", "test", "pairs",
        "sweep", "confusion", "diagnose", "epsilon", "no-geometry", "json"};
    static const char *const of_fit[] = {
        "head", "lambda", "tune", "seed", "standardise", "centre", "normalise", "save"};
    static const char *const of_predictions[] = {"out", "probabilities", "min-confidence"};
    const given_options *g = &o->given;
    bool one = o->save || o->readout || o->predict;
    for (size_t i = 0; i < sizeof of_figures / sizeof *of_figures; i++)
        refuse_given(g, of_figures[i], one, "--save, --readout and --predict measure nothing, and learn from all rows");
    for (size_t i = 0; i < sizeof of_fit / sizeof *of_fit; i++)
        refuse_given(g, of_fit[i], o->readout, "a kept readout has its own");
    for (size_t i = 0; i < 3; i++)
        refuse_given(g, of_predictions[i], !o->predict, "expected --predict ROWS");
    refuse_given(g, "readout", !o->predict, "expected --predict ROWS, which it is for");
    refuse_given(g, o->save ? "save" : "predict", !o->readout && (!is_given(g, "head") || o->n_heads != 1),
        "expected one head: --head NAME");
}

void refuse_fit_options(const fit_options *o) {
    const given_options *g = &o->given;
    bool lambda = false, tunable = false, held_out = false;
    for (int i = 0; i < o->n_heads; i++) {
        lambda |= head_has(o->heads[i], "lambda");
        tunable |= may_tune(o->heads[i]);
    }
    refuse_readout(o);
    held_out = o->train || o->test || o->save || o->predict;
    for (int i = 0; i < o->fit.n_shots; i++)
        held_out |= o->shots[i] > 1;
    refuse_given(g, "lambda", !lambda, "none of these heads has it");
    refuse_given(g, "lambda", o->fit.tune, "--tune loo chooses it");
    refuse_given(g, "tune", !tunable, "none of these heads has a regularisation");
    refuse_given(g, "sweep", !tunable, "none of these heads has a regularisation");
    refuse_given(g, "tune", !held_out, "a support of one row a class has no rows to hold out");
    refuse_split(o);
    refuse_confusion(o);
    refuse_given(g, "pairs", o->n_heads < 2, "expected two heads or more");
    refuse_given(g, "diagnose", o->no_geometry, "it prints the geometry, which --no-geometry leaves out");
    refuse_given(g, "no-geometry", o->json, "--json prints the geometry with --diagnose alone");
    refuse_given(g, "epsilon", o->no_geometry, "--no-geometry leaves the hull out");
    refuse_given(g, "epsilon", o->json && !o->diagnose, "--json prints the geometry with --diagnose alone");
    refuse_math_on_cpu(g, &o->device);
}
