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

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- ids ---- */

/* Ids in file order: edge i joins id[2 i] and id[2 i + 1]. */
typedef struct edge_ids {
    int64_t *id;
    int64_t count, capacity, comments; /* comments: lines */
} edge_ids;

static bool add_line(const mo_table *row, int64_t highest, edge_ids *ids) {
    if (!mo_host_array_grow(row->ctx, &ids->id, &ids->capacity, ids->count + 2, sizeof *ids->id))
        return false;
    for (int end = 0; end < 2; end++)
        if (!mo_table_integer(row, end, "a node id", 0, highest, &ids->id[ids->count + end]))
            return false;
    ids->count += 2;
    return row->n == 2 || mo_table_unexpected(row,
                              "the end of the line after two node ids (a third column may be times: keep two, as awk "
                              "'{print $1, $2}' does, or write weights as the third column of a .csv)",
                              row->field[2]);
}

/* Reads lines "u v" of ids in 0..highest; raises if the file has no edge. */
static bool read_ids(mo_context *ctx, const char *path, int64_t highest, edge_ids *ids) {
    mo_table row;
    bool fine = mo_table_open(&row, ctx, path, MO_TABLE_WORDS);
    while (fine && mo_table_next(&row))
        fine = add_line(&row, highest, ids);
    mo_table_close(&row);
    ids->comments = row.comments;
    if (mo_ok(ctx) && ids->count == 0)
        mo_fail(ctx, MO_FORMAT, "%s: expected lines of two node ids, found no edge in %lld lines", path,
            (long long)row.line);
    return mo_ok(ctx);
}

/* Leaves out a first line that has the numbers of nodes and edges, as METIS and DIMACS begin: the second is that of the
 * lines below, and no id is above the first. Raises if it can be an edge too, as its second number is no larger than an
 * id. */
static bool leave_out_counts(mo_graph *graph, const char *path, edge_ids *ids) {
    int64_t edges = ids->count / 2 - 1, highest = -1;
    if (edges < 1 || ids->id[1] != edges)
        return true;
    for (int64_t i = 2; i < ids->count; i++)
        highest = ids->id[i] > highest ? ids->id[i] : highest;
    if (highest > ids->id[0])
        return true;
    if (edges <= highest)
        return mo_fail(graph->ctx, MO_FORMAT,
            "%s: expected a first line that is an edge, or has the numbers of nodes and edges, found '%lld %lld', "
            "which can "
            "be both: begin it with # if it has these numbers, else move it below another edge",
            path, (long long)ids->id[0], (long long)ids->id[1]);
    ids->count -= 2;
    memmove(ids->id, ids->id + 2, (size_t)ids->count * sizeof *ids->id);
    mo_graph_leave_out(graph, "the first line, with the numbers of nodes and edges");
    return mo_ok(graph->ctx);
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

static bool load_numbered_edges(mo_graph *graph, const char *path) {
    edge_ids ids = {0};
    mo_edges edges = {0};
    bool ranked = graph->nodes == 0;
    bool fine = read_ids(graph->ctx, path, ranked ? INT64_MAX : graph->nodes - 1, &ids) &&
                (!ranked || (leave_out_counts(graph, path, &ids) && rank_ids(graph, &ids)));
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
    double *time;                  /* NAN if it is none (NULL: no times) */
    int64_t lines, weights, times; /* capacities */
    int64_t comments;
    bool decided;          /* it is known whether the file has a header, and its words are not among these */
    char *header, *unread; /* notes: the header, and its columns that are not read; NULL: none */
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
    free(e->header);
    free(e->unread);
    free(e->line);
    free(e->weight);
    free(e->time);
}

/* ---- names in tables ---- */

enum { MOST_HEADINGS = 64 }; /* columns among which a heading of pairs is looked for */

/* Where a table has the ends of an edge, its weight and its time (-1: nowhere). */
typedef struct edge_columns {
    int64_t n, end[2], weight, time;
} edge_columns;

static bool is_weight_heading(const char *text) {
    return !strcasecmp(text, "weight") || !strcasecmp(text, "weights") || !strcasecmp(text, "w") ||
           !strcasecmp(text, "edge_weight");
}

static bool is_time_heading(const char *text) {
    return !strcasecmp(text, "time") || !strcasecmp(text, "timestamp") || !strcasecmp(text, "date");
}

/* Reads a number, or a date YYYY-MM-DD, perhaps with a time of day HH:MM or HH:MM:SS behind a blank or T, as seconds
 * since 1970; NAN if it is none of these. */
static double read_time(const char *text) {
    static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    int y, m, d, hour = 0, minute = 0, second = 0, day = 0, all = 0;
    char *end, mark = 0;
    double number = mo_read_number(text, &end);
    if (*text && !*end)
        return number;
    int n =
        sscanf(text, "%4d-%2d-%2d%n%c%2d:%2d%n:%2d%n", &y, &m, &d, &day, &mark, &hour, &minute, &all, &second, &all);
    bool whole = n == 3 ? !text[day] : (n == 6 || n == 7) && (mark == ' ' || mark == 'T') && !text[all];
    if (!whole || m < 1 || m > 12 || d < 1 || d > 31)
        return NAN;
    int64_t leap = (m > 2 ? y : y - 1), days = 365 * (int64_t)(y - 1970) + before[m - 1] + d - 1;
    days += leap / 4 - leap / 100 + leap / 400 - (1969 / 4 - 1969 / 100 + 1969 / 400);
    return 86400.0 * (double)days + 3600.0 * hour + 60.0 * minute + second;
}

static bool add_time(mo_context *ctx, named_edges *e, const char *text) {
    int64_t i = e->words.n / 2 - 1;
    if (!mo_host_array_grow(ctx, &e->time, &e->times, i + 1, sizeof *e->time))
        return false;
    e->time[i] = read_time(text);
    return true;
}

/* Notes the columns of the header that hold neither ends nor weights nor times, but for pandas' index, which has no
 * name. */
static bool note_unread(mo_context *ctx, const mo_table *row, const edge_columns *at, named_edges *e) {
    const char *field[8];
    int64_t n = 0;
    for (int64_t i = 0; i < row->n && n < 8; i++)
        if (i != at->end[0] && i != at->end[1] && i != at->weight && i != at->time && (i > 0 || *row->field[i]))
            field[n++] = row->field[i];
    char *names = NULL, what[400] = "";
    bool fine = n == 0 || mo_note_header(ctx, &names, NULL, field, n);
    if (fine && n)
        snprintf(
            what, sizeof what, "column%s %s: no end of an edge, and not named weight or time", n > 1 ? "s" : "", names);
    free(names);
    return fine && (!n || mo_note_left_out(ctx, &e->unread, row->path, what));
}

/* Reads the first row of a table: the places of the columns, from a heading of pairs anywhere in it; else the ends are
 * the first two, behind a first column without a heading. A third is the weight if it is named so or, in a table
 * without a header, a number. Sets whether the row is a header, unless only the other rows can tell. */
static bool find_edge_columns(mo_context *ctx, const mo_table *row, edge_columns *at, named_edges *e, bool *header) {
    int64_t n = row->n;
    bool pair = false, nameless = n > 2 && !*row->field[0] && !is_weight_heading(row->field[2]);
    *at = (edge_columns){n, {nameless, nameless + 1}, -1, -1};
    for (int64_t i = 0; i < n && i < MOST_HEADINGS && !pair; i++)
        for (int64_t j = 0; j < n && j < MOST_HEADINGS && !pair; j++)
            if ((pair = mo_is_pair_heading(row->field[i], row->field[j])))
                *at = (edge_columns){n, {i, j}, -1, -1};
    *header = pair || nameless || (n == 3 && !mo_is_number_text(row->field[2]));
    e->decided = *header || n == 3;
    for (int64_t i = 0; *header && i < n && at->weight < 0; i++)
        if (is_weight_heading(row->field[i]) && i != at->end[0] && i != at->end[1])
            at->weight = i;
    for (int64_t i = 0; *header && i < n && at->time < 0; i++)
        if (is_time_heading(row->field[i]) && i != at->end[0] && i != at->end[1])
            at->time = i;
    if (!*header && n == 3)
        at->weight = 2;
    if (n < 2 || (n > 3 && !pair && !(nameless && n == 4)))
        return mo_table_columns(row, 2,
            "the ends of an edge (a third: its weight, in every line; more: with a header that has source and target; "
            "a table of rows without edges: mochi readouts TABLE --label COLUMN)");
    return !*header || (mo_note_header(ctx, &e->header, row->path, row->field, n) && note_unread(ctx, row, at, e));
}

static bool take_edge_row(mo_context *ctx, const mo_table *row, const edge_columns *at, named_edges *e) {
    bool weighted = at->weight >= 0;
    if (!mo_table_columns(row, at->n,
            at->n > 3  ? "as the first line has"
            : weighted ? "the ends of an edge and its weight"
                       : "the ends of an edge (a third: its weight, in every line)"))
        return false;
    const char *u = row->field[at->end[0]], *v = row->field[at->end[1]];
    if ((!*u || !*v) && (row->row > 0 || e->decided))
        return mo_table_unexpected(row, "the name of a node", "");
    return add_named_edge(ctx, e, u, v, row->line) && (!weighted || add_weight(ctx, e, row->field[at->weight])) &&
           (at->time < 0 || add_time(ctx, e, row->field[at->time]));
}

/* Takes a line of a text that has blanks between names. */
static bool take_edge_words(mo_context *ctx, const mo_table *row, named_edges *e) {
    if (row->n != 2)
        return mo_table_unexpected(row,
            row->n < 2 ? "the names of two nodes" : "the end of the line after the names of two nodes",
            row->field[row->n < 2 ? 0 : 2]);
    return add_named_edge(ctx, e, row->field[0], row->field[1], row->line);
}

static bool read_named_edges(mo_context *ctx, const char *path, named_edges *e) {
    mo_table row;
    edge_columns at = {0};
    bool csv = mo_is_table(path), header = false;
    bool fine = mo_table_open(&row, ctx, path, csv ? MO_TABLE_CSV : MO_TABLE_WORDS);
    while (fine && mo_table_next(&row)) {
        fine = !csv || row.row > 0 || find_edge_columns(ctx, &row, &at, e, &header);
        if (fine && (row.row > 0 || !header))
            fine = csv ? take_edge_row(ctx, &row, &at, e) : take_edge_words(ctx, &row, e);
    }
    e->comments = row.comments;
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

/* Whether the first line of a text is a header: a usual heading, or two words above whole numbers alone. */
static bool words_begin_with_header(const named_edges *e) {
    const char *u = mo_words_get(&e->words, 0), *v = mo_words_get(&e->words, 1);
    bool numbers = e->words.n > 2 && !mo_is_number_text(u) && !mo_is_number_text(v);
    for (int64_t i = 2; i < e->words.n && numbers; i++)
        numbers = mo_is_whole_text(mo_words_get(&e->words, i));
    return numbers || mo_is_pair_heading(u, v);
}

/* The edges without the header's words, borrowed. */
static named_edges below_header(mo_graph *graph, const char *path, const named_edges *e) {
    named_edges below = *e;
    if (e->header)
        mo_note_left_out(graph->ctx, &graph->headers, NULL, e->header);
    if (e->unread)
        mo_note_left_out(graph->ctx, &graph->left_out, NULL, e->unread);
    if (e->words.n == 0 || e->decided)
        return below;
    const char *const field[] = {mo_words_get(&e->words, 0), mo_words_get(&e->words, 1)};
    if (mo_is_table(path) ? !begins_with_header(graph, e) : !words_begin_with_header(e))
        return below;
    mo_note_header(graph->ctx, &graph->headers, path, field, 2);
    below.words.start += 2;
    below.words.n -= 2;
    below.line++;
    below.weight += below.weight != NULL;
    below.time += below.time != NULL;
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
        if (!find_named_ends(
                graph, path, e, i, "the table beside it (nodes.csv or features), which has a line for each", node) ||
            !mo_edges_add(graph->ctx, edges, node[0], node[1]))
            return false;
        if (e->weight && !(e->weight[i] > 0 && isfinite(e->weight[i])))
            return mo_fail(graph->ctx, MO_FORMAT, "%s:%lld: expected a finite weight above 0 in the third column", path,
                (long long)e->line[i]);
        if (e->weight && !mo_edges_weigh(graph->ctx, edges, e->weight[i]))
            return false;
        if (e->time && !isfinite(e->time[i]))
            return mo_fail(graph->ctx, MO_FORMAT, "%s:%lld: expected a time: a number, or a date as 2024-12-31", path,
                (long long)e->line[i]);
        if (e->time && !mo_edges_date(graph->ctx, edges, e->time[i]))
            return false;
    }
    return true;
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

static bool load_named_edges(mo_graph *graph, const char *path) {
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
    mo_table row;
    bool names = false, found = mo_table_open(&row, ctx, path, MO_TABLE_WORDS) && mo_table_next(&row);
    if (found && strchr("([{*", *row.field[0]))
        mo_table_unexpected(&row,
            *row.field[0] == '*' ? "an edge list, two nodes per line (this is Pajek's form, which networkx reads)"
                                 : "an edge list, two nodes per line with a blank between, without brackets",
            row.field[0]);
    for (int end = 0; found && end < 2 && end < row.n; end++)
        names |= row.field[end][strspn(row.field[end], "+-.,0123456789")] != '\0';
    mo_table_close(&row);
    return mo_ok(ctx) && names;
}

bool mo_load_edges(mo_graph *graph, const char *path) {
    bool table = mo_is_table(path), numbered = graph->nodes > 0 && !graph->names;
    bool named = table || (!numbered && (graph->names || has_names(graph->ctx, path)));
    return mo_ok(graph->ctx) && (named ? load_named_edges : load_numbered_edges)(graph, path);
}

mo_graph *mo_load_edge_list(mo_context *ctx, const char *name, const char *path) {
    mo_graph *graph = mo_graph_new(ctx, name, path);
    if (!graph)
        return NULL;
    mo_load_edges(graph, path);
    return mo_graph_finish(graph);
}
