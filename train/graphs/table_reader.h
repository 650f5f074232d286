/* train/graphs/table_reader.h - rows of CSV and TSV, plain or gzipped, and messages about them (library internal). */
#ifndef MO_TABLE_READER_H
#define MO_TABLE_READER_H

#include "train/graph.h"
#include "train/graphs/node_names.h"
#include "train/graphs/text_reader.h"

#include <csv.h>

/* A table that is read row by row; close it even if opening failed. The first line tells what separates
 * fields: tabs if it has one; semicolons if it has one and no comma but between digits, and 2,5 is then 2.5; else
 * commas. Quotes as in RFC 4180. Empty lines are skipped. */
typedef struct mo_table {
    mo_context *ctx;
    const char *path;     /* for messages */
    const char **field;   /* [n]: fields of the row, valid until the next row is read */
    int64_t n, row, line; /* row: number of the row, from 0; line: where it ends, from 1 */
    mo_text_reader text;  /* this field and all below: for the reader only */
    struct csv_parser parser;
    mo_words words; /* fields of the rows that libcsv has split */
    int64_t *stop;  /* [rows]: where each row's fields end in words */
    int64_t rows, next, rows_room, fields_room;
    bool parses, ended;
} mo_table;

/* pipe: the path may be a pipe, or "-", standard input. Returns false on failure. */
bool mo_table_open(mo_table *t, mo_context *ctx, const char *path, bool pipe);
/* Moves to the next row. False at the end and on failure: mo_ok tells which. */
bool mo_table_next(mo_table *t);
void mo_table_close(mo_table *t);

/* Whether a field is a number; headings never are. */
bool mo_is_number_text(const char *text);
/* Whether two fields are a usual heading of pairs, in any case: from, to; source, target; src, dst; node1, node2;
 * id1, id2; the last two also with an underscore. */
bool mo_is_pair_heading(const char *u, const char *v);
/* Whether a heading is one of names: id, node, name, .._id, in any case, or ..Id. */
bool mo_is_name_heading(const char *text);
/* The column, from `first` on, whose heading is one of names, or of classes (label, class, in any case); -1: none. */
int64_t mo_name_column(const mo_table *heading, int64_t first);
int64_t mo_class_column(const mo_table *heading);
/* Append to *note, a text that lists content of files that is not data: `what`, or a header's n fields, and the file's
 * name unless path is NULL, as in "from, to (edges.csv)". Return false when out of memory. */
bool mo_note_left_out(mo_context *ctx, char **note, const char *path, const char *what);
bool mo_note_header(mo_context *ctx, char **note, const char *path, const char *const *field, int64_t n);
/* Adds the number of comment lines of an edge list to its note, if there are any. */
bool mo_note_comments(mo_graph *graph, const char *path, int64_t lines);
/* Whether a file is read as a table: .csv or .tsv in any case, plain or gzipped. */
bool mo_is_table(const char *path);
/* Raises MO_FORMAT: "PATH:LINE: expected <expected>, found <found>"; returns false. */
bool mo_table_unexpected(const mo_table *t, const char *expected, const char *found);
/* Whether the row has that many columns; raises if not. */
bool mo_table_columns(const mo_table *t, int64_t columns, const char *names);
/* The example named in field 0; else raises "expected the name of one of 5 nodes" and returns -1; what: "nodes" or
 * "graphs". */
int64_t mo_table_example(const mo_table *t, const mo_graph *graph, const char *what);

#endif
