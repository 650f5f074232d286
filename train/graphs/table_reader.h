/* train/graphs/table_reader.h - what readers of CSV and TSV say of them; mo_table_read of train/graph.h reads the
 * fields (library internal). */
#ifndef MO_TABLE_READER_H
#define MO_TABLE_READER_H

#include "train/graph.h"

/* Whether a file is read as a table: .csv or .tsv, plain or gzipped. */
bool mo_is_table(const char *path);
/* Raises MO_FORMAT: "PATH:LINE: expected <expected>, found <found>"; returns false. */
bool mo_table_unexpected(const mo_table_place *at, const char *expected, const char *found);
/* The same in the form that every complaint about a row of the wrong length has. */
bool mo_table_columns(const mo_table_place *at, int64_t columns, const char *names);

#endif
