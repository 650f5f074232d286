/* tools/eval/eval_table.h - figures side by side: a block for each data set, task, head and metric. */
#ifndef EVAL_TABLE_H
#define EVAL_TABLE_H

#include "tools/eval/results.h"

/* A column: one kind of features of one list. */
typedef struct table_column {
    const results *list;
    char features[48], title[48];
    mo_seen seen; /* by the weights whose figures it has */
} table_column;

enum { MAX_COLUMNS = 16 };

/* Whether two figures are of the same block, head included. */
bool same_block(const result *a, const result *b);
/* Whether item i is the first with its k in the block that item `first` begins: a row of its table. */
bool starts_row(const results *list, int first, int i);
/* Adds the columns of a list's figures for a block, in order of appearance, to the n there are; for the paper, its own
 * method and the best of any. Returns the number added. */
int add_columns(table_column columns[MAX_COLUMNS], int n, const results *list, const result *block);
/* "cora nc, mixture head (x0: ridge, hop: ridge), accuracy in %": names the columns of another head. */
void print_subject(const table_column *columns, int n, const result *block);
void print_titles(const table_column *columns, int n);
/* One line without its newline: k, then a figure per column; the paper's with its standard deviation. */
void print_figures(const table_column *columns, int n, const result *block, int64_t k);
/* What stands behind the name of a column, or a star, of a graph that the weights were trained on, or perhaps were:
 * "†",
 * "?", else "". */
const char *seen_mark(mo_seen seen);
/* The names of graphs by what is known of them, each once; and the lines at the end that say what the marks mean. */
typedef names seen_graphs[MO_SEEN + 1];
void note_seen(seen_graphs graphs, const char *data, mo_seen seen);
void print_seen(const seen_graphs graphs);
void free_seen(seen_graphs graphs);
/* Twelve columns of the terminal: "51.2 ± 3.4"; "-" if there is no mean. */
void print_value(double mean, double width);
/* The items of the list from `first` on, block by block, the paper's beside them; lines below say what the column
 * `trained` is above the untrained encoder's and the best hop's, and where it is below the former. True where the paper
 * had a figure. */
bool print_eval_table(const results *list, int first, const results *paper, const char *trained);

#endif
