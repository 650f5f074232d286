/* tools/eval/table.h - the tables of `mochi eval`: one for each data set, task, metric and head, with the figures of
 * weights and baselines side by side. */
#ifndef TABLE_H
#define TABLE_H

#include "tools/cli/command.h"

enum { MAX_COLUMNS = 40 };

/* One figure of an evaluation, in percent. */
typedef struct figure {
    char data[64], task[4], features[48], head[32], metric[20];
    char block[32];       /* the head whose table shows the figure; baselines appear in the table of the trained model's
                           * readout */
    const char *protocol; /* a name that lives as long as the program */
    int64_t k;            /* 0 if the task has no k */
    double mean, ci95;
    int64_t n, small_classes, left_out, classes; /* as in mo_eval_row */
    char experts[320];                           /* the shares of the experts in a mixture readout, as text; "" if the
                                                  * readout has none */
    double *values;                              /* [n]; owned */
    mo_seen seen; /* whether the weights were trained on the graph; baselines never are */
} figure;

/* Appends a copy of a row to the stb_ds array *list; block: the head whose table shows it. */
void add_figure(figure **list, const mo_eval_row *row, const char *block, const char *protocol, mo_seen seen);
void free_figures(figure *list);
/* Prints the tables of n figures. Below each prints how far the column `trained` is above every baseline (the untrained
 * encoder, the weights of the recipe free, x0, hop) and how far its head is above the head of the subject's first
 * table: at every k the paired difference with its 95% interval, and * if the interval leaves out 0. */
void print_eval_tables(const figure *list, int n, const char *trained);
/* Returns JSON false, null (unknown) or true. */
json_t *json_seen(mo_seen seen);
/* Names of graphs, each once: one list per value of mo_seen. print_seen explains the marks † and ? of the tables. */
typedef names seen_graphs[MO_SEEN + 1];
void note_seen(seen_graphs graphs, const char *data, mo_seen seen);
void print_seen(const seen_graphs graphs);
void free_seen(seen_graphs graphs);

#endif
