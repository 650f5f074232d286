/* train/graphs/attributed/attributed_classes.c - which attribute is the class, and the labels it gives.
 *
 * The class is the first of the attributes below that is fit for one: numbers must be whole, and texts of `label`,
 * which some programs call a node's own name, must not all differ. Classes that are whole numbers keep their order, and
 * a negative one means none; others are in the order of their bytes. */
#include "train/graphs/attributed/attributed.h"

#include "tensor/files/number_text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const mo_class_attributes[] = {"class", "y", "label", "club", NULL};

static bool is_whole_text(const char *text, int64_t *value) {
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return *text && !*end && !errno && *value >= -MO_GRAPH_LARGEST && *value <= MO_GRAPH_LARGEST;
}

/* Labels of n examples from their class's texts; NULL: none. names: whether the texts name the classes. */
static bool number_class_texts(mo_graph *graph, const mo_words *texts, bool *names) {
    int64_t n = texts->n, kept = 0, *value = mo_host_array(graph->ctx, n, sizeof *value);
    mo_word *sorted = mo_words_sort(graph->ctx, texts);
    *names = false;
    for (int64_t i = 0; value && i < n; i++)
        *names |= *mo_words_get(texts, i) && !is_whole_text(mo_words_get(texts, i), &value[i]);
    for (int64_t i = 0, rank = -1; value && sorted && i < n; i++) {
        rank += i == 0 || strcmp(sorted[i].text, sorted[i - 1].text) != 0;
        if (*names || !*sorted[i].text)
            value[sorted[i].at] = *sorted[i].text ? rank : -1;
    }
    int64_t *own = value ? mo_host_array(graph->ctx, n, sizeof *own) : NULL;
    for (int64_t i = 0; own && i < n; i++)
        if (value[i] >= 0)
            own[kept++] = value[i];
    int64_t classes = own ? mo_sort_distinct(own, kept) : 0;
    graph->label = own && sorted && kept ? mo_host_array(graph->ctx, n, sizeof *graph->label) : NULL;
    for (int64_t i = 0; graph->label && i < n; i++)
        graph->label[i] = value[i] < 0 ? -1 : mo_find_sorted(own, classes, value[i]);
    graph->n_labels = graph->label ? n : 0;
    graph->classes = graph->label ? classes : 0;
    free(own);
    free(value);
    free(sorted);
    return mo_ok(graph->ctx);
}

static bool set_class_texts(mo_graph *graph, const mo_words *texts) {
    bool names;
    if (!number_class_texts(graph, texts, &names))
        return false;
    graph->class_name = names && graph->label ? mo_host_array(graph->ctx, graph->classes, sizeof(char *)) : NULL;
    for (int64_t i = 0; graph->class_name && i < texts->n && mo_ok(graph->ctx); i++)
        if (graph->label[i] >= 0 && !graph->class_name[graph->label[i]])
            graph->class_name[graph->label[i]] = mo_text_copy(graph->ctx, mo_words_get(texts, i));
    return mo_ok(graph->ctx);
}

/* ---- of a set: an attribute of each graph ---- */

static bool is_real_text(const char *text) {
    char *end;
    int64_t whole;
    double value = mo_read_number(text, &end);
    return *text && end != text && !*end && isfinite(value) && !is_whole_text(text, &whole);
}

/* Values to regress on are no classes: a set of them has no labels. */
static bool label_graphs(mo_attributed *a, mo_graph *graph) {
    bool real = false;
    for (int64_t g = 0; g < a->graphs; g++)
        real |= is_real_text(mo_words_get(&a->classes, g));
    return real || set_class_texts(graph, &a->classes);
}

/* ---- of a single graph: an attribute of each node ---- */

/* Appends the classes of all nodes as texts; false where the attribute is none, or on failure. */
static bool list_class_texts(mo_attributed *a, int32_t key, bool may_differ, mo_words *texts) {
    int64_t next = 0, found = 0;
    char number[32];
    for (int64_t i = 0; i < a->n && mo_ok(a->ctx); i++) {
        const mo_attribute *x = &a->attribute[i];
        if (x->key != key)
            continue;
        if (x->text < 0 && (x->number != rintf(x->number) || fabsf(x->number) >= 1 << 24))
            return false;
        snprintf(number, sizeof number, "%" PRId64, (int64_t)x->number);
        for (; next < x->node && mo_ok(a->ctx); next++)
            mo_words_add(a->ctx, texts, "");
        mo_words_add(a->ctx, texts, x->text < 0 ? number : mo_words_get(&a->text, x->text));
        next++;
        found++;
    }
    for (; next < a->nodes && mo_ok(a->ctx); next++)
        mo_words_add(a->ctx, texts, "");
    mo_word *sorted = mo_ok(a->ctx) ? mo_words_sort(a->ctx, texts) : NULL;
    bool repeats = may_differ || found == 1;
    for (int64_t i = 1; sorted && i < texts->n; i++)
        repeats |= *sorted[i].text && strcmp(sorted[i].text, sorted[i - 1].text) == 0;
    free(sorted);
    return sorted && repeats;
}

static bool label_nodes(mo_attributed *a, mo_graph *graph, const char **name) {
    for (int rank = 0; mo_class_attributes[rank] && !*name && mo_ok(a->ctx); rank++) {
        int64_t key = mo_word_table_find(&a->keys, mo_class_attributes[rank]);
        mo_words texts = {0};
        bool may_differ = strcmp(mo_class_attributes[rank], "label") != 0;
        if (key >= 0 && list_class_texts(a, (int32_t)key, may_differ, &texts) && set_class_texts(graph, &texts))
            *name = mo_class_attributes[rank];
        mo_words_release(&texts);
    }
    return mo_ok(a->ctx);
}

bool mo_attributed_classes(mo_attributed *a, mo_graph *graph, const char **name) {
    *name = NULL;
    return a->graphs > 1 ? label_graphs(a, graph) : label_nodes(a, graph, name);
}
