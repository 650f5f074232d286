/* train/graphs/row_names.h - which example a row of an array belongs to (library internal). Rows are bound to examples
 * by names: those in FILE.names.txt beside FILE.npy, one per line; without that file the rows follow the examples'
 * numbers, which is refused if the data calls its examples otherwise. */
#ifndef MO_ROW_NAMES_H
#define MO_ROW_NAMES_H

#include "train/graph.h"
#include "train/graphs/node_names.h"

/* Writes the path of the names beside an array (FILE.npy, FILE.txt, FILE.npz:NAME: FILE.names.txt); false if it is too
 * long. */
bool mo_row_names_path(const char *array, char *path, size_t bytes);
/* Reads the names beside an array; none (n = 0) if there is no such file. Release them, even on failure. */
bool mo_row_names_read(mo_context *ctx, const char *array, mo_words *names);
/* The n rows of an array as nodes without edges, called by the names beside it. NULL on failure. */
mo_graph *mo_named_rows(mo_context *ctx, const char *array, int64_t n);
/* Reads one name per line. */
bool mo_name_lines_read(mo_context *ctx, const char *path, mo_words *names);
/* Raises unless names, one per line, can hold the graph's names: none has a line break or is empty. */
bool mo_row_names_fit(const mo_graph *graph, const char *array);
/* Writes the names of n examples, the rows of an array that has been written, beside it. id: their numbers; NULL: all
 * examples; then a graph without names needs no file, and an old one is removed. Returns the status. */
mo_code mo_row_names_write(const mo_graph *graph, const char *array, const int64_t *id, int64_t n);
/* The row of each example [examples], -1 if it has none; free() it. n: the number of rows. names: from
 * mo_row_names_read; none: row i is example i. Raises if rows have no names and the examples are not called 0 .. n - 1
 * (listed: unless a file of the data lists them), if a name is no example, or there twice, and if every row is needed
 * and an example has none. NULL on failure. */
typedef struct mo_row_binding {
    bool listed, every;
} mo_row_binding;
int64_t *mo_rows_of_examples(
    const mo_graph *graph, const char *array, int64_t n, const mo_words *names, mo_row_binding binding);

#endif
