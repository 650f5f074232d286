/* tools/report/report_predictions.h - a table of `mochi predict`, as the page reads it. */
#ifndef REPORT_PREDICTIONS_H
#define REPORT_PREDICTIONS_H

#include "tools/inside.h"
#include "tools/report/chart.h"

/* Classes are numbers among those of the table; -1: none. */
typedef struct prediction {
    char *name; /* owned */
    int label, truth;
    bool known;                       /* its label was given; then it has no probability and no margin: NaN */
    double probability, margin, x, y; /* x and y: NaN in a table without places */
} prediction;

typedef struct prediction_table {
    const char *path;
    bool of_graphs, places; /* places: written with --pca */
    prediction *rows;       /* stb_ds array */
    char **classes;         /* stb_ds array of owned texts, in the order of their first appearance */
} prediction_table;

/* Whether a file is read as one: .csv or .tsv, plain or gzipped. */
bool is_prediction_table(const char *path);
/* Reads it; raises errors with file and line. Release in any case. Returns the status. */
mo_code prediction_table_read(mo_context *ctx, const char *path, prediction_table *t);
void prediction_table_release(prediction_table *t);

/* ---- what a row is ---- */

/* A prediction whose class the data has. */
static inline bool is_judged(const prediction *p) {
    return !p->known && p->truth >= 0 && p->label >= 0;
}
static inline bool is_wrong(const prediction *p) {
    return is_judged(p) && p->label != p->truth;
}
static inline bool is_known(const prediction *p) {
    return p->known;
}
int64_t count_predictions(const prediction_table *t, bool (*is)(const prediction *p));

/* ---- report_predictions_chart.c ---- */

/* How many of the predictions the pictures have. */
int64_t drawn_predictions(const prediction_table *t);
/* The pictures of a table with places, and its confidence; a stb_ds array. */
chart *prediction_charts(const prediction_table *t);

#endif
