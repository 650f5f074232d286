/* tools/report/report_cost.c - the section of cost: the paper's normalised aggregate S of each trained method against
 * the hours that its training took, beside the paper's methods (its figure "Training cost (hours) vs. performance"). */
#include "tools/eval/aggregate.h"
#include "tools/report/report_cells.h"

#include <stb/stb_ds.h>
#include <stdlib.h>
#include <string.h>

static const double SECONDS_PER_HOUR = 3600;

/* The figures of each file among the inputs, the paper's behind them. */
typedef struct cost_lists {
    results *own; /* stb_ds arrays */
    int *file;    /* the file's number */
    const results **all;
} cost_lists;

static cost_lists cost_read(const report *r) {
    cost_lists c = {0};
    const json_t *lines = r->lines[LINE_CELL];
    for (int file = 0; file < arrlen(r->files); file++) {
        results figures = {0};
        for (size_t i = 0; i < json_array_size(lines); i++)
            if (number_of(json_array_get(lines, i), "#file") == file)
                results_add_cell(&figures, json_array_get(lines, i));
        if (arrlen(figures.items)) {
            arrput(c.own, figures);
            arrput(c.file, file);
        }
    }
    for (int i = 0; i < arrlen(c.own); i++)
        arrput(c.all, &c.own[i]);
    arrput(c.all, &r->paper);
    return c;
}

static void cost_free(cost_lists *c) {
    for (int i = 0; i < arrlen(c->own); i++)
        results_free(&c->own[i]);
    arrfree(c->own);
    arrfree(c->file);
    arrfree(c->all);
}

/* The run that made the weights of a method's cells; NULL if it is not among the inputs. */
static const report_run *cost_run(const report *r, int file, const char *features) {
    for (size_t c = 0; c < json_array_size(r->lines[LINE_CELL]); c++) {
        const json_t *cell = json_array_get(r->lines[LINE_CELL], c);
        if (number_of(cell, "#file") != file || strcmp(text_of(cell, "features"), features) != 0 ||
            number_of(cell, "#run") < 0)
            continue;
        const json_t *line = json_array_get(r->lines[LINE_RUN], (size_t)number_of(cell, "#run")),
                     *weights = json_object_get(line, "weights");
        for (size_t i = 0; i < json_array_size(weights); i++) {
            const json_t *w = json_array_get(weights, i);
            for (int k = 0; k < arrlen(r->runs) && !strcmp(text_of(w, "features"), features); k++)
                if (r->runs[k].weights[0] && !strcmp(r->runs[k].weights, text_of(w, "xxh3")))
                    return &r->runs[k];
        }
    }
    return NULL;
}

/* Names a method at one of its points: every other method at its last one, so that names of similar methods stand
 * apart. */
static void cost_name(chart *c, const char *text, double x, double y) {
    chart_mark mark = {.x = x, .y = y};
    snprintf(mark.text, sizeof mark.text, "%s", text);
    for (int i = 0; i < arrlen(c->names); i++)
        if (c->names[i].x == x) { /* another readout of the same training */
            c->names[i].y = i % 2 ? y : c->names[i].y;
            return;
        }
    arrput(c->names, mark);
}

/* Ticks at every other power of ten, one beyond the data: the last name stands there. */
static void cost_ticks(chart *c) {
    double low = INFINITY, high = 0;
    for (int i = 0; i < arrlen(c->series); i++)
        for (int k = 0; k < arrlen(c->series[i].points); k++) {
            low = fmin(low, c->series[i].points[k].x);
            high = fmax(high, c->series[i].points[k].x);
        }
    int last = (int)ceil(log10(high)) + 1;
    for (int power = last; power >= last - 24 && (power == last || pow(10, power + 2) > low); power -= 2) {
        char text[24];
        snprintf(text, sizeof text, "%g", pow(10, power));
        chart_tick(c, pow(10, power), text);
    }
}

/* Adds the paper's methods of which it gives the hours. */
static void put_paper_costs(chart *c, const aggregate *methods, int paper, const json_t *hours) {
    chart_series *s = chart_add(c, "the paper's methods", 8, CHART_RINGS);
    for (int i = 0; i < arrlen(methods); i++) {
        double x = number_of(hours, methods[i].features);
        if (methods[i].list != paper || isnan(x) || isnan(methods[i].S))
            continue;
        chart_point_add(s, x, methods[i].S);
        cost_name(c, methods[i].features, x, methods[i].S);
    }
    if (!arrlen(s->points))
        s->label[0] = '\0';
}

/* Adds the methods of the inputs whose training is among them. Returns their number. */
static int put_own_costs(chart *c, const cell_table *t, const cost_lists *lists, const aggregate *methods) {
    int n = 0;
    for (int i = 0; i < arrlen(methods); i++) {
        const aggregate *a = &methods[i];
        const report_run *run = a->list < arrlen(lists->own) ? cost_run(t->r, lists->file[a->list], a->features) : NULL;
        char label[CHART_TEXT];
        if (!run || isnan(a->S))
            continue;
        snprintf(label, sizeof label, "%s, %s", a->features, a->head);
        chart_point_add(chart_add(c, label, colour_of(t, a->features), CHART_POINTS),
            training_seconds(run) / SECONDS_PER_HOUR, a->S);
        n++;
    }
    return n;
}

/* Weights whose run is not an input, and methods without training, have no cost here. Where the paper has none of the
 * figures, S is over the methods of the inputs alone. */
void report_costs(report *r) {
    cell_table t = locate_cells(r);
    cost_lists lists = cost_read(r);
    int own = (int)arrlen(lists.own);
    aggregate *methods = own ? aggregate_results(lists.all, own + 1) : NULL;
    bool beside = arrlen(methods) > 0;
    if (own && !beside)
        methods = aggregate_results(lists.all, own);
    chart c = {.log_x = true, .x_label = "hours of training", .y_label = "S"};
    snprintf(c.title, sizeof c.title, "Normalised aggregate S against the cost of training");
    int trained = put_own_costs(&c, &t, &lists, methods);
    if (trained && beside)
        put_paper_costs(&c, methods, own, r->paper.hours);
    if (trained) {
        cost_ticks(&c);
        open_section(r, "Cost against accuracy");
        fprintf(r->page,
            "<p class='soft'>S is the mean share of the best figure of any method%s, over the figures that %s. Hours "
            "of a run are those of its steps%s.</p>\n",
            beside ? " here or in the paper" : "", beside ? "the inputs and the paper have" : "all inputs have",
            beside ? ", on this machine; the paper's are of one NVIDIA RTX A6000" : "");
        open_figures(r);
        put_chart(r, &c);
        close_figures(r);
        close_section(r);
    }
    chart_free(&c);
    arrfree(methods);
    cost_free(&lists);
    free_cells(&t);
}
