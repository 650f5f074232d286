/* tools/cli/print.c - the program's output: errors on standard error, JSON lines on standard output. */
#include "tensor/cpu/fast/blas_core.h"
#include "tools/cli/command.h"
#include "tools/cli/memory.h"
#include "tools/cli/progress.h"
#include "tools/cli/versions.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int text_width(void) {
    enum { NARROWEST = 30, WIDEST = 79 };
    struct winsize terminal;
    const char *given = getenv("COLUMNS");
    int width = WIDEST;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &terminal) == 0 && terminal.ws_col)
        width = terminal.ws_col;
    else if (given && atoi(given) > 0)
        width = atoi(given);
    return width < NARROWEST ? NARROWEST : width > WIDEST ? WIDEST : width;
}

void print_wrapped(const char *text, int indent) {
    const int width = text_width();
    for (int column = indent; *text;) {
        int blanks = (int)strspn(text, " "), word = blanks + (int)strcspn(text + blanks, " ");
        if (column > indent && column + word > width)
            printf("\n%*s", column = indent, "");
        if (column == indent) {
            text += blanks;
            word -= blanks;
        }
        column += printf("%.*s", word, text);
        text += word;
    }
    putchar('\n');
}

void print_safely(FILE *out, const char *text) {
    for (; *text; text++)
        putc(printable(*text), out);
}

char *make_printable(char *text) {
    for (char *at = text; *at; at++)
        *at = printable(*at);
    return text;
}

int report_failure(const mo_context *ctx) {
    phase_end();
    if (!ctx)
        end_out_of_memory();
    fprintf(stderr, "mochi: %s\n", mo_context_status(ctx)->message);
    return EXIT_FAILED;
}

void print_notice(const char *line, void *state) {
    (void)state;
    phase_clear();
    fprintf(stderr, "%s\n", line);
}

void print_not_data(const char *name, const char *left_out, const char *headers) {
    const char *colon = *name ? ": " : "";
    if (left_out)
        fprintf(stderr, "%s%sleft out: %s\n", name, colon, left_out);
    if (headers)
        fprintf(stderr, "%s%sread as a header: %s\n", name, colon, headers);
}

void print_left_out(const mo_graph *graph) {
    if (graph)
        print_not_data(graph->name, graph->left_out, graph->headers);
    if (graph && graph->recoded)
        fprintf(stderr, "%s: attributes: %s\n", graph->name, graph->recoded);
}

void print_event(const char *line, void *state) {
    if (!strstr(line, ": residual of the SVD "))
        print_notice(line, state);
}

static double max_expand; /* for the contexts to open; 0: the library's default */
static int64_t memory;    /* likewise; 0: no bound */

void set_max_expand(double ratio) {
    max_expand = ratio;
}

void set_memory(int64_t bytes) {
    memory = bytes;
}

mo_context *open_context(int threads) {
    return open_context_on((mo_context_options){.threads = threads});
}

bool debug_mode(void) {
    const char *wanted = getenv("MOCHI_DEBUG");
    return wanted && *wanted && strcmp(wanted, "0") != 0;
}

mo_context *open_context_on(mo_context_options options) {
    options.max_expand = max_expand;
    options.memory = memory;
    options.debug = debug_mode();
    mo_context *ctx = mo_context_create(&options);
    if (ctx && mo_ok(ctx))
        return ctx;
    report_failure(ctx);
    mo_context_release(ctx);
    return NULL;
}

bool print_json(json_t *object) {
    /* nine digits distinguish any two float32 */
    bool written = object && json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9)) == 0 &&
                   putchar('\n') != EOF && fflush(stdout) == 0;
    if (!object)
        fprintf(stderr, "mochi: cannot be written as JSON: a name or path is not UTF-8\n");
    json_decref(object);
    return written;
}

enum { MOST_SHOWN = 64 }; /* elements of a list that are printed */

/* Prints a value as "2708", "[2, 3]" or "nodes 4, edges 5". */
static void print_json_value(const json_t *value) {
    size_t n = json_array_size(value);
    const char *key, *between = "";
    json_t *x;
    if (json_is_string(value))
        for (const char *at = json_string_value(value); *at; at++)
            putchar(printable(*at));
    else if (json_is_integer(value))
        printf("%" PRId64, (int64_t)json_integer_value(value));
    else if (json_is_real(value))
        printf("%.6g", json_real_value(value));
    else if (json_is_boolean(value))
        printf("%s", json_is_true(value) ? "yes" : "no");
    json_object_foreach((json_t *)value, key, x) {
        printf("%s%s ", between, key);
        printf(json_is_array(x) ? "[" : json_is_null(x) ? "none" : "");
        print_json_value(x);
        printf(json_is_array(x) ? "]" : "");
        between = ", ";
    }
    for (size_t i = 0; i < n && i < MOST_SHOWN; i++) {
        printf("%s", i ? ", " : "");
        print_json_value(json_array_get(value, i));
    }
    if (n > MOST_SHOWN)
        printf(", .. (%zu)", n);
}

void print_members(const json_t *o, int indent) {
    const char *key;
    json_t *value;
    size_t width = 18;
    json_object_foreach((json_t *)o, key, value) width = strlen(key) > width ? strlen(key) : width;
    json_object_foreach((json_t *)o, key, value) {
        bool nested = !strcmp(key, "manifest") || !strcmp(key, "metadata"),
             list = json_is_object(json_array_get(value, 0)) || !strcmp(key, "cite"),
             empty = json_is_null(value) || (json_is_array(value) && !json_array_size(value));
        if (empty)
            continue;
        printf("%*s%-*s", indent, "", nested || list ? 0 : (int)width + 1, key);
        for (size_t i = 0; list && i < json_array_size(value); i++) {
            printf("\n%*s", indent + 2, "");
            print_json_value(json_array_get(value, i));
        }
        if (!nested && !list)
            print_json_value(value);
        putchar('\n');
        if (nested)
            print_members(value, indent + 2);
    }
}

json_t *command_object(int argc, char **argv) {
    json_t *command = json_array();
    for (int i = 0; i < argc; i++)
        json_array_append_new(command, json_string(argv[i]));
    return json_pack("{s:s, s:i, s:o, s:o, s:s?}", "kind", "run", "format", 1, "command", command, "versions",
        library_versions(), "blas_core", blas_core());
}

static void check_output(void) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return;
    fprintf(stderr, "mochi: standard output: %s\n", errno ? strerror(errno) : "cannot be written");
    _exit(EXIT_FAILED);
}

/* argp ends the program after --help, so an exit handler checks the output. */
void watch_output(void) {
    if (atexit(check_output) != 0)
        end_out_of_memory();
}
