/* train/graphs/attribute_scale.c - the attributes of a graph's nodes on one scale, so that no column drowns the others.
 *
 * r_j is the root mean square of the entries of column j that are not 0. A column is measured if it has a value other
 * than 0 and 1; dense if more than half of its entries are not 0; a coordinate if 5% or more of its entries are
 * positive, and 5% or more negative.
 *
 *     constant, dense                        left out: the columns behind it move up
 *     measured, dense, in a table of units   (x - median) / deviation, within -2.5 .. 2.5
 *     off the scale m of its table           brought to it: if dense like the above, times m;
 *                                            else x m / r_j
 *     all others                             as they are
 *
 * A table of units is one whose measured columns are mostly dense and no coordinates, such as ages, incomes and counts:
 * their units are arbitrary. Its scale is 1, that of its columns of 0 and 1. Coordinates, as of embeddings, and sparse
 * columns, such as TF-IDF, have lengths that mean something, so the scale of all other tables is the median m of the
 * r_j, and a column is off it if r_j > 10 m or r_j < m / 10. The deviation is that of a normal distribution with the
 * column's quartiles or, if they are equal, the root mean square distance from the median.
 *
 * Sets of graphs are left to train/features/sets/scaled_set.c, which scales every measured column. */
#include "tensor/library.h"
#include "train/graphs/graph_build.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double band = 10, farthest = 2.5, balanced = 0.05;
static const double quartiles_apart = 1.3489795; /* of a normal distribution, in standard deviations */

typedef enum treatment { KEPT = 0, LEFT_OUT, STRETCHED, CENTRED } treatment;

typedef struct column {
    int64_t entries, positive, negative; /* that are not 0 */
    double squares;
    float first;
    bool measured, varies;
    treatment how;
    double median, deviation; /* of a centred column */
    double factor;
    int32_t number; /* among the columns that are not left out */
} column;

/* ---- what the columns are ---- */

static column *describe_columns(const mo_graph *g) {
    column *all = mo_host_array(g->ctx, g->features, sizeof *all);
    for (int64_t e = 0; all && e < g->feature_nnz; e++) {
        column *c = &all[g->feature_column[e]];
        float x = g->feature_value[e];
        if (x == 0)
            continue;
        c->first = c->entries ? c->first : x;
        c->entries++;
        c->positive += x > 0;
        c->negative += x < 0;
        c->squares += (double)x * x;
        c->measured |= x != 1;
        c->varies |= x != c->first;
    }
    return all;
}

static bool is_dense(const mo_graph *g, const column *c) {
    return c->entries > g->nodes / 2;
}

static bool is_coordinate(const column *c) {
    double least = balanced * (double)c->entries;
    return (double)c->positive >= least && (double)c->negative >= least;
}

static double length_of(const column *c) {
    return sqrt(c->squares / (double)c->entries);
}

static bool is_table_of_units(const mo_graph *g, const column *all) {
    int64_t measured = 0, units = 0;
    for (int64_t j = 0; j < g->features; j++) {
        measured += all[j].measured;
        units += all[j].measured && is_dense(g, &all[j]) && !is_coordinate(&all[j]);
    }
    return 2 * units > measured;
}

/* The median r_j of the columns that are not empty; 0 without any. */
static double median_length(const mo_graph *g, const column *all) {
    double *length = mo_host_array(g->ctx, g->features, sizeof *length), median = 0;
    int64_t n = 0;
    for (int64_t j = 0; length && j < g->features; j++)
        if (all[j].entries)
            length[n++] = length_of(&all[j]);
    if (n)
        median = mo_sorted_median(length, n);
    free(length);
    return median;
}

/* ---- what is done with them ---- */

/* Also numbers the columns that stay. Returns whether any column changes. */
static bool choose_treatments(const mo_graph *g, column *all) {
    bool units = is_table_of_units(g, all), changes = false;
    double scale = units ? 1 : median_length(g, all);
    int32_t kept = 0;
    for (int64_t j = 0; j < g->features; j++) {
        column *c = &all[j];
        double r = c->entries ? length_of(c) : scale;
        bool off = r > band * scale || r < scale / band, dense = is_dense(g, c);
        c->how = c->entries == g->nodes && !c->varies     ? LEFT_OUT
                 : dense && c->measured && (units || off) ? CENTRED
                 : off                                    ? STRETCHED
                                                          : KEPT;
        c->factor = c->how == STRETCHED ? scale / r : c->how == CENTRED ? scale : 1;
        c->number = kept;
        kept += c->how != LEFT_OUT;
        changes |= c->how != KEPT;
    }
    return changes;
}

/* Sets median and deviation of a column from its sorted values [n]. */
static void centre_column(void *columns, int64_t j, double median, const double *x, int64_t n) {
    column *c = &((column *)columns)[j];
    double squares = 0;
    c->median = median;
    c->deviation = (x[n - 1 - n / 4] - x[n / 4]) / quartiles_apart;
    for (int64_t i = 0; i < n; i++)
        squares += (x[i] - median) * (x[i] - median);
    if (!(c->deviation > 0))
        c->deviation = sqrt(squares / (double)n);
}

/* Finds the median and the deviation of each centred column. */
static bool centre_columns(const mo_graph *g, column *all) {
    bool *centred = mo_host_array(g->ctx, g->features, sizeof *centred);
    for (int64_t j = 0; centred && j < g->features; j++)
        centred[j] = all[j].how == CENTRED;
    bool done = centred && mo_graph_sort_columns(g, centred, centre_column, all);
    free(centred);
    return done;
}

/* ---- the graph with the scaled values ---- */

static float scaled_value(const column *c, float x) {
    double y = c->how == CENTRED ? fmax(-farthest, fmin(farthest, (x - c->median) / c->deviation)) : x;
    return (float)(y * c->factor);
}

/* Writes the rows: the kept entries, scaled, and every entry of the centred columns, as their neutral value is not 0
 * any more. Returns the number of entries; with to NULL only counts them. */
static int64_t write_rows(
    const mo_graph *g, const column *all, const int32_t *centred, int64_t n, int64_t *seen, mo_graph *to) {
    int64_t at = 0;
    memset(seen, 0, (size_t)g->features * sizeof *seen);
    for (int64_t u = 0; u < g->nodes; u++) {
        for (int64_t e = g->feature_pointer[u]; e < g->feature_pointer[u + 1]; e++) {
            int32_t j = g->feature_column[e];
            if (all[j].how == LEFT_OUT)
                continue;
            seen[j] = u + 1;
            if (to) {
                to->feature_column[at] = all[j].number;
                to->feature_value[at] = scaled_value(&all[j], g->feature_value[e]);
            }
            at++;
        }
        for (int64_t i = 0; i < n; i++)
            if (seen[centred[i]] != u + 1) {
                if (to) {
                    to->feature_column[at] = all[centred[i]].number;
                    to->feature_value[at] = scaled_value(&all[centred[i]], 0);
                }
                at++;
            }
        if (to)
            to->feature_pointer[u + 1] = at;
    }
    return at;
}

static bool fill_scaled(const mo_graph *g, const column *all, mo_graph *scaled) {
    mo_context *ctx = g->ctx;
    int64_t n = 0, *seen = mo_host_array(ctx, g->features, sizeof *seen);
    int32_t *centred = mo_host_array(ctx, g->features, sizeof *centred);
    for (int64_t j = 0; centred && j < g->features; j++)
        if (all[j].how == CENTRED)
            centred[n++] = (int32_t)j;
    if (seen && centred) {
        scaled->feature_nnz = write_rows(g, all, centred, n, seen, NULL);
        scaled->feature_pointer = mo_host_array(ctx, g->nodes + 1, sizeof *scaled->feature_pointer);
        scaled->feature_column = mo_host_array(ctx, scaled->feature_nnz, sizeof *scaled->feature_column);
        scaled->feature_value = mo_host_array(ctx, scaled->feature_nnz, sizeof *scaled->feature_value);
        if (mo_ok(ctx))
            write_rows(g, all, centred, n, seen, scaled);
    }
    free(seen);
    free(centred);
    return mo_ok(ctx);
}

/* Counts the columns that stay, and gathers their names, which are the loaded graph's. */
static bool keep_columns(const mo_graph *g, const column *all, mo_graph *scaled) {
    scaled->features = scaled->attributes = 0;
    scaled->feature_name = g->feature_name ? mo_host_array(g->ctx, g->features, sizeof *scaled->feature_name) : NULL;
    for (int64_t j = 0; mo_ok(g->ctx) && j < g->features; j++) {
        if (all[j].how == LEFT_OUT)
            continue;
        if (g->feature_name)
            scaled->feature_name[scaled->features] = g->feature_name[j];
        scaled->features++;
        scaled->attributes += j < g->attributes;
    }
    return mo_ok(g->ctx);
}

/* Adds to text "put on one scale: age, income" or "the same in all rows, left out: region", if there are any. */
static void name_columns(const mo_graph *g, const column *all, bool left_out, char *text, size_t bytes) {
    enum { MOST_NAMED = 6 };
    int64_t n = 0;
    for (int64_t j = 0; j < g->features; j++) {
        size_t used = strlen(text);
        char number[32];
        if (all[j].how == KEPT || (all[j].how == LEFT_OUT) != left_out || n++ >= MOST_NAMED)
            continue;
        snprintf(number, sizeof number, "column %lld", (long long)j);
        snprintf(text + used, bytes - used, "%s%.60s",
            n > 1       ? ", "
            : !left_out ? "put on one scale: "
            : used      ? "; the same in all rows, left out: "
                        : "the same in all rows, left out: ",
            g->feature_name ? g->feature_name[j] : number);
    }
    size_t used = strlen(text);
    if (n > MOST_NAMED)
        snprintf(text + used, bytes - used, " and %lld more", (long long)(n - MOST_NAMED));
}

/* A graph that borrows all arrays of `g` but the attributes; it holds g. */
static mo_graph *make_scaled(mo_graph *g, const column *all) {
    char text[1024] = "";
    mo_graph *scaled = mo_host_array(g->ctx, 1, sizeof *scaled);
    if (!scaled)
        return NULL;
    *scaled = *g;
    scaled->holders = 0;
    scaled->loaded = mo_graph_hold(g);
    scaled->feature_pointer = NULL;
    scaled->feature_column = NULL;
    scaled->feature_value = NULL;
    scaled->feature_name = NULL;
    name_columns(g, all, false, text, sizeof text);
    name_columns(g, all, true, text, sizeof text);
    scaled->scaled = mo_text_copy(g->ctx, text);
    if (scaled->scaled && keep_columns(g, all, scaled) && fill_scaled(g, all, scaled)) {
        scaled->features = scaled->feature_nnz ? scaled->features : 0;
        return scaled;
    }
    mo_graph_release(scaled);
    return NULL;
}

/* Tells which columns are changed. */
static void tell_scale(const mo_graph *scaled, const mo_feature_options *o) {
    char line[1280];
    if (!o->notice || !scaled || !scaled->scaled)
        return;
    snprintf(line, sizeof line, "attributes of %.100s: %s", scaled->name, scaled->scaled);
    o->notice(line, o->notice_state);
}

/* The attributes of the nodes that count, alone: a graph that owns its three arrays of attributes, and borrows the
 * rest. */
static bool counted_attributes(const mo_graph *g, mo_graph *part) {
    *part = *g;
    part->nodes = g->n_counted;
    part->feature_nnz = 0;
    part->feature_pointer = mo_host_array(g->ctx, part->nodes + 1, sizeof *part->feature_pointer);
    part->feature_column = mo_host_array(g->ctx, g->feature_nnz, sizeof *part->feature_column);
    part->feature_value = mo_host_array(g->ctx, g->feature_nnz, sizeof *part->feature_value);
    for (int64_t i = 0; mo_ok(g->ctx) && i < part->nodes; i++) {
        int64_t from = g->feature_pointer[g->counted[i]], n = g->feature_pointer[g->counted[i] + 1] - from;
        for (int64_t e = 0; e < n; e++) {
            part->feature_column[part->feature_nnz] = g->feature_column[from + e];
            part->feature_value[part->feature_nnz++] = g->feature_value[from + e];
        }
        part->feature_pointer[i + 1] = part->feature_nnz;
    }
    return mo_ok(g->ctx);
}

mo_graph *mo_graph_scale(mo_graph *graph, const mo_feature_options *o) {
    if (!graph || !mo_ok(graph->ctx))
        return NULL;
    if (o->attributes == MO_ATTRIBUTES_RAW || graph->graphs != 1 || graph->nodes < 2 || !graph->features ||
        graph->scaled)
        return mo_graph_hold(graph);
    mo_graph part, *scaled = NULL;
    const mo_graph *of = graph->counted ? &part : graph;
    column *all = !graph->counted || counted_attributes(graph, &part) ? describe_columns(of) : NULL;
    if (all && !choose_treatments(of, all))
        scaled = mo_graph_hold(graph);
    else if (all && centre_columns(of, all))
        scaled = make_scaled(graph, all);
    free(all);
    if (graph->counted) {
        free(part.feature_pointer);
        free(part.feature_column);
        free(part.feature_value);
    }
    tell_scale(scaled, o);
    return scaled;
}
