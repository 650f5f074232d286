/* tools/eval_table.h - the rows of an evaluation, side by side. */
#ifndef EVAL_TABLE_H
#define EVAL_TABLE_H

#include "tools/command.h"

typedef struct eval_cell {
    char data[64], task[8], head[32], features[16], metric[16];
    int64_t k;
    double mean, ci95;
} eval_cell;

typedef struct eval_table {
    eval_cell *cells; /* of stb_ds: arrlen(cells) */
} eval_table;

/* Adds a row of mo_evaluate. */
void eval_table_add(eval_table *table, const mo_eval_row *row);
/* Prints a block for each data set, task, head and metric: a line for each k, a column for each kind of features, the
 * paper's beside them. Empties the table. True where the paper had a row. */
bool eval_table_print(eval_table *table);
void eval_table_free(eval_table *table);

#endif
