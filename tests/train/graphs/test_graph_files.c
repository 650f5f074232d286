/* tests/train/graphs/test_graph_files.c - every case of tests/graphs/files.cases, which says how cases are written, is
 * read or refused as it says. */
#include "tests/scratch.h"
#include "train/inside.h"

typedef struct corpus {
    scratch *s;
    char *line[2000];
    int lines, cases;
    FILE *file;     /* that is written */
    char alone[64]; /* the file that is opened by itself; "": the folder is */
} corpus;

static void write_line(FILE *file, const char *text) {
    for (; *text; text++)
        if (*text != '\\')
            fputc(*text, file);
        else if (*++text == 'c')
            return;
        else if (*text == 'x') {
            fputc((int)strtol((char[]){text[1], text[2], 0}, NULL, 16), file);
            text += 2;
        } else
            fputc(*text == 't' ? '\t' : *text == 'r' ? '\r' : '\\', file);
    fputc('\n', file);
}

static void close_file(corpus *c) {
    if (c->file)
        fclose(c->file);
    c->file = NULL;
}

/* What stands behind a word that the line begins with; NULL where it begins with another. */
static const char *after(const char *line, const char *word) {
    size_t n = strlen(word);
    return strncmp(line, word, n) == 0 ? line + n : NULL;
}

/* Whether line i is one of a file. */
static bool take_file(corpus *c, int i) {
    const char *line = c->line[i], *name = after(line, "file ") ? after(line, "file ") : after(line, "in ");
    if (after(line, "|"))
        write_line(c->file, line + 1);
    if (!name)
        return *line == '|';
    close_file(c);
    if (after(line, "file "))
        snprintf(c->alone, sizeof c->alone, "%s", name);
    c->file = fopen(scratch_path(c->s, name), "wb");
    assert_non_null(c->file);
    return true;
}

static void take_base(corpus *c, const char *name) {
    for (int i = 0; i < c->lines; i++)
        if (after(c->line[i], "base ") && !strcmp(after(c->line[i], "base "), name)) {
            while (take_file(c, ++i))
                ;
            return;
        }
    fail_msg("no base %s", name);
}

static void expect_refusal(corpus *c, int i, const mo_graph *graph) {
    const mo_status *status = mo_context_status(c->s->ctx);
    char *rest = c->line[i] + 2, *code = strsep(&rest, " ");
    if (graph || strcmp(mo_code_name(status->code), code) != 0)
        fail_msg("line %d: expected %s, found %s", i + 1, code, graph ? "a graph" : status->message);
    if (*c->alone && !after(status->message, c->s->path))
        fail_msg("line %d: expected the path first, found %s", i + 1, status->message);
    for (char *part = rest, *next; part; part = next) {
        next = strstr(part, " ; ");
        if (next) {
            *next = '\0';
            next += 3;
        }
        if (!strstr(status->message, part))
            fail_msg("line %d: expected '%s' in: %s", i + 1, part, status->message);
    }
    assert_null(strchr(status->message, '\n'));
    mo_clear_error(c->s->ctx);
}

static void expect_graph(const corpus *c, int i, const mo_graph *graph) {
    char found[600];
    int64_t labels = 0;
    if (!graph)
        fail_msg("line %d: %s", i + 1, mo_context_status(c->s->ctx)->message);
    for (int64_t v = 0; v < graph->n_labels; v++)
        labels += graph->label[v] >= 0;
    snprintf(found, sizeof found, "= %d %d %d %d%s%s", (int)graph->nodes, (int)(graph->nnz / 2), (int)labels,
        (int)graph->features, graph->left_out ? " " : "", graph->left_out ? graph->left_out : "");
    if (strcmp(found, c->line[i]) != 0)
        fail_msg("line %d: expected '%s', found '%s'", i + 1, c->line[i], found);
}

/* The end of a case. */
static void open_case(corpus *c, int i) {
    close_file(c);
    mo_graph *graph = mo_graph_open(c->s->ctx, *c->alone ? scratch_path(c->s, c->alone) : c->s->folder);
    if (*c->line[i] == '!')
        expect_refusal(c, i, graph);
    else
        expect_graph(c, i, graph);
    mo_graph_release(graph);
    scratch_files(c->s, true);
    c->alone[0] = '\0';
    c->cases++;
}

static void every_case_is_read_or_refused_as_it_says(void **state) {
    static corpus c;
    bytes text = read_bytes("tests/graphs/files.cases");
    bytes_append(&text, "", 1);
    c.s = *state;
    for (char *rest = (char *)text.data; rest && c.lines < 2000;)
        c.line[c.lines++] = strsep(&rest, "\n");
    for (int i = 0; i < c.lines; i++)
        if (after(c.line[i], "base "))
            while (*c.line[i])
                i++;
        else if (after(c.line[i], "with "))
            take_base(&c, after(c.line[i], "with "));
        else if (after(c.line[i], "without ")) {
            close_file(&c);
            assert_int_equal(remove(scratch_path(c.s, after(c.line[i], "without "))), 0);
        } else if (*c.line[i] == '!' || *c.line[i] == '=')
            open_case(&c, i);
        else if (!take_file(&c, i) && *c.line[i] && *c.line[i] != '#')
            fail_msg("line %d: %s", i + 1, c.line[i]);
    assert_in_range(c.cases, 150, 2000);
    bytes_release(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_is_read_or_refused_as_it_says),
        cmocka_unit_test(nothing_is_left_behind),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_release);
}
