/* train/graphs/node_names.c - lists of texts, and the names of a graph's nodes in the file it was read from. */
#include "train/graphs/node_names.h"
#include "tensor/hidden.h"
#include "train/graph.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- lists of texts ---- */

bool mo_words_add(mo_context *ctx, mo_words *w, const char *text) {
    int64_t bytes = (int64_t)strlen(text) + 1;
    if (!mo_host_array_grow(ctx, &w->start, &w->starts, w->n + 1, sizeof *w->start) ||
        !mo_host_array_grow(ctx, &w->text, &w->room, w->bytes + bytes, 1))
        return false;
    w->start[w->n++] = w->bytes;
    memcpy(w->text + w->bytes, text, (size_t)bytes);
    w->bytes += bytes;
    return true;
}

static int word_by_text(const void *a, const void *b) {
    const mo_word *x = a, *y = b;
    int order = strcmp(x->text, y->text);
    return order ? order : (x->at > y->at) - (x->at < y->at);
}

mo_word *mo_words_sort(mo_context *ctx, const mo_words *w) {
    mo_word *sorted = mo_host_array(ctx, w->n, sizeof *sorted);
    for (int64_t i = 0; sorted && i < w->n; i++)
        sorted[i] = (mo_word){mo_words_get(w, i), i};
    if (sorted)
        qsort(sorted, (size_t)w->n, sizeof *sorted, word_by_text);
    return sorted;
}

/* The first of n sorted words with that text; NULL: none. */
static const mo_word *find_word(const mo_word *sorted, int64_t n, const char *text) {
    int64_t low = 0, high = n;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (strcmp(sorted[middle].text, text) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && strcmp(sorted[low].text, text) == 0 ? &sorted[low] : NULL;
}

void mo_words_release(mo_words *w) {
    free(w->start);
    free(w->text);
    *w = (mo_words){0};
}

/* ---- the names of nodes ---- */

struct mo_node_names *mo_node_names_of_ids(mo_context *ctx, int64_t *id, int64_t n) {
    struct mo_node_names *names = mo_host_array(ctx, 1, sizeof *names);
    if (names)
        *names = (struct mo_node_names){.n = n, .id = id};
    else
        free(id);
    return names;
}

struct mo_node_names *mo_node_names_of_words(mo_context *ctx, mo_words *words, int64_t *repeated) {
    struct mo_node_names *names = mo_host_array(ctx, 1, sizeof *names);
    *repeated = -1;
    if (names) {
        *names = (struct mo_node_names){.n = words->n, .words = *words};
        names->sorted = mo_words_sort(ctx, words);
    } else {
        mo_words_release(words);
    }
    *words = (mo_words){0};
    for (int64_t i = 1; names && names->sorted && i < names->n; i++)
        if (strcmp(names->sorted[i].text, names->sorted[i - 1].text) == 0)
            *repeated = *repeated < 0 || names->sorted[i].at < *repeated ? names->sorted[i].at : *repeated;
    if (names && names->sorted && *repeated < 0)
        return names;
    mo_node_names_release(names);
    return NULL;
}

/* The number that a text spells, or -1. */
static int64_t number_of_text(const char *text) {
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    return errno || end == text || *end || number < 0 ? -1 : number;
}

void mo_node_names_release(struct mo_node_names *names) {
    if (!names)
        return;
    free(names->id);
    free(names->sorted);
    mo_words_release(&names->words);
    free(names);
}

int64_t mo_graph_find_example(const mo_graph *graph, const char *name) {
    if (!graph || !name)
        return -1;
    const struct mo_node_names *names = graph->names;
    int64_t number = number_of_text(name);
    if (!names)
        return number < mo_graph_examples(graph) ? number : -1;
    if (names->id)
        return mo_find_sorted(names->id, names->n, number);
    const mo_word *word = find_word(names->sorted, names->n, name);
    return word ? word->at : -1;
}

const char *mo_graph_example_name(const mo_graph *graph, int64_t i, char number[24]) {
    if (!number)
        return NULL;
    const struct mo_node_names *names = graph ? graph->names : NULL;
    if (names && !names->id)
        return mo_words_get(&names->words, i);
    snprintf(number, 24, "%" PRId64, names ? names->id[i] : i);
    return number;
}

const char *mo_graph_class_name(const mo_graph *graph, int64_t c, char number[24]) {
    if (!number)
        return NULL;
    if (graph && graph->class_name && c >= 0 && c < graph->classes)
        return graph->class_name[c];
    snprintf(number, 24, "%" PRId64, c);
    return number;
}
