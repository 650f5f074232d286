/* tools/readouts/readouts_confusion.c - the confusion matrix of one head, the figures of its classes and its worst
 * pairs. */
#include "tools/readouts/readouts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDEST_MATRIX = 20, WORST_PAIRS = 10, LONGEST_NAME = 24 };

/* Returns the columns for class names: those of the longest name, at least 5 and at most LONGEST_NAME. */
static int name_width(const mo_embeddings *E) {
    size_t width = 5;
    for (int64_t c = 0; c < E->graph->classes; c++)
        width = strlen(E->name[c]) > width ? strlen(E->name[c]) : width;
    return width < LONGEST_NAME ? (int)width : LONGEST_NAME;
}

static void print_matrix(const mo_embeddings *E, const mo_confusion *x, int width) {
    int64_t C = x->classes, most = 0;
    for (int64_t i = 0; i < C * C; i++)
        most = x->count[i] > most ? x->count[i] : most;
    int column = snprintf(NULL, 0, "%" PRId64, most);
    column = (column < 4 ? 4 : column) + 2;
    printf("%*s  predicted\n%*s  ", width, "", width, "class");
    for (int64_t c = 0; c < C; c++)
        printf("%*.*s", column, column - 1, E->name[c]);
    putchar('\n');
    for (int64_t c = 0; c < C; c++) {
        printf("%*.*s  ", width, width, E->name[c]);
        for (int64_t j = 0; j < C; j++)
            printf("%*" PRId64, column, x->count[c * C + j]);
        putchar('\n');
    }
    putchar('\n');
}

static void print_share(double share) {
    if (isnan(share))
        printf("%13s", "-");
    else
        printf("%13.2f", 100 * share);
}

static void print_classes(const mo_embeddings *E, const mo_confusion *x, int width) {
    printf("%*s  %13s%13s%13s%13s\n", width, "class", "queries", "precision %", "recall %", "F1 %");
    for (int64_t c = 0; c < x->classes; c++) {
        mo_class_figures f = mo_confusion_class(x, c);
        printf("%*.*s  %13" PRId64, width, width, E->name[c], f.n);
        print_share(f.precision);
        print_share(f.recall);
        print_share(f.f1);
        putchar('\n');
    }
}

void readouts_print_confusion(const mo_embeddings *E, const mo_eval_row *row, const mo_confusion *x) {
    int width = name_width(E);
    int64_t pair[2 * WORST_PAIRS], pairs = mo_confusion_worst(x, WORST_PAIRS, pair);
    printf("\n%s, k = %" PRId64 ": which classes are taken for which\n", row->head, row->k);
    if (x->classes <= WIDEST_MATRIX)
        print_matrix(E, x, width);
    print_classes(E, x, width);
    for (int64_t i = 0; i < pairs; i++) {
        int64_t a = pair[2 * i], b = pair[2 * i + 1], count = x->count[a * x->classes + b];
        printf("%s%s taken for %s: %" PRId64 ", %.1f%% of its queries\n", i ? "        " : "\nworst   ", E->name[a],
            E->name[b], count, 100.0 * (double)count / (double)mo_confusion_class(x, a).n);
    }
}

static json_t *confusion_object(const char *kind, const mo_eval_row *row) {
    return json_pack("{s:s, s:s, s:I}", "kind", kind, "head", row->head, "k", (json_int_t)row->k);
}

static bool print_line_of(json_t *o, json_t *more) {
    json_object_update_new(o, more);
    return print_json(o);
}

static bool print_matrix_object(const mo_embeddings *E, const mo_eval_row *row, const mo_confusion *x) {
    json_t *names = json_array(), *matrix = json_array();
    for (int64_t c = 0; c < x->classes; c++) {
        json_t *line = json_array();
        for (int64_t j = 0; j < x->classes; j++)
            json_array_append_new(line, json_integer(x->count[c * x->classes + j]));
        json_array_append_new(names, json_string(E->name[c]));
        json_array_append_new(matrix, line);
    }
    return print_line_of(
        confusion_object("fit confusion", row), json_pack("{s:o, s:o}", "classes", names, "count", matrix));
}

bool readouts_print_confusion_objects(const mo_embeddings *E, const mo_eval_row *row, const mo_confusion *x) {
    int64_t pair[2 * WORST_PAIRS], pairs = mo_confusion_worst(x, WORST_PAIRS, pair);
    bool written = print_matrix_object(E, row, x);
    for (int64_t c = 0; written && c < x->classes; c++) {
        mo_class_figures f = mo_confusion_class(x, c);
        written = print_line_of(confusion_object("fit class", row),
            json_pack("{s:s, s:I, s:I, s:o, s:o, s:o}", "class", E->name[c], "n", (json_int_t)f.n, "predicted",
                (json_int_t)f.predicted, "precision", json_number(100 * f.precision), "recall",
                json_number(100 * f.recall), "f1", json_number(100 * f.f1)));
    }
    for (int64_t i = 0; written && i < pairs; i++) {
        int64_t a = pair[2 * i], b = pair[2 * i + 1];
        written = print_line_of(
            confusion_object("fit worst", row), json_pack("{s:s, s:s, s:I}", "class", E->name[a], "predicted",
                                                    E->name[b], "n", (json_int_t)x->count[a * x->classes + b]));
    }
    return written;
}
