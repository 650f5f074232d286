/* train/graphs/load_npz.c - graphs in gnn-benchmark's npz format, as in train/data/.
 *
 * adj_shape, adj_indptr, adj_indices: the adjacency as CSR, in any mix of directions (symmetrised here); adj_data: 0
 * means no edge, other values are weights of edges, left out with a notice if one is negative. attr_*: node features as
 * CSR too. If *_data is missing, all values are 1. labels: one class per node, a negative number for none;
 * idx_unlabelled: positions without a class. idx_train, idx_val, idx_test, if one-dimensional: lists of the nodes in
 * each part of the one division that came with the graph; else splits_train, splits_val, splits_test [divisions,
 * nodes]: masks of several divisions. With graph_offset the file is a set of graphs: graph g has the nodes from
 * graph_offset[g] on, and one class. names_number or names_text: names of the nodes, or of the graphs of a set;
 * class_names_number or class_names_text: names of the classes; attr_names_text: of the features. attr_texts_text:
 * further features as texts, column after column, whose names are attr_texts_names_text (attribute_texts.c). A NaN in
 * attr_data is a gap. Integers may have any width. */
#include "tensor/files/file.h"
#include "tensor/files/foreign_text.h"
#include "train/graphs/graph_build.h"
#include "train/graphs/loaders.h"
#include "train/graphs/node_names.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- members as plain host arrays, checked; nothing in the file is trusted ---- */

typedef struct npz_members {
    mo_context *ctx;
    const char *path; /* starts every message */
    int64_t columns;  /* of the member being read, if it is a matrix; else 0 */
    const mo_arrays *arrays;
} npz_members;

/* A CSR matrix: column and value arrays of nnz elements; value is NULL if the file has none (all ones). */
typedef struct npz_csr {
    int64_t rows, columns, nnz;
    int64_t *pointer;
    int32_t *column;
    float *value;
} npz_csr;

/* Raises "PATH: KEY[i]: expected .., found VALUE", or "KEY[row, column]" for a matrix. Returns false. */
__attribute__((format(printf, 5, 6))) static bool npz_unexpected(
    const npz_members *m, const char *key, int64_t i, int64_t found, const char *format, ...) {
    char expected[200], at[48];
    va_list list;
    va_start(list, format);
    vsnprintf(expected, sizeof expected, format, list);
    va_end(list);
    if (m->columns)
        snprintf(at, sizeof at, "%" PRId64 ", %" PRId64, i / m->columns, i % m->columns);
    else
        snprintf(at, sizeof at, "%" PRId64, i);
    return mo_fail(m->ctx, MO_FORMAT, "%s: %s[%s]: expected %s, found %" PRId64, m->path, key, at, expected, found);
}

/* Returns whether n numbers are in 0 .. limit - 1; raises at the first that is not. */
static bool npz_below(const npz_members *m, const char *key, const int64_t *value, int64_t n, int64_t limit) {
    for (int64_t i = 0; i < n; i++)
        if (value[i] < 0 || value[i] >= limit)
            return npz_unexpected(m, key, i, value[i], "a number in 0..%" PRId64, limit - 1);
    return true;
}

/* Returns whether there is a member of that name; raises if it holds text. */
static bool npz_has(const npz_members *m, const char *key) {
    size_t n = strlen(key);
    for (const char *at = m->arrays->texts; at; at = strchr(at + 1, '\n'))
        if (!strncmp(at + 1, key, n) && (at[1 + n] == '\n' || !at[1 + n]))
            return mo_fail(m->ctx, MO_UNSUPPORTED,
                "%s: %s: expected numbers, found text; NumPy's unique(y, return_inverse=True) gives the names and the "
                "numbers of labels",
                m->path, key);
    return mo_arrays_find(m->arrays, key) != NULL;
}

/* The member, which must be one-dimensional with the expected length; else raises and returns NULL. */
static mo_tensor *find_vector(const npz_members *m, const char *key, int64_t expected) {
    char shape[160];
    mo_tensor *T = mo_arrays_find(m->arrays, key);
    if (!T)
        mo_fail(m->ctx, MO_FORMAT, "%s: expected a member '%s', found none", m->path, key);
    else if (mo_ndim(T) != 1)
        mo_fail(m->ctx, MO_FORMAT, "%s: %s: expected one axis, found shape %s", m->path, key,
            mo_shape_string(T, shape, sizeof shape));
    else if (expected >= 0 && mo_dim(T, 0) != expected)
        mo_fail(m->ctx, MO_FORMAT, "%s: %s: expected %lld elements, found %lld", m->path, key, (long long)expected,
            (long long)mo_dim(T, 0));
    else
        return T;
    return NULL;
}

/* The integers of a member of any shape. */
static int64_t *widen_member(const npz_members *m, const char *key, const mo_tensor *T) {
    mo_dtype dtype = mo_tensor_dtype(T);
    if (dtype != MO_I64 && dtype != MO_I32 && dtype != MO_U8) {
        mo_fail(m->ctx, MO_FORMAT, "%s: %s: expected integers, found %s", m->path, key, mo_dtype_name(dtype));
        return NULL;
    }
    return mo_host_values(T, MO_I64);
}

/* The integers of a one-dimensional member; `expected` fixes their number (-1: any). Returns NULL on failure; free()
 * it. */
static int64_t *npz_integers(const npz_members *m, const char *key, int64_t expected, int64_t *count) {
    mo_tensor *T = find_vector(m, key, expected);
    if (T)
        *count = mo_dim(T, 0);
    return T ? widen_member(m, key, T) : NULL;
}

/* Adds the texts of a member of bytes, each UTF-8 and zero-terminated; `expected`: their number. False on failure. */
static bool npz_texts(const npz_members *m, const char *key, int64_t expected, mo_words *words) {
    mo_tensor *T = find_vector(m, key, -1);
    int64_t n = T ? mo_dim(T, 0) : 0, first = words->n;
    if (T && mo_tensor_dtype(T) != MO_U8)
        mo_fail(m->ctx, MO_FORMAT, "%s: %s: expected bytes (uint8) of texts, found %s", m->path, key,
            mo_dtype_name(mo_tensor_dtype(T)));
    char *bytes = mo_ok(m->ctx) ? mo_host_values(T, MO_U8) : NULL;
    if (bytes && n && bytes[n - 1])
        mo_fail(
            m->ctx, MO_FORMAT, "%s: %s: expected a zero behind each text, found none behind the last", m->path, key);
    for (int64_t at = 0; bytes && at < n && mo_ok(m->ctx);) {
        int64_t length = (int64_t)strlen(bytes + at);
        if (!mo_is_utf8(bytes + at, (size_t)length))
            mo_fail(
                m->ctx, MO_FORMAT, "%s: %s: text %lld: expected UTF-8", m->path, key, (long long)(words->n - first));
        else
            mo_words_add(m->ctx, words, bytes + at);
        at += length + 1;
    }
    if (mo_ok(m->ctx) && words->n - first != expected)
        mo_fail(m->ctx, MO_FORMAT, "%s: %s: expected %lld texts, found %lld", m->path, key, (long long)expected,
            (long long)(words->n - first));
    free(bytes);
    return mo_ok(m->ctx);
}

/* Reads the values of a CSR matrix, which must be finite as float32; gaps: or NaN. */
static float *read_values(const npz_members *m, const char *key, const npz_csr *csr, bool gaps) {
    mo_tensor *T = find_vector(m, key, csr->nnz);
    mo_dtype dtype = T ? mo_tensor_dtype(T) : MO_DTYPES;
    if (T && (dtype == MO_F16 || dtype == MO_BF16)) {
        mo_fail(m->ctx, MO_UNSUPPORTED, "%s: %s: expected float32, float64 or integers, found %s", m->path, key,
            mo_dtype_name(dtype));
        return NULL;
    }
    float *value = T ? mo_host_values(T, MO_F32) : NULL;
    for (int64_t i = 0, row = 0; value && i < csr->nnz; i++) {
        while (csr->pointer[row + 1] <= i)
            row++;
        if (isinf(value[i]) || (isnan(value[i]) && !gaps)) {
            mo_fail(m->ctx, MO_INVALID, "%s: %s[%lld] (row %lld, column %lld): expected a finite float32%s, found %g",
                m->path, key, (long long)i, (long long)row, (long long)csr->column[i], gaps ? " or NaN" : "",
                (double)value[i]);
            free(value);
            value = NULL;
        }
    }
    return value;
}

static bool read_shape(const npz_members *m, const char *key, npz_csr *csr) {
    int64_t count;
    int64_t *shape = npz_integers(m, key, 2, &count);
    if (!shape)
        return false;
    csr->rows = shape[0];
    csr->columns = shape[1];
    free(shape);
    if (csr->rows < 0 || csr->rows >= MO_GRAPH_LARGEST || csr->columns < 0 || csr->columns >= MO_GRAPH_LARGEST)
        return mo_fail(m->ctx, MO_FORMAT, "%s: %s: expected sizes in 0..%lld, found %lld x %lld", m->path, key,
            (long long)MO_GRAPH_LARGEST - 1, (long long)csr->rows, (long long)csr->columns);
    /* Zeros take a thousandth of their bytes in a file, and the pointers of empty rows are zeros. */
    return !m->arrays->file_bytes ||
           mo_claim_fits(m->ctx, m->path, "rows", csr->rows, MO_BYTES_A_NODE, m->arrays->file_bytes);
}

/* Returns whether n + 1 pointers start at 0, never fall (`least` 1: rise), and end at `total`. */
static bool check_pointers(
    const npz_members *m, const char *key, const int64_t *p, int64_t n, int64_t least, int64_t total) {
    if (p[0] != 0)
        return npz_unexpected(m, key, 0, p[0], "0");
    for (int64_t i = 0; i < n; i++)
        if (p[i + 1] < p[i] + least)
            return npz_unexpected(
                m, key, i + 1, p[i + 1], "%" PRId64 " or more, after the pointer before it", p[i] + least);
    return p[n] == total || npz_unexpected(m, key, n, p[n], "the end, %" PRId64, total);
}

/* Reads the columns of a CSR matrix, 32-bit numbers that are made in the memory of the 64-bit ones: those of attributes
 * may be most of a graph. */
static int32_t *read_columns(const npz_members *m, const char *key, npz_csr *csr) {
    int64_t *wide = npz_integers(m, key, -1, &csr->nnz);
    if (!wide || !npz_below(m, key, wide, csr->nnz, csr->columns)) {
        free(wide);
        return NULL;
    }
    for (int64_t i = 0; i < csr->nnz; i++) {
        int32_t narrow = (int32_t)wide[i];
        memcpy((char *)wide + (size_t)i * sizeof narrow, &narrow, sizeof narrow);
    }
    void *less = realloc(wide, (size_t)csr->nnz * sizeof(int32_t) + 1);
    return less ? less : (void *)wide;
}

/* Reads PREFIX_shape, PREFIX_indptr, PREFIX_indices and, if it exists, PREFIX_data, and checks that pointers start at
 * 0, never fall and end at nnz, that columns lie in range and values are finite (gaps: or NaN). Release in any case. */
static bool npz_read_csr(const npz_members *m, const char *prefix, bool gaps, npz_csr *csr) {
    char key[64];
    int64_t count;
    *csr = (npz_csr){0};
    snprintf(key, sizeof key, "%s_shape", prefix);
    if (!read_shape(m, key, csr))
        return false;
    snprintf(key, sizeof key, "%s_indices", prefix);
    csr->column = read_columns(m, key, csr);
    if (!csr->column)
        return false;
    snprintf(key, sizeof key, "%s_indptr", prefix);
    csr->pointer = npz_integers(m, key, csr->rows + 1, &count);
    if (!csr->pointer || !check_pointers(m, key, csr->pointer, csr->rows, 0, csr->nnz))
        return false;
    snprintf(key, sizeof key, "%s_data", prefix);
    if (npz_has(m, key))
        csr->value = read_values(m, key, csr, gaps);
    return mo_ok(m->ctx);
}

static void npz_release_csr(npz_csr *csr) {
    free(csr->pointer);
    free(csr->column);
    free(csr->value);
    *csr = (npz_csr){0};
}

/* ---- the graph ---- */

/* Reads where each graph of a set begins; no graph is empty. */
static bool read_offsets(const npz_members *m, mo_graph *graph, int64_t nodes) {
    int64_t count;
    graph->graph_offset = npz_integers(m, "graph_offset", -1, &count);
    if (!graph->graph_offset)
        return false;
    if (count < 2)
        return mo_fail(m->ctx, MO_FORMAT,
            "%s: graph_offset: expected 0 and the end of each graph, found %" PRId64 " elements", m->path, count);
    graph->graphs = count - 1;
    return check_pointers(m, "graph_offset", graph->graph_offset, graph->graphs, 1, nodes);
}

/* Returns whether the values are weights of edges; if one is negative, they are not, and a notice says so. */
static bool npz_weighs(const npz_csr *csr, mo_graph *graph) {
    int64_t negative = 0;
    for (int64_t i = 0; csr->value && i < csr->nnz; i++)
        negative += csr->value[i] < 0;
    if (negative)
        mo_graph_leave_out(
            graph, "%lld weights of edges, as %lld are negative (adj_data)", (long long)csr->nnz, (long long)negative);
    return csr->value && !negative;
}

/* Adds the entries of the matrix as edges, whose weights are the values; in a set of graphs an edge must stay in the
 * graph of its row. */
static bool add_entries(const npz_members *m, mo_graph *graph, const npz_csr *csr, mo_edges *edges) {
    int64_t first = 0, stop = csr->rows, g = -1;
    bool weighs = npz_weighs(csr, graph);
    for (int64_t row = 0; row < csr->rows; row++) {
        while (graph->graph_offset && row >= graph->graph_offset[g + 1]) {
            g++;
            first = graph->graph_offset[g];
            stop = graph->graph_offset[g + 1];
        }
        for (int64_t i = csr->pointer[row]; i < csr->pointer[row + 1]; i++) {
            if (csr->column[i] < first || csr->column[i] >= stop)
                return npz_unexpected(m, "adj_indices", i, csr->column[i],
                    "a node of graph %" PRId64 ", %" PRId64 "..%" PRId64, g, first, stop - 1);
            if ((!csr->value || csr->value[i] != 0) && (!mo_edges_add(m->ctx, edges, row, csr->column[i]) ||
                                                           (weighs && !mo_edges_weigh(m->ctx, edges, csr->value[i]))))
                return false;
        }
    }
    return true;
}

static bool read_adjacency(const npz_members *m, mo_graph *graph) {
    npz_csr csr;
    mo_edges edges = {0};
    bool done = npz_read_csr(m, "adj", false, &csr);
    if (done && csr.rows != csr.columns) {
        mo_fail(m->ctx, MO_FORMAT, "%s: adj_shape: expected a square matrix, found %lld x %lld", m->path,
            (long long)csr.rows, (long long)csr.columns);
        done = false;
    }
    done = done && (!npz_has(m, "graph_offset") || read_offsets(m, graph, csr.rows)) &&
           add_entries(m, graph, &csr, &edges);
    int64_t nodes = csr.rows;
    npz_release_csr(&csr);
    done = done && mo_graph_set_edges(graph, nodes, &edges);
    mo_edges_release(&edges);
    return done;
}

static bool read_npz_features(const npz_members *m, mo_graph *graph) {
    npz_csr csr;
    bool done = npz_read_csr(m, "attr", !graph->graph_offset, &csr);
    if (done && csr.rows != graph->nodes) {
        mo_fail(m->ctx, MO_FORMAT, "%s: attr_shape: expected %lld rows, one per node, found %lld", m->path,
            (long long)graph->nodes, (long long)csr.rows);
        done = false;
    }
    int64_t listed = csr.nnz * (int64_t)(sizeof(int64_t) + sizeof *csr.value); /* as read: columns of 64 bits */
    done = done && mo_claim_fits(m->ctx, m->path, "columns without an entry (attr_shape)", csr.columns - csr.nnz,
                       MO_BYTES_A_COLUMN, listed);
    bool all_ones = done && !csr.value;
    if (all_ones)
        csr.value = mo_host_array(m->ctx, csr.nnz, sizeof *csr.value);
    for (int64_t i = 0; all_ones && csr.value && i < csr.nnz; i++)
        csr.value[i] = 1;
    if (done && csr.value) {
        graph->features = csr.columns;
        graph->feature_nnz = csr.nnz;
        graph->feature_pointer = csr.pointer;
        graph->feature_column = csr.column;
        graph->feature_value = csr.value;
        csr = (npz_csr){0};
    }
    npz_release_csr(&csr);
    return mo_ok(m->ctx);
}

/* Marks the nodes listed in idx_unlabelled. */
static bool read_unlabelled(const npz_members *m, mo_graph *graph) {
    int64_t count;
    int64_t *index = npz_integers(m, "idx_unlabelled", -1, &count);
    if (index && npz_below(m, "idx_unlabelled", index, count, graph->n_labels))
        for (int64_t i = 0; i < count; i++)
            graph->label[index[i]] = -1;
    free(index);
    return mo_ok(m->ctx);
}

const char *const mo_division_keys[2][MO_DIVISIONS] = {
    {[MO_DIVISION_TRAIN] = "idx_train", [MO_DIVISION_VALIDATION] = "idx_val", [MO_DIVISION_TEST] = "idx_test"},
    {[MO_DIVISION_TRAIN] = "splits_train",
        [MO_DIVISION_VALIDATION] = "splits_val",
        [MO_DIVISION_TEST] = "splits_test"}};

/* Marks the nodes of one part: a list of nodes, or masks [divisions, nodes]. Raises if a node is in an earlier part. */
static bool read_part(const npz_members *m, const char *key, mo_division part, bool list, mo_graph *graph) {
    char shape[160];
    const mo_tensor *T = list ? find_vector(m, key, -1) : mo_arrays_find(m->arrays, key);
    if (!list && (!T || mo_ndim(T) != 2 || mo_dim(T, 0) != graph->divisions || mo_dim(T, 1) != graph->nodes))
        return mo_fail(m->ctx, MO_FORMAT, "%s: %s: expected masks [%lld divisions, %lld nodes], found %s", m->path, key,
            (long long)graph->divisions, (long long)graph->nodes, T ? mo_shape_string(T, shape, sizeof shape) : "none");
    int64_t *value = T ? widen_member(m, key, T) : NULL, n = T ? mo_numel(T) : 0;
    npz_members of = *m;
    of.columns = list ? 0 : graph->nodes;
    bool fine = value && npz_below(&of, key, value, n, list ? graph->nodes : 2);
    for (int64_t i = 0; fine && i < n; i++) {
        uint8_t *division = &graph->division[list ? value[i] : i];
        if (!list && !value[i])
            continue;
        if (*division)
            fine = npz_unexpected(&of, key, i, value[i], "a node that is listed once, in one part of its division");
        *division = (uint8_t)part;
    }
    free(value);
    return fine;
}

/* Returns whether the file has a one-dimensional list for every part; the list of the validation part may be
 * missing. */
static bool has_lists(const npz_members *m) {
    for (int part = MO_DIVISION_TRAIN; part < MO_DIVISIONS; part++) {
        const mo_tensor *T = mo_arrays_find(m->arrays, mo_division_keys[0][part]);
        if (T ? mo_ndim(T) != 1 : part != MO_DIVISION_VALIDATION)
            return false;
    }
    return true;
}

/* Reads one or several divisions of a graph's nodes. */
static bool read_division(const npz_members *m, mo_graph *graph) {
    bool one = has_lists(m);
    const char *const *keys = mo_division_keys[!one];
    const mo_tensor *T = mo_arrays_find(m->arrays, keys[MO_DIVISION_TRAIN]);
    if (!one && !T && !npz_has(m, keys[MO_DIVISION_TEST]))
        return true;
    graph->divisions = one || !T || mo_ndim(T) < 1 || mo_dim(T, 0) < 1 ? 1 : mo_dim(T, 0);
    int64_t all;
    if (__builtin_mul_overflow(graph->divisions, graph->nodes, &all) || (graph->divisions > 1 && all != mo_numel(T))) {
        char shape[160];
        return mo_fail(m->ctx, MO_FORMAT, "%s: %s: expected masks [%lld divisions, %lld nodes], found %s", m->path,
            keys[MO_DIVISION_TRAIN], (long long)graph->divisions, (long long)graph->nodes,
            mo_shape_string(T, shape, sizeof shape));
    }
    if (!mo_claim_fits(m->ctx, m->path, "divisions", graph->divisions, 1, all))
        return false;
    graph->division = mo_host_array(m->ctx, all, sizeof *graph->division);
    for (int part = MO_DIVISION_TRAIN; part < MO_DIVISIONS && mo_ok(m->ctx); part++)
        if (part != MO_DIVISION_VALIDATION || npz_has(m, keys[part]))
            read_part(m, keys[part], (mo_division)part, one, graph);
    return mo_ok(m->ctx);
}

static bool read_npz_labels(const npz_members *m, mo_graph *graph) {
    int64_t n = graph->graph_offset ? graph->graphs : graph->nodes, count;
    return mo_graph_set_labels(graph, npz_integers(m, "labels", n, &count), n, m->path, false) &&
           (!npz_has(m, "idx_unlabelled") || read_unlabelled(m, graph));
}

/* Reads n names as texts, from KEY_number or KEY_text. Returns whether they are numbers. */
static bool read_texts(const npz_members *m, const char *key, int64_t n, mo_words *words) {
    char member[40], text[24];
    int64_t count;
    snprintf(member, sizeof member, "%s_number", key);
    bool numbers = npz_has(m, member);
    int64_t *number = numbers ? npz_integers(m, member, n, &count) : NULL;
    for (int64_t i = 0; number && i < n && mo_ok(m->ctx); i++) {
        snprintf(text, sizeof text, "%" PRId64, number[i]);
        mo_words_add(m->ctx, words, text);
    }
    free(number);
    snprintf(member, sizeof member, "%s_text", key);
    if (!numbers)
        npz_texts(m, member, n, words);
    return numbers;
}

/* Reads the names of the nodes, or of the graphs of a set; rising numbers stay numbers. */
static bool read_names(const npz_members *m, mo_graph *graph) {
    int64_t n = mo_graph_examples(graph), count, repeated = -1;
    mo_words words = {0};
    if (npz_has(m, "names_number")) {
        int64_t *number = npz_integers(m, "names_number", n, &count);
        bool rising = number && n > 0 && number[0] >= 0;
        for (int64_t i = 1; rising && i < n; i++)
            rising = number[i] > number[i - 1];
        graph->node_numbers = true;
        if (rising)
            graph->names = mo_node_names_of_ids(m->ctx, number, n);
        else
            free(number);
        if (rising || !number)
            return mo_ok(m->ctx);
    }
    graph->node_numbers = read_texts(m, "names", n, &words);
    if (mo_ok(m->ctx))
        graph->names = mo_node_names_of_words(m->ctx, &words, &repeated);
    if (graph->names)
        graph->names->order = MO_NAMES_LISTED;
    if (repeated >= 0)
        mo_fail(m->ctx, MO_FORMAT, "%s: %s[%lld]: expected each name once, found an earlier one", m->path,
            graph->node_numbers ? "names_number" : "names_text", (long long)repeated);
    mo_words_release(&words);
    return mo_ok(m->ctx);
}

static bool read_class_names(const npz_members *m, mo_graph *graph) {
    mo_words words = {0};
    graph->class_numbers = read_texts(m, "class_names", graph->classes, &words);
    graph->class_name = mo_ok(m->ctx) ? mo_host_array(m->ctx, graph->classes, sizeof *graph->class_name) : NULL;
    for (int64_t c = 0; graph->class_name && c < graph->classes && mo_ok(m->ctx); c++)
        graph->class_name[c] = mo_text_copy(m->ctx, mo_words_get(&words, c));
    mo_words_release(&words);
    return mo_ok(m->ctx);
}

/* Copies a list of texts; owned: free each text and the list. NULL on failure. */
static char **copy_texts(const npz_members *m, const char *key, int64_t n) {
    mo_words words = {0};
    char **copy = npz_texts(m, key, n, &words) ? mo_host_array(m->ctx, n, sizeof *copy) : NULL;
    for (int64_t i = 0; copy && i < n; i++)
        copy[i] = mo_text_copy(m->ctx, mo_words_get(&words, i));
    mo_words_release(&words);
    return copy;
}

/* Appends columns of texts to the features: their names, and the texts, column after column. */
static bool read_attribute_texts(const npz_members *m, mo_graph *graph) {
    const mo_tensor *T = mo_arrays_find(m->arrays, "attr_texts_names_text");
    const uint8_t *bytes = T && mo_tensor_dtype(T) == MO_U8 ? mo_host_values(T, MO_U8) : NULL;
    int64_t columns = 0, n = graph->nodes;
    for (int64_t i = 0; bytes && i < mo_numel(T); i++)
        columns += !bytes[i];
    free((void *)bytes);
    mo_words names = {0}, texts = {0};
    bool done =
        npz_texts(m, "attr_texts_names_text", columns, &names) && npz_texts(m, "attr_texts_text", columns * n, &texts);
    for (int64_t j = 0; done && j < columns; j++) {
        mo_words column = {0};
        for (int64_t i = 0; i < n && done; i++)
            done = mo_words_add(m->ctx, &column, mo_words_get(&texts, j * n + i));
        done = done && mo_graph_add_texts(graph, m->path, mo_words_get(&names, j), &column);
        mo_words_release(&column);
    }
    mo_words_release(&names);
    mo_words_release(&texts);
    return done;
}

static bool read_npz_graph(const npz_members *m, mo_graph *graph) {
    return read_adjacency(m, graph) &&
           (!(npz_has(m, "attr_shape") || npz_has(m, "attr_indptr") || npz_has(m, "attr_indices")) ||
               read_npz_features(m, graph)) &&
           (!npz_has(m, "labels") || read_npz_labels(m, graph)) && (graph->graph_offset || read_division(m, graph)) &&
           (!(npz_has(m, "names_number") || npz_has(m, "names_text")) || read_names(m, graph)) &&
           (!npz_has(m, "attr_names_text") ||
               (graph->feature_name = copy_texts(m, "attr_names_text", graph->features))) &&
           (!npz_has(m, "attr_texts_text") || read_attribute_texts(m, graph)) &&
           (!(npz_has(m, "class_names_number") || npz_has(m, "class_names_text")) || read_class_names(m, graph)) &&
           mo_ok(m->ctx);
}

mo_graph *mo_graph_from_arrays(const mo_arrays *arrays, const char *name, const char *path) {
    if (!arrays || !mo_given(arrays->ctx, "graph_from_arrays", "name", name) ||
        !mo_given(arrays->ctx, "graph_from_arrays", "path", path))
        return NULL;
    npz_members m = {.ctx = arrays->ctx, .path = path, .arrays = arrays};
    mo_graph *graph = mo_graph_new(m.ctx, name, path);
    if (graph)
        read_npz_graph(&m, graph);
    return graph ? mo_graph_finish(graph) : NULL;
}

mo_graph *mo_load_npz(mo_context *ctx, const char *name, const char *path) {
    mo_arrays *arrays = mo_npz_read(ctx, path);
    const char *form = arrays ? mo_foreign_arrays(arrays) : NULL;
    mo_graph *graph = arrays && !form ? mo_graph_from_arrays(arrays, name, path) : NULL;
    if (form)
        mo_fail_foreign(ctx, path, form);
    mo_arrays_release(arrays);
    return graph;
}
