/* tools/eval/table.h - tables that show figures side by side: one table for each data set, task, metric and head. */
#ifndef TABLE_H
#define TABLE_H

#include "tools/eval/results.h"

enum { MAX_COLUMNS = 40 };

/* A column: the figures of one list with the same features. */
typedef struct table_column {
    const results *list;
    char features[48], title[48];
    const char *other_head; /* the head of the column's figures if it is not the table's; else NULL */
    mo_seen seen;           /* whether the weights of the column's figures have seen the graph */
} table_column;

typedef struct table_row {
    int64_t k;
    const result *first, *cell[MAX_COLUMNS]; /* first: the first figure of the first list at this k; cell: NULL if a
                                              * column has no figure */
} table_row;

typedef struct figure_table {
    const result *subject; /* the figure that the table starts with */
    int n, own;            /* n: number of columns; own: number of those from the first list */
    table_column column[MAX_COLUMNS];
    table_row *rows; /* stb_ds array */
} figure_table;

/* Returns whether item i is the first figure of its table; ignores items before `first`. */
bool starts_table(const results *list, int first, int i);
/* Makes the table of the figure `first` of the first list, with columns for the features of every list in order of
 * appearance. A list of published figures gives the columns of the first row for which it has figures; of the paper's
 * methods, only its own and the best. Release it. */
figure_table make_table(const results *const *lists, int n, int first);
void release_table(figure_table *t);
/* Returns the index of the first list's column with these features; -1 if there is none. */
int find_column(const figure_table *t, const char *features);
/* Prints the line above a table: "cora nc, mixture head (x0: ridge, hop: ridge), accuracy in %, n = 3 seeds"; names the
 * columns that have another head. */
void print_subject(const figure_table *t);
void print_titles(const figure_table *t);
/* Prints a row without its newline: k, then a figure per column; published figures with their standard deviation. */
void print_row(const figure_table *t, const table_row *row);
/* Prints a mean and its interval in 14 columns: "51.2 ± 3.4"; "-" if there is no mean. */
void print_value(double mean, double width);
/* Prints the tables of the items from `first` on, with the paper's figures. Below each prints how far the column
 * `trained` is above the baselines, where it is below, and how far its head is above the head of the subject's first
 * table. Returns true if the paper had a figure. */
bool print_eval_tables(const results *list, int first, const results *paper, const char *trained);

/* Prints below a table how a column of the first list differs from each baseline (the untrained encoder, the weights of
 * the recipe free, x0, hop): at every k the difference with its 95% interval, and * if the interval leaves out 0. Then
 * prints the k at which the column is within noise of the baseline, and the k at which it is worse by more than the
 * interval. */
void print_pairs(const figure_table *t, const char *features);
/* Prints one object per k for every pair of columns of the first list. label: the file's, or NULL. Returns false if
 * standard output was lost. */
bool print_pair_objects(const figure_table *t, const char *label);
bool leaves_out_zero(difference d);

/* Returns the mark behind a title or a star: "†" if the weights were trained on the graph, "?" if they may have been,
 * else "". */
const char *seen_mark(mo_seen seen);
/* Names of graphs, each once: one list per value of mo_seen. print_seen explains the marks. */
typedef names seen_graphs[MO_SEEN + 1];
void note_seen(seen_graphs graphs, const char *data, mo_seen seen);
void print_seen(const seen_graphs graphs);
void free_seen(seen_graphs graphs);

#endif
