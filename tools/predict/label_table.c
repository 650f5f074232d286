/* tools/predict/label_table.c - lines of example and class, read by libcsv; every complaint names file and line. */
#include "tools/predict/label_table.h"

#include <csv.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 30 };

static char *copy_field(const void *text, size_t bytes) {
    char *copy = malloc(bytes + 1);
    if (copy) {
        memcpy(copy, text, bytes);
        copy[bytes] = '\0';
    }
    return copy;
}

static void on_field(void *text, size_t bytes, void *state) {
    label_table *t = state;
    char **place = t->column == 0 ? &t->id : t->column == 1 ? &t->class : NULL;
    if (place) {
        free(*place);
        *place = copy_field(text ? text : "", text ? bytes : 0);
        if (!*place && mo_ok(t->ctx))
            mo_fail(t->ctx, MO_MEMORY, "%s: out of memory", t->path);
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

static void check_line(label_table *t, const char *end) {
    int64_t id = strtoll(t->id, (char **)&end, 10);
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
}

void keep_label(label_table *t) {
    if (t->n == t->room) {
        int64_t room = t->room ? 2 * t->room : 64;
        label_entry *more = realloc(t->entries, (size_t)room * sizeof *more);
        if (!more) {
            mo_fail(t->ctx, MO_MEMORY, "%s: out of memory", t->path);
            return;
        }
        t->entries = more;
        t->room = room;
    }
    t->entries[t->n++] = (label_entry){strtoll(t->id, NULL, 10), t->line, t->class};
    t->class = NULL;
}

static void on_line(int end, void *state) {
    label_table *t = state;
    (void)end;
    t->line++;
    if (mo_ok(t->ctx) && t->line > 1 && t->column > 0) /* line 1 is the header */
        check_line(t, NULL);
    if (mo_ok(t->ctx) && t->line > 1 && t->column > 0)
        keep_label(t);
    t->column = 0;
}

/* The whole file; NULL on failure. */
static char *read_text(mo_context *ctx, const char *path, size_t *bytes) {
    FILE *file = fopen(path, "rbe");
    char *text = NULL;
    *bytes = 0;
    while (file && mo_ok(ctx) && !feof(file)) {
        char *more = *bytes < MOST_BYTES ? realloc(text, *bytes + 65536) : NULL;
        if (!more)
            mo_fail(ctx, MO_MEMORY, "%s: out of memory, or more than %d bytes", path, MOST_BYTES);
        else
            *bytes += fread((text = more) + *bytes, 1, 65536, file);
        if (mo_ok(ctx) && ferror(file))
            mo_fail(ctx, MO_IO, "%s: %s", path, strerror(errno));
    }
    if (!file)
        mo_fail(ctx, MO_IO, "%s: %s", path, strerror(errno));
    else
        fclose(file);
    return text;
}

void parse_label_table(label_table *t) {
    struct csv_parser parser;
    size_t bytes;
    char *text = read_text(t->ctx, t->path, &bytes), *end = text ? memchr(text, '\n', bytes) : NULL;
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
