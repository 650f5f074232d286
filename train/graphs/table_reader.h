/* train/graphs/table_reader.h - the rows of every text that is a table, plain or gzipped: CSV and TSV, lists of edges,
 * columns of numbers, one name per line; and messages about them (library internal). */
#ifndef MO_TABLE_READER_H
#define MO_TABLE_READER_H

#include "train/graph.h"
#include "train/graphs/node_names.h"
#include "train/graphs/text_reader.h"

#include <csv.h>

/* How a line becomes fields. */
typedef enum mo_table_form {
    MO_TABLE_CSV, /* quotes as in RFC 4180; between them tabs if the first line has one; semicolons if it has one and no
                   * comma but between digits, and 2,5 is then 2.5; else commas */
    MO_TABLE_WORDS,   /* blanks between them; a comment starts with '#' or, above the first row, '%' or "//": below, a
                       * name may start so */
    MO_TABLE_NUMBERS, /* commas between them, and blanks around */
    MO_TABLE_CELLS,   /* the line is one field, without the blanks around it */
    MO_TABLE_LINES,   /* the line is one field */
} mo_table_form;

/* A table that is read row by row; close it even if opening failed. Empty lines are skipped in CSV and WORDS, have no
 * field in NUMBERS, and an empty one in CELLS and LINES. */
typedef struct mo_table {
    mo_context *ctx;
    const char *path;     /* for messages */
    const char **field;   /* [n]: fields of the row, valid until the next row is read */
    int64_t n, row, line; /* row: number of the row, from 0; line: where it ends, from 1 */
    int64_t comments;     /* lines */
    mo_table_form form;   /* this field and all below: for the reader only */
    mo_text_reader text;
    struct csv_parser parser;
    mo_words words; /* fields of the rows that libcsv has split */
    int64_t *stop;  /* [rows]: where each row's fields end in words */
    int64_t rows, next, rows_room, fields_room;
    bool open, parses, ended;
} mo_table;

/* Returns false on failure. mo_table_open_pipe: of CSV; the path may be a pipe, or "-", standard input. */
bool mo_table_open(mo_table *t, mo_context *ctx, const char *path, mo_table_form form);
bool mo_table_open_pipe(mo_table *t, mo_context *ctx, const char *path);
/* Moves to the next row. False at the end and on failure: mo_ok tells which. */
bool mo_table_next(mo_table *t);
void mo_table_close(mo_table *t);

/* Whether a field is a number; headings never are. */
bool mo_is_number_text(const char *text);
/* Whether a field marks what is unknown, of classes as of attributes: nothing, ?, NA, N/A, <NA>, NaN, None or null, in
 * any case. */
bool mo_is_unknown(const char *text);
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
/* Reads field i as an integer of low .. high; raises if it is none. Without bounds of their own, integers are at most
 * MO_TABLE_LARGEST: larger ones are not exact as doubles. */
#define MO_TABLE_LARGEST ((int64_t)1 << 53)
bool mo_table_integer(const mo_table *t, int64_t i, const char *what, int64_t low, int64_t high, int64_t *value);
/* The example named in field 0; else raises "expected the name of one of 5 nodes" and returns -1; what: "nodes" or
 * "graphs". */
int64_t mo_table_example(const mo_table *t, const mo_graph *graph, const char *what);

#endif
