/* train/graphs/table_reader.h - the fields of CSV and TSV, plain or gzipped, one after the other (library internal). */
#ifndef MO_TABLE_READER_H
#define MO_TABLE_READER_H

#include "tensor/inside.h"

/* Where a field stands. Row 0 is the header. */
typedef struct mo_table_place {
    mo_context *ctx;
    const char *path;
    int64_t row, column, line; /* line: of the file, from 1 */
} mo_table_place;

/* What a reader of a table does with it; each returns false to stop, with an error raised. */
typedef struct mo_table_visit {
    bool (*field)(void *state, const mo_table_place *at, const char *text);
    bool (*row)(void *state, const mo_table_place *at); /* after its fields; at->column: how many */
    void *state;
} mo_table_visit;

/* Reads a table whose first line is a header. Fields have commas between them, or tabs where the first line has one;
 * quotes as in RFC 4180. Empty lines are passed over. Returns false on failure. */
bool mo_table_read(mo_context *ctx, const char *path, const mo_table_visit *visit);
/* Whether a file is read as a table: .csv or .tsv, plain or gzipped. */
bool mo_is_table(const char *path);
/* Raises MO_FORMAT: "PATH:LINE: expected <expected>, found <found>"; returns false. */
bool mo_table_unexpected(const mo_table_place *at, const char *expected, const char *found);
/* The same in the form that every complaint about a row of the wrong length has. */
bool mo_table_columns(const mo_table_place *at, int64_t columns, const char *names);

#endif
