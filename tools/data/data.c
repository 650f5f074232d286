/* tools/data/data.c - `mochi data`: lists graphs, describes them, and checks and converts them; get.py gets them. */
#include "tools/data/data.h"
#include "tools/data/data_cache.h"
#include "tools/data/data_info.h"
#include "tools/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_JSON = 0x100, KEY_ALL, KEY_MANIFEST };

#define JSON_OPTION                                                                                                    \
    { "json", KEY_JSON, NULL, 0, "one JSON object a line on standard output", 0 }
#define MANIFEST_OPTION                                                                                                \
    { "manifest", KEY_MANIFEST, "FILE", 0, "another manifest than the program's", 0 }

static const struct argp_option list_options[] = {
    JSON_OPTION,
    {"all", KEY_ALL, NULL, 0, "also the data sets of the paper that are not there, with their licence", 0},
    {"manifest", KEY_MANIFEST, "FILE", 0, "of --all: another manifest than the program's", 0},
    {0},
};

static const struct argp_option info_options[] = {JSON_OPTION, MANIFEST_OPTION, EXPAND_OPTION, {0}};

static const struct argp_option convert_options[] = {EXPAND_OPTION, {0}};

static const struct action {
    const char *name, *full_name, *arguments, *description;
    const struct argp_option *options;
    int fewest, most; /* number of words after the action; most -1: any number */
    int (*run)(mo_context *ctx, const data_options *o);
} actions[] = {
    {"list", "mochi data list", "",
        "Lists the graphs that every command knows by name: those that come with the program, and those in the data "
        "folder ($MOCHI_DATA, else mochi/ in ~/.local/share).\v"
        "Example:\n  mochi data list --all",
        list_options, 0, 0, data_list},
    {"info", "mochi data info", "NAME|PATH...",
        "Says what a graph or file holds: any name of `mochi data list`, a graph as .npz, GML, TU folder, adjacency "
        "list, edge list, interaction lists (train.txt), or a folder of features.npy, edges.txt and, if there, "
        "labels.npy or labels.txt; an array (.npy, "
        ".npz), weights (.safetensors). Of a data set of the manifest also licence, citation and the counts it must "
        "have.\v"
        "Examples:\n  mochi data info cora\n  mochi data info runs/a/weights.safetensors Z.npy --json",
        info_options, 1, -1, data_info},
    {"verify", "mochi data verify", "[NAME...]",
        "Compares files of the data folder with the manifest: by SHA-256, then what a loader finds.\v"
        "Example:\n  mochi data verify",
        info_options, 0, -1, data_verify},
    {"convert", "mochi data convert", "NAME|PATH OUT.npz|OUT.safetensors",
        "Writes any graph that `mochi data info` describes as .npz. Weights and checkpoints of older versions, which "
        "lack digests of their tensors, get them.\v"
        "Examples:\n  mochi data convert football.gml football.npz\n"
        "  mochi data convert runs/a/weights.safetensors runs/a/weights.safetensors",
        convert_options, 2, 2, data_convert},
};
enum { ACTIONS = sizeof actions / sizeof *actions };

#define NO_DATA_FOLDER "data folder: expected MOCHI_DATA or HOME to name it, found neither"

static const char description[] = "Which graphs there are, what they hold, and how to get, check and convert them.\v"
                                  "  list     the graphs that every command knows by name\n"
                                  "  info     what a graph or file holds\n"
                                  "  get      download data sets of the paper, verified\n"
                                  "  verify   compare the data folder with the manifest\n"
                                  "  convert  write a graph as .npz, older weights in today's form\n"
                                  "  cache    the features that are kept\n\n"
                                  "mochi data ACTION --help has the options of an action, with examples.";

/* Ends the program unless the action takes this number of words and every option has an effect. */
static void check_words(const data_options *o, const struct argp_state *state) {
    const struct action *a = &actions[o->action];
    int n = o->words.count - 1;
    if (n < a->fewest || (a->most >= 0 && n > a->most))
        refuse_command_line(state, EXIT_USAGE, "expected `%s%s%s`, found %d words behind it", a->full_name,
            *a->arguments ? " " : "", a->arguments, n);
    if (a->options == list_options)
        refuse_given(&o->given, "manifest", !o->all, "expected --all, which alone reads the manifest");
}

#define CONVERTED ".npz or .safetensors"

/* Whether a word names the file that `convert` writes beside the one that it reads; tensors are converted in place too:
 * the new file holds all that the old one does. */
static bool is_written(const data_options *o, const char *text, const struct argp_state *state) {
    return actions[o->action].run == data_convert && state->arg_num == 1 &&
           !(mo_path_ends_with(text, ".safetensors") && strcmp(text, o->words.items[1]) == 0);
}

static error_t take_data_option(int key, char *text, struct argp_state *state) {
    data_options *o = state->input;
    note_given(&o->given, key);
    if (take_expand(key, text, state))
        return 0;
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
    case ARGP_KEY_ARG:
        append_name(&o->words, is_written(o, text, state) ? take_output(state, "OUT", text, CONVERTED) : text);
        break;
    case ARGP_KEY_END:
        check_words(o, state);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

bool open_data_folder(mo_context *ctx, char *folder, size_t bytes) {
    if (mo_data_folder(folder, bytes))
        return true;
    mo_fail(ctx, MO_IO, NO_DATA_FOLDER);
    return false;
}

int data_info(mo_context *ctx, const data_options *o) {
    int code = EXIT_FINE;
    manifest *m = manifest_read(ctx, o->manifest);
    if (!m)
        return report_failure(ctx);
    for (int i = 1; i < o->words.count; i++) /* goes on after a bad file */
        if (!describe_data(ctx, o->words.items[i], m, o->json)) {
            code = report_failure(ctx);
            mo_clear_error(ctx);
        }
    manifest_release(m);
    return code;
}

/* Writes the tensors and metadata of a file in the form of this version. */
static void convert_tensors(mo_context *ctx, const char *from, const char *to) {
    mo_arrays *arrays = mo_safetensors_read(ctx, from);
    if (arrays)
        mo_safetensors_write(arrays, arrays->metadata, to);
    mo_arrays_release(arrays);
}

static void convert_graph(mo_context *ctx, const char *from, const char *to) {
    mo_graph *graph = mo_graph_open(ctx, from);
    print_left_out(graph);
    if (graph)
        mo_graph_write(graph, to);
    mo_graph_release(graph);
}

int data_convert(mo_context *ctx, const data_options *o) {
    const char *from = o->words.items[1], *to = o->words.items[2], *ending = strrchr(to, '.');
    (ending && !strcmp(ending, ".safetensors") ? convert_tensors : convert_graph)(ctx, from, to);
    return mo_ok(ctx) ? EXIT_FINE : report_failure(ctx);
}

/* Becomes get.py, which asks this program what the files are that it brings. Returns only where it cannot. */
static int get_by_python(int argc, char **argv) {
    char script[PATH_MAX], folder[PATH_MAX], own[PATH_MAX];
    char **words = needed(calloc((size_t)argc + 4, sizeof *words));
    ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
    if (!mo_data_file("get.py", script, sizeof script) &&
        !mo_data_file("../../tools/data/get.py", script, sizeof script)) {
        fputs("mochi: get.py: not found among the files of the program\n", stderr);
    } else if (!mo_data_folder(folder, sizeof folder)) {
        fputs("mochi: " NO_DATA_FOLDER "\n", stderr);
    } else {
        own[n > 0 ? n : 0] = '\0';
        setenv("MOCHI_PROGRAM", n > 0 ? own : "mochi", 1);
        setenv("MOCHI_DATA", folder, 1);
        words[0] = "python3";
        words[1] = "-B";
        words[2] = script;
        for (int i = 1; i < argc; i++)
            words[2 + i] = argv[i];
        execvp("python3", words);
        fprintf(stderr, "mochi: data get: expected python3, found none: %s\n", strerror(errno));
    }
    free(words);
    return EXIT_FAILED;
}

/* Returns the action's number; -1, after one line, if there is no such action. `mochi data --help` ends here. */
static int choose_action(int argc, char **argv) {
    static const struct argp general = {.args_doc = "ACTION [OPTION...]", .doc = description};
    for (int i = 0; argc > 1 && i < ACTIONS; i++)
        if (!strcmp(argv[1], actions[i].name))
            return i;
    if (argc > 1 && argv[1][0] == '-')
        parse_options(&general, 2, argv, NULL);
    fprintf(stderr, "mochi data: expected list, info, get, verify, convert or cache%s%s\n",
        argc > 1 ? ", found " : " behind it", argc > 1 ? make_printable(argv[1]) : "");
    return -1;
}

int data_command(int argc, char **argv) {
    char full_name[32] = "mochi data cache";
    if (argc > 1 && !strcmp(argv[1], "cache")) {
        argv[1] = full_name;
        return data_cache_command(argc - 1, argv + 1);
    }
    if (argc > 1 && !strcmp(argv[1], "get"))
        return get_by_python(argc - 1, argv + 1);
    int action = choose_action(argc, argv);
    if (action < 0)
        return EXIT_USAGE;
    const struct action *a = &actions[action];
    struct argp argp = {
        .options = a->options, .parser = take_data_option, .args_doc = a->arguments, .doc = a->description};
    data_options o = {.action = action};
    o.given = (given_options){.table = a->options, .command = a->full_name};
    append_name(&o.words, a->name);
    snprintf(full_name, sizeof full_name, "%s", a->full_name);
    argv[1] = full_name; /* what argp calls the program in help and errors */
    parse_options(&argp, argc - 1, argv + 1, &o);
    mo_context *ctx = open_context(1);
    int code = ctx ? a->run(ctx, &o) : EXIT_FAILED;
    mo_context_release(ctx);
    free_names(&o.words);
    return code;
}
