/* tools/cli/table_file.c - tables of text that the program writes. */
#include "tools/cli/table_file.h"

#include "tools/cli/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void open_table(table_file *t, const char *path, bool json) {
    *t = (table_file){.path = path, .out = stdout, .comma = path && mo_path_ends_with(path, ".tsv") ? '\t' : ','};
    if (path ? mo_path_ends_with(path, ".jsonl") : json)
        t->comma = 0;
    t->terminal = !path && isatty(STDOUT_FILENO);
    if (path)
        t->out = open_text(&t->text, &t->bytes);
}

bool close_table(mo_context *ctx, table_file *t) {
    if (!t->path)
        return fflush(stdout) == 0 && !ferror(stdout);
    close_text(t->out, &t->text);
    mo_file_replace(ctx, t->path, t->text, t->bytes);
    free(t->text);
    return mo_ok(ctx);
}

static void put_quoted(const table_file *t, const char *text) {
    size_t n = strlen(text);
    bool outer = n && (text[0] == ' ' || text[n - 1] == ' '); /* a reader drops the outer blanks of a bare field */
    bool quoted = outer || strpbrk(text, ",\t\"\n\r");
    if (quoted)
        putc('"', t->out);
    for (; *text; text++) {
        if (*text == '"')
            putc('"', t->out);
        putc(t->terminal ? printable(*text) : *text, t->out);
    }
    if (quoted)
        putc('"', t->out);
}

/* Puts a value as a field of CSV. */
static void put_field(const table_file *t, const json_t *value, const char *format) {
    if (t->at)
        putc(t->comma, t->out);
    if (json_is_string(value))
        put_quoted(t, json_string_value(value));
    else if (json_is_real(value))
        fprintf(t->out, format, json_real_value(value));
    else if (json_is_integer(value))
        fprintf(t->out, "%" PRId64, (int64_t)json_integer_value(value));
    else if (json_is_boolean(value))
        fputs(json_is_true(value) ? "yes" : "no", t->out);
    if (!json_is_array(value))
        return;
    size_t i, bytes = 1;
    json_t *one;
    json_array_foreach(value, i, one) bytes += json_string_length(one) + 1;
    char *text = needed(calloc(1, bytes)), *end = text;
    json_array_foreach(value, i, one) end += sprintf(end, "%s%s", i ? "|" : "", json_string_value(one));
    put_quoted(t, text);
    free(text);
}

void put_value(table_file *t, json_t *value, const char *format) {
    if (t->comma) {
        put_field(t, value, format);
        json_decref(value);
    } else {
        if (!t->row)
            t->row = json_object();
        if (t->group && t->at == t->grouped)
            json_object_set_new(t->row, t->group, t->within = json_object());
        json_object_set_new(t->group && t->at >= t->grouped ? t->within : t->row, t->column[t->at], value);
    }
    t->at++;
}

void put_text(table_file *t, const char *text) {
    put_value(t, text ? json_string_nocheck(text) : json_null(), NULL);
}

void begin_table(table_file *t, const char *const *column, int n) {
    t->column = column;
    for (int i = 0; t->comma && i < n; i++)
        put_text(t, column[i]);
    if (t->comma)
        end_row(t);
}

void put_example(table_file *t, const mo_graph *graph, int64_t i) {
    put_value(t, json_example(graph, i), NULL);
}

void end_row(table_file *t) {
    if (!t->comma)
        json_dumpf(t->row, t->out, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(t->row);
    t->row = NULL;
    t->at = 0;
    putc('\n', t->out);
}

json_t *json_example(const mo_graph *graph, int64_t i) {
    char number[24];
    return graph->names ? json_string_nocheck(mo_graph_example_name(graph, i, number)) : json_integer(i);
}
