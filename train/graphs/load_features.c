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
#include "train/graphs/graph_build.h"
#include "train/graphs/label_column.h"
#include "train/graphs/loaders.h"
#include "train/graphs/node_names.h"
#include "train/graphs/row_names.h"
#include "train/graphs/table_reader.h"
#include "train/graphs/text_reader.h"

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

/* Of features.csv and of nodes.csv, as DGL, Gephi and Neo4j have it, where the name may stand anywhere and the class
 * beside the attributes. */
typedef struct node_columns {
    bool nodes, index; /* index: the first column has no heading and is left out, as pandas' numbers of rows */
    int64_t fields, name_at, class_at; /* fields: of the first row; class_at -1: none */
    mo_words class;                    /* the classes of the rows */
} node_columns;

static void find_columns(node_columns *c, const mo_table *first) {
    bool nameless = first->n > 1 && !*first->field[0];
    int64_t name = c->nodes ? mo_name_column(first, 0) : nameless ? mo_name_column(first, 1) : 0;
    mo_words_release(&c->class);
    c->fields = first->n;
    c->name_at = name < 0 || (!c->nodes && name > 1) ? 0 : name;
    c->index = c->name_at > 0 && nameless;
    c->class_at = c->nodes ? mo_class_column(first) : -1;
    c->class_at = c->class_at == c->name_at ? -1 : c->class_at;
}

/* Puts the fields of a row in the order name, attributes, and keeps its class. */
static bool arrange_row(node_columns *c, mo_table *row) {
    if (row->row == 0)
        find_columns(c, row);
    if (c->name_at == 0 && c->class_at < 0)
        return true;
    if (!mo_table_columns(row, c->fields, "as the first line has"))
        return false;
    const char *name = row->field[c->name_at];
    if (c->class_at >= 0 && row->row > 0 && !mo_words_add(row->ctx, &c->class, row->field[c->class_at]))
        return false;
    int64_t n = 0;
    for (int64_t i = 0; i < row->n; i++)
        if (i != c->name_at && i != c->class_at && !(c->index && i == 0))
            row->field[n++] = row->field[i];
    memmove(row->field + 1, row->field, (size_t)n * sizeof *row->field);
    row->field[0] = name;
    row->n = n + 1;
    return true;
}

/* Makes the column of classes the graph's labels; notes it instead if there are other labels, or if it holds a text of
 * each node's own, as Gephi's Label does. */
static bool take_classes(mo_graph *graph, const char *path, const node_columns *c) {
    mo_context *ctx = graph->ctx;
    mo_label_column column = {0};
    mo_words plain = {0};
    char number[64];
    if (c->class.n == 0 || c->class.n != graph->nodes)
        return true;
    for (int64_t i = 0; i < c->class.n && mo_ok(ctx); i++)
        mo_words_add(ctx, &plain, mo_plain_label(mo_words_get(&c->class, i), number));
    mo_labels labels = {0};
    bool fine = mo_ok(ctx) && mo_label_column_of_texts(ctx, path, &plain, &column) &&
                mo_labels_of(ctx, column.value, NULL, graph->nodes, &labels);
    bool own = fine && labels.n > 1 && labels.classes == labels.n;
    if (fine && (graph->n_labels || own))
        fine = mo_note_left_out(ctx, &graph->left_out, path,
            own ? "the column of labels, which differ from node to node" : "the column of labels, as there are others");
    else if (fine && labels.n > 0 && mo_graph_take_labels(graph, &labels)) {
        graph->class_name = column.name ? column.name : labels.name;
        *(column.name ? &column.name : &labels.name) = NULL; /* now owned by the graph */
    }
    mo_labels_release(&labels);
    mo_label_column_release(&column);
    mo_words_release(&plain);
    return mo_ok(ctx);
}

/* ---- features as a table ---- */

/* A table as it is read. Columns in which a field is neither a number nor a gap are texts, and are kept whole. */
typedef struct feature_table {
    mo_graph *graph;
    node_columns *at;
    mo_words names, heading;            /* of the nodes; of the columns, if there is a header */
    int64_t columns;                    /* fields of the first line, with the name; 0: not read yet */
    int64_t values, pointers, capacity; /* capacities of the graph's arrays, which grow */
    mo_words *text;                     /* [columns]: the fields of a column of texts */
    bool *is_text;                      /* [columns] */
    bool again;                         /* another column has turned out to be one of texts */
} feature_table;

static bool keep_feature(feature_table *t, int64_t column, float value) {
    mo_graph *g = t->graph;
    int64_t needed = g->feature_nnz + 1;
    if (!mo_host_array_grow(g->ctx, &g->feature_column, &t->values, needed, sizeof *g->feature_column) ||
        !mo_host_array_grow(g->ctx, &g->feature_value, &t->capacity, needed, sizeof *g->feature_value))
        return false;
    g->feature_column[g->feature_nnz] = (int32_t)column;
    g->feature_value[g->feature_nnz++] = value;
    return true;
}

/* Whether the first line is a header: its name field is empty or in no edge. */
static bool is_feature_header(const mo_table *row, const char *edges) {
    return !*row->field[0] || !mo_edges_have_name(row->ctx, edges, row->field[0]);
}

static bool take_feature(feature_table *t, const mo_table *row, int64_t column) {
    const char *text = row->field[column];
    if (t->is_text[column])
        return mo_words_add(row->ctx, &t->text[column], text);
    if (text[0] == '0' && !text[1])
        return true;
    if (mo_is_unknown(text))
        return keep_feature(t, column, NAN);
    char *end;
    float value = (float)mo_read_number(text, &end);
    if (end == text || *end || !isfinite(value)) {
        t->is_text[column] = t->again = true;
        return true;
    }
    return value == 0 || keep_feature(t, column, value);
}

static bool take_node(feature_table *t, const mo_table *row) {
    mo_graph *g = t->graph;
    int64_t node = t->names.n;
    if (!*row->field[0])
        return mo_table_unexpected(row, "the name of a node", row->field[0]);
    for (int64_t i = 1; i < row->n; i++)
        if (!take_feature(t, row, i))
            return false;
    if (!mo_words_add(g->ctx, &t->names, row->field[0]) ||
        !mo_host_array_grow(g->ctx, &g->feature_pointer, &t->pointers, node + 2, sizeof *g->feature_pointer))
        return false;
    g->feature_pointer[0] = 0;
    g->feature_pointer[node + 1] = g->feature_nnz;
    return true;
}

static bool take_heading(feature_table *t, const mo_table *row) {
    for (int64_t i = 0; i < row->n; i++)
        if (!mo_words_add(row->ctx, &t->heading, row->field[i]))
            return false;
    return true;
}

/* Reads the rows, until a column turns out to be one of texts. */
static void read_nodes(feature_table *t, const char *path, const char *edges) {
    mo_context *ctx = t->graph->ctx;
    mo_table row;
    bool fine = mo_table_open(&row, ctx, path, MO_TABLE_CSV), header = t->heading.n > 0;
    while (fine && !t->again && mo_table_next(&row) && arrange_row(t->at, &row)) {
        bool first = row.row == 0, heads = first && (header || is_feature_header(&row, edges));
        if (heads && !header)
            mo_note_header(ctx, &t->graph->headers, path, row.field, row.n);
        if (first && row.n < 2 && !t->at->nodes)
            mo_table_columns(&row, 2, "a node's name and one feature or more");
        if (!t->columns && mo_ok(ctx)) {
            t->text = mo_host_array(ctx, row.n, sizeof *t->text);
            t->is_text = mo_host_array(ctx, row.n, sizeof *t->is_text);
            t->columns = row.n;
        }
        fine = mo_ok(ctx) && mo_table_columns(&row, t->columns, "as the first line has") &&
               (heads ? header || take_heading(t, &row) : take_node(t, &row));
    }
    mo_table_close(&row);
}

/* Numbers the columns of numbers from 0, names them, and appends those of texts. */
static bool settle_columns(feature_table *t, const char *path) {
    mo_graph *g = t->graph;
    int64_t *place = mo_host_array(g->ctx, t->columns, sizeof *place);
    bool named = t->heading.n > 0;
    g->feature_name = place && named ? mo_host_array(g->ctx, t->columns, sizeof *g->feature_name) : NULL;
    for (int64_t i = 1; place && i < t->columns && mo_ok(g->ctx); i++) {
        place[i] = g->features;
        if (!t->is_text[i] && named)
            g->feature_name[g->features] = mo_text_copy(g->ctx, mo_words_get(&t->heading, i));
        g->features += !t->is_text[i];
    }
    for (int64_t e = 0; mo_ok(g->ctx) && e < g->feature_nnz; e++)
        g->feature_column[e] = (int32_t)place[g->feature_column[e]];
    for (int64_t i = 1; i < t->columns && mo_ok(g->ctx); i++)
        if (t->is_text[i])
            mo_graph_add_texts(g, path, named ? mo_words_get(&t->heading, i) : NULL, &t->text[i]);
    free(place);
    return mo_ok(g->ctx);
}

/* Forgets the rows that were read, and what is known of the columns if `all`. */
static void forget_rows(feature_table *t, bool all) {
    for (int64_t i = 0; t->text && i < t->columns; i++)
        mo_words_release(&t->text[i]);
    mo_words_release(&t->names);
    if (!all) {
        t->graph->feature_nnz = 0;
        t->again = false;
        return;
    }
    mo_words_release(&t->heading);
    free(t->text);
    free(t->is_text);
}

static bool read_feature_table(mo_graph *graph, const char *path, const char *edges, node_columns *at) {
    mo_context *ctx = graph->ctx;
    feature_table t = {.graph = graph, .at = at};
    int64_t repeated = -1;
    do {
        forget_rows(&t, false);
        read_nodes(&t, path, edges);
    } while (mo_ok(ctx) && t.again);
    if (mo_ok(ctx) && t.names.n == 0)
        mo_fail(ctx, MO_FORMAT, "%s: expected a line for each node, found none", path);
    if (mo_ok(ctx) && (t.names.n >= MO_GRAPH_LARGEST || t.columns >= MO_GRAPH_LARGEST))
        mo_fail(ctx, MO_UNSUPPORTED, "%s: expected fewer than 2^31 nodes and columns", path);
    if (mo_ok(ctx) && !mo_graph_list_nodes(graph, &t.names, &repeated) && repeated >= 0)
        mo_fail(ctx, MO_FORMAT, "%s: node %lld of %lld has the name of one before it", path, (long long)repeated + 1,
            (long long)graph->nodes);
    if (mo_ok(ctx))
        settle_columns(&t, path);
    if (graph->features == 0) { /* nodes.csv may have names alone */
        free(graph->feature_pointer);
        graph->feature_pointer = NULL;
    }
    forget_rows(&t, true);
    return mo_ok(ctx);
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
    "names.txt", "labels.npy", "labels.txt", "labels.csv", "labels.tsv", "labels.names.txt", NULL};

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
        if (!read && seems_meant(file) && found++ < 3)
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
    node_columns at = {.class_at = -1};
    bool features = mo_ok(ctx) && find_one(ctx, folder, feature_files, path, sizeof path);
    at.nodes = mo_ok(ctx) && !features && find_one(ctx, folder, node_files, path, sizeof path);
    if (features || at.nodes) {
        if (mo_is_table(path))
            read_feature_table(graph, path, edges, &at);
        else if (!mo_path_ends_with(path, ".npy") && !mo_path_ends_with(path, ".npy.gz"))
            mo_fail_foreign(ctx, path, "Matrix Market", NULL);
        else
            read_features_file(graph, path);
    }
    char names[PATH_MAX];
    if (mo_ok(ctx) && mo_text_find(folder, "names.txt", names, sizeof names)) {
        if (graph->names)
            mo_fail(
                ctx, MO_FORMAT, "%s: expected one list of the nodes, found names.txt and a table with names", folder);
        else
            read_node_names(graph, names);
    }
    if (mo_ok(ctx) && mo_load_edges(graph, edges) && load_labels(graph, folder) && take_classes(graph, path, &at))
        note_unread_files(graph, folder, at.nodes);
    mo_words_release(&at.class);
    return mo_graph_finish(graph);
}
