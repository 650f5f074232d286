/* tools/table_file.h - tables of text that the program writes: to a file, whole or not at all, or to standard output.
 */
#ifndef TABLE_FILE_H
#define TABLE_FILE_H

#include "tools/command.h"

#include <stdio.h>

typedef struct table_file {
    const char *path; /* NULL: standard output */
    FILE *out;
    char comma;    /* between fields: a tab in a file .tsv */
    bool terminal; /* names are printable */
    char *text;
    size_t bytes;
} table_file;

/* path is borrowed until close_table. */
void open_table(table_file *t, const char *path);
/* Writes the file in place of the one that is there. Returns false on failure, with the error set, or where standard
 * output was lost. */
bool close_table(mo_context *ctx, table_file *t);

/* A field; with a comma, a tab, a quote or a line end inside it stands in quotes, which are doubled (RFC 4180). */
void put_field(table_file *t, const char *text);
/* The name of an example, or its number, as a field. */
void put_example(table_file *t, const mo_graph *graph, int64_t i);

#endif
