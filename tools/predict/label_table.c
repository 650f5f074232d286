/* tools/predict/label_table.c - lines of example and class, read by libcsv; every complaint names file and line. */
#include "tools/predict/label_table.h"

#include "tools/input.h"
#include "tools/memory.h"

#include <csv.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *copy_field(const void *text, size_t bytes) {
    char *copy = needed(malloc(bytes + 1));
    if (bytes)
        memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    return copy;
}

static void on_field(void *text, size_t bytes, void *state) {
    label_table *t = state;
    char **place = t->column == 0 ? &t->id : t->column == 1 ? &t->class : NULL;
    if (place) {
        free(*place);
        *place = copy_field(text, text ? bytes : 0);
    }
    t->column++;
}

/* A number that is not whole is a value to regress on, not a class. */
static bool is_real_number(const char *text) {
    char *end, *whole;
    errno = 0;
    strtoll(text, &whole, 10);
    strtod(text, &end);
    return *text && end != text && !*end && *whole;
}

void keep_label(label_table *t, int64_t id) {
    if (t->n == t->room) {
        t->room = t->room ? 2 * t->room : 64;
        t->entries = needed(realloc(t->entries, (size_t)t->room * sizeof *t->entries));
    }
    t->entries[t->n++] = (label_entry){id, t->line, t->class};
    t->class = NULL;
}

/* Adds the line that t holds. */
static void take_line(label_table *t) {
    char *end;
    int64_t id = strtoll(t->id, &end, 10);
    if (t->column != 2)
        mo_fail(t->ctx, MO_FORMAT, "%s:%" PRId64 ": expected 2 columns, number and class, found %d", t->path, t->line,
            t->column);
    else if (!*t->id || *end)
        mo_fail(t->ctx, MO_FORMAT, "%s:%" PRId64 ": expected the number of an example, found '%s'", t->path, t->line,
            t->id);
    else if (id < 0 || id >= t->examples)
        mo_fail(t->ctx, MO_INVALID, "%s:%" PRId64 ": expected an example from 0 to %" PRId64 ", found %s", t->path,
            t->line, t->examples - 1, t->id);
    else if (!*t->class)
        mo_fail(t->ctx, MO_FORMAT, "%s:%" PRId64 ": expected a class, found nothing", t->path, t->line);
    else if (is_real_number(t->class))
        mo_fail(t->ctx, MO_INVALID, "%s:%" PRId64 ": expected a class, found the real number %s", t->path, t->line,
            t->class);
    else
        keep_label(t, id);
}

static void on_line(int end, void *state) {
    label_table *t = state;
    (void)end;
    t->line++;
    if (mo_ok(t->ctx) && t->line > 1 && t->column > 0) /* line 1 is the header */
        take_line(t);
    t->column = 0;
}

void parse_label_table(label_table *t) {
    struct csv_parser parser;
    size_t bytes;
    char *text = read_text_file(t->path, &bytes), *end = text ? memchr(text, '\n', bytes) : NULL;
    if (!text)
        mo_fail(t->ctx, MO_IO, "%s: %s", t->path, strerror(errno));
    bool tabs = text && memchr(text, '\t', end ? (size_t)(end - text) : bytes);
    if (mo_ok(t->ctx) && csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_REPALL_NL) == 0) {
        csv_set_delim(&parser, tabs ? CSV_TAB : CSV_COMMA);
        if ((csv_parse(&parser, text, bytes, on_field, on_line, t) != bytes ||
                csv_fini(&parser, on_field, on_line, t) != 0) &&
            mo_ok(t->ctx))
            mo_fail(t->ctx, MO_FORMAT, "%s:%" PRId64 ": %s", t->path, t->line + 1, csv_strerror(csv_error(&parser)));
        csv_free(&parser);
    }
    free(text);
    if (mo_ok(t->ctx) && t->n == 0)
        mo_fail(t->ctx, MO_FORMAT, "%s: expected a header and lines of number and class, found no label", t->path);
}
