/* tools/data.c - `mochi data`: which graphs there are, what they hold, and how to get, check and convert them. */
#include "tools/data.h"
#include "tools/data_cache.h"
#include "tools/data_info.h"

#include <stdio.h>
#include <string.h>

enum { KEY_JSON = 0x100, KEY_ALL, KEY_MANIFEST, KEY_OFFLINE, KEY_ACCEPT, KEY_SHA256, KEY_TIMEOUT, KEY_LIMIT };

static const struct argp_option options[] = {
    {"json", KEY_JSON, NULL, 0, "one JSON object a line on standard output", 0},
    {"all", KEY_ALL, NULL, 0, "list: also what is not there, with its licence", 0},
    {"offline", KEY_OFFLINE, NULL, 0, "get: ask nobody; say what is missing", 0},
    {"accept-unverified", KEY_ACCEPT, NULL, 0,
        "get: take a download whose SHA-256 nobody knows; its counts are still checked", 0},
    {"sha256", KEY_SHA256, "HEX", 0, "get: the SHA-256 that such a download must have", 0},
    {"timeout", KEY_TIMEOUT, "SECONDS", 0, "get: give up when nothing comes for this long (default: 60)", 0},
    {"limit", KEY_LIMIT, "GIB", 0, "get: largest download, and largest unpacked file (default: 16)", 0},
    {"manifest", KEY_MANIFEST, "FILE", 0, "another manifest than the program's", 0},
    {0},
};

static const char description[] =
    "list: the graphs that every command knows by name - those that come with the program, and those in the data "
    "folder: $MOCHI_DATA, else mochi/ in ~/.local/share.\n"
    "info: what a graph or file holds - any name of the list, a graph as .npz, GML, TU folder, adjacency list, edge "
    "list, interaction lists (train.txt), or a folder of features.npy and edges.txt; an array (.npy, .npz), weights "
    "(.safetensors). Of a data set of the manifest also licence, citation and the counts it must have.\n"
    "get: downloads data sets of the paper into the data folder, verifies, unpacks, and checks their counts.\n"
    "verify: compares files of the data folder with the manifest: by SHA-256, then what a loader finds.\n"
    "convert: writes any graph that info describes as .npz.\n"
    "cache: the features that are kept (mochi data cache --help).\v"
    "Examples:\n"
    "  mochi data list --all\n"
    "  mochi data info cora\n"
    "  mochi data info runs/a/weights.safetensors Z.npy --json\n"
    "  mochi data get enron\n"
    "  mochi data get nci1 --accept-unverified\n"
    "  mochi data verify\n"
    "  mochi data convert football.gml football.npz";

static const struct action {
    const char *name;
    int fewest, most; /* words after it; -1: any number */
    int (*run)(mo_context *ctx, const data_options *o);
} actions[] = {
    {"list", 0, 0, data_list},
    {"info", 1, -1, data_info},
    {"get", 1, -1, data_get},
    {"verify", 0, -1, data_verify},
    {"convert", 2, 2, data_convert},
};

/* The action that the words name, if they are as many as it takes. */
static const struct action *find_action(const names *words) {
    for (size_t i = 0; words->count > 0 && i < sizeof actions / sizeof *actions; i++) {
        const struct action *a = &actions[i];
        if (!strcmp(words->items[0], a->name))
            return words->count > a->fewest && (a->most < 0 || words->count <= a->most + 1) ? a : NULL;
    }
    return NULL;
}

static void take_sha256(data_options *o, const char *text, const struct argp_state *state) {
    if (strlen(text) != 64 || strspn(text, "0123456789abcdef") != 64)
        usage_error(state, "--sha256", "64 lower-case hexadecimal digits", text);
    o->sha256 = text;
}

static error_t take_option(int key, char *text, struct argp_state *state) {
    data_options *o = state->input;
    switch (key) {
    case KEY_JSON:
        o->json = true;
        break;
    case KEY_ALL:
        o->all = true;
        break;
    case KEY_MANIFEST:
        o->manifest = text;
        break;
    case KEY_OFFLINE:
        o->offline = true;
        break;
    case KEY_ACCEPT:
        o->accept = true;
        break;
    case KEY_SHA256:
        take_sha256(o, text, state);
        break;
    case KEY_TIMEOUT:
        o->timeout = parse_integer(state, "--timeout", text, 1, 86400);
        break;
    case KEY_LIMIT:
        o->limit = (int64_t)(parse_positive(state, "--limit", text) * (1 << 30));
        break;
    case ARGP_KEY_ARG:
        append_name(&o->words, text);
        break;
    case ARGP_KEY_END:
        if (!find_action(&o->words))
            argp_failure(state, EXIT_USAGE, 0,
                "expected `list`, `info NAME|PATH...`, `get NAME...`, `verify [NAME...]`, `convert NAME|PATH "
                "OUT.npz` or `cache ACTION`");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

bool open_data_folder(mo_context *ctx, char *folder, size_t bytes) {
    if (mo_data_folder(folder, bytes))
        return true;
    mo_fail(ctx, MO_IO, "data folder: expected MOCHI_DATA or HOME to name it, found neither");
    return false;
}

int data_info(mo_context *ctx, const data_options *o) {
    int code = EXIT_FINE;
    manifest *m = manifest_read(ctx, o->manifest);
    if (!m)
        return report_failure(ctx);
    for (int i = 1; i < o->words.count; i++) /* one bad file does not hide the others */
        if (!describe_data(ctx, o->words.items[i], m, o->json)) {
            code = report_failure(ctx);
            mo_clear_error(ctx);
        }
    manifest_release(m);
    return code;
}

int data_convert(mo_context *ctx, const data_options *o) {
    mo_graph *graph = mo_graph_open(ctx, o->words.items[1]);
    if (graph)
        mo_graph_write(graph, o->words.items[2]);
    mo_graph_release(graph);
    return mo_ok(ctx) ? EXIT_FINE : report_failure(ctx);
}

int data_command(int argc, char **argv) {
    static const struct argp argp = {.options = options,
        .parser = take_option,
        .args_doc = "list\ninfo NAME|PATH...\nget NAME...\nverify [NAME...]\nconvert NAME|PATH OUT.npz\ncache ACTION",
        .doc = description};
    if (argc > 1 && !strcmp(argv[1], "cache")) {
        char full_name[] = "mochi data cache";
        argv[1] = full_name;
        return data_cache_command(argc - 1, argv + 1);
    }
    data_options o = {.timeout = 60, .limit = (int64_t)16 << 30};
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    mo_context *ctx = open_context(1);
    int code = ctx ? find_action(&o.words)->run(ctx, &o) : EXIT_FAILED;
    mo_context_release(ctx);
    free_names(&o.words);
    return code;
}
