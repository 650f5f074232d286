/* train/graphs/load_features.c - a folder of a user's own tables: edges and optionally node features and labels.
 *
 * edges.txt, .csv or .tsv have lines of two numbers or names. features.npy [nodes, columns] has any numbers, row i for
 * node i; features.csv or .tsv have the name of a node, then its attributes, with or without a header, and give
 * the order of the nodes; columns of words and gaps become numbers (attribute_texts.c); for features.mtx the error
 * gives the command that makes features.npy. labels.npy or .txt have one label per node, a class number from 0 or a
 * class name (label_column.c); names.txt has the names of the rows, which arrays need unless the nodes are called 0 ..
 * n - 1; labels.csv or .tsv have columns node and class (labels.c). A label file with another name raises, so that
 * labels are never silently ignored. */
#include "tensor/files/file.h"
#include "tensor/files/foreign_text.h"
#include "tensor/files/number_text.h"
#include "train/graphs/attribute_table.h"
#include "train/graphs/graph_build.h"
#include "train/graphs/label_column.h"
#include "train/graphs/loaders.h"
#include "train/graphs/node_names.h"
#include "train/graphs/row_names.h"
#include "train/graphs/table_reader.h"
#include "train/graphs/text_reader.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- features as an array ---- */

static bool are_finite(mo_context *ctx, const char *path, const float *value, const int64_t sizes[2]) {
    for (int64_t i = 0; i < sizes[0] * sizes[1]; i++)
        if (isinf(value[i])) {
            mo_fail(ctx, MO_INVALID, "%s: row %lld, column %lld: expected a finite float32 or NaN, found %g", path,
                (long long)(i / sizes[1]), (long long)(i % sizes[1]), (double)value[i]);
            return false;
        }
    return true;
}

/* Reads features.npy; its number of rows is the number of nodes. */
static bool read_features_file(mo_graph *graph, const char *path) {
    mo_context *ctx = graph->ctx;
    char shape[160];
    mo_tensor *T = mo_npy_read(ctx, path);
    if (mo_ok(ctx) &&
        (mo_ndim(T) != 2 || mo_dim(T, 0) < 1 || mo_dim(T, 0) >= MO_GRAPH_LARGEST || mo_dim(T, 1) >= MO_GRAPH_LARGEST)) {
        mo_fail(ctx, MO_FORMAT, "%s: expected features [nodes, columns], found shape %s", path,
            mo_shape_string(T, shape, sizeof shape));
    }
    int64_t sizes[] = {mo_dim(T, 0), mo_dim(T, 1)};
    if (mo_ok(ctx) && sizes[1] == 0) /* then the file lists no node */
        mo_claim_fits(ctx, path, "nodes without features", sizes[0], MO_BYTES_A_NODE, 0);
    float *value = mo_ok(ctx) ? mo_host_values(T, MO_F32) : NULL;
    if (value && are_finite(ctx, path, value, sizes)) {
        graph->nodes = sizes[0];
        mo_graph_set_features(graph, value, sizes[1], NULL);
    }
    free(value);
    mo_tensor_release(T);
    return mo_ok(ctx);
}

/* ---- which columns of a table hold the names and the classes ---- */

/* Whether a text is a word with one letter changed, added, left out, or two neighbours swapped. */
static bool is_misspelt(const char *text, const char *word) {
    size_t n = strlen(text), m = strlen(word), begin = 0, end = 0;
    while (begin < n && begin < m && tolower((unsigned char)text[begin]) == word[begin])
        begin++;
    while (end < n - begin && end < m - begin && tolower((unsigned char)text[n - 1 - end]) == word[m - 1 - end])
        end++;
    n -= begin + end;
    m -= begin + end;
    bool swapped = n == 2 && m == 2 && tolower((unsigned char)text[begin]) == word[begin + 1] &&
                   tolower((unsigned char)text[begin + 1]) == word[begin];
    return (n <= 1 && m <= 1 && n + m > 0) || swapped;
}

/* Notes a column that seems to be meant for the classes: as an attribute it would tell them. */
static void note_misspelt(mo_graph *graph, const mo_table *heading) {
    char what[160];
    for (int64_t i = 0; i < heading->n; i++)
        if (is_misspelt(heading->field[i], "label") || is_misspelt(heading->field[i], "class")) {
            snprintf(
                what, sizeof what, "no column is called label, and %.40s is read as an attribute", heading->field[i]);
            mo_note_left_out(graph->ctx, &graph->left_out, heading->path, what);
        }
}

/* Finds the columns of features.csv or, if `nodes`, of nodes.csv, as DGL, Gephi and Neo4j have it, where the name may
 * stand anywhere and the class beside the attributes. */
static void find_columns(mo_graph *graph, const char *path, bool nodes, mo_attribute_columns *c) {
    mo_context *ctx = graph->ctx;
    mo_table first;
    if (mo_table_open(&first, ctx, path, MO_TABLE_CSV) && mo_table_next(&first) &&
        (nodes || first.n > 1 || mo_table_columns(&first, 2, "a node's name and one feature or more")) &&
        mo_attribute_columns_create(ctx, first.n, c)) {
        bool nameless = first.n > 1 && !*first.field[0]; /* as pandas' numbers of rows */
        int64_t name = nodes ? mo_name_column(&first, 0) : nameless ? mo_name_column(&first, 1) : 0;
        c->name_at = name < 0 || (!nodes && name > 1) ? 0 : name;
        c->left_out[0] = c->name_at > 0 && nameless;
        c->class_at = nodes ? mo_class_column(&first) : -1;
        c->class_at = c->class_at == c->name_at ? -1 : c->class_at;
        if (nodes && c->class_at < 0)
            note_misspelt(graph, &first);
    }
    mo_table_close(&first);
}

/* Makes the column of classes the graph's labels; notes it instead if there are other labels, or if it holds a text of
 * each node's own, as Gephi's Label does. */
static bool take_classes(mo_graph *graph, const char *path, const mo_words *class) {
    bool others = graph->n_labels, own = false;
    if (class->n == 0 || class->n != graph->nodes)
        return true;
    if (!others && !mo_graph_take_class_texts(graph, path, class, 2, &own))
        return false;
    return (!others && !own) || mo_note_left_out(graph->ctx, &graph->left_out, path,
                                    own ? "the column of labels, which differ from node to node"
                                        : "the column of labels, as there are others");
}

/* ---- names.txt: one name per line, which the rows of features.npy and of the labels follow ---- */

static bool read_node_names(mo_graph *graph, const char *path) {
    mo_context *ctx = graph->ctx;
    mo_words names = {0};
    int64_t repeated = -1, rows = graph->nodes;
    bool fine = mo_name_lines_read(ctx, path, &names);
    if (fine && (names.n >= MO_GRAPH_LARGEST || (rows > 0 && names.n != rows)))
        fine =
            mo_fail(ctx, MO_FORMAT, "%s: expected a name for each of %lld rows of the features beside it, found %lld",
                path, (long long)rows, (long long)names.n);
    if (fine && !mo_graph_list_nodes(graph, &names, &repeated) && repeated >= 0)
        mo_fail(
            ctx, MO_FORMAT, "%s:%lld: expected each name once, found an earlier one", path, (long long)repeated + 1);
    mo_words_release(&names);
    return mo_ok(ctx);
}

/* ---- labels ---- */

/* Reads a label for each node: class numbers, or names, which are numbered. */
static bool take_label_column(mo_graph *graph, const char *path, bool of_lines) {
    int64_t n = mo_graph_examples(graph);
    mo_label_column column = {0};
    bool fine = mo_label_column_read(graph->ctx, path, &column) && mo_label_column_bind(&column, graph, path, true);
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
        fine = (!labels.left_out || mo_note_left_out(graph->ctx, &graph->left_out, NULL, labels.left_out)) &&
               (!labels.headers || mo_note_left_out(graph->ctx, &graph->headers, NULL, labels.headers));
    }
    mo_labels_release(&labels);
    return fine;
}

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

static bool load_labels(mo_graph *graph, const char *folder) {
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

/* ---- the folder ---- */

/* Finds a file of the folder under one of some names; raises if there are several. Returns whether there is one. */
static bool find_one(mo_context *ctx, const char *folder, const char *const *names, char *path, size_t bytes) {
    char other[PATH_MAX];
    const char *found = NULL;
    for (; *names && mo_ok(ctx); names++)
        if (mo_text_find(folder, *names, found ? other : path, found ? sizeof other : bytes)) {
            if (found)
                mo_fail(ctx, MO_FORMAT, "%s: expected %s or %s, found both", folder, found, *names);
            found = *names;
        }
    return found && mo_ok(ctx);
}

static const char *const edge_files[] = {"edges.txt", "edges.csv", "edges.tsv", NULL};
static const char *const feature_files[] = {"features.npy", "features.csv", "features.tsv", "features.mtx", NULL};
static const char *const node_files[] = {"nodes.csv", "nodes.tsv", NULL};
static const char *const other_files[] = {
    "names.txt", "labels.npy", "labels.txt", "labels.csv", "labels.tsv", "labels.names.txt", "targets.csv", NULL};

bool mo_is_features(const char *folder) {
    char path[PATH_MAX];
    bool found = false;
    for (int i = 0; edge_files[i]; i++)
        found |= mo_text_find(folder, edge_files[i], path, sizeof path);
    for (int i = 0; feature_files[i]; i++)
        found |= mo_text_find(folder, feature_files[i], path, sizeof path);
    return found;
}

static bool is_one_of(const char *file, const char *const *names) {
    size_t n = strlen(file);
    n -= n > 3 && !strcmp(file + n - 3, ".gz") ? 3 : 0;
    for (; *names; names++)
        if (strlen(*names) == n && strncmp(file, *names, n) == 0)
            return true;
    return false;
}

/* Whether a file that is not read may be meant as a part of the graph, by its name: nodes, features, x, y, .. */
static bool seems_meant(const char *file) {
    static const char *const stems[] = {"node", "feature", "feat", "attribute", "attr", "edge", "name", "id", "x", "y",
        "target", "class", "train", "val", "test", "mask", "weight", "split", "vertices", "vertex"};
    static const char *const endings[] = {"csv", "tsv", "txt", "npy", "npz", "mtx", "json", "parquet", "xlsx",
        "feather", "mat", "pt", "pkl", "dat", "data"};
    size_t n = strcspn(file, ".");
    bool meant = false, data = false;
    for (size_t i = 0; i < sizeof endings / sizeof *endings && file[n]; i++)
        data |= strncasecmp(file + n + 1, endings[i], strlen(endings[i])) == 0;
    for (size_t i = 0; i < sizeof stems / sizeof *stems && data; i++) {
        size_t length = strlen(stems[i]);
        const char *in = file;
        for (; !meant && in + length <= file + n; in++) /* a word of the name: node_features, trainMask */
            meant = strncasecmp(in, stems[i], length) == 0 && (in == file || strchr("_- ", in[-1])) &&
                    (length > 4 || in[length] == '.' || strchr("s_- ", in[length]));
    }
    return meant;
}

/* Notes the files of the folder that are not read and seem to be meant as a part of the graph. */
static void note_unread_files(mo_graph *graph, const char *folder, bool nodes) {
    char shown[48], what[180] = "";
    struct dirent **entry = NULL;
    int64_t found = 0;
    int n = scandir(folder, &entry, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        const char *file = entry[i]->d_name;
        size_t used = strlen(what);
        bool read = is_one_of(file, edge_files) || is_one_of(file, feature_files) || is_one_of(file, other_files) ||
                    (nodes && is_one_of(file, node_files));
        bool meant =
            seems_meant(file) || (!graph->features && mo_is_table(file)); /* without attributes any table may be */
        if (!read && meant && found++ < 3)
            snprintf(what + used, sizeof what - used, "%s%s", used ? ", " : "",
                mo_quote(file, strlen(file), shown, sizeof shown));
        free(entry[i]);
    }
    free(entry);
    if (found > 3)
        snprintf(what + strlen(what), sizeof what - strlen(what), " and %lld more", (long long)(found - 3));
    if (found)
        mo_graph_leave_out(graph, "%s (read are edges.csv, features.csv or nodes.csv, labels.csv, names.txt)", what);
}

mo_graph *mo_load_features(mo_context *ctx, const char *name, const char *folder) {
    mo_graph *graph = mo_graph_new(ctx, name, folder);
    if (!graph)
        return NULL;
    char path[PATH_MAX], edges[PATH_MAX];
    bool found = find_one(ctx, folder, edge_files, edges, sizeof edges);
    if (mo_ok(ctx) && !found)
        mo_fail(
            ctx, MO_FORMAT, "%s: expected edges.txt, edges.csv or edges.tsv beside the features, found none", folder);
    mo_attribute_columns columns = {0};
    mo_words class = {0};
    bool features = mo_ok(ctx) && find_one(ctx, folder, feature_files, path, sizeof path);
    bool nodes = mo_ok(ctx) && !features && find_one(ctx, folder, node_files, path, sizeof path);
    if (features || nodes) {
        if (mo_is_table(path)) {
            find_columns(graph, path, nodes, &columns);
            mo_attribute_table_read(graph, path, edges, &columns, &class);
        } else if (!mo_path_ends_with(path, ".npy") && !mo_path_ends_with(path, ".npy.gz")) {
            mo_fail_foreign(ctx, path, "Matrix Market");
        } else {
            read_features_file(graph, path);
        }
    }
    char names[PATH_MAX];
    if (mo_ok(ctx) && mo_text_find(folder, "names.txt", names, sizeof names)) {
        if (graph->names)
            mo_fail(
                ctx, MO_FORMAT, "%s: expected one list of the nodes, found names.txt and a table with names", folder);
        else
            read_node_names(graph, names);
    }
    if (mo_ok(ctx) && mo_load_edges(graph, edges) && load_labels(graph, folder) && take_classes(graph, path, &class))
        note_unread_files(graph, folder, nodes);
    mo_words_release(&class);
    mo_attribute_columns_release(&columns);
    return mo_graph_finish(graph);
}
