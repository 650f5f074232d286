/* tools/report/report.h - the page of `mochi report`: its inputs, and the writers of its parts. */
#ifndef REPORT_H
#define REPORT_H

#include "tools/command.h"
#include "tools/eval/results.h"
#include "tools/report/chart.h"
#include "tools/report/report_predictions.h"

#include <math.h>
#include <stdio.h>

/* ---- report_input.c: runs of `mochi train`, tables of `mochi predict`, and lines that other commands write with
 * --json ---- */

typedef enum report_kind {
    LINE_RUN = 0,     /* the command that wrote the lines after it */
    LINE_DATA,        /* eval: a data set */
    LINE_CELL,        /* eval: a figure */
    LINE_ABSENT,      /* eval: a task whose data set is missing */
    LINE_PAIR,        /* eval: the difference of two columns */
    LINE_AGGREGATE,   /* eval: the normalised aggregate of a method */
    LINE_FIT,         /* fit: a head and k */
    LINE_GEOMETRY,    /* diagnosis: offset and spread */
    LINE_PROTOTYPE,   /* diagnosis: a class */
    LINE_NORM,        /* diagnosis: calibration in a quarter of the norms */
    LINE_READOUT,     /* diagnosis: reliability of a head */
    LINE_PITFALL,     /* pitfalls: a figure */
    LINE_RELIABILITY, /* pitfalls: a reliability diagram */
    LINE_BENCH,       /* bench: a case */
    LINE_OP,          /* bench --profile: an op in a place */
    LINE_KINDS
} report_kind;

/* A file that was read. */
typedef struct report_file {
    const char *path;
    char digest[33]; /* XXH3-128 in hexadecimal */
    size_t bytes;
    int lines;
} report_file;

/* A folder of `mochi train`. */
typedef struct report_run {
    const char *path;
    json_t *about, *log; /* run.json; the objects of log.jsonl */
    char weights[33];    /* digest of weights.safetensors; empty if there are none */
} report_run;

/* Lines are checked: the members that the page reads exist and have their type. Each line gets two more members:
 * "#file", the number of its file, and "#run", the number of the last LINE_RUN before it in its file (-1: none). */
typedef struct report {
    mo_context *ctx;
    json_t *lines[LINE_KINDS]; /* arrays */
    report_file *files;        /* stb_ds arrays */
    report_run *runs;
    prediction_table *tables;
    results paper; /* the paper's figures */
    FILE *page;
    chart *charts;   /* charts of the page, in the order of their places */
    char **headings; /* of the sections, owned: the contents */
} report;

/* Reads a folder or a file. Raises errors with file and line. Returns the status. */
mo_code report_read(report *r, const char *path);
void report_release(report *r);

const char *text_of(const json_t *o, const char *name);
double number_of(const json_t *o, const char *name); /* NaN if it is null or missing */
/* The figures of a reliability line, as counts. */
mo_calibration counts_of(const json_t *o);
/* Whether the texts of both objects under each of these comma-separated names are equal, or the numbers. */
bool same_members(const json_t *a, const json_t *b, const char *names);

/* ---- report_page.c: pieces of HTML; everything foreign goes through put_text ---- */

void put_text(FILE *page, const char *text);
void put_row(FILE *page, const char *name, const char *value); /* a row of a table of two columns; both are escaped */
/* A section with its heading. */
void open_section(report *r, const char *heading);
void close_section(report *r);
void contents_free(report *r); /* what open_section has noted */
/* Figures between open_figures and close_figures stand side by side if there is room. */
void open_figures(report *r);
void put_chart(report *r, chart *c); /* takes over the chart's memory */
void close_figures(report *r);
void put_number(FILE *page, double value, int digits); /* "-" for NaN */
void put_interval(FILE *page, double mean, double half_width, int digits);
/* Writes the whole page to path by one rename. Returns the status. */
mo_code report_write(report *r, const char *path);

/* The seconds that the steps of a run took. */
double training_seconds(const report_run *run);

/* What came out, in at most five sentences. */
void report_opening(const report *r, FILE *page);

/* ---- the sections; each writes nothing if it has nothing to show ---- */

void report_predictions(report *r);
void report_trainings(report *r);
void report_cells(report *r);
void report_aggregates(report *r); /* part of the section before */
void report_costs(report *r);
void report_fits(report *r);
void report_hulls(report *r);
void report_pitfalls(report *r);
void report_benches(report *r);
void report_repeat(report *r); /* commands, versions and digests */

#endif
