/* tools/train/digests.c - reads the digests of runs and finds where two of them part. */
#include "tools/train/digests.h"

#include "tools/input.h"
#include "tools/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int64_t step_of(const json_t *line) {
    return json_integer_value(json_object_get(line, "step"));
}

/* Whether it is a line of a step after the given one. */
static bool is_line(const json_t *line, int64_t after) {
    const json_t *step = json_object_get(line, "step"), *found = json_object_get(line, "digests");
    const char *name;
    json_t *digits;
    if (!json_is_integer(step) || json_integer_value(step) <= after || !json_object_size(found))
        return false;
    json_object_foreach((json_t *)found, name, digits) if (!json_is_string(digits)) return false;
    return true;
}

/* Appends the lines of a text; returns the number of the first line that is none of a later step, or 0. */
static int64_t append_lines(json_t *lines, const char *text, size_t n) {
    int64_t number = 1, last = -1;
    for (const char *at = text; at < text + n; number++) {
        const char *end = memchr(at, '\n', (size_t)(text + n - at));
        json_error_t error;
        json_t *line = end ? json_loadb(at, (size_t)(end - at), JSON_REJECT_DUPLICATES, &error) : NULL;
        if (!is_line(line, last)) {
            json_decref(line);
            return number;
        }
        last = step_of(line);
        json_array_append_new(lines, line);
        at = end + 1;
    }
    return 0;
}

bool read_digests(digests *d, const char *path) {
    char file[4096];
    struct stat status;
    bool folder = stat(path, &status) == 0 && S_ISDIR(status.st_mode);
    snprintf(file, sizeof file, "%s%s", path, folder ? "/digests.jsonl" : "");
    size_t n = 0;
    char *text = read_text_file(file, &n);
    if (!text) {
        fprintf(stderr, "mochi: %s: cannot open: %s; `mochi train --digest` writes it\n", file, strerror(errno));
        return false;
    }
    d->lines = needed(json_array());
    int64_t bad = append_lines(d->lines, text, n);
    free(text);
    if (!bad && json_array_size(d->lines))
        return true;
    fprintf(stderr, "mochi: %s:%lld: expected the digests of a step later than those before, found %s\n", file,
        (long long)(bad ? bad : 1), bad ? "another text" : "the end of the file");
    free_digests(d);
    return false;
}

void free_digests(digests *d) {
    json_decref(d->lines);
    d->lines = NULL;
}

static const char *digits_of(const json_t *line, const char *name) {
    const char *digits = json_string_value(json_object_get(json_object_get(line, "digests"), name));
    return digits ? digits : "none";
}

static void note_apart(digest_difference *d, const json_t *a, const json_t *b, const char *name) {
    if (d->apart++)
        return;
    d->kind = DIGESTS_DIFFER;
    d->step = step_of(a);
    snprintf(d->name, sizeof d->name, "%s", name);
    snprintf(d->digits[0], sizeof d->digits[0], "%s", digits_of(a, name));
    snprintf(d->digits[1], sizeof d->digits[1], "%s", digits_of(b, name));
}

/* Compares the digests of one step, in the order of a, then those that b alone has. */
static void compare_lines(digest_difference *d, const json_t *a, const json_t *b) {
    json_t *of_a = json_object_get(a, "digests"), *of_b = json_object_get(b, "digests"), *digits;
    const char *name;
    json_object_foreach(of_a, name, digits) {
        if (strcmp(json_string_value(digits), digits_of(b, name)) != 0)
            note_apart(d, a, b, name);
        else
            d->compared++;
    }
    json_object_foreach(of_b, name, digits) {
        if (!json_object_get(of_a, name))
            note_apart(d, a, b, name);
    }
}

static void note_end(digest_difference *d, int shorter, const json_t *next) {
    d->kind = DIGESTS_END;
    d->shorter = shorter;
    d->step = step_of(next);
}

digest_difference compare_digests(const digests *a, const digests *b) {
    digest_difference d = {.kind = DIGESTS_SAME};
    size_t i = 0, j = 0, n = json_array_size(a->lines), m = json_array_size(b->lines);
    while (i < n && j < m && d.kind == DIGESTS_SAME) {
        const json_t *x = json_array_get(a->lines, i), *y = json_array_get(b->lines, j);
        if (step_of(x) != step_of(y)) { /* a run that was resumed with --digest begins later */
            if (d.steps)
                note_end(&d, step_of(x) > step_of(y) ? 0 : 1, step_of(x) > step_of(y) ? y : x);
            else if (step_of(x) < step_of(y))
                i++;
            else
                j++;
            continue;
        }
        compare_lines(&d, x, y);
        d.steps += d.kind == DIGESTS_SAME;
        i++;
        j++;
    }
    if (d.kind == DIGESTS_SAME && (i < n || j < m))
        note_end(&d, i < n ? 1 : 0, json_array_get(i < n ? a->lines : b->lines, i < n ? i : j));
    return d;
}
