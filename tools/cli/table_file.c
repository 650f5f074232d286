/* tools/cli/table_file.c - tables of text that the program writes. */
#include "tools/cli/table_file.h"

#include "tools/cli/memory.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void open_table(table_file *t, const char *path) {
    *t = (table_file){.path = path, .out = stdout, .comma = path && mo_path_ends_with(path, ".tsv") ? '\t' : ','};
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

void put_field(table_file *t, const char *text) {
    size_t n = strlen(text);
    bool outer = n && (text[0] == ' ' || text[n - 1] == ' '); /* a reader drops the outer blanks of a bare field */
    if (!outer && !strpbrk(text, ",\t\"\n\r")) {
        for (; *text; text++)
            putc(t->terminal ? printable(*text) : *text, t->out);
        return;
    }
    putc('"', t->out);
    for (; *text; text++) {
        if (*text == '"')
            putc('"', t->out);
        putc(t->terminal ? printable(*text) : *text, t->out);
    }
    putc('"', t->out);
}

void put_example(table_file *t, const mo_graph *graph, int64_t i) {
    char number[24];
    put_field(t, mo_graph_example_name(graph, i, number));
}

json_t *json_example(const mo_graph *graph, int64_t i) {
    char number[24];
    return graph->names ? json_string(mo_graph_example_name(graph, i, number)) : json_integer(i);
}
