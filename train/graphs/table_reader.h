/* train/graphs/table_reader.h - what readers of CSV and TSV say of them; mo_table_read of train/graph.h reads the
 * fields (library internal). */
#ifndef MO_TABLE_READER_H
#define MO_TABLE_READER_H

#include "train/graph.h"

/* Whether a field is written as a number, which no heading is. */
bool mo_is_number_text(const char *text);
/* Whether two fields are the usual heading of pairs: `from` and `to`, or `source` and `target`. */
bool mo_is_pair_heading(const char *u, const char *v);
/* Adds to a note of lines that are no data: "header: from, to (edges.csv)"; path NULL: of no file. False when out of
 * memory. */
bool mo_note_left_out(mo_context *ctx, char **note, const char *path, const char *what);
bool mo_note_header(mo_context *ctx, char **note, const char *path, const char *const *field, int64_t n);
/* The same of comment lines of an edge list, if there are any. */
bool mo_note_comments(mo_graph *graph, const char *path, int64_t lines);
/* Whether a file is read as a table: .csv or .tsv, plain or gzipped. */
bool mo_is_table(const char *path);
/* Raises MO_FORMAT: "PATH:LINE: expected <expected>, found <found>"; returns false. */
bool mo_table_unexpected(const mo_table_place *at, const char *expected, const char *found);
/* The same in the form that every complaint about a row of the wrong length has. */
bool mo_table_columns(const mo_table_place *at, int64_t columns, const char *names);

#endif
