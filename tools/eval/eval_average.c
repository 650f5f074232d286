/* tools/eval/eval_average.c - the mean over several weights of one recipe, as training seeds give them: one column in
 * place of one for each, with the standard deviation between the weights. */
#include "tools/eval/eval_average.h"

#include "tools/memory.h"

#include <stb/stb_ds.h>
#include <stdlib.h>
#include <string.h>

static bool same_settings(mo_model *a, mo_model *b) {
    mo_setting one[MO_MAX_SETTINGS], other[MO_MAX_SETTINGS];
    int n = mo_model_settings(a, one);
    if (strcmp(a->encoder.name, b->encoder.name) != 0 || mo_model_settings(b, other) != n)
        return false;
    for (int i = 0; i < n; i++) {
        const char *word = one[i].word ? one[i].word : "", *other_word = other[i].word ? other[i].word : "";
        if (strcmp(one[i].key, other[i].key) != 0 || strcmp(word, other_word) != 0 || one[i].number != other[i].number)
            return false;
    }
    return true;
}

void require_one_recipe(evaluation *e) {
    const subject *a = &e->subjects[0];
    for (int j = 1; j < e->n_subjects && mo_ok(e->ctx); j++) {
        const subject *b = &e->subjects[j];
        const char *one = a->weights.recipe, *other = b->weights.recipe;
        if (strcmp(one, other) != 0)
            mo_fail(e->ctx, MO_INVALID, "--average: expected weights of one recipe, found %s of %s and %s of %s",
                a->weights.file, one[0] ? one : "unknown recipe", b->weights.file, other[0] ? other : "unknown recipe");
        else if (!same_settings(a->models[0], b->models[0]))
            mo_fail(e->ctx, MO_INVALID,
                "--average: expected weights of one recipe with equal settings, found others in %s than in %s",
                b->weights.file, a->weights.file);
    }
}

/* The figure of subject j that corresponds to a figure of the first subject; NULL where there is none. */
static const result *figure_of(const evaluation *e, int first, int j, const result *x, bool all) {
    const subject *s = &e->subjects[j];
    const char *features = all ? s->transductive_label : s->label;
    for (int i = first; i < arrlen(e->rows.items); i++) {
        const result *y = &e->rows.items[i];
        if (!strcmp(y->features, features) && same_subject(x, y) && y->k == x->k && !strcmp(y->block, x->block) &&
            !strcmp(y->head, x->head) && y->n == x->n && y->values)
            return y;
    }
    return NULL;
}

/* Adds the mean of all weights' figures to the list; false where one has none. */
static bool add_average(evaluation *e, int first, int at, bool all) {
    const result x = e->rows.items[at];
    mo_seen seen = MO_UNSEEN;
    double means[MAX_WEIGHTS], *values = x.values ? needed(calloc((size_t)x.n, sizeof *values)) : NULL;
    bool fine = values;
    for (int j = 0; j < e->n_subjects && fine; j++) {
        const result *y = figure_of(e, first, j, &x, all);
        fine = y;
        for (int64_t i = 0; fine && i < x.n; i++)
            values[i] += y->values[i] / e->n_subjects;
        means[j] = fine ? y->mean : 0;
        seen = fine && y->seen > seen ? y->seen : seen;
    }
    if (fine) {
        mo_summary over_values = mo_summarize(values, x.n), over_weights = mo_summarize(means, e->n_subjects);
        mo_eval_row row = {.data = x.data,
            .task = x.task,
            .features = all ? "average+T" : "average",
            .head = x.head,
            .k = x.k,
            .metric = x.metric,
            .mean = over_values.mean,
            .sd = over_values.sd,
            .ci95 = over_values.ci95,
            .n = x.n,
            .values = values,
            .n_test = x.n_test,
            .classes = x.classes,
            .small_classes = x.small_classes,
            .left_out = x.left_out};
        results_add_row(&e->rows, &row, x.protocol);
        result *added = &arrlast(e->rows.items);
        memcpy(added->block, x.block, sizeof added->block);
        added->n_weights = e->n_subjects;
        added->sd_weights = over_weights.sd;
        added->seen = seen;
        const char *block = strcmp(x.block, x.head) ? x.block : NULL;
        if (e->options->json && !e->lost_output)
            e->lost_output = !print_eval_average(e->options, &row, seen, block, means, e->n_subjects);
    }
    free(values);
    return fine;
}

/* Takes the figures of single weights out of the list. */
static void drop_single(evaluation *e, int first) {
    for (int i = (int)arrlen(e->rows.items) - 1; i >= first; i--)
        for (int j = 0; j < e->n_subjects; j++) {
            const char *features = e->rows.items[i].features;
            if (strcmp(features, e->subjects[j].label) != 0 && strcmp(features, e->subjects[j].transductive_label) != 0)
                continue;
            free(e->rows.items[i].values);
            arrdel(e->rows.items, (size_t)i);
            break;
        }
}

/* Puts the averages, which were added last, before the baselines. */
static void put_first(evaluation *e, int first, int added) {
    result *items = e->rows.items, *copy;
    int n = (int)arrlen(items), averages = n - added;
    if (averages == 0)
        return;
    copy = needed(malloc((size_t)(n - first) * sizeof *copy));
    memcpy(copy, items + added, (size_t)averages * sizeof *copy);
    memcpy(copy + averages, items + first, (size_t)(added - first) * sizeof *copy);
    memcpy(items + first, copy, (size_t)(n - first) * sizeof *copy);
    free(copy);
}

void add_averages(evaluation *e, int first) {
    int n = (int)arrlen(e->rows.items);
    const subject *s = &e->subjects[0];
    for (int i = first; i < n; i++)
        if (!strcmp(e->rows.items[i].features, s->label))
            add_average(e, first, i, false);
    for (int i = first; i < n; i++)
        if (s->transductive_label[0] && !strcmp(e->rows.items[i].features, s->transductive_label))
            add_average(e, first, i, true);
    put_first(e, first, n);
    if (!e->options->json)
        drop_single(e, first);
}
