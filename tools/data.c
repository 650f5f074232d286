/* tools/data.c - `mochi data`: the graphs that are known by name, and what a file holds. */
#include "tools/data_info.h"

#include <stdio.h>
#include <string.h>

enum { KEY_JSON = 0x100 };

typedef struct data_options {
    names words; /* list, or info and what to describe */
    bool json;
} data_options;

static const struct argp_option options[] = {
    {"json", KEY_JSON, NULL, 0, "one JSON object a line on standard output", 0},
    {0},
};

static const char description[] =
    "list: the graphs that every command knows by name - those that come with the program, and those found below the "
    "folder $MOCHI_DATA. info: what a graph or file holds - any name of the list, a graph as .npz, TU folder, "
    "adjacency "
    "list or edge list, an array (.npy, .npz), weights (.safetensors).\v"
    "Examples:\n"
    "  mochi data list\n"
    "  mochi data info cora\n"
    "  mochi data info runs/a/weights.safetensors Z.npy --json";

static error_t take_option(int key, char *text, struct argp_state *state) {
    data_options *o = state->input;
    if (key == KEY_JSON) {
        o->json = true;
    } else if (key == ARGP_KEY_ARG) {
        append_name(&o->words, text);
    } else if (key == ARGP_KEY_END) {
        bool list = o->words.count == 1 && !strcmp(o->words.items[0], "list");
        bool info = o->words.count > 1 && !strcmp(o->words.items[0], "info");
        if (!list && !info)
            argp_failure(state, EXIT_USAGE, 0, "expected `list`, or `info` and the NAME or PATH to describe");
    } else {
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static void on_name(const char *name, const char *path, bool embedded, void *state) {
    const data_options *o = state;
    if (o->json)
        print_json(json_pack("{s:s, s:s, s:b}", "name", name, "path", path, "embedded", embedded));
    else
        printf("%-16s %-9s %s\n", name, embedded ? "embedded" : "", path);
}

int data_command(int argc, char **argv) {
    static const struct argp argp = {
        .options = options, .parser = take_option, .args_doc = "list\ninfo NAME|PATH...", .doc = description};
    data_options o = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    mo_context *ctx = open_context(1);
    int code = ctx ? EXIT_FINE : EXIT_FAILED;
    if (ctx && o.words.count == 1) {
        if (mo_graph_list(ctx, on_name, &o) != MO_OK)
            code = report_failure(ctx);
    } else if (ctx) {
        for (int i = 1; i < o.words.count; i++) /* one bad file does not hide the others */
            if (!describe_data(ctx, o.words.items[i], o.json)) {
                code = report_failure(ctx);
                mo_clear_error(ctx);
            }
    }
    mo_context_release(ctx);
    free_names(&o.words);
    return code;
}
