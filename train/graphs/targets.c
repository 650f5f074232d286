/* train/graphs/targets.c - real targets of a few examples, from a table (example, target), or from a column of numbers
 * with a line for each example. */
#include "tensor/files/number_text.h"
#include "tensor/library.h"
#include "train/graphs/graph_build.h"
#include "train/graphs/label_column.h"
#include "train/graphs/table_reader.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

typedef struct target_entry {
    int64_t id, line;
    double value;
} target_entry;

typedef struct target_table {
    const mo_graph *graph;
    target_entry *entry;
    int64_t n, capacity, fields, name, value; /* name: -1 in a column without names */
} target_table;

static const char more[] = "example and target (more: with a header that has node, or id, and target)";

/* Finds the two columns from the first row. */
static bool find_columns(target_table *t, const mo_table *row) {
    *t = (target_table){t->graph, t->entry, t->n, t->capacity, row->n, 0, 1};
    if (row->n == 1)
        t->name = -1, t->value = 0;
    else if (row->n > 2) {
        t->name = mo_name_column(row, 0);
        t->value = -1;
        for (int64_t i = 0; i < row->n; i++)
            t->value = !strcasecmp(row->field[i], "target") ? i : t->value;
        if (t->name < 0 || t->value < 0 || t->name == t->value)
            return mo_table_columns(row, 2, more);
    }
    return true;
}

static bool take_target(target_table *t, mo_table *row, int64_t at) {
    const mo_graph *g = t->graph;
    bool set = g->graphs > 1;
    char *end;
    if (!mo_table_columns(row, t->fields,
            t->fields == 1   ? "a target"
            : t->fields == 2 ? more
                             : "as the first line has"))
        return false;
    const char *text = row->field[t->value];
    row->field[0] = t->name >= 0 ? row->field[t->name] : row->field[0];
    if (t->name < 0 && at >= mo_graph_examples(g))
        return mo_fail(g->ctx, MO_FORMAT, "%s: expected a target for each of %" PRId64 " %s, found more", row->path,
            mo_graph_examples(g), set ? "graphs" : "nodes");
    int64_t id = t->name < 0 ? at : mo_table_example(row, g, set ? "graphs" : "nodes");
    if (id < 0 || mo_is_unknown(text))
        return id >= 0;
    double value = mo_read_number(text, &end);
    if (end == text || *end || !isfinite(value))
        return mo_table_unexpected(row, "a finite number (leave the field empty if it is unknown)", text);
    if (!mo_host_array_grow(g->ctx, &t->entry, &t->capacity, t->n + 1, sizeof *t->entry))
        return false;
    t->entry[t->n++] = (target_entry){id, row->line, value};
    return true;
}

static int by_example(const void *a, const void *b) {
    const target_entry *x = a, *y = b;
    return x->id != y->id ? (x->id > y->id) - (x->id < y->id) : (x->line > y->line) - (x->line < y->line);
}

/* Sorts by example; raises if one has two targets, if there are fewer than three, or if all are equal. */
static bool check_entries(target_table *t, const char *path) {
    mo_context *ctx = t->graph->ctx;
    char number[24];
    bool varies = false;
    if (t->n > 0)
        qsort(t->entry, (size_t)t->n, sizeof *t->entry, by_example);
    for (int64_t i = 1; i < t->n; i++) {
        const target_entry *a = &t->entry[i - 1], *b = &t->entry[i];
        varies |= a->value != b->value;
        if (a->id == b->id)
            return mo_fail(ctx, MO_INVALID, "%s:%" PRId64 ": example %s has the target %g, and %g in line %" PRId64,
                path, b->line, mo_graph_example_name(t->graph, b->id, number), b->value, a->value, a->line);
    }
    if (t->n < 3)
        return mo_fail(ctx, MO_INVALID, "%s: expected three targets or more, found %" PRId64, path, t->n);
    if (!varies)
        return mo_fail(ctx, MO_INVALID, "%s: expected targets that differ, found %g in all %" PRId64 " lines", path,
            t->entry[0].value, t->n);
    return true;
}

bool mo_targets_read(const mo_graph *graph, const char *path, mo_targets *targets) {
    if (targets)
        *targets = (mo_targets){0};
    if (!graph || !mo_given(graph->ctx, "targets", "the path", path) ||
        !mo_given(graph->ctx, "targets", "targets", targets))
        return false;
    mo_context *ctx = graph->ctx;
    target_table t = {.graph = graph};
    mo_table row;
    int64_t at = 0;
    bool fine = mo_table_open_pipe(&row, ctx, path);
    while (fine && mo_table_next(&row)) {
        fine = row.row > 0 || find_columns(&t, &row);
        bool text = fine && row.row == 0 && row.n == t.fields && !mo_is_number_text(row.field[t.value]) &&
                    !mo_is_unknown(row.field[t.value]);
        bool header = text && (t.name < 0 || t.fields > 2 || mo_graph_find_example(graph, row.field[t.name]) < 0);
        if (header)
            fine = mo_note_header(ctx, &targets->headers, row.path, row.field, row.n);
        else
            fine = fine && take_target(&t, &row, at++);
    }
    mo_table_close(&row);
    if (mo_ok(ctx) && t.name < 0 && at != mo_graph_examples(graph))
        mo_fail(ctx, MO_FORMAT, "%s: expected a target for each of %" PRId64 " %s, found %" PRId64, path,
            mo_graph_examples(graph), graph->graphs > 1 ? "graphs" : "nodes", at);
    if (mo_ok(ctx) && check_entries(&t, path)) {
        targets->id = mo_host_array(ctx, t.n, sizeof *targets->id);
        targets->value = mo_host_array(ctx, t.n, sizeof *targets->value);
        for (int64_t i = 0; mo_ok(ctx) && i < t.n; i++) {
            targets->id[i] = t.entry[i].id;
            targets->value[i] = t.entry[i].value;
        }
        targets->n = t.n;
    }
    free(t.entry);
    if (!mo_ok(ctx))
        mo_targets_release(targets);
    return mo_ok(ctx);
}

bool mo_targets_find(const mo_graph *graph, char *path, size_t bytes) {
    static const char ending[] = "_graph_attributes.txt";
    if (!graph || !graph->source || !path)
        return false;
    snprintf(path, bytes, "%s/targets.csv", graph->source);
    if (access(path, F_OK) == 0)
        return true;
    DIR *listing = graph->n_labels == 0 ? opendir(graph->source) : NULL;
    bool found = false;
    for (struct dirent *entry; listing && !found && (entry = readdir(listing));) {
        size_t length = strlen(entry->d_name), tail = strlen(ending);
        found = length > tail && strcmp(entry->d_name + length - tail, ending) == 0;
        if (found)
            snprintf(path, bytes, "%s/%s", graph->source, entry->d_name);
    }
    if (listing)
        closedir(listing);
    return found;
}

void mo_targets_release(mo_targets *targets) {
    if (!targets)
        return;
    free(targets->id);
    free(targets->value);
    free(targets->headers);
    *targets = (mo_targets){0};
}
