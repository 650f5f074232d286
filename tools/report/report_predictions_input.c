/* tools/report/report_predictions_input.c - reads a table that `mochi predict` wrote. */
#include "tools/report/report_predictions.h"

#include "tools/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stb/stb_ds.h>
#include <stdlib.h>
#include <string.h>

enum { NAME, LABEL, PROBABILITY, MARGIN, KNOWN, TRUTH, PLACE_X, PLACE_Y, PLACED };

static const char *const titles[PLACED] = {NULL, "label", "probability", "margin", "known", "truth", "x", "y"};

typedef struct prediction_reader {
    prediction_table *table;
    prediction next;
    int64_t columns, matched; /* of the header; of its first columns, how many are as titles says */
    struct {
        char *key;
        int value;
    } * numbers; /* stb_ds map: class to number */
} prediction_reader;

static bool fail_prediction(const mo_table_place *at, const char *expected, const char *found) {
    mo_fail(
        at->ctx, MO_FORMAT, "report: %s:%" PRId64 ": expected %s, found '%.40s'", at->path, at->line, expected, found);
    return false;
}

static bool take_title(prediction_reader *r, const mo_table_place *at, const char *text) {
    if (at->column == NAME && strcmp(text, "node") != 0 && strcmp(text, "graph") != 0)
        return fail_prediction(at, "a table of mochi predict, which begins with node or graph", text);
    if (at->column == NAME)
        r->table->of_graphs = text[0] == 'g';
    if (r->matched == at->column && at->column < PLACED && (at->column == NAME || !strcmp(text, titles[at->column])))
        r->matched++;
    return true;
}

/* The number of a class; -1 of none. */
static int class_number(prediction_reader *r, const char *text) {
    if (!*text)
        return -1;
    ptrdiff_t at = shgeti(r->numbers, text);
    if (at >= 0)
        return r->numbers[at].value;
    char *name = needed(strdup(text));
    int number = (int)arrlen(r->table->classes);
    arrput(r->table->classes, name);
    shput(r->numbers, name, number);
    return number;
}

/* A finite number of low to high; an empty field is NaN. */
static bool take_number(const mo_table_place *at, const char *text, double low, double high, double *value) {
    char *end;
    *value = *text ? strtod(text, &end) : NAN;
    if (!*text || (!*end && end != text && *value >= low && *value <= high))
        return true;
    return fail_prediction(at, high == 1 ? "a number of 0 to 1" : "a finite number", text);
}

static bool on_prediction_field(void *state, const mo_table_place *at, const char *text) {
    prediction_reader *r = state;
    prediction *p = &r->next;
    if (at->row == 0)
        return take_title(r, at, text);
    if (at->column >= MARGIN + 1 && !r->table->places)
        return true; /* probabilities of classes */
    switch (at->column) {
    case NAME:
        p->name = needed(strdup(text));
        return true;
    case LABEL:
        p->label = class_number(r, text);
        return true;
    case PROBABILITY:
        return take_number(at, text, 0, 1, &p->probability);
    case MARGIN:
        return take_number(at, text, 0, 1, &p->margin);
    case KNOWN:
        p->known = !strcmp(text, "yes");
        return p->known || !strcmp(text, "no") || fail_prediction(at, "yes or no", text);
    case TRUTH:
        p->truth = class_number(r, text);
        return true;
    case PLACE_X:
        return take_number(at, text, -1e300, 1e300, &p->x);
    case PLACE_Y:
        return take_number(at, text, -1e300, 1e300, &p->y);
    default:
        return true;
    }
}

/* What a whole row must have. */
static bool check_prediction(prediction_reader *r, const mo_table_place *at) {
    const prediction *p = &r->next;
    bool predicted = !isnan(p->probability) && !isnan(p->margin);
    if (at->column != r->columns) {
        mo_fail(at->ctx, MO_FORMAT,
            "report: %s:%" PRId64 ": expected %" PRId64 " columns, as the header has, found %" PRId64, at->path,
            at->line, r->columns, at->column);
        return false;
    }
    if (p->known ? p->label < 0 : !predicted)
        return fail_prediction(at, p->known ? "a label that is known" : "a probability and a margin", "");
    return !r->table->places || (!isnan(p->x) && !isnan(p->y)) || fail_prediction(at, "a place, x and y", "");
}

static bool on_prediction_row(void *state, const mo_table_place *at) {
    prediction_reader *r = state;
    if (at->row == 0) {
        r->columns = at->column;
        r->table->places = r->matched == PLACED;
        return r->matched > MARGIN ||
               fail_prediction(at, "the columns node or graph, label, probability and margin", "another header");
    }
    bool fine = check_prediction(r, at);
    if (fine) {
        arrput(r->table->rows, r->next);
        r->next.name = NULL;
    }
    free(r->next.name);
    r->next = (prediction){.label = -1, .truth = -1};
    return fine;
}

bool is_prediction_table(const char *path) {
    static const char *const endings[] = {".csv", ".tsv", ".csv.gz", ".tsv.gz"};
    for (int i = 0; i < 4; i++)
        if (mo_path_ends_with(path, endings[i]))
            return true;
    return false;
}

mo_code prediction_table_read(mo_context *ctx, const char *path, prediction_table *t) {
    *t = (prediction_table){.path = path};
    prediction_reader r = {.table = t, .next = {.label = -1, .truth = -1}};
    mo_table_visit visit = {.field = on_prediction_field, .row = on_prediction_row, .state = &r};
    if (mo_table_read(ctx, path, &visit) && !arrlen(t->rows))
        mo_fail(ctx, MO_FORMAT, "report: %s: expected a header and predictions, found none", path);
    free(r.next.name);
    shfree(r.numbers);
    return mo_context_status(ctx)->code;
}

void prediction_table_release(prediction_table *t) {
    for (int64_t i = 0; i < arrlen(t->rows); i++)
        free(t->rows[i].name);
    for (int i = 0; i < arrlen(t->classes); i++)
        free(t->classes[i]);
    arrfree(t->rows);
    arrfree(t->classes);
}
