/* train/graphs/row_names.c - which example a row of an array belongs to, by the names beside the array. */
#include "train/graphs/row_names.h"

#include "tensor/files/file.h"
#include "tensor/library.h"
#include "train/graphs/table_reader.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool mo_row_names_path(const char *array, char *path, size_t bytes) {
    static const char *const endings[] = {".gz", ".npy", ".npz", ".safetensors", ".txt", ".csv", ".tsv"};
    const char *colon = strrchr(array, ':');
    size_t n = strlen(array);
    if (colon && colon > array && access(array, F_OK) != 0)
        n = (size_t)(colon - array);
    for (size_t e = 0; e < sizeof endings / sizeof *endings; e++) {
        size_t length = strlen(endings[e]);
        if (n > length && strncmp(array + n - length, endings[e], length) == 0)
            n -= length;
    }
    int length = snprintf(path, bytes, "%.*s.names.txt", (int)n, array);
    return length > 0 && (size_t)length < bytes;
}

bool mo_name_lines_read(mo_context *ctx, const char *path, mo_words *names) {
    mo_table row;
    bool fine = mo_table_open(&row, ctx, path, MO_TABLE_LINES);
    while (fine && mo_table_next(&row))
        fine = *row.field[0] ? mo_words_add(ctx, names, row.field[0])
                             : mo_table_unexpected(&row, "the name of a row", row.field[0]);
    mo_table_close(&row);
    if (mo_ok(ctx) && names->n == 0)
        mo_fail(ctx, MO_FORMAT, "%s: expected a name per line, found none", path);
    return mo_ok(ctx);
}

bool mo_row_names_read(mo_context *ctx, const char *array, mo_words *names) {
    char path[PATH_MAX];
    if (!mo_row_names_path(array, path, sizeof path) || access(path, F_OK) != 0)
        return mo_ok(ctx);
    return mo_name_lines_read(ctx, path, names);
}

mo_graph *mo_named_rows(mo_context *ctx, const char *array, int64_t n) {
    mo_words names = {0};
    int64_t repeated = -1;
    mo_graph *rows = mo_row_names_read(ctx, array, &names) ? mo_graph_from_edges(ctx, array, n, 0, NULL, NULL) : NULL;
    if (rows && names.n > 0 && names.n != n)
        mo_fail(ctx, MO_INVALID, "%s: expected a row for each of the %" PRId64 " names beside it, found %" PRId64,
            array, names.n, n);
    else if (rows && names.n > 0 && !mo_graph_list_nodes(rows, &names, &repeated) && repeated >= 0)
        mo_fail(ctx, MO_INVALID, "%s: expected each name beside it once, found that of row %" PRId64 " before", array,
            repeated);
    mo_words_release(&names);
    if (mo_ok(ctx))
        return rows;
    mo_graph_release(rows);
    return NULL;
}

/* Up to three names in quotes, and how many there are beside. */
typedef struct named_few {
    char text[240];
    int64_t n;
} named_few;

static void name_one_more(named_few *few, const char *name) {
    char shown[60];
    size_t used = strlen(few->text);
    if (few->n++ < 3)
        snprintf(few->text + used, sizeof few->text - used, "%s'%s'", used ? ", " : "",
            mo_quote(name, strlen(name), shown, sizeof shown));
}

static const char *name_the_rest(named_few *few) {
    size_t used = strlen(few->text);
    if (few->n > 3)
        snprintf(few->text + used, sizeof few->text - used, " and %" PRId64 " more", few->n - 3);
    return few->text;
}

/* Raises, with the remedy, as rows without names are bound to no example. */
static bool refuse_nameless(const mo_graph *graph, const char *array) {
    char number[24], quoted[60], beside[PATH_MAX], path[PATH_MAX];
    const char *name = mo_graph_example_name(graph, 0, number), *slash;
    mo_row_names_path(array, path, sizeof path);
    slash = strrchr(path, '/');
    snprintf(beside, sizeof beside, "%s", slash ? slash + 1 : path);
    return mo_fail(graph->ctx, MO_INVALID,
        "%s: expected the names of its rows, as %s calls its %s by names such as '%s' and not 0 .. %" PRId64
        ": write a table with a column of names, or the name of each row into %s, one per line",
        array, graph->name, graph->graphs > 1 ? "graphs" : "nodes", mo_quote(name, strlen(name), quoted, sizeof quoted),
        mo_graph_examples(graph) - 1, beside);
}

/* Sets row [examples] by the names. */
static bool bind_rows(const mo_graph *graph, const char *array, const mo_words *names, bool every, int64_t *row) {
    mo_context *ctx = graph->ctx;
    named_few strangers = {0}, missing = {0};
    char number[24];
    for (int64_t i = 0; i < names->n && mo_ok(ctx); i++) {
        const char *name = mo_words_get(names, i);
        int64_t example = mo_graph_find_example(graph, name);
        if (example < 0)
            name_one_more(&strangers, name);
        else if (row[example] >= 0)
            mo_fail(ctx, MO_INVALID,
                "%s: expected a name for each row, found '%.60s' for rows %" PRId64 " and %" PRId64, array, name,
                row[example], i);
        else
            row[example] = i;
    }
    if (mo_ok(ctx) && strangers.n)
        return mo_fail(ctx, MO_INVALID, "%s: expected rows of the %" PRId64 " %s of %s, found names that none has: %s",
            array, mo_graph_examples(graph), graph->graphs > 1 ? "graphs" : "nodes", graph->name,
            name_the_rest(&strangers));
    for (int64_t e = 0; every && mo_ok(ctx) && e < mo_graph_examples(graph); e++)
        if (row[e] < 0)
            name_one_more(&missing, mo_graph_example_name(graph, e, number));
    if (missing.n)
        mo_fail(ctx, MO_INVALID, "%s: expected a row for each of %" PRId64 " %s of %s, found none for %s", array,
            mo_graph_examples(graph), graph->graphs > 1 ? "graphs" : "nodes", graph->name, name_the_rest(&missing));
    return mo_ok(ctx);
}

int64_t *mo_rows_of_examples(
    const mo_graph *graph, const char *array, int64_t n, const mo_words *names, mo_row_binding binding) {
    mo_context *ctx = graph->ctx;
    int64_t examples = mo_graph_examples(graph);
    bool listed = binding.listed && graph->names && graph->names->order == MO_NAMES_LISTED;
    if (names->n > 0 && names->n != n)
        mo_fail(ctx, MO_INVALID, "%s: expected a row for each of the %" PRId64 " names beside it, found %" PRId64,
            array, names->n, n);
    else if (names->n == 0 && graph->names && !listed)
        refuse_nameless(graph, array);
    int64_t *row = mo_ok(ctx) ? mo_host_array(ctx, examples, sizeof *row) : NULL;
    for (int64_t e = 0; row && e < examples; e++)
        row[e] = names->n > 0 || e >= n ? -1 : e;
    if (row && (names->n == 0 || bind_rows(graph, array, names, binding.every, row)))
        return row;
    free(row);
    return NULL;
}

bool mo_row_names_fit(const mo_graph *graph, const char *array) {
    char number[24], quoted[60];
    for (int64_t i = 0; graph->names && i < mo_graph_examples(graph); i++) {
        const char *name = mo_graph_example_name(graph, i, number);
        if (!*name || strpbrk(name, "\r\n"))
            return mo_fail(graph->ctx, MO_UNSUPPORTED,
                "%s: expected names that fit on a line of the file of names beside it, found '%s'", array,
                mo_quote(name, strlen(name), quoted, sizeof quoted));
    }
    return mo_ok(graph->ctx);
}

mo_code mo_row_names_write(const mo_graph *graph, const char *array, const int64_t *id, int64_t n) {
    mo_context *ctx = graph->ctx;
    char path[PATH_MAX], number[24];
    mo_words text = {0};
    if (!mo_row_names_path(array, path, sizeof path))
        mo_fail(ctx, MO_IO, "%s: expected a shorter path", array);
    if (mo_ok(ctx) && !id && !graph->names) {
        unlink(path); /* names of an array that this one has replaced */
        return mo_code_of(ctx);
    }
    for (int64_t i = 0; i < n && mo_ok(ctx); i++)
        if (mo_words_add(ctx, &text, mo_graph_example_name(graph, id ? id[i] : i, number)))
            text.text[text.bytes - 1] = '\n';
    if (mo_ok(ctx))
        mo_file_replace(ctx, path, text.text, (size_t)text.bytes);
    mo_words_release(&text);
    return mo_code_of(ctx);
}
