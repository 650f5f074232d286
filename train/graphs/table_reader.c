/* train/graphs/table_reader.c - the fields of CSV and TSV. libcsv splits lines into fields; the text reader unpacks,
 * bounds and counts the lines. */
#include "train/graphs/table_reader.h"

#include "tensor/files/file.h"
#include "tensor/given.h"
#include "train/graphs/text_reader.h"

#include <csv.h>
#include <string.h>

typedef struct mo_table {
    mo_table_place at;
    const mo_table_visit *visit;
    bool fine;
} mo_table;

static void on_field(void *text, size_t bytes, void *state) {
    mo_table *t = state;
    (void)bytes; /* CSV_APPEND_NULL ends the text */
    if (t->fine)
        t->fine = t->visit->field(t->visit->state, &t->at, text ? text : "");
    t->at.column++;
}

static void on_row(int end, void *state) {
    mo_table *t = state;
    (void)end;
    if (t->fine)
        t->fine = t->visit->row(t->visit->state, &t->at);
    t->at.row++;
    t->at.column = 0;
}

static bool feed_csv(struct csv_parser *parser, mo_table *t, const char *text, size_t bytes) {
    if (csv_parse(parser, text, bytes, on_field, on_row, t) == bytes)
        return t->fine;
    bool memory = csv_error(parser) == CSV_ENOMEM;
    mo_fail(t->at.ctx, memory ? MO_MEMORY : MO_FORMAT, "%s:%lld: %s", t->at.path, (long long)t->at.line,
        memory ? "out of memory for a field" : "expected a quote at an end of a field, found one inside");
    return false;
}

static bool read_rows(struct csv_parser *parser, mo_text_reader *r, mo_table *t) {
    while (mo_text_line(r)) {
        t->at.line = r->line;
        if (r->line == 1) {
            csv_set_delim(parser, strchr(r->cursor, '\t') ? CSV_TAB : CSV_COMMA);
            r->cursor += strncmp(r->cursor, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* the mark of UTF-8 that Excel writes */
        }
        if (!mo_is_utf8(r->cursor, strlen(r->cursor))) {
            mo_fail(r->ctx, MO_FORMAT, "%s:%lld: expected text in UTF-8", t->at.path, (long long)r->line);
            return false;
        }
        if (!feed_csv(parser, t, r->cursor, strlen(r->cursor)) || !feed_csv(parser, t, "\n", 1))
            return false;
    }
    if (!mo_ok(r->ctx))
        return false;
    if (csv_fini(parser, on_field, on_row, t) == 0)
        return t->fine;
    mo_fail(r->ctx, MO_FORMAT, "%s:%lld: expected the quote that ends a field, found the end of the file", t->at.path,
        (long long)t->at.line);
    return false;
}

bool mo_table_read(mo_context *ctx, const char *path, const mo_table_visit *visit) {
    if (!mo_given(ctx, "table", "the path", path) || !mo_given(ctx, "table", "visit", visit) ||
        !mo_given(ctx, "table", "visit->field", (const void *)(uintptr_t)visit->field) ||
        !mo_given(ctx, "table", "visit->row", (const void *)(uintptr_t)visit->row))
        return false;
    mo_text_reader r;
    struct csv_parser parser;
    mo_table t = {.at = {.ctx = ctx, .path = path}, .visit = visit, .fine = true};
    bool fine = mo_text_open(&r, ctx, path);
    if (fine && csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL) == 0) {
        fine = read_rows(&parser, &r, &t);
        csv_free(&parser);
    }
    mo_text_close(&r);
    return fine;
}

bool mo_is_table(const char *path) {
    return mo_path_ends_with(path, ".csv") || mo_path_ends_with(path, ".csv.gz") || mo_path_ends_with(path, ".tsv") ||
           mo_path_ends_with(path, ".tsv.gz");
}

bool mo_table_unexpected(const mo_table_place *at, const char *expected, const char *found) {
    char quoted[64];
    mo_quote(found, strlen(found), quoted, sizeof quoted);
    mo_fail(at->ctx, MO_FORMAT, "%s:%lld: expected %s, found %s%s%s", at->path, (long long)at->line, expected,
        *found ? "'" : "nothing", quoted, *found ? "'" : "");
    return false;
}

bool mo_table_columns(const mo_table_place *at, int64_t columns, const char *names) {
    if (at->column == columns)
        return true;
    mo_fail(at->ctx, MO_FORMAT, "%s:%lld: expected %lld columns, %s, found %lld", at->path, (long long)at->line,
        (long long)columns, names, (long long)at->column);
    return false;
}
