/* tools/report/report_cells.h - the figures of `mochi eval` in the order of a page: a block is a table and a chart, a
 * line of it is a k, a column the features that were read out. */
#ifndef REPORT_CELLS_H
#define REPORT_CELLS_H

#include "tools/report/report.h"

/* A cell with the numbers of its block (one data set, task, head, metric and protocol of one file) and of its line in
 * the block's table (a k), both counted in order of appearance: comparing whole cells would take minutes for thousands
 * of them. */
typedef struct located {
    const json_t *cell;
    const char *features;
    int block, line;
} located;

typedef struct cell_table {
    const report *r;
    located *at;          /* stb_ds arrays */
    const char **columns; /* all features, in order of appearance */
} cell_table;

cell_table locate_cells(const report *r);
void free_cells(cell_table *t);
/* Adds a name to an stb_ds array of names that does not hold it. */
void add_once(const char ***names, const char *name);
/* Each column has one colour on the whole page: baselines have fixed colours, other columns the rest in order of
 * appearance. */
int colour_of(const cell_table *t, const char *features);
/* Accuracy, or AUC of links: the figure that charts show. */
bool is_main_metric(const json_t *cell);
/* The paper's figure by MOCHI or MOCHI++ for a cell; NULL if it has none. */
const result *paper_of(const report *r, const json_t *cell, bool plus);

#endif
