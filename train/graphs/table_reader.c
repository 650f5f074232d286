/* train/graphs/table_reader.c - the rows of tables. The text reader unpacks, bounds and counts the lines; libcsv splits
 * those of CSV, all others are split where they are read. */
#include "train/graphs/table_reader.h"

#include "tensor/files/file.h"
#include "tensor/files/number_text.h"
#include "tensor/library.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool start_table(mo_table *t, mo_context *ctx, const char *path, mo_table_form form, bool pipe) {
    *t = (mo_table){.ctx = ctx, .row = -1, .form = form};
    t->open = mo_ok(ctx) && (pipe ? mo_text_open_pipe(&t->text, ctx, path) : mo_text_open(&t->text, ctx, path));
    t->path = t->text.path;
    t->parses =
        t->open && form == MO_TABLE_CSV && csv_init(&t->parser, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL) == 0;
    return t->open;
}

bool mo_table_open(mo_table *t, mo_context *ctx, const char *path, mo_table_form form) {
    return start_table(t, ctx, path, form, false);
}

bool mo_table_open_pipe(mo_table *t, mo_context *ctx, const char *path) {
    return start_table(t, ctx, path, MO_TABLE_CSV, true);
}

void mo_table_close(mo_table *t) {
    if (t->parses)
        csv_free(&t->parser);
    mo_text_close(&t->text);
    mo_words_release(&t->words);
    free(t->field);
    free(t->stop);
}

/* ---- lines that are split where they are read ---- */

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

static char *skip_blanks(char *text) {
    while (is_blank(*text))
        text++;
    return text;
}

static bool add_field(mo_table *t, const char *text) {
    if (t->n == t->fields_room && !mo_host_array_grow(t->ctx, &t->field, &t->fields_room, t->n + 1, sizeof *t->field))
        return false;
    t->field[t->n++] = text;
    return true;
}

static bool split_words(mo_table *t, char *text) {
    for (text = skip_blanks(text); *text; text = skip_blanks(text)) {
        if (!add_field(t, text))
            return false;
        while (*text && !is_blank(*text))
            text++;
        if (*text)
            *text++ = '\0';
    }
    return true;
}

/* Adds the text up to `end` as a field, without the blanks around it. */
static bool add_trimmed(mo_table *t, char *text, char *end) {
    text = skip_blanks(text);
    while (end > text && is_blank(end[-1]))
        end--;
    *end = '\0';
    return add_field(t, text);
}

static bool split_numbers(mo_table *t, char *text, char *end) {
    char *comma;
    for (; (comma = memchr(text, ',', (size_t)(end - text))); text = comma + 1)
        if (!add_trimmed(t, text, comma))
            return false;
    return (t->n == 0 && !*skip_blanks(text)) || add_trimmed(t, text, end);
}

static bool is_comment(const mo_table *t, const char *text) {
    return *text == '#' || (t->row < 0 && (*text == '%' || strncmp(text, "//", 2) == 0));
}

static bool is_text(const mo_table *t) {
    return mo_is_utf8(t->text.text, t->text.length) ||
           mo_fail(t->ctx, MO_FORMAT, "%s:%" PRId64 ": expected text in UTF-8", t->path, t->line);
}

static bool next_line(mo_table *t) {
    mo_text_reader *r = &t->text;
    bool line = mo_text_line(r);
    if (t->form == MO_TABLE_WORDS)
        for (char *text; line && (!*(text = skip_blanks(r->text)) || is_comment(t, text)); line = mo_text_line(r))
            t->comments += *text != '\0';
    t->line = r->line;
    t->n = 0;
    if (!line || !is_text(t))
        return false;
    t->row++;
    char *end = r->text + r->length;
    return t->form == MO_TABLE_WORDS     ? split_words(t, r->text)
           : t->form == MO_TABLE_NUMBERS ? split_numbers(t, r->text, end)
           : t->form == MO_TABLE_CELLS   ? add_trimmed(t, r->text, end)
                                         : add_field(t, r->text);
}

/* ---- CSV ---- */

/* Turns a number with a decimal comma into one with a point: between semicolons, 2,5 is 2.5. */
static void set_decimal_point(char *text) {
    char *comma = strchr(text, ',');
    size_t whole = strspn(text + strspn(text, "+-"), "0123456789") + strspn(text, "+-");
    if (comma != text + whole || comma[1] < '0' || comma[1] > '9')
        return;
    *comma = '.';
    if (!mo_is_number_text(text))
        *comma = ',';
}

static void on_field(void *text, size_t bytes, void *state) {
    mo_table *t = state;
    (void)bytes; /* CSV_APPEND_NULL ends the text */
    if (text && csv_get_delim(&t->parser) == ';')
        set_decimal_point(text);
    mo_words_add(t->ctx, &t->words, text ? text : "");
}

static void on_row(int end, void *state) {
    mo_table *t = state;
    (void)end;
    if (mo_host_array_grow(t->ctx, &t->stop, &t->rows_room, t->rows + 1, sizeof *t->stop))
        t->stop[t->rows++] = t->words.n;
}

static bool feed_csv(mo_table *t, const char *text, size_t bytes) {
    if (csv_parse(&t->parser, text, bytes, on_field, on_row, t) == bytes)
        return mo_ok(t->ctx);
    bool memory = csv_error(&t->parser) == CSV_ENOMEM;
    return mo_fail(t->ctx, memory ? MO_MEMORY : MO_FORMAT, "%s:%" PRId64 ": %s", t->path, t->line,
        memory ? "out of memory for a field" : "expected a quote at an end of a field, found one inside");
}

/* The mark between the fields, by the first line; a comma between digits can be a decimal point. */
static unsigned char delimiter_of(const char *line) {
    bool quoted = false, comma = false, semicolon = false;
    if (strchr(line, '\t'))
        return CSV_TAB;
    for (const char *c = line; *c; c++) {
        bool decimal = c > line && isdigit((unsigned char)c[-1]) && isdigit((unsigned char)c[1]);
        quoted ^= *c == '"';
        comma |= *c == ',' && !quoted && !decimal;
        semicolon |= *c == ';' && !quoted;
    }
    return semicolon && !comma ? ';' : CSV_COMMA;
}

static bool feed_line(mo_table *t) {
    mo_text_reader *r = &t->text;
    if (mo_text_line(r)) {
        t->line = r->line;
        if (r->line == 1)
            csv_set_delim(&t->parser, delimiter_of(r->text));
        return is_text(t) && feed_csv(t, r->text, r->length) && feed_csv(t, "\n", 1);
    }
    t->ended = true;
    if (mo_ok(t->ctx) && csv_fini(&t->parser, on_field, on_row, t) != 0)
        mo_fail(t->ctx, MO_FORMAT, "%s:%" PRId64 ": expected the quote that ends a field, found the end of the file",
            t->path, t->line);
    return mo_ok(t->ctx);
}

bool mo_table_next(mo_table *t) {
    if (!t->open || t->form != MO_TABLE_CSV)
        return t->open && next_line(t);
    if (t->next == t->rows)
        t->next = t->rows = t->words.n = t->words.bytes = 0;
    while (t->rows == 0 && !t->ended)
        if (!feed_line(t))
            return false;
    if (t->next == t->rows)
        return false;
    int64_t first = t->next ? t->stop[t->next - 1] : 0;
    t->n = t->stop[t->next++] - first;
    t->row++;
    if (!mo_host_array_grow(t->ctx, &t->field, &t->fields_room, t->n, sizeof *t->field))
        return false;
    for (int64_t i = 0; i < t->n; i++)
        t->field[i] = mo_words_get(&t->words, first + i);
    return true;
}

/* ---- fields ---- */

bool mo_is_number_text(const char *text) {
    char *end;
    bool begins = text[strspn(text, "+-.")] >= '0' && text[strspn(text, "+-.")] <= '9';
    mo_read_number(text, &end);
    return begins && end != text && !*end;
}

bool mo_is_unknown(const char *text) {
    static const char *const marks[] = {
        "", "?", "NA", "N/A", "<NA>", "NaN", "None", "null"}; /* as convert/archive.py */
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (!strcasecmp(text, marks[i]))
            return true;
    return false;
}

bool mo_is_pair_heading(const char *u, const char *v) {
    static const char *const pairs[][2] = {{"from", "to"}, {"source", "target"}, {"src", "dst"}, {"node1", "node2"},
        {"node_1", "node_2"}, {"id1", "id2"}, {"id_1", "id_2"}, {"sender", "recipient"}, {"sender", "receiver"},
        {"citing", "cited"}}; /* as in graphs/sources.py */
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (!strcasecmp(u, pairs[i][0]) && !strcasecmp(v, pairs[i][1]))
            return true;
    return false;
}

bool mo_is_name_heading(const char *text) {
    size_t n = strlen(text);
    bool camel = n > 2 && islower((unsigned char)text[n - 3]) && text[n - 2] == 'I' && strchr("dD", text[n - 1]);
    return !strcasecmp(text, "id") || !strcasecmp(text, "node") || !strcasecmp(text, "name") || camel ||
           !strcasecmp(text, "nodeid") || (n > 3 && strchr("_ ", text[n - 3]) && !strcasecmp(text + n - 2, "id"));
}

int64_t mo_name_column(const mo_table *heading, int64_t first) {
    for (int64_t i = first; i < heading->n; i++)
        if (mo_is_name_heading(heading->field[i]))
            return i;
    return -1;
}

int64_t mo_class_column(const mo_table *heading) {
    for (int64_t i = 0; i < heading->n; i++)
        if (!strcasecmp(heading->field[i], "label") || !strcasecmp(heading->field[i], "class"))
            return i;
    return -1;
}

bool mo_note_left_out(mo_context *ctx, char **note, const char *path, const char *what) {
    const char *slash = path ? strrchr(path, '/') : NULL, *name = slash ? slash + 1 : path ? path : "";
    char file[80];
    mo_quote(name, strlen(name), file, sizeof file);
    const char *before = *note ? *note : "";
    size_t bytes = strlen(before) + strlen(what) + strlen(file) + 8;
    char *joined = mo_host_array(ctx, (int64_t)bytes, 1);
    if (!joined)
        return false;
    snprintf(joined, bytes, path ? "%s%s%s (%s)" : "%s%s%s", before, *note ? "; " : "", what, file);
    free(*note);
    *note = joined;
    return true;
}

bool mo_note_header(mo_context *ctx, char **note, const char *path, const char *const *field, int64_t n) {
    char what[300] = "", shown[48];
    for (int64_t i = 0; i < n && i < 5; i++) {
        size_t used = strlen(what);
        snprintf(what + used, sizeof what - used, "%s%s", i ? ", " : "",
            i == 4 ? ".." : mo_quote(field[i], strlen(field[i]), shown, sizeof shown));
    }
    return mo_note_left_out(ctx, note, path, what);
}

bool mo_note_comments(mo_graph *graph, const char *path, int64_t lines) {
    char what[48];
    snprintf(what, sizeof what, "%lld comment%s", (long long)lines, lines == 1 ? "" : "s");
    return lines == 0 || mo_note_left_out(graph->ctx, &graph->left_out, path, what);
}

bool mo_is_table(const char *path) {
    static const char *const endings[] = {".csv", ".csv.gz", ".tsv", ".tsv.gz"};
    size_t n = strlen(path);
    bool table = false;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t length = strlen(endings[i]);
        table |= n >= length && !strcasecmp(path + n - length, endings[i]);
    }
    return table;
}

bool mo_table_unexpected(const mo_table *t, const char *expected, const char *found) {
    char quoted[64];
    mo_quote(found, strlen(found), quoted, sizeof quoted);
    return mo_fail(t->ctx, MO_FORMAT, "%s:%" PRId64 ": expected %s, found %s%s%s", t->path, t->line, expected,
        *found ? "'" : "nothing", quoted, *found ? "'" : "");
}

bool mo_table_columns(const mo_table *t, int64_t columns, const char *names) {
    if (t->n == columns)
        return true;
    return mo_fail(t->ctx, MO_FORMAT, "%s:%" PRId64 ": expected %" PRId64 " column%s, %s, found %" PRId64, t->path,
        t->line, columns, columns == 1 ? "" : "s", names, t->n);
}

bool mo_table_integer(const mo_table *t, int64_t i, const char *what, int64_t low, int64_t high, int64_t *value) {
    const char *text = i < t->n ? t->field[i] : "", *p = text + (*text == '-');
    int64_t magnitude = 0, most = high > MO_TABLE_LARGEST ? INT64_MAX : MO_TABLE_LARGEST;
    bool digits = *p >= '0' && *p <= '9', fits = true;
    for (; *p >= '0' && *p <= '9' && fits; p++) {
        fits = magnitude <= (most - (*p - '0')) / 10;
        magnitude = fits ? 10 * magnitude + (*p - '0') : magnitude;
    }
    *value = *text == '-' ? -magnitude : magnitude;
    if (digits && fits && !*p && *value >= low && *value <= high)
        return true;
    char expected[200];
    if (!fits)
        snprintf(expected, sizeof expected, "%s (an integer %s)", what,
            most > MO_TABLE_LARGEST ? "below 2^63; longer ones belong in a .csv" : "of at most 2^53");
    else if (!digits || *p)
        snprintf(expected, sizeof expected, "%s (an integer)", what);
    else
        snprintf(expected, sizeof expected, "%s (an integer in %lld..%lld)", what, (long long)low, (long long)high);
    return mo_table_unexpected(t, expected, text);
}

int64_t mo_table_example(const mo_table *t, const mo_graph *graph, const char *what) {
    int64_t id = mo_graph_find_example(graph, t->field[0]);
    char expected[160], number[24], first[40];
    const char *name = mo_graph_example_name(graph, 0, number);
    snprintf(expected, sizeof expected,
        graph->names ? "the name of one of %" PRId64 " %s, such as '%s'"
                     : "the number of one of %" PRId64 " %s, from 0",
        mo_graph_examples(graph), what, mo_quote(name, strlen(name), first, sizeof first));
    if (id < 0)
        mo_table_unexpected(t, expected, t->field[0]);
    return id;
}
