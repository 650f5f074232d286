/* train/graphs/load_labels.c - the classes of nodes beside features.npy: labels.npy, integers; or labels.txt, a line a
 * node: class numbers from 0, or names, which become classes in the order of their texts. A negative number and an
 * empty line mean no class. labels.csv or .tsv names nodes and classes (labels.c). A file with another such name is
 * refused, so that labels are never ignored in silence. */
#include "train/graphs/graph_build.h"
#include "train/graphs/loaders.h"
#include "train/graphs/npz_members.h"
#include "train/graphs/table_reader.h"
#include "train/graphs/text_reader.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct line {
    char *text;     /* NULL: no class */
    int64_t number; /* the integer, or the rank of the name among the names */
} line;

static bool read_label_array(mo_graph *graph, const char *path) {
    mo_context *ctx = graph->ctx;
    mo_arrays *arrays = mo_arrays_create(ctx);
    if (arrays) {
        mo_arrays_take(arrays, "labels", mo_npy_read(ctx, path));
        mo_npz_members m = {.ctx = ctx, .path = path, .arrays = arrays};
        if (mo_ok(ctx))
            mo_npz_read_labels(&m, mo_graph_examples(graph), graph);
    }
    mo_arrays_release(arrays);
    return mo_ok(ctx);
}

/* ---- text ---- */

/* The text of each node's line, without blanks around it. Empty lines may follow those of the nodes. */
static bool read_label_lines(mo_graph *graph, const char *path, line *lines) {
    mo_text_reader r;
    bool fine = mo_text_open(&r, graph->ctx, path);
    int64_t n = 0;
    while (fine && mo_text_line(&r)) {
        bool blank = mo_text_blank(&r);
        size_t length = strlen(r.cursor);
        while (length > 0 && strchr(" \t", r.cursor[length - 1]))
            r.cursor[--length] = '\0';
        if (n < mo_graph_examples(graph) && !blank) {
            fine = (lines[n].text = mo_text_copy(graph->ctx, r.cursor));
        } else if (!blank) {
            mo_text_unexpected(&r, "the end of the file, as every node has its label");
            fine = false;
        }
        n++;
    }
    mo_text_close(&r);
    if (mo_ok(graph->ctx) && n < mo_graph_examples(graph))
        mo_fail(graph->ctx, MO_FORMAT, "%s: expected a line for each of %lld nodes, found %lld", path,
            (long long)mo_graph_examples(graph), (long long)n);
    return mo_ok(graph->ctx);
}

/* Returns whether all labels are integers; if so, these become their numbers. */
static bool number_integers(line *lines, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        char *end = NULL;
        errno = 0;
        lines[i].number = lines[i].text ? strtoll(lines[i].text, &end, 10) : -1;
        if (lines[i].text && (errno || *end))
            return false;
    }
    return true;
}

static int label_by_text(const void *a, const void *b) {
    const line *const *x = a, *const *y = b;
    return strcmp((*x)->text, (*y)->text);
}

static bool number_names(mo_context *ctx, line *lines, int64_t n) {
    line **sorted = mo_host_array(ctx, n, sizeof *sorted);
    int64_t count = 0;
    for (int64_t i = 0; sorted && i < n; i++) {
        lines[i].number = -1;
        if (lines[i].text)
            sorted[count++] = &lines[i];
    }
    if (sorted)
        qsort(sorted, (size_t)count, sizeof *sorted, label_by_text);
    for (int64_t i = 0, rank = -1; i < count; i++) {
        rank += i == 0 || strcmp(sorted[i]->text, sorted[i - 1]->text) != 0;
        sorted[i]->number = rank;
    }
    free(sorted);
    return sorted;
}

static bool take_label_numbers(mo_graph *graph, const char *path, const line *lines) {
    int64_t n = mo_graph_examples(graph);
    graph->label = mo_host_array(graph->ctx, n, sizeof *graph->label);
    graph->n_labels = graph->label ? n : 0;
    for (int64_t i = 0; i < graph->n_labels; i++) {
        if (lines[i].number >= n) {
            mo_fail(graph->ctx, MO_FORMAT,
                "%s:%lld: expected a class in 0..%lld, or a negative number for none, found %lld", path,
                (long long)i + 1, (long long)n - 1, (long long)lines[i].number);
            return false;
        }
        graph->label[i] = lines[i].number < 0 ? -1 : lines[i].number;
        graph->classes = lines[i].number >= graph->classes ? lines[i].number + 1 : graph->classes;
    }
    return graph->label;
}

static bool take_label_names(mo_graph *graph, const line *lines) {
    graph->class_name = mo_host_array(graph->ctx, graph->classes, sizeof *graph->class_name);
    for (int64_t i = 0; graph->class_name && i < mo_graph_examples(graph) && mo_ok(graph->ctx); i++)
        if (lines[i].text && !graph->class_name[lines[i].number])
            graph->class_name[lines[i].number] = mo_text_copy(graph->ctx, lines[i].text);
    return mo_ok(graph->ctx);
}

static bool read_label_text(mo_graph *graph, const char *path) {
    line *lines = mo_host_array(graph->ctx, mo_graph_examples(graph), sizeof *lines);
    bool fine = lines && read_label_lines(graph, path, lines),
         named = fine && !number_integers(lines, mo_graph_examples(graph));
    fine = fine && (!named || number_names(graph->ctx, lines, mo_graph_examples(graph))) &&
           take_label_numbers(graph, path, lines) && (!named || take_label_names(graph, lines));
    for (int64_t i = 0; lines && i < mo_graph_examples(graph); i++)
        free(lines[i].text);
    free(lines);
    return fine;
}

/* ---- table ---- */

/* Labels of some nodes by their names; the others have none. */
static bool take_label_table(mo_graph *graph, const char *path) {
    mo_labels labels;
    graph->label = mo_host_array(graph->ctx, mo_graph_examples(graph), sizeof *graph->label);
    if (graph->label && mo_labels_read(graph, path, &labels)) {
        graph->n_labels = mo_graph_examples(graph);
        graph->classes = labels.classes;
        graph->class_name = labels.name;
        labels.name = NULL; /* the graph's from here on */
        if (labels.left_out)
            mo_note_left_out(graph->ctx, &graph->left_out, NULL, labels.left_out);
        for (int64_t i = 0; i < mo_graph_examples(graph); i++)
            graph->label[i] = -1;
        for (int64_t i = 0; i < labels.n; i++)
            graph->label[labels.id[i]] = labels.label[i];
    }
    if (graph->label)
        mo_labels_release(&labels);
    return mo_ok(graph->ctx);
}

/* ---- which file ---- */

/* Raises if the folder has a file of labels under another name. */
static bool refuse_others(mo_context *ctx, const char *folder) {
    DIR *listing = opendir(folder);
    if (!listing) {
        mo_fail(ctx, MO_IO, "%s: cannot open: %s", folder, strerror(errno));
        return false;
    }
    for (struct dirent *entry; mo_ok(ctx) && (entry = readdir(listing));) {
        static const char *const known[] = {"labels.npy", "labels.npy.gz", "labels.txt", "labels.txt.gz", "labels.csv",
            "labels.csv.gz", "labels.tsv", "labels.tsv.gz"};
        bool other = strncasecmp(entry->d_name, "label", 5) == 0;
        for (int i = 0; i < 8; i++)
            other &= strcmp(entry->d_name, known[i]) != 0;
        if (other)
            mo_fail(ctx, MO_FORMAT,
                "%s/%s: expected labels as labels.npy, labels.txt (one line per node) or labels.csv", folder,
                entry->d_name);
    }
    closedir(listing);
    return mo_ok(ctx);
}

bool mo_load_labels(mo_graph *graph, const char *folder) {
    char array[PATH_MAX], text[PATH_MAX], table[PATH_MAX];
    bool has_array = mo_text_find(folder, "labels.npy", array, sizeof array);
    bool has_text = mo_text_find(folder, "labels.txt", text, sizeof text);
    bool has_table = mo_text_find(folder, "labels.csv", table, sizeof table) ||
                     mo_text_find(folder, "labels.tsv", table, sizeof table);
    if (has_array + has_text + has_table > 1)
        mo_fail(graph->ctx, MO_FORMAT, "%s: expected one of %s, found both", folder,
            !has_table  ? "labels.npy and labels.txt"
            : has_array ? "labels.npy and labels.csv"
                        : "labels.txt and labels.csv");
    return mo_ok(graph->ctx) && refuse_others(graph->ctx, folder) && (!has_array || read_label_array(graph, array)) &&
           (!has_text || read_label_text(graph, text)) && (!has_table || take_label_table(graph, table));
}
