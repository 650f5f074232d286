/* tools/predict/predict_explain.c - `mochi predict --explain`: which labelled examples, by which kernels, make an
 * example's prediction. */
#include "tools/cli/memory.h"
#include "tools/cli/table_file.h"
#include "tools/predict/predict.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { NAMED = 8 /* labelled examples */ };

typedef struct explanation {
    const mo_graph *graph;
    const mo_labels *known;
    const mo_few_shot_reasons *why;
    int64_t best, second; /* the classes of the largest logits */
    int64_t *class_of;    /* [examples] */
    bool reached;         /* by a label (mo_few_shot_reaches) */
} explanation;

/* What the label of example i adds to the logit of its class by all experts. */
static double added_by(const mo_few_shot_reasons *r, int64_t i) {
    double sum = 0;
    for (int e = 0; e < r->experts; e++)
        sum += r->weight[e * r->n + i];
    return sum;
}

/* What expert e adds to the logit of class c by all labels. */
static double added_to(const mo_few_shot_reasons *r, int64_t e, int64_t c) {
    double sum = 0;
    for (int64_t i = 0; i < r->n; i++)
        sum += r->label[i] == c ? r->weight[e * r->n + i] : 0;
    return sum;
}

typedef struct ranked {
    int64_t at;
    double size;
} ranked;

static int by_size(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    return x->size != y->size ? (x->size < y->size) - (x->size > y->size) : (x->at > y->at) - (x->at < y->at);
}

/* The labels that add most, for or against their class. */
static void print_labels(const explanation *x) {
    const mo_few_shot_reasons *r = x->why;
    ranked *list = needed(calloc((size_t)r->n + 1, sizeof *list));
    char number[24];
    for (int64_t i = 0; i < r->n; i++)
        list[i] = (ranked){i, fabs(added_by(r, i))};
    qsort(list, (size_t)r->n, sizeof *list, by_size);
    for (int64_t k = 0; k < r->n && k < NAMED; k++) {
        int64_t i = list[k].at;
        printf("  %+9.3f   ", added_by(r, i));
        print_safely(stdout, mo_graph_example_name(x->graph, r->id[i], number));
        fputs(", ", stdout);
        print_safely(stdout, x->known->name[r->label[i]]);
        putchar('\n');
    }
    if (r->n > NAMED)
        printf("  %9s   %" PRId64 " others, each at most %.3f\n", "", r->n - NAMED, list[NAMED].size);
    free(list);
}

/* A table: a line for each kernel, a column for each of the two classes. */
static void print_kernels(const explanation *x) {
    const mo_few_shot_reasons *r = x->why;
    ranked *list = needed(calloc((size_t)r->experts + 1, sizeof *list));
    for (int e = 0; e < r->experts; e++)
        list[e] = (ranked){e, fabs(added_to(r, e, x->best)) + fabs(added_to(r, e, x->second))};
    qsort(list, (size_t)r->experts, sizeof *list, by_size);
    for (int k = 0; k < r->experts; k++)
        printf("  %+9.3f  %+9.3f   %s\n", added_to(r, list[k].at, x->best), added_to(r, list[k].at, x->second),
            mo_expert_words(r->expert[list[k].at]));
    printf("  %+9.3f  %+9.3f   together: the logits\n", r->logit[x->best], r->logit[x->second]);
    free(list);
}

static void print_explanation(const explanation *x, int64_t id, int64_t predicted, double probability) {
    char number[24];
    print_safely(stdout, mo_graph_example_name(x->graph, id, number));
    fputs(": ", stdout);
    print_safely(stdout, x->known->name[predicted]);
    printf(", %.1f%%\n", 100 * probability);
    char *words = needed(mo_example_words(x->graph, id, x->class_of, x->known->name));
    fputs(words, stdout);
    free(words);
    if (x->class_of[id] >= 0) {
        fputs("it is labelled ", stdout);
        print_safely(stdout, x->known->name[x->class_of[id]]);
        puts(", and its own label is among the following");
    }
    if (!x->reached) {
        puts("no label reaches it, by edges or by attributes that tell the classes apart: it gets the classes' shares "
             "of the labels");
        return;
    }
    if (x->why->refitted) {
        fputs("before the refit on its own predictions: ", stdout);
        print_safely(stdout, x->known->name[x->best]);
        putchar('\n');
    }
    puts("each label adds to the logit of its own class:");
    print_labels(x);
    fputs("by kernel, to the logits of ", stdout);
    print_safely(stdout, x->known->name[x->best]);
    fputs(" and of ", stdout);
    print_safely(stdout, x->known->name[x->second]);
    puts(", the second:");
    print_kernels(x);
}

static bool print_explanation_object(const explanation *x, int64_t id, int64_t predicted, double probability) {
    const mo_few_shot_reasons *r = x->why;
    json_t *logits = json_object(), *labels = json_array();
    for (int64_t c = 0; c < r->classes; c++)
        json_object_set_new(logits, x->known->name[c], json_number(r->logit[c]));
    for (int64_t i = 0; i < r->n; i++) {
        json_t *kernels = json_object();
        for (int e = 0; e < r->experts; e++)
            json_object_set_new(kernels, mo_expert_words(r->expert[e]), json_number(r->weight[e * r->n + i]));
        json_array_append_new(
            labels, json_pack("{s:o, s:s, s:o, s:o}", "example", json_example(x->graph, r->id[i]), "label",
                        x->known->name[r->label[i]], "adds", json_number(added_by(r, i)), "kernels", kernels));
    }
    return print_json(json_pack("{s:s, s:o, s:s, s:o, s:b, s:b, s:o, s:o}", "kind", "explain", "example",
        json_example(x->graph, id), "label", x->known->name[predicted], "probability", json_number(probability),
        "refitted", r->refitted, "reached", x->reached, "logits", logits, "labels", labels));
}

bool explain_prediction(mo_few_shot *f, const mo_graph *graph, const mo_labels *known, const char *name, bool json) {
    mo_few_shot_reasons why = {0};
    int64_t id = mo_graph_find_example(graph, name), examples = mo_graph_examples(graph);
    if (id < 0)
        return mo_fail(graph->ctx, MO_INVALID,
            "--explain: expected the name of one of the %" PRId64 " examples of %s, found '%.60s'", examples,
            graph->name, name);
    explanation x = {.graph = graph, .known = known, .why = &why, .reached = mo_few_shot_reaches(f, id)};
    double *p = needed(calloc((size_t)known->classes + 1, sizeof *p));
    bool fine = mo_few_shot_probabilities(f, &id, 1, p) == MO_OK && mo_few_shot_explain(f, id, &why) == MO_OK;
    x.class_of = needed(malloc((size_t)examples * sizeof *x.class_of + 1));
    for (int64_t i = 0; i < examples; i++)
        x.class_of[i] = -1;
    for (int64_t i = 0; i < known->n; i++)
        x.class_of[known->id[i]] = known->label[i];
    if (fine) {
        int64_t predicted = mo_first_largest(p, known->classes);
        x.best = mo_first_largest(why.logit, known->classes);
        x.second = x.best == 0 ? 1 : 0;
        for (int64_t c = 0; c < known->classes; c++)
            x.second = c != x.best && why.logit[c] > why.logit[x.second] ? c : x.second;
        if (json)
            fine = print_explanation_object(&x, id, predicted, p[predicted]);
        else
            print_explanation(&x, id, predicted, p[predicted]);
    }
    mo_few_shot_reasons_release(&why);
    free(x.class_of);
    free(p);
    return fine;
}
