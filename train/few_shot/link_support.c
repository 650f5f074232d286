/* train/few_shot/link_support.c - the pairs of nodes on which a readout of links is fitted: read from a table, or drawn
 * from the graph; and held out of it as links. */
#include "tensor/files/file.h"
#include "tensor/library.h"
#include "train/few_shot/few_shot.h"
#include "train/graphs/graph_build.h"
#include "train/graphs/table_reader.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SUPPORT = 512 /* most links, and most other pairs, drawn */ };

/* ---- from a table ---- */

/* Columns: node, node, linked (yes, no), how often it is fitted; the last two only for labelled pairs. */
typedef struct pair {
    int64_t node[2], linked, fit;
} pair;

static bool is_pair_header(const mo_graph *graph, const mo_table *row) {
    bool data = false;
    for (int64_t i = 0; i < row->n && i < 2; i++)
        data |= mo_is_number_text(row->field[i]) || mo_graph_find_example(graph, row->field[i]) >= 0;
    return row->n < 2 || !data || mo_is_pair_heading(row->field[0], row->field[1]);
}

static bool has_pair_columns(const mo_table *row, bool labelled) {
    if (labelled)
        return row->n == 4 || mo_table_columns(row, 3, "both ends of a pair, and whether it is linked");
    return (row->n >= 2 && row->n <= 4) || mo_table_columns(row, 2, "both ends of a pair");
}

static bool read_ends(const mo_graph *graph, const mo_table *row, pair *p) {
    char expected[120];
    snprintf(expected, sizeof expected, "a node of %.80s", graph->name);
    for (int end = 0; end < 2; end++)
        if ((p->node[end] = mo_graph_find_example(graph, row->field[end])) < 0)
            return mo_table_unexpected(row, expected, row->field[end]);
    return true;
}

/* Reads whether a row's pair is linked and how often it is fitted; the graph must agree. */
static bool read_link(const mo_graph *graph, const mo_table *row, pair *p) {
    const char *word = row->field[2], *count = row->n > 3 ? row->field[3] : "1";
    char *end;
    p->linked = !strcmp(word, "yes");
    p->fit = strtoll(count, &end, 10);
    if (!p->linked && strcmp(word, "no") != 0)
        return mo_table_unexpected(row, "yes or no, whether the pair is linked", word);
    if (!*count || *end || p->fit < 0)
        return mo_table_unexpected(row, "how often the pair is fitted, 0 or more", count);
    if (p->node[0] == p->node[1])
        return mo_table_unexpected(row, "a pair of two nodes", "one node twice");
    bool linked = mo_graph_has_edge(graph, p->node[0], p->node[1]);
    return linked == p->linked ||
           mo_table_unexpected(
               row, linked ? "yes, as the graph has this link" : "no, as the graph lacks this link", word);
}

static void read_pairs(const mo_graph *graph, const char *path, bool labelled, mo_link_support *s) {
    mo_context *ctx = graph->ctx;
    int64_t **array[] = {&s->u, &s->v, &s->linked, &s->fit}, capacity[4] = {0};
    mo_table row;
    bool fine = mo_table_open_pipe(&row, ctx, path);
    while (fine && mo_table_next(&row)) {
        pair p = {.fit = 1};
        bool header = row.row == 0 && is_pair_header(graph, &row);
        fine = has_pair_columns(&row, labelled);
        if (!fine || header)
            continue;
        fine = read_ends(graph, &row, &p) && (!labelled || read_link(graph, &row, &p));
        const int64_t value[] = {p.node[0], p.node[1], p.linked, p.fit};
        for (int i = 0; i < 4 && fine; i++) {
            fine = mo_host_array_grow(ctx, array[i], &capacity[i], s->n + 1, sizeof **array[i]);
            if (fine)
                (*array[i])[s->n] = value[i];
        }
        s->n += fine;
    }
    mo_table_close(&row);
}

bool mo_link_support_read(const mo_graph *graph, const char *path, bool labelled, mo_link_support *s) {
    if (!s)
        return false;
    *s = (mo_link_support){0};
    if (!graph || !mo_given(graph->ctx, "pairs", "the path", path))
        return false;
    read_pairs(graph, path, labelled, s);
    if (mo_ok(graph->ctx) && s->n == 0)
        mo_fail(graph->ctx, MO_FORMAT, "%s: expected lines of two nodes, found no pair", path);
    return mo_ok(graph->ctx);
}

void mo_link_support_release(mo_link_support *s) {
    if (!s)
        return;
    free(s->u);
    free(s->v);
    free(s->linked);
    free(s->fit);
    *s = (mo_link_support){0};
}

/* ---- as links ---- */

static bool reserve_support(mo_context *ctx, int64_t n, mo_link_support *s) {
    *s = (mo_link_support){.n = n,
        .u = mo_host_array(ctx, n, sizeof *s->u),
        .v = mo_host_array(ctx, n, sizeof *s->v),
        .linked = mo_host_array(ctx, n, sizeof *s->linked),
        .fit = mo_host_array(ctx, n, sizeof *s->fit)};
    return mo_ok(ctx);
}

/* Drops links that are the only edge of a node. Once such a link is taken out, its end has no edge, by which the
 * readout would know it as a link; the pairs that are asked for have no such ends. */
static void keep_connected(mo_links *links) {
    int64_t n = 0, *const *end = links->positive;
    const int64_t *row = links->masked->row_pointer;
    for (int64_t i = 0; i < links->n_positive; i++) {
        int64_t u = end[0][i], v = end[1][i];
        if (row[u] < row[u + 1] && row[v] < row[v + 1]) {
            end[0][n] = u;
            end[1][n++] = v;
        }
    }
    links->n_positive = n ? n : links->n_positive;
}

/* Drops the pairs that are two steps apart, and those beyond `most`. */
static void keep_far(const mo_graph *masked, int64_t most, mo_links *links) {
    int64_t n = 0, *const *end = links->negative;
    for (int64_t i = 0; i < links->n_negative && n < most; i++)
        if (!mo_graph_two_steps(masked, end[0][i], end[1][i])) {
            end[0][n] = end[0][i];
            end[1][n++] = end[1][i];
        }
    links->n_negative = n;
}

/* The logarithm of how much rarer a link is among the graph's pairs of one kind than among the drawn ones. */
static double rarity(double edges, double links, double pairs, double drawn) {
    return drawn > 0 && pairs > 0 ? log(edges / links) - log(pairs / drawn) : NAN;
}

static void put_drawn(mo_link_support *s, int64_t *const end[2], int64_t n, int64_t linked) {
    for (int64_t i = 0; i < n; i++, s->n++) {
        s->u[s->n] = end[0][i];
        s->v[s->n] = end[1][i];
        s->linked[s->n] = linked;
        s->fit[s->n] = 1;
    }
}

/* Draws at most 512 links of the graph and as many other pairs: half of them two steps apart and half farther, or what
 * there is. Pairs two steps apart are few among all pairs, but most links are there; with pairs drawn from all alone, a
 * readout would not learn to tell them apart, and with those alone it would take every farther pair for a link, as
 * links of the support can be farther apart once they are taken out. s->shift corrects what the draw favours. */
static bool draw(const mo_graph *graph, mo_link_support *s) {
    mo_context *ctx = graph->ctx;
    int64_t edges = graph->nnz / 2, most = edges < MOST_SUPPORT ? edges : MOST_SUPPORT;
    double share = MOST_SUPPORT < edges / 10 ? (double)MOST_SUPPORT / (double)edges : 0.1;
    double others = (double)graph->nodes * (double)(graph->nodes - 1) / 2 - (double)edges;
    mo_links *links = mo_links_create(graph, share, others < (double)most ? (int64_t)others : most, 0);
    if (!links)
        return false;
    keep_connected(links);
    int64_t p = links->n_positive;
    mo_graph *masked = mo_graph_without(graph, links->positive, p);
    mo_near_pairs near = {0};
    if (masked)
        keep_far(masked, (p + 1) / 2, links);
    int64_t far = links->n_negative;
    if (masked && mo_near_pairs_draw(masked, graph, p - far, 0, &near) && reserve_support(ctx, p + near.n + far, s)) {
        s->n = 0;
        put_drawn(s, links->positive, p, 1);
        put_drawn(s, near.end, near.n, 0);
        put_drawn(s, links->negative, far, 0);
        s->shift[0] = rarity((double)edges, (double)p, others - (double)near.all, (double)far);
        s->shift[1] = rarity((double)edges, (double)p, (double)near.all, (double)near.n);
        for (int kind = 0; kind < 2; kind++)
            if (isnan(s->shift[kind])) /* no such pair was drawn */
                s->shift[kind] = isnan(s->shift[!kind]) ? 0 : s->shift[!kind];
    }
    mo_near_pairs_release(&near);
    mo_graph_release(masked);
    mo_links_release(links);
    return mo_ok(ctx);
}

/* Checks that the pairs are in the graph, none given twice, and that both links and non-links are fitted. */
static bool support_fits(const mo_graph *graph, const mo_link_support *s) {
    mo_context *ctx = graph->ctx;
    int64_t *key = mo_host_array(ctx, s->n, sizeof *key), fitted[2] = {0, 0};
    for (int64_t i = 0; key && i < s->n && mo_ok(ctx); i++) {
        int64_t u = s->u[i] < s->v[i] ? s->u[i] : s->v[i], v = s->u[i] < s->v[i] ? s->v[i] : s->u[i];
        if (u < 0 || u == v || v >= graph->nodes || s->fit[i] < 0 || mo_graph_has_edge(graph, u, v) != !!s->linked[i])
            mo_fail(ctx, MO_INVALID,
                "links: support pair %" PRId64 " (%" PRId64 ", %" PRId64 "): expected two nodes that are %s in %s", i,
                u, v, s->linked[i] ? "linked" : "not linked", graph->name);
        else
            fitted[!!s->linked[i]] += s->fit[i];
        key[i] = u * graph->nodes + v;
    }
    if (mo_ok(ctx) && mo_sort_distinct(key, s->n) != s->n)
        mo_fail(ctx, MO_INVALID, "links: a pair of the support is there twice");
    else if (mo_ok(ctx) && (!fitted[0] || !fitted[1]))
        mo_fail(ctx, MO_INVALID,
            "links: the support has %" PRId64 " links and %" PRId64 " pairs without one, expected 1 or more of each",
            fitted[1], fitted[0]);
    free(key);
    return mo_ok(ctx);
}

/* Writes the pairs to s, links before others and the smaller node first, and to the lists of `links`. */
static void sort_pairs(const mo_link_support *from, mo_link_support *s, mo_links *links) {
    int64_t at = 0;
    for (int linked = 1; linked >= 0; linked--)
        for (int64_t i = 0; i < from->n; i++)
            if (!!from->linked[i] == linked) {
                int64_t u = from->u[i] < from->v[i] ? from->u[i] : from->v[i], v = from->u[i] + from->v[i] - u;
                int64_t *const *end = linked ? links->positive : links->negative;
                int64_t *count = linked ? &links->n_positive : &links->n_negative;
                end[0][*count] = s->u[at] = u;
                end[1][(*count)++] = s->v[at] = v;
                s->linked[at] = linked;
                s->fit[at++] = from->fit[i];
            }
}

mo_links *mo_link_support_take(const mo_graph *graph, const mo_link_support *given, mo_link_support *s) {
    mo_context *ctx = graph->ctx;
    mo_link_support drawn = {0};
    const mo_link_support *from = given ? given : &drawn;
    bool fine = (given || draw(graph, &drawn)) && support_fits(graph, from);
    mo_links *links = fine ? mo_host_array(ctx, 1, sizeof *links) : NULL;
    for (int side = 0; links && side < 2; side++) {
        links->positive[side] = mo_host_array(ctx, from->n, sizeof(int64_t));
        links->negative[side] = mo_host_array(ctx, from->n, sizeof(int64_t));
    }
    if (links && mo_ok(ctx) && reserve_support(ctx, from->n, s)) {
        sort_pairs(from, s, links);
        s->shift[0] = from->shift[0];
        s->shift[1] = from->shift[1];
        links->masked = mo_graph_without(graph, links->positive, links->n_positive);
    }
    mo_link_support_release(&drawn);
    if (links && links->masked && mo_ok(ctx))
        return links;
    mo_links_release(links);
    return NULL;
}
