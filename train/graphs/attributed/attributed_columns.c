/* train/graphs/attributed/attributed_columns.c - features of nodes from their attributes.
 *
 * A number is a column; a text is one column per distinct text, unless no two nodes have the same, as then it is a
 * name. What would be the class of a node is one column per value in a set, whose labels are those of its graphs.
 * Columns are in the order of the attributes' names, and those of one attribute in that of its texts; a node without an
 * attribute has 0 there. */
#include "train/graphs/attributed/attributed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An attribute that is a text, to be sorted. */
typedef struct attribute_text {
    int32_t key;
    const char *text;
    mo_attribute *attribute;
} attribute_text;

static int by_key_and_text(const void *a, const void *b) {
    const attribute_text *x = a, *y = b;
    int order = x->key != y->key ? (x->key > y->key) - (x->key < y->key) : strcmp(x->text, y->text);
    return order ? order : (x->attribute > y->attribute) - (x->attribute < y->attribute);
}

static int by_column(const void *a, const void *b) {
    const mo_attribute *x = a, *y = b;
    return (x->column > y->column) - (x->column < y->column);
}

static bool is_class_attribute(const char *name) {
    for (int i = 0; mo_class_attributes[i]; i++)
        if (strcmp(name, mo_class_attributes[i]) == 0)
            return true;
    return false;
}

/* Whole numbers that would be the class of a node become texts. */
static bool write_kinds(mo_attributed *a) {
    char number[32];
    uint8_t *kind = mo_host_array(a->ctx, a->keys.words.n, sizeof *kind);
    for (int64_t k = 0; kind && k < a->keys.words.n; k++)
        kind[k] = is_class_attribute(mo_words_get(&a->keys.words, k));
    for (int64_t i = 0; kind && i < a->n; i++)
        kind[a->attribute[i].key] &= a->attribute[i].number == rintf(a->attribute[i].number);
    for (int64_t i = 0; kind && mo_ok(a->ctx) && i < a->n; i++) {
        mo_attribute *x = &a->attribute[i];
        if (x->text >= 0 || !kind[x->key])
            continue;
        snprintf(number, sizeof number, "%.0f", (double)x->number);
        x->text = a->text.n;
        mo_words_add(a->ctx, &a->text, number);
    }
    free(kind);
    return mo_ok(a->ctx);
}

/* How many attributes of each key are texts; raises where others are numbers. */
static bool count_key_texts(mo_attributed *a, const char *path, int64_t *texts) {
    int64_t *all = mo_host_array(a->ctx, a->keys.words.n, sizeof *all);
    for (int64_t i = 0; all && i < a->n; i++) {
        all[a->attribute[i].key]++;
        texts[a->attribute[i].key] += a->attribute[i].text >= 0;
    }
    for (int64_t k = 0; all && k < a->keys.words.n && mo_ok(a->ctx); k++)
        if (texts[k] && texts[k] != all[k])
            mo_fail(a->ctx, MO_FORMAT, "%s: expected attributes '%.60s' of one kind, found texts and numbers", path,
                mo_words_get(&a->keys.words, k));
    free(all);
    return mo_ok(a->ctx);
}

/* The texts of all keys, sorted; owned. */
static attribute_text *sort_texts(mo_attributed *a, int64_t *n) {
    attribute_text *sorted = mo_host_array(a->ctx, a->n, sizeof *sorted);
    *n = 0;
    for (int64_t i = 0; sorted && i < a->n; i++)
        if (a->attribute[i].text >= 0)
            sorted[(*n)++] =
                (attribute_text){a->attribute[i].key, mo_words_get(&a->text, a->attribute[i].text), &a->attribute[i]};
    if (sorted)
        qsort(sorted, (size_t)*n, sizeof *sorted, by_key_and_text);
    return sorted;
}

/* Gives the texts of a key, which begin at `sorted`, their columns; returns how many. */
static int64_t place_texts(const attribute_text *sorted, int64_t n, int64_t first) {
    int64_t distinct = n > 0;
    for (int64_t i = 1; i < n; i++)
        distinct += strcmp(sorted[i].text, sorted[i - 1].text) != 0;
    if (distinct == n)
        return 0;
    for (int64_t i = 0, at = 0; i < n; i++) {
        at += i > 0 && strcmp(sorted[i].text, sorted[i - 1].text) != 0;
        sorted[i].attribute->column = (int32_t)(first + at);
        sorted[i].attribute->number = 1;
    }
    return distinct;
}

/* Columns of all attributes, key by key. */
static bool place_columns(mo_attributed *a, mo_graph *graph, const int64_t *texts, const char *class_name) {
    int64_t n, *column = mo_host_array(a->ctx, a->keys.words.n, sizeof *column), *start = NULL;
    attribute_text *sorted = sort_texts(a, &n);
    mo_word *key = mo_words_sort(a->ctx, &a->keys.words);
    start = key ? mo_host_array(a->ctx, a->keys.words.n + 1, sizeof *start) : NULL;
    bool fine = column && sorted && start;
    for (int64_t k = 0; fine && k < a->keys.words.n; k++)
        start[k + 1] = start[k] + texts[k];
    for (int64_t i = 0; fine && i < a->keys.words.n; i++) {
        int64_t k = key[i].at;
        bool left_out = class_name && strcmp(key[i].text, class_name) == 0;
        column[k] = left_out || texts[k] ? -1 : graph->features++;
        if (!left_out && texts[k])
            graph->features += place_texts(sorted + start[k], texts[k], graph->features);
    }
    for (int64_t i = 0; fine && i < a->n; i++)
        if (a->attribute[i].text < 0)
            a->attribute[i].column = (int32_t)column[a->attribute[i].key];
    free(start);
    free(key);
    free(sorted);
    free(column);
    return fine;
}

/* The features from the attributes, which are in the order of their nodes. */
static bool fill_rows(mo_attributed *a, mo_graph *graph) {
    graph->feature_pointer = mo_host_array(a->ctx, a->nodes + 1, sizeof *graph->feature_pointer);
    graph->feature_column = mo_host_array(a->ctx, a->n, sizeof *graph->feature_column);
    graph->feature_value = mo_host_array(a->ctx, a->n, sizeof *graph->feature_value);
    if (!mo_ok(a->ctx))
        return false;
    for (int64_t node = 0, i = 0, end = 0; node < a->nodes; node++) {
        while (end < a->n && a->attribute[end].node == node)
            end++;
        if (end > i)
            qsort(a->attribute + i, (size_t)(end - i), sizeof *a->attribute, by_column);
        for (; i < end; i++)
            if (a->attribute[i].column >= 0 && a->attribute[i].number != 0) {
                graph->feature_column[graph->feature_nnz] = a->attribute[i].column;
                graph->feature_value[graph->feature_nnz++] = a->attribute[i].number;
            }
        graph->feature_pointer[node + 1] = graph->feature_nnz;
    }
    return true;
}

bool mo_attributed_columns(mo_attributed *a, mo_graph *graph, const char *class_name) {
    int64_t *texts = mo_host_array(a->ctx, a->keys.words.n, sizeof *texts);
    bool fine = texts && (a->graphs == 1 || write_kinds(a)) && count_key_texts(a, graph->source, texts) &&
                place_columns(a, graph, texts, class_name) && (graph->features == 0 || fill_rows(a, graph));
    free(texts);
    return fine;
}
