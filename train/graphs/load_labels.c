/* train/graphs/load_labels.c - the classes of nodes beside features: labels.npy or labels.txt, one label per node, a
 * class number from 0 or a class name (label_column.c); or labels.csv or .tsv with columns node and class (labels.c). A
 * label file with another name raises, so that labels are never silently ignored. */
#include "train/graphs/graph_build.h"
#include "train/graphs/label_column.h"
#include "train/graphs/loaders.h"
#include "train/graphs/table_reader.h"
#include "train/graphs/text_reader.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Reads a label for each node: class numbers, or names, which are numbered. */
static bool take_label_column(mo_graph *graph, const char *path, bool of_lines) {
    int64_t n = mo_graph_examples(graph);
    mo_label_column column = {0};
    bool fine = mo_label_column_read(graph->ctx, path, &column);
    if (fine && !mo_label_column_fits(&column, n))
        fine = mo_fail(graph->ctx, MO_FORMAT, "%s: expected a label for each of %lld nodes, found %lld", path,
            (long long)n, (long long)column.n);
    if (fine) {
        fine = mo_graph_set_labels(graph, column.value, n, path, of_lines);
        graph->class_name = column.name;
        column.value = NULL; /* now owned by the graph, as are the names */
        column.name = NULL;
    }
    mo_label_column_release(&column);
    return fine;
}

/* Reads the labels of some nodes by name; all others are unlabelled. */
static bool take_label_table(mo_graph *graph, const char *path) {
    mo_labels labels;
    bool fine = mo_labels_read(graph, path, &labels) && mo_graph_take_labels(graph, &labels);
    if (fine) {
        graph->class_name = labels.name;
        labels.name = NULL; /* now owned by the graph */
        fine = !labels.left_out || mo_note_left_out(graph->ctx, &graph->left_out, NULL, labels.left_out);
    }
    mo_labels_release(&labels);
    return fine;
}

/* ---- which file ---- */

/* Raises if the folder has a label file with another name. */
static bool refuse_others(mo_context *ctx, const char *folder) {
    DIR *listing = opendir(folder);
    if (!listing)
        return mo_fail(ctx, MO_IO, "%s: cannot open: %s", folder, strerror(errno));
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
    return mo_ok(graph->ctx) && refuse_others(graph->ctx, folder) &&
           (!has_array || take_label_column(graph, array, false)) &&
           (!has_text || take_label_column(graph, text, true)) && (!has_table || take_label_table(graph, table));
}
