/* train/graphs/example_words.c - a node, or a graph of a set, in words. */
#include "tensor/files/number_text.h"
#include "tensor/library.h"
#include "train/graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ATTRIBUTES = 12, MOST_NEIGHBOURS = 8 }; /* that are named */

/* Puts '?' in place of control characters. */
static void put_text(FILE *out, const char *text) {
    for (; *text; text++)
        fputc((unsigned char)*text < 32 || *text == 127 ? '?' : *text, out);
}

/* Whether entry k of a node stands for a gap, whose mark is another of its entries, first to stop - 1. */
static bool is_filled_gap(const mo_graph *g, int64_t k, int64_t first, int64_t stop) {
    const char *name = g->feature_name[g->feature_column[k]];
    size_t n = strlen(name);
    for (int64_t i = first; i < stop; i++) {
        const char *other = g->feature_name[g->feature_column[i]];
        if (!strncmp(other, name, n) && !strcmp(other + n, " missing"))
            return true;
    }
    return false;
}

/* Whether a column has values other than 0 and 1, of which 1 says more than that something is there. */
static bool is_amount(const mo_graph *g, int32_t column) {
    for (int64_t k = 0; k < g->feature_pointer[g->nodes]; k++)
        if (g->feature_column[k] == column && g->feature_value[k] != 0 && g->feature_value[k] != 1)
            return true;
    return false;
}

/* The columns that are not 0: "minutes 35, served hot, oven"; without names their numbers. */
static void put_attributes(FILE *out, const mo_graph *given, int64_t id) {
    const mo_graph *g = given->loaded ? given->loaded : given; /* in the units of the file */
    int64_t first = g->features ? g->feature_pointer[id] : 0, stop = g->features ? g->feature_pointer[id + 1] : 0;
    const char *before = g->feature_name ? "   " : "   attributes ";
    for (int64_t k = first; k < stop && k < first + MOST_ATTRIBUTES; k++) {
        if (g->feature_name && is_filled_gap(g, k, first, stop))
            continue;
        fputs(before, out);
        before = ", ";
        if (g->feature_name)
            put_text(out, g->feature_name[g->feature_column[k]]);
        else
            fprintf(out, "%" PRId32, g->feature_column[k]);
        if (g->feature_value && (g->feature_value[k] != 1 || is_amount(g, g->feature_column[k]))) {
            char number[32];
            mo_format(number, sizeof number, g->feature_name ? " %.6g" : " (%.6g)", (double)g->feature_value[k]);
            fputs(number, out);
        }
    }
    if (stop > first + MOST_ATTRIBUTES)
        fprintf(out, " and %" PRId64 " more", stop - first - MOST_ATTRIBUTES);
    if (stop > first)
        fputc('\n', out);
}

static void put_neighbours(FILE *out, const mo_graph *g, int64_t id, const int64_t *class_of, char *const *class_name) {
    int64_t first = g->row_pointer[id], n = g->row_pointer[id + 1] - first, named = 0;
    char number[24];
    fputs(n ? "   beside " : "   beside no other", out);
    for (int known = 1; known >= 0; known--) /* those whose class is known come first */
        for (int64_t k = first; k < first + n && named < MOST_NEIGHBOURS; k++) {
            int64_t other = g->column[k];
            if ((class_of[other] >= 0) != known)
                continue;
            fputs(named++ ? ", " : "", out);
            put_text(out, mo_graph_example_name(g, other, number));
            if (known) {
                fputs(" (", out);
                put_text(out, class_name[class_of[other]]);
                fputc(')', out);
            }
        }
    if (n > named)
        fprintf(out, " and %" PRId64 " more", n - named);
    fputc('\n', out);
}

char *mo_example_words(const mo_graph *g, int64_t id, const int64_t *class_of, char *const *class_name) {
    if (!g || !class_of || id < 0 || id >= mo_graph_examples(g))
        return NULL;
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return NULL;
    int64_t a = g->graphs > 1 ? g->graph_offset[id] : 0, b = g->graphs > 1 ? g->graph_offset[id + 1] : 0;
    if (g->graphs > 1)
        fprintf(out, "   %" PRId64 " nodes, %" PRId64 " edges\n", b - a, (g->row_pointer[b] - g->row_pointer[a]) / 2);
    else {
        put_attributes(out, g, id);
        put_neighbours(out, g, id, class_of, class_name);
    }
    bool whole = !ferror(out);
    if (fclose(out) == 0 && whole)
        return text;
    free(text);
    return NULL;
}
