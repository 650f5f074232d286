/* tools/cli/values.c - reads the text of an option as a value: numbers, ranges, choices, lists. */
#include "tools/cli/command.h"
#include "tools/cli/memory.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Does not call argp_failure, which prints "(null)" if it has no memory for the text. */
void refuse_command_line(const struct argp_state *state, int code, const char *format, ...) {
    char line[4096];
    va_list rest;
    va_start(rest, format);
    vsnprintf(line, sizeof line, format, rest);
    va_end(rest);
    fprintf(stderr, "%s: %s\n", state ? state->name : "mochi", make_printable(line));
    exit(code);
}

void usage_error(const struct argp_state *state, const char *option, const char *expected, const char *found) {
    refuse_command_line(state, EXIT_USAGE, "%s: expected %s, found '%s'", option, expected, found);
}

/* Returns the edit distance of a and b: how many letters to add, drop or change (Wagner and Fischer 1974). Words of
 * more than 30 letters are 99 apart. */
static int count_edits(const char *a, const char *b) {
    int row[32], n = (int)strlen(b);
    if (n > 30 || strlen(a) > 30)
        return 99;
    for (int j = 0; j <= n; j++)
        row[j] = j;
    for (; *a; a++)
        for (int j = 0, corner = row[0]++; j < n; j++) {
            int least = corner + (*a != b[j]), left = row[j] + 1, above = row[j + 1] + 1;
            corner = row[j + 1];
            least = left < least ? left : least;
            row[j + 1] = above < least ? above : least;
        }
    return row[n];
}

const char *nearest_name(const char *word, const char *const *names, int n) {
    const char *near = NULL;
    int least = 3; /* accepts at most two wrong letters, and fewer than half */
    for (int i = 0; i < n; i++) {
        int edits = names[i] ? count_edits(word, names[i]) : least;
        if (edits < least && 2 * edits < (int)strlen(names[i])) {
            least = edits;
            near = names[i];
        }
    }
    return near;
}

void parse_member(
    const struct argp_state *state, const char *option, const mo_field *f, const char *text, void *options) {
    char expected[256];
    json_t *value = json_string(text);
    bool read = mo_field_read(f, value, options);
    json_decref(value);
    if (!read)
        usage_error(state, option, mo_field_expected(f, expected, sizeof expected), text);
}

int64_t parse_integer(const struct argp_state *state, const char *option, const char *text, int64_t low, int64_t high) {
    const mo_field f = {MO_FIELD_INT64, .low = (double)low, .high = (double)high};
    int64_t value = low;
    parse_member(state, option, &f, text, &value);
    return value;
}

double parse_positive(const struct argp_state *state, const char *option, const char *text) {
    double value = 0;
    parse_member(state, option, &(mo_field){MO_FIELD_POSITIVE}, text, &value);
    return value;
}

int parse_choice(
    const struct argp_state *state, const char *option, const char *text, const char *const *choices, int n) {
    char expected[256] = "";
    for (int i = 0; i < n; i++) {
        if (!strcmp(text, choices[i]))
            return i;
        size_t used = strlen(expected);
        snprintf(expected + used, sizeof expected - used, "%s%s", i == 0 ? "" : i == n - 1 ? " or " : ", ", choices[i]);
    }
    usage_error(state, option, expected, text);
    return 0;
}

void append_name(names *list, const char *name) {
    list->items = needed(realloc(list->items, (size_t)(list->count + 1) * sizeof *list->items));
    list->items[list->count++] = needed(strdup(name));
}

names parse_names(const struct argp_state *state, const char *option, const char *text) {
    names list = {0};
    char *copy = needed(strdup(text)), *rest = copy, *name;
    while ((name = strsep(&rest, ","))) {
        if (!*name)
            usage_error(state, option, "names separated by single commas", text);
        append_name(&list, name);
    }
    free(copy);
    return list;
}

int parse_integers(const struct argp_state *state, const char *option, const char *text, int64_t *list, int most,
    int64_t low, int64_t high) {
    names words = parse_names(state, option, text);
    char expected[64];
    int n = words.count;
    snprintf(expected, sizeof expected, "at most %d numbers", most);
    if (n > most)
        usage_error(state, option, expected, text);
    for (int i = 0; i < n; i++)
        list[i] = parse_integer(state, option, words.items[i], low, high);
    free_names(&words);
    return n;
}

void free_names(names *list) {
    for (int i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (names){0};
}

const char *const math_names[3] = {"fp32", "tf32", "bf16"};

int64_t parse_bytes(const struct argp_state *state, const char *option, const char *text) {
    static const char units[] = "KMGT";
    char *end;
    double value = strtod(text, &end);
    const char *unit = *end ? strchr(units, *end) : NULL;
    double scale = unit ? pow(1024, (double)(unit - units + 1)) : 1;
    if (end == text || !(value >= 0) || (*end && (!unit || end[1])) || value * scale > 1e18)
        usage_error(state, option, "a number, with a unit behind it", text);
    return (int64_t)(value * scale);
}
