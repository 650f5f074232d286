/* train/graphs/load_edge_list.c - edges as lines of numbers or of names.
 *
 * SNAP's edge list: lines "u v" with blanks or tabs between; a comment starts at '#' or, above the first edge, at '%'
 * or "//"; LF or CR LF. Ids are any non-negative integers; they become 0..n-1 in rising order and are kept as the
 * nodes' names. If the first edge joins words, the words are names of nodes. A CSV or TSV has names too: two columns
 * and, optionally, a third of weights, with or without a header. The nodes are then the rows of the features in the
 * same folder or, without features, all names in edges, in the order of mo_graph_name_nodes. */
#include "tensor/files/file.h"
#include "tensor/files/number_text.h"
#include "tensor/inside.h"
#include "train/graphs/graph_build.h"
#include "train/graphs/loaders.h"
#include "train/graphs/node_names.h"
#include "train/graphs/table_reader.h"
#include "train/graphs/text_reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- ids ---- */

/* Ids in file order: edge i joins id[2 i] and id[2 i + 1]. */
typedef struct edge_ids {
    int64_t *id;
    int64_t count, capacity, comments; /* comments: lines */
} edge_ids;

static bool add_line(mo_text_reader *r, int64_t highest, edge_ids *ids) {
    if (!mo_host_array_grow(r->ctx, &ids->id, &ids->capacity, ids->count + 2, sizeof *ids->id))
        return false;
    for (int end = 0; end < 2; end++) {
        if (!mo_text_integer_in(r, "a node id", 0, highest, &ids->id[ids->count]))
            return false;
        ids->count++;
    }
    if (mo_text_blank(r))
        return true;
    return mo_text_unexpected(r,
        "the end of the line after two node ids (a third column may be times: keep two, as awk '{print $1, $2}' does, "
        "or write weights as the third column of a .csv)");
}

/* Reads lines "u v" of ids in 0..highest; raises if the file has no edge. */
static bool read_ids(mo_context *ctx, const char *path, int64_t highest, edge_ids *ids) {
    mo_text_reader r;
    bool fine = mo_text_open(&r, ctx, path);
    while (fine && mo_text_data_line(&r))
        fine = add_line(&r, highest, ids);
    mo_text_close(&r);
    ids->comments = r.comments;
    if (mo_ok(ctx) && ids->count == 0)
        mo_fail(
            ctx, MO_FORMAT, "%s: expected lines of two node ids, found no edge in %lld lines", path, (long long)r.line);
    return mo_ok(ctx);
}

/* Replaces ids by their ranks, which become the graph's nodes; ids that differ from their ranks become names. False on
 * failure. */
static bool rank_ids(mo_graph *graph, edge_ids *ids) {
    mo_context *ctx = graph->ctx;
    int64_t *sorted = mo_host_array(ctx, ids->count, sizeof *sorted);
    if (!sorted)
        return false;
    memcpy(sorted, ids->id, (size_t)ids->count * sizeof *sorted);
    int64_t nodes = mo_sort_distinct(sorted, ids->count);
    bool fine = nodes < MO_GRAPH_LARGEST;
    if (!fine)
        mo_fail(ctx, MO_UNSUPPORTED, "edge list: expected fewer than 2^31 distinct ids, found %lld", (long long)nodes);
    for (int64_t i = 0; fine && i < ids->count; i++)
        ids->id[i] = mo_find_sorted(sorted, nodes, ids->id[i]);
    graph->nodes = nodes;
    graph->node_numbers = fine && sorted[nodes - 1] != nodes - 1;
    if (graph->node_numbers)
        graph->names = mo_node_names_of_ids(ctx, sorted, nodes);
    else
        free(sorted);
    return mo_ok(ctx);
}

bool mo_load_numbered_edges(mo_graph *graph, const char *path) {
    edge_ids ids = {0};
    mo_edges edges = {0};
    bool ranked = graph->nodes == 0;
    bool fine = read_ids(graph->ctx, path, ranked ? MO_TEXT_LARGEST : graph->nodes - 1, &ids) &&
                (!ranked || rank_ids(graph, &ids));
    for (int64_t i = 0; fine && i < ids.count; i += 2)
        fine = mo_edges_add(graph->ctx, &edges, ids.id[i], ids.id[i + 1]);
    free(ids.id);
    mo_note_comments(graph, path, ids.comments);
    fine = fine && mo_graph_set_edges(graph, graph->nodes, &edges);
    mo_edges_release(&edges);
    return fine;
}

/* ---- names: the ends of edges ---- */

/* The ends of edges in file order: edge i joins words 2 i and 2 i + 1, is on line line[i] and has the weight[i], NAN if
 * it is no number (NULL: no weights). */
typedef struct named_edges {
    mo_words words;
    int64_t *line;
    float *weight;
    int64_t lines, weights; /* capacities */
    int64_t comments;
} named_edges;

static bool add_named_edge(mo_context *ctx, named_edges *e, const char *u, const char *v, int64_t line) {
    int64_t i = e->words.n / 2;
    if (!mo_host_array_grow(ctx, &e->line, &e->lines, i + 1, sizeof *e->line))
        return false;
    e->line[i] = line;
    return mo_words_add(ctx, &e->words, u) && mo_words_add(ctx, &e->words, v);
}

static bool add_weight(mo_context *ctx, named_edges *e, const char *text) {
    int64_t i = e->words.n / 2 - 1;
    char *end;
    float weight = (float)mo_read_number(text, &end);
    if (!mo_host_array_grow(ctx, &e->weight, &e->weights, i + 1, sizeof *e->weight))
        return false;
    e->weight[i] = *text && !*end ? weight : NAN;
    return true;
}

static void release_named_edges(named_edges *e) {
    mo_words_release(&e->words);
    free(e->line);
    free(e->weight);
}

/* ---- names in text ---- */

static bool add_line_of_words(mo_text_reader *r, named_edges *e) {
    char *u = mo_text_word(r), *v = mo_text_word(r);
    if (!u || !v || !mo_text_blank(r))
        return mo_text_unexpected(r, v ? "the end of the line after the names of two nodes" : "the names of two nodes");
    if (!mo_is_utf8(u, strlen(u)) || !mo_is_utf8(v, strlen(v)))
        return mo_text_unexpected(r, "names in UTF-8");
    return add_named_edge(r->ctx, e, u, v, r->line);
}

static bool read_lines_of_words(mo_context *ctx, const char *path, named_edges *e) {
    mo_text_reader r;
    bool fine = mo_text_open(&r, ctx, path);
    while (fine && mo_text_data_line(&r))
        fine = add_line_of_words(&r, e);
    e->comments = r.comments;
    mo_text_close(&r);
    return mo_ok(ctx);
}

/* ---- names in tables ---- */

static bool read_edge_table(mo_context *ctx, const char *path, named_edges *e) {
    mo_table row;
    bool fine = mo_table_open(&row, ctx, path, false), weighted = false;
    while (fine && mo_table_next(&row)) {
        weighted = row.row == 0 ? row.n == 3 : weighted;
        fine = mo_table_columns(&row, 2 + weighted,
            weighted ? "the ends of an edge and its weight"
                     : "the ends of an edge (a third: its weight, in every line)");
        for (int end = 0; end < 2 && fine; end++)
            fine = *row.field[end] || row.row == 0 || mo_table_unexpected(&row, "the name of a node", row.field[end]);
        fine = fine && add_named_edge(ctx, e, row.field[0], row.field[1], row.line) &&
               (!weighted || add_weight(ctx, e, row.field[2]));
    }
    mo_table_close(&row);
    return mo_ok(ctx);
}

/* Whether the first line of a table is a header: a usual heading, or two fields that are no nodes. Without features a
 * node is a number, or a name that occurs again below. */
static bool begins_with_header(const mo_graph *graph, const named_edges *e) {
    const char *u = mo_words_get(&e->words, 0), *v = mo_words_get(&e->words, 1);
    if (!*u || !*v || mo_is_pair_heading(u, v))
        return true;
    if (mo_is_number_text(u) && mo_is_number_text(v))
        return false;
    if (graph->nodes > 0)
        return mo_graph_find_example(graph, u) < 0 && mo_graph_find_example(graph, v) < 0;
    for (int64_t i = 2; i < e->words.n; i++)
        if (!strcmp(mo_words_get(&e->words, i), u) || !strcmp(mo_words_get(&e->words, i), v))
            return false;
    return true;
}

/* The edges without the header's words, borrowed. */
static named_edges below_header(mo_graph *graph, const char *path, const named_edges *e) {
    named_edges below = *e;
    if (e->words.n == 0)
        return below;
    const char *const field[] = {mo_words_get(&e->words, 0), mo_words_get(&e->words, 1)};
    if (mo_is_table(path) ? !begins_with_header(graph, e) : !mo_is_pair_heading(field[0], field[1]))
        return below;
    mo_note_header(graph->ctx, &graph->headers, path, field, 2);
    below.words.start += 2;
    below.words.n -= 2;
    below.line++;
    below.weight += below.weight != NULL;
    return below;
}

/* ---- from names to nodes ---- */

/* Finds the nodes of pair i. `of` is the graph's name, for the error message. */
static bool find_named_ends(
    const mo_graph *graph, const char *path, const named_edges *e, int64_t i, const char *of, int64_t node[2]) {
    for (int end = 0; end < 2; end++) {
        const char *name = mo_words_get(&e->words, 2 * i + end);
        node[end] = mo_graph_find_example(graph, name);
        if (node[end] < 0) {
            char quoted[64];
            return mo_fail(graph->ctx, MO_FORMAT, "%s:%lld: expected a node of %s, found '%s'", path,
                (long long)e->line[i], of, mo_quote(name, strlen(name), quoted, sizeof quoted));
        }
    }
    return true;
}

static bool join_named_ends(mo_graph *graph, const char *path, const named_edges *e, mo_edges *edges) {
    int64_t node[2];
    for (int64_t i = 0; i < e->words.n / 2; i++) {
        if (!find_named_ends(graph, path, e, i, "the features beside it", node) ||
            !mo_edges_add(graph->ctx, edges, node[0], node[1]))
            return false;
        if (e->weight && !(e->weight[i] > 0 && isfinite(e->weight[i])))
            return mo_fail(graph->ctx, MO_FORMAT, "%s:%lld: expected a finite weight above 0 in the third column", path,
                (long long)e->line[i]);
        if (e->weight && !mo_edges_weigh(graph->ctx, edges, e->weight[i]))
            return false;
    }
    return true;
}

static bool read_named_edges(mo_context *ctx, const char *path, named_edges *e) {
    return mo_is_table(path) ? read_edge_table(ctx, path, e) : read_lines_of_words(ctx, path, e);
}

bool mo_edges_have_name(mo_context *ctx, const char *path, const char *name) {
    named_edges e = {0};
    bool found = false;
    if (read_named_edges(ctx, path, &e))
        for (int64_t i = 0; i < e.words.n && !found; i++)
            found = !strcmp(mo_words_get(&e.words, i), name);
    release_named_edges(&e);
    return found;
}

bool mo_load_named_edges(mo_graph *graph, const char *path) {
    mo_context *ctx = graph->ctx;
    named_edges e = {0};
    mo_edges edges = {0};
    bool fine = read_named_edges(ctx, path, &e);
    named_edges below = fine ? below_header(graph, path, &e) : e;
    fine = mo_ok(ctx) && mo_note_comments(graph, path, e.comments);
    if (fine && below.words.n == 0 && graph->nodes == 0) {
        mo_fail(ctx, MO_FORMAT, "%s: expected edges, the names of two nodes per line, found %s", path,
            e.words.n ? "one line, which may be a header" : "none");
        fine = false;
    }
    fine = fine && (graph->nodes > 0 || mo_graph_name_nodes(graph, &below.words)) &&
           join_named_ends(graph, path, &below, &edges);
    if (fine)
        mo_graph_set_edges(graph, graph->nodes, &edges);
    mo_edges_release(&edges);
    release_named_edges(&e);
    return mo_ok(ctx);
}

/* ---- the file ---- */

/* Whether the first edge of a text joins words that are not numbers. */
static bool has_names(mo_context *ctx, const char *path) {
    mo_text_reader r;
    bool names = false;
    if (mo_text_open(&r, ctx, path) && mo_text_data_line(&r))
        for (int end = 0; end < 2; end++) {
            const char *word = mo_text_word(&r);
            names |= word && word[strspn(word, "+-.,0123456789")] != '\0';
        }
    mo_text_close(&r);
    return mo_ok(ctx) && names;
}

mo_graph *mo_load_edge_list(mo_context *ctx, const char *name, const char *path) {
    mo_graph *graph = mo_graph_new(ctx, name, path);
    if (!graph)
        return NULL;
    if (mo_is_table(path) || has_names(ctx, path))
        mo_load_named_edges(graph, path);
    else if (mo_ok(ctx))
        mo_load_numbered_edges(graph, path);
    return mo_graph_finish(graph);
}
