/* tools/values.c - reads the text of an option as a value: numbers, ranges, choices, lists. */
#include "tools/command.h"
#include "tools/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void parse_options(const struct argp *argp, int argc, char **argv, void *options) {
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) { /* argp repeats an unknown option as it is */
        size_t name = strcspn(argv[i], "=");
        for (size_t at = 0; argv[i][0] == '-' && at < name; at++)
            if (argv[i][at] != printable(argv[i][at]))
                refuse_command_line(
                    NULL, EXIT_USAGE, "no option is named '%.*s'; see %s --help", (int)name, argv[i], argv[0]);
    }
    error_t code = argp_parse(argp, argc, argv, 0, NULL, options);
    if (code == ENOMEM)
        end_out_of_memory();
    if (code)
        refuse_command_line(NULL, EXIT_FAILED, "%s: %s", argv[0], strerror(code));
    check_outputs(argp, argc, argv);
}

/* Does not use argp_failure, which prints "(null)" if it lacks memory for the text. */
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

/* Reads the integer at the start of text; returns false if there is none or it does not fit. */
static bool scan_integer(const char *text, const char **end, int64_t *value) {
    char *stop;
    errno = 0;
    long long v = strtoll(text, &stop, 10);
    *end = stop;
    *value = v;
    return stop != text && errno == 0 && strchr("0123456789-", *text);
}

int64_t parse_integer(const struct argp_state *state, const char *option, const char *text, int64_t low, int64_t high) {
    const char *end;
    int64_t value;
    if (scan_integer(text, &end, &value) && *end == '\0' && value >= low && value <= high)
        return value;
    char expected[96];
    if (high == INT64_MAX)
        snprintf(expected, sizeof expected, "an integer of at least %" PRId64, low);
    else
        snprintf(expected, sizeof expected, "an integer from %" PRId64 " to %" PRId64, low, high);
    usage_error(state, option, expected, text);
    return low;
}

/* Reads text as one finite number. */
static bool scan_real(const char *text, double *value) {
    char *end;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*value);
}

double parse_real(const struct argp_state *state, const char *option, const char *text, double low, double high) {
    double value;
    if (scan_real(text, &value) && value >= low && value <= high)
        return value;
    char expected[96];
    snprintf(expected, sizeof expected, "a number from %g to %g", low, high);
    usage_error(state, option, expected, text);
    return low;
}

double parse_positive(const struct argp_state *state, const char *option, const char *text) {
    double value;
    if (!scan_real(text, &value) || value <= 0)
        usage_error(state, option, "a number above 0", text);
    return value;
}

void parse_range(const struct argp_state *state, const char *option, const char *text, int64_t range[2]) {
    const char *end;
    if (scan_integer(text, &end, &range[0])) {
        range[1] = range[0];
        bool whole = *end == '\0' || (*end == ':' && scan_integer(end + 1, &end, &range[1]) && *end == '\0');
        if (whole && range[0] >= 1 && range[0] <= range[1] && range[1] <= INT32_MAX)
            return;
    }
    usage_error(state, option, "A:B with 1 <= A <= B, or one number", text);
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

void free_names(names *list) {
    for (int i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (names){0};
}

const char *const math_names[3] = {"fp32", "tf32", "bf16"};

bool take_device(mo_context_options *o, int key, const char *text, const struct argp_state *state) {
    if (key == KEY_DEVICE && !strncmp(text, "cuda:", 5)) {
        o->device = MO_CUDA;
        o->index = (int)parse_integer(state, "--device cuda:N", text + 5, 0, INT_MAX);
    } else if (key == KEY_DEVICE) {
        o->device = (mo_device)parse_choice(state, "--device", text, (const char *[]){"cpu", "cuda"}, 2);
        o->index = 0;
    } else if (key == KEY_MATH) {
        o->math = (mo_math)parse_choice(state, "--math", text, math_names, 3);
    } else if (key == KEY_DEVICE_MEMORY) {
        o->device_memory = parse_bytes(state, "--device-memory", text);
    } else if (key == ARGP_KEY_END && o->device_memory && o->device == MO_CPU) {
        refuse_command_line(state, EXIT_USAGE, "--device-memory: expected --device cuda beside it");
    }
    return key == KEY_DEVICE || key == KEY_MATH || key == KEY_DEVICE_MEMORY;
}

/* Reads "30d" with the units "smhd", "4G" with "KMGT"; factor: of each unit. */
static int64_t parse_scaled(
    const struct argp_state *state, const char *option, const char *text, const char *units, const int64_t *factor) {
    char *end;
    double value = strtod(text, &end);
    const char *unit = *end ? strchr(units, *end) : NULL;
    double scale = unit ? (double)factor[unit - units] : 1;
    if (end == text || !(value >= 0) || (*end && (!unit || end[1])) || value * scale > 1e18)
        usage_error(state, option, "a number, with a unit behind it", text);
    return (int64_t)(value * scale);
}

int64_t parse_age(const struct argp_state *state, const char *option, const char *text) {
    static const int64_t factor[] = {1, 60, 3600, 86400};
    return parse_scaled(state, option, text, "smhd", factor);
}

int64_t parse_bytes(const struct argp_state *state, const char *option, const char *text) {
    static const int64_t factor[] = {1 << 10, 1 << 20, 1 << 30, (int64_t)1 << 40};
    return parse_scaled(state, option, text, "KMGT", factor);
}

bool take_expand(int key, const char *text, const struct argp_state *state) {
    if (key == KEY_MAX_EXPAND)
        set_max_expand(parse_positive(state, "--max-expand", text));
    return key == KEY_MAX_EXPAND;
}

bool take_keeping(int64_t *memory, const char **cache, int key, const char *text, const struct argp_state *state) {
    if (key == KEY_MEMORY)
        *memory = parse_bytes(state, "--memory", text);
    else if (key == KEY_CACHE)
        *cache = text;
    return take_expand(key, text, state) || key == KEY_MEMORY || key == KEY_CACHE;
}

bool take_stack(mo_dtype *stack, int key, const char *text, const struct argp_state *state) {
    static const char *const types[] = {"float32", "float16"};
    if (key == KEY_STACK)
        *stack = parse_choice(state, "--stack", text, types, 2) ? MO_F16 : MO_F32;
    return key == KEY_STACK;
}
