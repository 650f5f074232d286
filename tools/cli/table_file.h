/* tools/cli/table_file.h - writes tables of text to standard output, or to a file that is replaced only when complete.
 */
#ifndef TABLE_FILE_H
#define TABLE_FILE_H

#include "tools/cli/command.h"

#include <stdio.h>

typedef struct table_file {
    const char *path; /* NULL: standard output */
    FILE *out;
    char comma;    /* separator: a comma, or a tab for .tsv */
    bool terminal; /* the output is a terminal: names are made printable */
    char *text;
    size_t bytes;
} table_file;

/* path is borrowed until close_table. */
void open_table(table_file *t, const char *path);
/* Closes the table; a file is replaced only now. Returns false on failure, with the error set, or if standard output
 * was lost. */
bool close_table(mo_context *ctx, table_file *t);

/* Writes a field; a field with a comma, tab, quote, line end or outer blank is quoted, its quotes doubled (RFC 4180).
 */
void put_field(table_file *t, const char *text);
/* Writes an example's name, or its number, as a field. */
void put_example(table_file *t, const mo_graph *graph, int64_t i);
/* The same as a new JSON text or number. */
json_t *json_example(const mo_graph *graph, int64_t i);

#endif
