/* tools/predict/label_table.h - lines of example and class, from a table of text. */
#ifndef LABEL_TABLE_H
#define LABEL_TABLE_H

#include "tools/command.h"

/* One line of the table. */
typedef struct label_entry {
    int64_t id, line;
    char *class;
} label_entry;

/* The table while it is read. */
typedef struct label_table {
    mo_context *ctx;
    const char *path;
    int64_t examples, line;
    int column;
    char *id; /* of the line that is read */
    label_entry *entries;
    int64_t n, room;
    char *class;
} label_table;

/* Reads the lines of CSV or TSV at t->path, whose first line is a header. The caller frees entries, their classes, id
 * and class, also on failure; the status names file and line. */
void parse_label_table(label_table *t);
/* Adds an example with the class that t holds, which the entry takes over. */
void keep_label(label_table *t, int64_t id);

#endif
