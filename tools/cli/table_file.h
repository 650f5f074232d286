/* tools/cli/table_file.h - writes the rows of a table, each described once, as lines of CSV, TSV or JSON, to standard
 * output or to a file that is replaced only when complete. */
#ifndef TABLE_FILE_H
#define TABLE_FILE_H

#include "tools/cli/command.h"

#include <stdio.h>

typedef struct table_file {
    const char *path; /* NULL: standard output */
    FILE *out;
    char comma;    /* separator: a comma, or a tab for .tsv; 0: JSON lines */
    bool terminal; /* the output is a terminal: names are made printable */
    const char *const *column;
    int at, grouped;   /* the next column, and the first that is a member of `group` */
    const char *group; /* JSON: the object that holds the columns from `grouped` on; NULL: none does */
    json_t *row, *within;
    char *text;
    size_t bytes;
} table_file;

/* path: its suffix says the form; NULL: standard output, and `json` says it. path and columns are borrowed until
 * close_table. */
void open_table(table_file *t, const char *path, bool json);
/* Names the columns and, unless the lines are JSON, writes them as the header. */
void begin_table(table_file *t, const char *const *column, int n);
/* Closes the table; a file is replaced only now. Returns false on failure, with the error set, or if standard output
 * was lost. */
bool close_table(mo_context *ctx, table_file *t);

/* Puts the next value of a row, which it takes over; end_row ends the row. As a field of CSV null is empty, a list has
 * bars between its texts, and a real number is written by `format`; a text with a comma, tab, quote, line end or outer
 * blank is quoted, its quotes doubled (RFC 4180). */
void put_value(table_file *t, json_t *value, const char *format);
void put_text(table_file *t, const char *text);
/* An example's name, or its number. */
void put_example(table_file *t, const mo_graph *graph, int64_t i);
void end_row(table_file *t);

/* An example's name or number as a new JSON value. */
json_t *json_example(const mo_graph *graph, int64_t i);

#endif
