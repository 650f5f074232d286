/* tools/eval/table.h - tables of figures side by side, one for each data set, task, metric and head. */
#ifndef TABLE_H
#define TABLE_H

#include "tools/eval/results.h"

enum { MAX_COLUMNS = 40 };

/* A column: the figures of one list under one label of features. */
typedef struct table_column {
    const results *list;
    char features[48], title[48];
    const char *other_head; /* the head of its figures, if not the table's; or NULL */
    mo_seen seen;           /* whether the weights behind its figures have seen the graph */
} table_column;

typedef struct table_row {
    int64_t k;
    const result *first, *cell[MAX_COLUMNS]; /* first: the first list's first figure at this k; cell NULL: no figure */
} table_row;

typedef struct figure_table {
    const result *subject; /* the first figure */
    int n, own;            /* n: number of columns; own: those of the first list */
    table_column column[MAX_COLUMNS];
    table_row *rows; /* stb_ds array */
} figure_table;

/* Whether item i is the first of its table, counting from item `first` on. */
bool starts_table(const results *list, int first, int i);
/* The table of item `first` of the first list, with the columns of every list in order of appearance. Of published
 * figures it has those at the first row for which there are any; of the paper only its own method and the best of any.
 * Release it. */
figure_table make_table(const results *const *lists, int n, int first);
void release_table(figure_table *t);
/* The index of a column of the first list; -1 if there is none. */
int find_column(const figure_table *t, const char *features);
/* "cora nc, mixture head (x0: ridge, hop: ridge), accuracy in %, n = 3 seeds": names columns with another head. */
void print_subject(const figure_table *t);
void print_titles(const figure_table *t);
/* One line without its newline: k, then a figure per column; published figures with their standard deviation. */
void print_row(const figure_table *t, const table_row *row);
/* Twelve columns wide: "51.2 ± 3.4"; "-" if there is no mean. */
void print_value(double mean, double width);
/* Prints the tables of the items from `first` on, with the paper's figures, and below each how far the column `trained`
 * is above the baselines, and where it is below. Returns true if the paper had a figure. */
bool print_eval_tables(const results *list, int first, const results *paper, const char *trained);

/* Prints below a table a column of the first list minus each baseline (the untrained encoder, x0, hop), at every k with
 * its 95% interval, and * if the interval leaves out 0; then the k at which the column is within noise of the baseline,
 * and the k at which it is worse by more than the interval. */
void print_pairs(const figure_table *t, const char *features);
/* Prints one object per k for every pair of columns of the first list; label: of the file, or NULL. Returns false if
 * standard output was lost. */
bool print_pair_objects(const figure_table *t, const char *label);
bool leaves_out_zero(difference d);

/* The mark behind a column's title, or a star, if the weights were trained on the graph ("†") or may have been ("?");
 * else "". */
const char *seen_mark(mo_seen seen);
/* Names of graphs by what is known of their use in training, each once. print_seen prints lines that explain the
 * marks. */
typedef names seen_graphs[MO_SEEN + 1];
void note_seen(seen_graphs graphs, const char *data, mo_seen seen);
void print_seen(const seen_graphs graphs);
void free_seen(seen_graphs graphs);

#endif
