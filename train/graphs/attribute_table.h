/* train/graphs/attribute_table.h - a table with a row of attributes for each node of a graph, or for each row of a
 * table that is no graph (library internal). */
#ifndef MO_ATTRIBUTE_TABLE_H
#define MO_ATTRIBUTE_TABLE_H

#include "train/graphs/graph_build.h"

/* What the columns of a table hold; all others are attributes. Zero-initialise; release. */
typedef struct mo_attribute_columns {
    int64_t fields;            /* of the first line */
    int64_t name_at, class_at; /* -1: there are none; rows without names are called 0 .. n - 1 */
    bool *left_out;            /* [fields] */
} mo_attribute_columns;

/* All columns are attributes at first. False when out of memory. */
bool mo_attribute_columns_create(mo_context *ctx, int64_t fields, mo_attribute_columns *columns);
void mo_attribute_columns_release(mo_attribute_columns *columns);

/* Reads a table's rows as the nodes of a graph without any, with their names and attributes; their classes are added to
 * `class`. Columns of words and gaps become numbers (attribute_texts.c). edges: the first line is a header if its name
 * is empty or in no edge of this file; NULL: it is one. False after raising. */
bool mo_attribute_table_read(
    mo_graph *graph, const char *path, const char *edges, const mo_attribute_columns *columns, mo_words *class);
/* Makes a text for each node the labels of the graph, which has none yet; no text marks the unknown (mo_plain_label).
 * Without any there are no labels; nor if there are `many` or more, and all differ (*own), but for labels of at most
 * half of the nodes where `many` is 2. False after raising. */
bool mo_graph_take_class_texts(mo_graph *graph, const char *path, const mo_words *class, int64_t many, bool *own);

#endif
