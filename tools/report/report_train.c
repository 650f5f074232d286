/* tools/report/report_train.c - the section of training runs: curves by family, settings and time. */
#include "tools/report/report.h"

#include <stb/stb_ds.h>
#include <string.h>

enum { MOST_POINTS = 300, WINDOW = 50 };

/* The weight of a new value falls from 1 to 1/50: this is the mean that the terminal shows. */
typedef struct running {
    double mean;
    int count;
} running;

static void take_running_value(running *r, double value) {
    if (!isnan(value))
        r->mean += (value - r->mean) / (r->count < WINDOW ? ++r->count : WINDOW);
}

/* Adds the running mean of a member of the steps, or of one of its accuracies, multiplied by scale. */
static void put_curve(chart_series *s, const json_t *log, const char *member, const char *family, double scale) {
    running r = {0};
    size_t n = json_array_size(log), every = n / MOST_POINTS + 1;
    for (size_t i = 0; i < n; i++) {
        const json_t *step = json_array_get(log, i);
        take_running_value(&r, number_of(family ? json_object_get(step, "accuracy") : step, family ? family : member));
        if (r.count && ((i + 1) % every == 0 || i + 1 == n))
            chart_point_add(s, number_of(step, "step") + 1, scale * r.mean);
    }
}

static chart make_train_chart(const char *title, const char *y_label) {
    chart c = {.x_label = "step"};
    snprintf(c.title, sizeof c.title, "%s", title);
    snprintf(c.y_label, sizeof c.y_label, "%s", y_label);
    return c;
}

static void put_curves(report *r, const report_run *run) {
    static const char *const families[] = {"nc", "lp", "gc"}, *const names[] = {"nodes", "links", "graphs"};
    chart loss = make_train_chart("Loss of the queries", "cross-entropy"),
          accuracy = make_train_chart("Accuracy of the queries, by family", "%");
    put_curve(chart_add(&loss, "", 1, CHART_LINE), run->log, "loss", NULL, 1);
    for (int i = 0; i < 3; i++) {
        chart_series *s = chart_add(&accuracy, names[i], i + 1, CHART_LINE);
        put_curve(s, run->log, NULL, families[i], 100);
        if (!arrlen(s->points))
            s->label[0] = '\0';
    }
    open_figures(r);
    put_chart(r, &loss);
    put_chart(r, &accuracy);
    close_figures(r);
    fprintf(r->page, "<p class='soft'>Running means over about %d steps.</p>\n", WINDOW);
}

static void put_pool(FILE *page, const json_t *pool) {
    size_t i;
    json_t *item;
    fputs("<tr><th scope='row'>pool</th><td>", page);
    json_array_foreach((json_t *)pool, i, item) {
        put_text(page, i ? ", " : "");
        put_text(page, text_of(item, "data"));
        fputs(" (", page);
        put_text(page, text_of(item, "task"));
        fputs(")", page);
    }
    fputs("</td></tr>\n", page);
}

void report_trainings(report *r) {
    for (int i = 0; i < arrlen(r->runs); i++) {
        const report_run *run = &r->runs[i];
        const json_t *settings = json_object_get(run->about, "settings");
        char heading[200], value[200];
        snprintf(heading, sizeof heading, "Training: %.180s", run->path);
        open_section(r, heading);
        if (json_array_size(run->log))
            put_curves(r, run);
        fputs("<table class='names'>\n", r->page);
        put_row(r->page, "recipe", text_of(settings, "recipe"));
        snprintf(value, sizeof value, "%zu of %.0f, %g episodes each", json_array_size(run->log),
            number_of(settings, "steps"), number_of(settings, "episodes_per_step"));
        put_row(r->page, "steps", value);
        snprintf(value, sizeof value, "%.1f s in steps", training_seconds(run));
        put_row(r->page, "time", value);
        put_pool(r->page, json_object_get(run->about, "pool"));
        fputs("</table>\n", r->page);
        close_section(r);
    }
}

double training_seconds(const report_run *run) {
    double sum = 0;
    for (size_t i = 0; i < json_array_size(run->log); i++)
        sum += number_of(json_array_get(run->log, i), "seconds");
    return sum;
}
