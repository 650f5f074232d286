/* train/graphs/table_reader.c - the fields of CSV and TSV. libcsv splits lines into fields; the text reader unpacks,
 * bounds and counts the lines. */
#include "train/graphs/table_reader.h"

#include "tensor/files/file.h"
#include "tensor/files/number_text.h"
#include "tensor/hidden.h"
#include "train/graphs/text_reader.h"
#include "train/graphs/words.h"

#include <csv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct mo_table {
    mo_table_place at;
    const mo_table_visit *visit;
    bool fine;
    mo_words first; /* the first line, until it is known whether it is a header */
} mo_table;

static void on_field(void *text, size_t bytes, void *state) {
    mo_table *t = state;
    (void)bytes; /* CSV_APPEND_NULL ends the text */
    if (t->fine && t->at.row == 0 && t->visit->is_header)
        t->fine = mo_words_add(t->at.ctx, &t->first, text ? text : "");
    else if (t->fine)
        t->fine = t->visit->field(t->visit->state, &t->at, text ? text : "");
    t->at.column++;
}

/* Passes a header over, or makes row 1 of the first line. */
static bool take_first_line(mo_table *t) {
    const mo_table_visit *v = t->visit;
    int64_t n = t->first.n;
    const char **field = mo_host_array(t->at.ctx, n, sizeof *field);
    for (int64_t i = 0; field && i < n; i++)
        field[i] = mo_words_get(&t->first, i);
    bool fine = field, header = fine && v->is_header(v->state, field, n);
    if (header && v->left_out)
        fine = mo_note_header(t->at.ctx, v->left_out, t->at.path, field, n);
    t->at.row = !header;
    for (t->at.column = 0; fine && t->at.column < n; t->at.column++)
        fine = header || v->field(v->state, &t->at, field[t->at.column]);
    free(field);
    return fine;
}

static void on_row(int end, void *state) {
    mo_table *t = state;
    (void)end;
    if (t->fine && t->at.row == 0 && t->visit->is_header)
        t->fine = take_first_line(t);
    if (t->fine)
        t->fine = t->visit->row(t->visit->state, &t->at);
    t->at.row++;
    t->at.column = 0;
}

static bool feed_csv(struct csv_parser *parser, mo_table *t, const char *text, size_t bytes) {
    if (csv_parse(parser, text, bytes, on_field, on_row, t) == bytes)
        return t->fine;
    bool memory = csv_error(parser) == CSV_ENOMEM;
    return mo_fail(t->at.ctx, memory ? MO_MEMORY : MO_FORMAT, "%s:%lld: %s", t->at.path, (long long)t->at.line,
        memory ? "out of memory for a field" : "expected a quote at an end of a field, found one inside");
}

static bool read_rows(struct csv_parser *parser, mo_text_reader *r, mo_table *t) {
    while (mo_text_line(r)) {
        t->at.line = r->line;
        if (r->line == 1)
            csv_set_delim(parser, strchr(r->cursor, '\t') ? CSV_TAB : CSV_COMMA);
        if (!mo_is_utf8(r->cursor, strlen(r->cursor)))
            return mo_fail(r->ctx, MO_FORMAT, "%s:%lld: expected text in UTF-8", t->at.path, (long long)r->line);
        if (!feed_csv(parser, t, r->cursor, strlen(r->cursor)) || !feed_csv(parser, t, "\n", 1))
            return false;
    }
    if (!mo_ok(r->ctx))
        return false;
    if (csv_fini(parser, on_field, on_row, t) == 0)
        return t->fine;
    return mo_fail(r->ctx, MO_FORMAT, "%s:%lld: expected the quote that ends a field, found the end of the file",
        t->at.path, (long long)t->at.line);
}

bool mo_table_read(mo_context *ctx, const char *path, const mo_table_visit *visit) {
    if (!mo_given(ctx, "table", "the path", path) || !mo_given(ctx, "table", "visit", visit) ||
        !mo_given(ctx, "table", "visit->field", (const void *)(uintptr_t)visit->field) ||
        !mo_given(ctx, "table", "visit->row", (const void *)(uintptr_t)visit->row))
        return false;
    mo_text_reader r;
    struct csv_parser parser;
    mo_table t = {.at = {.ctx = ctx, .path = path}, .visit = visit, .fine = true};
    bool fine = visit->pipe ? mo_text_open_pipe(&r, ctx, path) : mo_text_open(&r, ctx, path);
    t.at.path = r.path;
    if (fine && csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL) == 0) {
        fine = read_rows(&parser, &r, &t);
        csv_free(&parser);
    }
    mo_text_close(&r);
    mo_words_release(&t.first);
    return fine;
}

bool mo_is_number_text(const char *text) {
    char *end;
    bool begins = text[strspn(text, "+-.")] >= '0' && text[strspn(text, "+-.")] <= '9';
    mo_read_number(text, &end);
    return begins && end != text && !*end;
}

bool mo_is_pair_heading(const char *u, const char *v) {
    return (!strcasecmp(u, "from") && !strcasecmp(v, "to")) || (!strcasecmp(u, "source") && !strcasecmp(v, "target"));
}

bool mo_note_left_out(mo_context *ctx, char **note, const char *path, const char *what) {
    const char *slash = path ? strrchr(path, '/') : NULL, *name = slash ? slash + 1 : path ? path : "";
    char file[80];
    mo_quote(name, strlen(name), file, sizeof file);
    const char *before = *note ? *note : "";
    size_t bytes = strlen(before) + strlen(what) + strlen(file) + 8;
    char *joined = mo_host_array(ctx, (int64_t)bytes, 1);
    if (!joined)
        return false;
    snprintf(joined, bytes, path ? "%s%s%s (%s)" : "%s%s%s", before, *note ? "; " : "", what, file);
    free(*note);
    *note = joined;
    return true;
}

bool mo_note_header(mo_context *ctx, char **note, const char *path, const char *const *field, int64_t n) {
    char what[300] = "header:", shown[48];
    for (int64_t i = 0; i < n && i < 5; i++) {
        size_t used = strlen(what);
        snprintf(what + used, sizeof what - used, "%s %s", i ? "," : "",
            i == 4 ? ".." : mo_quote(field[i], strlen(field[i]), shown, sizeof shown));
    }
    return mo_note_left_out(ctx, note, path, what);
}

bool mo_note_comments(mo_graph *graph, const char *path, int64_t lines) {
    char what[48];
    snprintf(what, sizeof what, "%lld comment%s", (long long)lines, lines == 1 ? "" : "s");
    return lines == 0 || mo_note_left_out(graph->ctx, &graph->left_out, path, what);
}

bool mo_is_table(const char *path) {
    return mo_path_ends_with(path, ".csv") || mo_path_ends_with(path, ".csv.gz") || mo_path_ends_with(path, ".tsv") ||
           mo_path_ends_with(path, ".tsv.gz");
}

bool mo_table_unexpected(const mo_table_place *at, const char *expected, const char *found) {
    char quoted[64];
    mo_quote(found, strlen(found), quoted, sizeof quoted);
    return mo_fail(at->ctx, MO_FORMAT, "%s:%lld: expected %s, found %s%s%s", at->path, (long long)at->line, expected,
        *found ? "'" : "nothing", quoted, *found ? "'" : "");
}

bool mo_table_columns(const mo_table_place *at, int64_t columns, const char *names) {
    if (at->column == columns)
        return true;
    return mo_fail(at->ctx, MO_FORMAT, "%s:%lld: expected %lld columns, %s, found %lld", at->path, (long long)at->line,
        (long long)columns, names, (long long)at->column);
}
