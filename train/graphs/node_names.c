/* train/graphs/node_names.c - lists of texts, and the names of a graph's nodes in the file it was read from. */
#include "train/graphs/node_names.h"
#include "tensor/library.h"
#include "train/graph.h"
#include "train/graphs/graph_build.h"

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

/* ---- the order of nodes that no file lists ---- */

bool mo_is_whole_text(const char *text) {
    const char *digits = text + (*text == '-');
    size_t n = strspn(digits, "0123456789");
    return n > 0 && !digits[n] && (*digits != '0' || (n == 1 && digits == text));
}

/* Orders whole numbers of any length by their value. */
static int word_by_whole_number(const void *a, const void *b) {
    const char *x = ((const mo_word *)a)->text, *y = ((const mo_word *)b)->text;
    if ((*x == '-') != (*y == '-'))
        return *x == '-' ? -1 : 1;
    size_t m = strlen(x), n = strlen(y);
    int magnitude = m != n ? (m > n) - (m < n) : strcmp(x, y);
    return *x == '-' ? -magnitude : magnitude;
}

static int word_by_place(const void *a, const void *b) {
    const mo_word *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

/* Moves the first of each group of equal sorted texts to the front; returns their number, and whether all are whole
 * numbers. */
static int64_t keep_distinct(mo_word *sorted, int64_t n, bool *whole) {
    int64_t kept = 0;
    *whole = true;
    for (int64_t i = 0; i < n; i++)
        if (kept == 0 || strcmp(sorted[i].text, sorted[kept - 1].text) != 0) {
            sorted[kept++] = sorted[i];
            *whole = *whole && mo_is_whole_text(sorted[i].text);
        }
    return kept;
}

/* The number that a text spells; false if it spells none, or one beyond 64 bits. */
static bool number_of_text(const char *text, int64_t *number) {
    char *end;
    errno = 0;
    *number = strtoll(text, &end, 10);
    return !errno && end != text && !*end;
}

/* The numbers of n words, as an array; NULL if one is beyond 64 bits, or out of memory. */
static int64_t *numbers_of_words(mo_context *ctx, const mo_word *word, int64_t n) {
    int64_t *number = mo_host_array(ctx, n, sizeof *number);
    for (int64_t i = 0; number && i < n; i++)
        if (!number_of_text(word[i].text, &number[i])) {
            free(number);
            return NULL;
        }
    return number;
}

bool mo_graph_name_nodes(mo_graph *graph, const mo_words *words) {
    mo_context *ctx = graph->ctx;
    mo_word *word = mo_words_sort(ctx, words);
    mo_words names = {0};
    bool whole = false;
    int64_t n = word ? keep_distinct(word, words->n, &whole) : 0, repeated;
    if (n >= MO_GRAPH_LARGEST)
        mo_fail(ctx, MO_UNSUPPORTED, "%s: expected fewer than 2^31 nodes, found %lld", graph->source, (long long)n);
    if (n > 0)
        qsort(word, (size_t)n, sizeof *word, whole ? word_by_whole_number : word_by_place);
    int64_t *number = whole && mo_ok(ctx) ? numbers_of_words(ctx, word, n) : NULL;
    bool numbers = number, from_0 = numbers && (n == 0 || (number[0] == 0 && number[n - 1] == n - 1));
    graph->nodes = n;
    graph->node_numbers = numbers && !from_0;
    if (graph->node_numbers)
        graph->names = mo_node_names_of_ids(ctx, number, n);
    else
        free(number);
    for (int64_t i = 0; !numbers && i < n && mo_ok(ctx); i++)
        mo_words_add(ctx, &names, word[i].text);
    if (!numbers && mo_ok(ctx))
        graph->names = mo_node_names_of_words(ctx, &names, &repeated);
    if (graph->names)
        graph->names->order = whole ? MO_NAMES_BY_VALUE : MO_NAMES_AS_THEY_APPEAR;
    mo_words_release(&names);
    free(word);
    return mo_ok(ctx);
}

bool mo_graph_list_nodes(mo_graph *graph, mo_words *words, int64_t *repeated) {
    bool numbers = true, positions = true;
    int64_t number, n = words->n;
    for (int64_t i = 0; i < n && numbers; i++) {
        const char *text = mo_words_get(words, i);
        numbers = mo_is_whole_text(text) && number_of_text(text, &number);
        positions = positions && numbers && number == i;
    }
    graph->nodes = n;
    graph->names = mo_node_names_of_words(graph->ctx, words, repeated);
    graph->node_numbers = numbers && !positions;
    if (!graph->names)
        return false;
    graph->names->order = MO_NAMES_LISTED;
    if (positions) {
        mo_node_names_release(graph->names);
        graph->names = NULL;
    }
    return true;
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
    int64_t number;
    if ((!names || names->id) && !(mo_is_whole_text(name) && number_of_text(name, &number)))
        return -1;
    if (!names)
        return number >= 0 && number < mo_graph_examples(graph) ? number : -1;
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
