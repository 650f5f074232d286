/* tools/predict/example_words.c - a node, or a graph of a set, in words. */
#include "tools/predict/example_words.h"
#include "tools/cli/memory.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_ATTRIBUTES = 12, MOST_NEIGHBOURS = 8 }; /* that are named */

void print_safely(FILE *out, const char *text) {
    for (; *text; text++)
        putc(printable(*text), out);
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
static void print_attributes(FILE *out, const mo_graph *given, int64_t id) {
    const mo_graph *g = given->loaded ? given->loaded : given; /* in the units of the file */
    int64_t first = g->features ? g->feature_pointer[id] : 0, stop = g->features ? g->feature_pointer[id + 1] : 0;
    const char *before = g->feature_name ? "   " : "   attributes ";
    for (int64_t k = first; k < stop && k < first + MOST_ATTRIBUTES; k++) {
        if (g->feature_name && is_filled_gap(g, k, first, stop))
            continue;
        fputs(before, out);
        before = ", ";
        if (g->feature_name)
            print_safely(out, g->feature_name[g->feature_column[k]]);
        else
            fprintf(out, "%" PRId32, g->feature_column[k]);
        if (g->feature_value && (g->feature_value[k] != 1 || is_amount(g, g->feature_column[k])))
            fprintf(out, g->feature_name ? " %.6g" : " (%.6g)", (double)g->feature_value[k]);
    }
    if (stop > first + MOST_ATTRIBUTES)
        fprintf(out, " and %" PRId64 " more", stop - first - MOST_ATTRIBUTES);
    if (stop > first)
        putc('\n', out);
}

static void print_neighbours(
    FILE *out, const mo_graph *g, int64_t id, const int64_t *class_of, char *const *class_name) {
    int64_t first = g->row_pointer[id], n = g->row_pointer[id + 1] - first, named = 0;
    char number[24];
    fputs(n ? "   beside " : "   beside no other", out);
    for (int known = 1; known >= 0; known--) /* those whose class is known come first */
        for (int64_t k = first; k < first + n && named < MOST_NEIGHBOURS; k++) {
            int64_t other = g->column[k];
            if ((class_of[other] >= 0) != known)
                continue;
            fputs(named++ ? ", " : "", out);
            print_safely(out, mo_graph_example_name(g, other, number));
            if (known) {
                fputs(" (", out);
                print_safely(out, class_name[class_of[other]]);
                putc(')', out);
            }
        }
    if (n > named)
        fprintf(out, " and %" PRId64 " more", n - named);
    putc('\n', out);
}

char *example_words(const mo_graph *g, int64_t id, const int64_t *class_of, char *const *class_name) {
    char *text = NULL;
    size_t bytes;
    FILE *out = open_text(&text, &bytes);
    int64_t a = g->graphs > 1 ? g->graph_offset[id] : 0, b = g->graphs > 1 ? g->graph_offset[id + 1] : 0;
    if (g->graphs > 1)
        fprintf(out, "   %" PRId64 " nodes, %" PRId64 " edges\n", b - a, (g->row_pointer[b] - g->row_pointer[a]) / 2);
    else {
        print_attributes(out, g, id);
        print_neighbours(out, g, id, class_of, class_name);
    }
    close_text(out, &text);
    return text;
}
