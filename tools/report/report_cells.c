/* tools/report/report_cells.c - the figures of `mochi eval` in blocks, lines and columns (report_cells.h). */
#include "tools/report/report_cells.h"

#include <stb/stb_ds.h>
#include <string.h>

typedef struct key_number {
    char *key;
    int value;
} key_number;

static int number_of_key(key_number **keys, const char *key) {
    int number = (int)shlen(*keys);
    ptrdiff_t known = shgeti(*keys, key);
    if (known >= 0)
        return (*keys)[known].value;
    shput(*keys, key, number);
    return number;
}

void add_once(const char ***names, const char *name) {
    for (int i = 0; i < arrlen(*names); i++)
        if (!strcmp((*names)[i], name))
            return;
    arrput(*names, name);
}

cell_table locate_cells(const report *r) {
    cell_table t = {.r = r};
    key_number *blocks = NULL, *lines = NULL;
    sh_new_strdup(blocks);
    sh_new_strdup(lines);
    for (size_t i = 0; i < json_array_size(r->lines[LINE_CELL]); i++) {
        const json_t *c = json_array_get(r->lines[LINE_CELL], i);
        char key[1024];
        int n = snprintf(key, sizeof key, "%.0f\n%.200s\n%.40s\n%.200s\n%.40s\n%.40s", number_of(c, "#file"),
            text_of(c, "data"), text_of(c, "task"), text_of(c, json_object_get(c, "block") ? "block" : "head"),
            text_of(c, "metric"), text_of(c, "protocol"));
        located l = {.cell = c, .features = text_of(c, "features"), .block = number_of_key(&blocks, key)};
        snprintf(key + n, sizeof key - (size_t)n, "\n%.0f", number_of(c, "k"));
        l.line = number_of_key(&lines, key);
        arrput(t.at, l);
        add_once(&t.columns, l.features);
    }
    shfree(blocks);
    shfree(lines);
    return t;
}

void free_cells(cell_table *t) {
    arrfree(t->at);
    arrfree(t->columns);
}

int colour_of(const cell_table *t, const char *features) {
    static const char *const baselines[] = {"hop", "x0", "random"};
    static const int others[] = {1, 2, 7, 6};
    int number = 0;
    for (int i = 0; i < 3; i++)
        if (!strcmp(features, baselines[i]))
            return 3 + i;
    for (int i = 0; i < arrlen(t->columns) && strcmp(t->columns[i], features); i++)
        number += strcmp(t->columns[i], "hop") && strcmp(t->columns[i], "x0") && strcmp(t->columns[i], "random");
    return others[number % 4];
}

bool is_main_metric(const json_t *cell) {
    return !strcmp(text_of(cell, "metric"), "accuracy") || !strcmp(text_of(cell, "metric"), "auc");
}
