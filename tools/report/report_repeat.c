/* tools/report/report_repeat.c - the last section: the commands that were run, with their inputs and versions. */
#include "tools/report/report.h"

#include <stb/stb_ds.h>
#include <string.h>

/* Writes a word quoted for a shell, in a box without line breaks. */
static void put_word(FILE *page, const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%";
    bool quoted = !*word || strspn(word, plain) != strlen(word);
    fputs(quoted ? "<span>&#39;" : "<span>", page);
    for (; *word; word++) {
        char one[2] = {*word, '\0'};
        if (*word == '\'')
            put_text(page, "'\\''");
        else
            put_text(page, one); /* byte by byte: bytes beyond ASCII pass unchanged */
    }
    fputs(quoted ? "&#39;</span>" : "</span>", page);
}

static void put_command(FILE *page, const json_t *words) {
    size_t i;
    json_t *word;
    fputs("<pre>", page);
    json_array_foreach((json_t *)words, i, word) {
        const char *text = json_string_value(word);
        put_text(page, i ? " " : "");
        if (i) /* word 0 is the command's full name: two words */
            put_word(page, text ? text : "");
        else
            put_text(page, text ? text : "");
    }
    fputs("</pre>\n", page);
}

/* Writes "[4, 64]" as "4:64", names separated by commas, numbers as typed. */
static void put_setting(FILE *page, const json_t *value) {
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *item = json_array_get(value, i);
        put_text(page, i ? json_is_string(item) ? "," : ":" : "");
        if (json_is_string(item))
            put_word(page, json_string_value(item));
        else
            fprintf(page, "%.15g", json_number_value(item));
    }
    if (json_is_string(value))
        put_word(page, json_string_value(value));
    else if (json_is_number(value))
        fprintf(page, "%.15g", json_number_value(value));
}

/* Writes the settings of a run as options; the rate at the end of the schedule has none, as it follows from the
 * recipe. */
static void put_training(report *r, const report_run *run) {
    const char *name;
    json_t *value;
    fputs("<h3>", r->page);
    put_text(r->page, run->path);
    fputs("</h3>\n<pre>mochi train", r->page);
    json_object_foreach(json_object_get(run->about, "settings"), name, value) {
        if (!strcmp(name, "lr_min"))
            continue;
        char option[80];
        snprintf(option, sizeof option, "--%.70s", name);
        for (char *c = option; *c; c++)
            *c = *c == '_' ? '-' : *c;
        putc(' ', r->page);
        put_word(r->page, option);
        putc(' ', r->page);
        put_setting(r->page, value);
    }
    fputs(" --out RUN</pre>\n<table class='names'>\n", r->page);
    put_row(r->page, "mochi", text_of(run->about, "version"));
    put_row(r->page, "BLAS kernels", text_of(run->about, "blas_core"));
    if (run->weights[0])
        put_row(r->page, "weights.safetensors", run->weights);
    size_t i;
    json_t *graph;
    json_array_foreach(json_object_get(run->about, "pool"), i, graph) {
        char label[120];
        snprintf(label, sizeof label, "%.80s (%.8s)", text_of(graph, "data"), text_of(graph, "task"));
        put_row(r->page, label, text_of(graph, "hash"));
    }
    fputs("</table>\n", r->page);
}

/* Writes a file and its digest if the line names one. */
static void put_file(FILE *page, const char *what, const json_t *file) {
    char label[200];
    snprintf(label, sizeof label, "%s: %.150s", what, text_of(file, "file"));
    if (json_is_object(file))
        put_row(page, label, text_of(file, "xxh3"));
}

static void put_run(report *r, const json_t *line) {
    const char *name;
    json_t *value;
    size_t i;
    put_command(r->page, json_object_get(line, "command"));
    fputs("<table class='names'>\n", r->page);
    json_object_foreach(json_object_get(line, "versions"), name, value)
        put_row(r->page, name, json_string_value(value) && *json_string_value(value) ? json_string_value(value) : "-");
    if (*text_of(line, "blas_core"))
        put_row(r->page, "BLAS kernels", text_of(line, "blas_core"));
    if (*text_of(line, "processor"))
        put_row(r->page, "processor", text_of(line, "processor"));
    put_file(r->page, "rows", json_object_get(line, "rows"));
    put_file(r->page, "labels", json_object_get(line, "labels"));
    json_array_foreach(json_object_get(line, "weights"), i, value) {
        char label[200];
        snprintf(label, sizeof label, "%.40s: %.150s", text_of(value, "features"), text_of(value, "file"));
        put_row(r->page, label, text_of(value, "xxh3"));
    }
    for (i = 0; i < json_array_size(r->lines[LINE_DATA]); i++) {
        const json_t *data = json_array_get(r->lines[LINE_DATA], i);
        char label[120];
        snprintf(label, sizeof label, "%.80s (%.8s)", text_of(data, "data"), text_of(data, "task"));
        if (number_of(data, "#run") >= 0 && json_array_get(r->lines[LINE_RUN], (size_t)number_of(data, "#run")) == line)
            put_row(r->page, label, text_of(data, "xxh3"));
    }
    fputs("</table>\n", r->page);
}

void report_repeat(report *r) {
    open_section(r, "To repeat it");
    fputs(
        "<p class='soft'>Digests are XXH3-128, as <code>xxhsum -H2</code> prints them. Equal seeds give equal bits at "
        "any thread count, on one set of BLAS kernels.</p>\n",
        r->page);
    for (int i = 0; i < arrlen(r->runs); i++)
        put_training(r, &r->runs[i]);
    for (int i = 0; i < arrlen(r->files); i++) {
        char label[300];
        fputs("<h3>", r->page);
        put_text(r->page, r->files[i].path);
        fputs("</h3>\n", r->page);
        for (size_t k = 0; k < json_array_size(r->lines[LINE_RUN]); k++) {
            const json_t *line = json_array_get(r->lines[LINE_RUN], k);
            if (number_of(line, "#file") == i)
                put_run(r, line);
        }
        snprintf(label, sizeof label, "%d lines, %zu bytes, digest %s", r->files[i].lines, r->files[i].bytes,
            r->files[i].digest);
        fputs("<p class='soft'>", r->page);
        put_text(r->page, label);
        fputs("</p>\n", r->page);
    }
    close_section(r);
}
