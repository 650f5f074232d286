/* tools/eval/eval_effect.c - refuses options of `mochi eval` that have no effect. */
#include "tools/eval/eval_effect.h"

#include <string.h>

unsigned metrics_of(mo_task task) {
    unsigned links = (1u << MO_LINK_METRICS) - 1;
    return task == MO_TASK_LP ? links : ((1u << N_METRICS) - 1) & ~links;
}

/* ---- the subjects of the evaluation ---- */

/* The number of weights that are this word; NULL counts files: all but "random" and "none". */
static int count_weights(const eval_options *o, const char *word) {
    int n = 0;
    for (int i = 0; i < o->weights.count; i++) {
        const char *name = o->weights.items[i];
        n += word ? !strcmp(name, word) : strcmp(name, "random") != 0 && strcmp(name, "none") != 0;
    }
    return n;
}

/* The tasks that may be evaluated, as bits; the tasks of a named graph are not known before it is open. */
static unsigned tasks_of(const eval_options *o, const mo_suite *suite) {
    unsigned tasks = o->task >= 0 ? 1u << o->task : 7;
    for (int i = 0; suite && i < suite->n; i++)
        tasks = (i ? tasks : 0) | 1u << suite->task[i].task;
    return tasks;
}

static bool has_lambda(const subject *s, bool of_models) {
    bool has = false;
    for (int i = 0; i < s->n_candidates; i++)
        has |= (s->candidates[i].model != NULL) == of_models && head_has(s->candidates[i].head, "lambda") &&
               s->candidates[i].head != &mo_head_mixture;
    return has;
}

const char *eval_protocol_name(const eval_options *o, const char *task) {
    bool links = !strcmp(task, "lp");
    return links ? "split" : o->train || o->test ? "own" : mo_protocol_name(o->evaluation.protocol);
}

/* ---- refused by the command line alone ---- */

static void refuse_own_split(const eval_options *o) {
    const given_options *g = &o->given;
    static const char *const lists[] = {"train", "test"};
    refuse_given(g, "protocol", o->train || o->test, "--train and --test are a split of their own");
    for (int i = 0; i < 2; i++) {
        refuse_given(g, lists[i], o->suite, "--suite has splits of its own: expected --data NAME");
        refuse_given(g, lists[i], o->data.count != 1, "expected --data with one graph, whose nodes it lists");
        refuse_given(g, lists[i], o->task != MO_TASK_NC, "expected --task nc: links and graphs have no such list");
    }
}

void refuse_eval_words(const eval_options *o) {
    const given_options *g = &o->given;
    refuse_given(g, "data", o->suite, "--suite names data sets and tasks itself: expected neither --data nor --task");
    refuse_given(g, "task", o->suite, "--suite names data sets and tasks itself: expected neither --data nor --task");
    refuse_given(g, "encoder", o->weights.count && !count_weights(o, NULL),
        "expected --weights of that encoder beside it, found none");
    refuse_own_split(o);
    bool public = o->evaluation.protocol == MO_PROTOCOL_PUBLIC, own = o->train || o->test;
    refuse_given(g, "shots", own, "--train and --test have the k of their split");
    refuse_given(g, "suite", public, "--protocol public has a task and a k of its own: expected --data or neither");
    refuse_given(g, "protocol", public && o->task != MO_TASK_NC, "public: expected nodes, which it divides");
    refuse_given(g, "shots", public, "--protocol public has the k of its division");
    refuse_given(g, "average", o->weights.count < 2 || count_weights(o, NULL) < o->weights.count,
        "expected two or more files of --weights, of one recipe");
    refuse_given(g, "pool", o->hop >= 0, "--hop says which hop is taken");
    refuse_given(g, "stack", o->place != MO_FEATURES_ON_DISK && !o->memory,
        "expected --features disk or --memory, as a hop stack in memory is of float32");
    refuse_given(g, "shots", o->dot && !o->n_heads, "--head dot has no support");
    for (int i = 1; i < o->weights.count; i++)
        refuse_given(g, "weights", !strcmp(o->weights.items[i], "random") || !strcmp(o->weights.items[i], "none"),
            "random and none behind other weights: their table has the untrained encoder and the single hops already");
    refuse_math_on_cpu(g, &o->device);
}

/* ---- refused once weights and suite are known ---- */

static void refuse_by_weights(const eval_options *o, const subject *subjects, int n) {
    const given_options *g = &o->given;
    bool lambda = false, dot = false, transductive = false, model = false;
    for (int j = 0; j < n; j++) {
        const subject *s = &subjects[j];
        lambda |= has_lambda(s, s->n_models > 0);
        model |= s->n_models > 0;
        for (int i = 0; i < s->n_candidates; i++) {
            dot |= s->candidates[i].dot;
            transductive |= s->candidates[i].transductive;
        }
    }
    refuse_given(g, "recipe", !count_weights(o, NULL), "expected weights of a file, whose recipe it checks");
    refuse_given(g, "dim", !count_weights(o, "random") && !count_weights(o, "none"),
        "the weights say how wide their features are; expected --weights random or none");
    refuse_given(g, "max-rows", !model, "nothing is encoded without weights");
    refuse_given(g, "transductive", !transductive,
        "expected weights of the recipe best, and mixture, their own readout, among the heads");
    refuse_given(g, "head", o->dot && !dot, "dot: expected rows of nodes, which the recipe best has not; name a head");
    refuse_given(g, "lambda", !lambda, "the readouts of these weights learn it or have none; name a --head with it");
}

static void refuse_by_tasks(const eval_options *o, const mo_suite *suite) {
    const given_options *g = &o->given;
    unsigned tasks = tasks_of(o, suite), wanted = 0;
    bool links = tasks >> MO_TASK_LP & 1, classes = tasks & ~(1u << MO_TASK_LP);
    bool episodes = o->evaluation.protocol == MO_PROTOCOL_EPISODE;
    refuse_given(g, "protocol", !classes, "links are split under both protocols");
    refuse_given(g, "episodes", !classes || !episodes, "expected --protocol episode, of nodes or graphs");
    refuse_given(g, "queries", !classes || !episodes, "expected --protocol episode, of nodes or graphs");
    refuse_given(g, "seeds", episodes && !links, "expected --protocol split: protocol episode has --episodes");
    refuse_given(g, "seeds", o->evaluation.protocol == MO_PROTOCOL_PUBLIC,
        o->train || o->test ? "--train and --test are one split"
                            : "expected --protocol split: protocol public has the splits of its data");
    refuse_given(g, "transductive", !classes, "expected nodes or graphs: links have no such readout");
    refuse_given(g, "head", o->dot && !links, "dot: expected links, which alone are scored by inner products");
    for (int task = 0; task < MO_TASKS; task++)
        wanted |= tasks >> task & 1 ? metrics_of((mo_task)task) : 0;
    refuse_given(g, "metric", o->metrics & ~wanted, "names one that the tasks to evaluate have not");
}

void refuse_eval_options(const eval_options *o, const subject *subjects, int n, const mo_suite *suite) {
    unsigned tasks = tasks_of(o, suite);
    bool known = true;
    refuse_by_tasks(o, suite);
    refuse_by_weights(o, subjects, n);
    for (int task = 0; task < MO_TASKS; task++)
        known &= !(tasks >> task & 1) || subjects[0].best_hop[task] >= 0;
    refuse_given(&o->given, "pool", known, "the weights say which hop is best");
}
