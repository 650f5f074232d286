/* train/episodes/division_file.c - divides examples by a user's lists of training and test examples. */
#include "tensor/library.h"
#include "train/episodes/plan_members.h"
#include "train/graphs/table_reader.h"
#include "train/inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct example_list {
    const mo_graph *graph;
    const char *path, *what;
    int64_t *id, *line; /* [n]; line: the line in the file, or the position in an array */
    int64_t n, ids, lines;
} example_list;

static bool add_example(example_list *l, int64_t id, int64_t line) {
    mo_context *ctx = l->graph->ctx;
    if (!mo_host_array_grow(ctx, &l->id, &l->ids, l->n + 1, sizeof *l->id) ||
        !mo_host_array_grow(ctx, &l->line, &l->lines, l->n + 1, sizeof *l->line))
        return false;
    l->id[l->n] = id;
    l->line[l->n++] = line;
    return true;
}

/* Reads the first column of a table, with or without a header. */
static void read_list_table(example_list *l) {
    mo_table row;
    bool fine = mo_table_open(&row, l->graph->ctx, l->path, MO_TABLE_CSV);
    while (fine && mo_table_next(&row)) {
        const char *text = row.field[0];
        bool number = text[0] == '-' || (text[0] >= '0' && text[0] <= '9');
        if (row.row == 0 && !number && mo_graph_find_example(l->graph, text) < 0)
            continue;
        int64_t id = mo_table_example(&row, l->graph, l->what);
        fine = id >= 0 && add_example(l, id, row.line);
    }
    mo_table_close(&row);
}

static void read_list_array(example_list *l) {
    mo_context *ctx = l->graph->ctx;
    mo_tensor *T = mo_npy_read(ctx, l->path);
    mo_dtype dtype = mo_ok(ctx) ? mo_tensor_dtype(T) : MO_I64;
    char shape[64];
    bool column = mo_ok(ctx) && (mo_ndim(T) == 1 || (mo_ndim(T) == 2 && mo_dim(T, 1) == 1));
    if (mo_ok(ctx) && (!column || (dtype != MO_I64 && dtype != MO_I32 && dtype != MO_U8)))
        mo_fail(ctx, MO_INVALID, "%s: expected numbers of %s, integers [n], found %s %s", l->path, l->what,
            mo_dtype_name(dtype), mo_shape_string(T, shape, sizeof shape));
    int64_t n = mo_ok(ctx) ? mo_numel(T) : 0, examples = mo_graph_examples(l->graph);
    int64_t *number = mo_ok(ctx) ? mo_host_values(T, MO_I64) : NULL;
    for (int64_t i = 0; number && i < n && mo_ok(ctx); i++) {
        char text[24];
        snprintf(text, sizeof text, "%" PRId64, number[i]);
        int64_t id = mo_graph_find_example(l->graph, text);
        if (id < 0)
            mo_fail(ctx, MO_INVALID, "%s: expected %s of %" PRId64 " %s%s, found %" PRId64 " at position %" PRId64,
                l->path, l->graph->names ? "names" : "numbers", examples, l->what,
                l->graph->names ? " (names that are texts belong in a .txt or .csv)" : ", from 0", number[i], i);
        else
            add_example(l, id, i);
    }
    free(number);
    mo_tensor_release(T);
}

static void refuse_repeated(const example_list *l, bool array) {
    mo_context *ctx = l->graph->ctx;
    int64_t *times = mo_host_array(ctx, 3 * l->n, sizeof *times), before = 0;
    char number[24];
    if (times)
        mo_count_repeats(l->id, l->n, times + l->n, times);
    for (int64_t i = 0; times && i < l->n && mo_ok(ctx); i++)
        if (times[i] == 0) {
            while (l->id[before] != l->id[i])
                before++;
            mo_fail(ctx, MO_INVALID, "%s: expected different %s, found %s in %s %" PRId64 " and %" PRId64, l->path,
                l->what, mo_graph_example_name(l->graph, l->id[i], number), array ? "positions" : "lines",
                l->line[before], l->line[i]);
        }
    free(times);
}

/* Assigns a list's examples to the part; raises if one is in the other list. */
static bool take_list(const mo_graph *graph, const char *path, const char *what, mo_division part, uint8_t *division) {
    mo_context *ctx = graph->ctx;
    example_list l = {.graph = graph, .path = path, .what = what};
    bool array = mo_path_ends_with(path, ".npy");
    char number[24];
    if (array)
        read_list_array(&l);
    else
        read_list_table(&l);
    if (mo_ok(ctx) && l.n == 0)
        mo_fail(ctx, MO_INVALID, "%s: expected a list of %s, found none", path, what);
    if (mo_ok(ctx))
        refuse_repeated(&l, array);
    for (int64_t i = 0; mo_ok(ctx) && i < l.n; i++)
        if (division[l.id[i]] != MO_DIVISION_NONE)
            mo_fail(ctx, MO_INVALID, "%s: expected %s that are not learned from, found %s, which is", path, what,
                mo_graph_example_name(graph, l.id[i], number));
        else
            division[l.id[i]] = (uint8_t)part;
    free(l.line);
    free(l.id);
    return mo_ok(ctx);
}

bool mo_division_read(const mo_graph *graph, const char *train, const char *test, const char *what, uint8_t *division) {
    if (!graph || !mo_given(graph->ctx, "division", "what is divided", what) ||
        !mo_given(graph->ctx, "division", "the division", division))
        return false;
    int64_t n = mo_graph_examples(graph);
    mo_division rest = train ? test ? MO_DIVISION_NONE : MO_DIVISION_TEST : MO_DIVISION_TRAIN;
    for (int64_t i = 0; i < n; i++)
        division[i] = MO_DIVISION_NONE;
    bool fine = mo_ok(graph->ctx) && (!train || take_list(graph, train, what, MO_DIVISION_TRAIN, division)) &&
                (!test || take_list(graph, test, what, MO_DIVISION_TEST, division));
    for (int64_t i = 0; fine && i < n; i++)
        if (division[i] == MO_DIVISION_NONE)
            division[i] = (uint8_t)rest;
    return fine;
}
