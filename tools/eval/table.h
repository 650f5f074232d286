/* tools/eval/table.h - figures side by side: a table for each data set, task, metric and head. */
#ifndef TABLE_H
#define TABLE_H

#include "tools/eval/results.h"

enum { MAX_COLUMNS = 40 };

/* A column: one kind of features of one list. */
typedef struct table_column {
    const results *list;
    char features[48], title[48];
    const char *other_head; /* of its figures, where that is not the table's; or NULL */
    mo_seen seen;           /* by the weights whose figures it has */
} table_column;

typedef struct table_row {
    int64_t k;
    const result *first, *cell[MAX_COLUMNS]; /* first: of this k in the first list; cell NULL: no figure */
} table_row;

typedef struct figure_table {
    const result *subject; /* the first figure */
    int n, own;            /* columns; of the first list */
    table_column column[MAX_COLUMNS];
    table_row *rows; /* stb_ds array */
} figure_table;

/* Whether item i is the first of its table from item `first` on. */
bool starts_table(const results *list, int first, int i);
/* The table that item `first` of the first list begins, with the columns of every list in order of appearance; of
 * published figures those for the first row that they have: of the paper, its own method and the best of any. Release
 * it. */
figure_table make_table(const results *const *lists, int n, int first);
void release_table(figure_table *t);
/* The place of a column of the first list; -1 if there is none. */
int find_column(const figure_table *t, const char *features);
/* "cora nc, mixture head (x0: ridge, hop: ridge), accuracy in %, n = 3 seeds": names the columns of another head. */
void print_subject(const figure_table *t);
void print_titles(const figure_table *t);
/* One line without its newline: k, then a figure per column; the paper's with its standard deviation. */
void print_row(const figure_table *t, const table_row *row);
/* Twelve columns of the terminal: "51.2 ± 3.4"; "-" if there is no mean. */
void print_value(double mean, double width);
/* The tables of the items from `first` on, the paper's figures beside them, with lines below that say what the column
 * `trained` is above those that need no training, and where it is below. True where the paper had a figure. */
bool print_eval_tables(const results *list, int first, const results *paper, const char *trained);

/* Below a table, a column of the first list minus those that need no training (the untrained encoder, x0, hop), for
 * every k with its 95% interval, * where that leaves out 0; then the k at which the column is within noise of the
 * other, and those at which it is worse by more than the interval. */
void print_pairs(const figure_table *t, const char *features);
/* One object a k for every pair of columns of the first list; label: of the file, or NULL. Returns false where standard
 * output was lost. */
bool print_pair_objects(const figure_table *t, const char *label);
bool leaves_out_zero(difference d);

/* What stands behind the name of a column, or a star, of a graph that the weights were trained on, or perhaps were:
 * "†", "?", else "". */
const char *seen_mark(mo_seen seen);
/* The names of graphs by what is known of them, each once; and the lines at the end that say what the marks mean. */
typedef names seen_graphs[MO_SEEN + 1];
void note_seen(seen_graphs graphs, const char *data, mo_seen seen);
void print_seen(const seen_graphs graphs);
void free_seen(seen_graphs graphs);

#endif
