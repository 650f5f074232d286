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

#define AT(field) offsetof(data_options, field)
#define JSON JSON_OPTION(data_options, json, "one JSON object a line on standard output")
#define CONVERTED ".npz or .safetensors"

static void take_data_word(void *options, const char *word, const struct argp_state *state) {
    (void)state;
    append_name(&((data_options *)options)->words, word);
}

static void refuse_words(const data_options *o, const struct argp_state *state, int fewest, int most, const char *use) {
    int n = o->words.count;
    if (n < fewest || n > most)
        refuse_command_line(state, EXIT_USAGE, "expected `mochi data %s`, found %d words behind it", use, n);
}

static void check_list(void *options, const struct argp_state *state) {
    refuse_words(options, state, 0, 0, "list");
}

static void check_info(void *options, const struct argp_state *state) {
    refuse_words(options, state, 1, INT_MAX, "info NAME|PATH...");
}

/* The second word is a file to write; tensors are converted in place too: the new file holds all that the old one does.
 */
static void take_convert_word(void *options, const char *word, const struct argp_state *state) {
    names *words = &((data_options *)options)->words;
    bool in_place = words->count == 1 && mo_path_ends_with(word, ".safetensors") && !strcmp(word, words->items[0]);
    append_name(words, words->count == 1 && !in_place ? take_output(state, "OUT", word, CONVERTED) : word);
}

static void check_convert(void *options, const struct argp_state *state) {
    refuse_words(options, state, 2, 2, "convert NAME|PATH OUT.npz|OUT.safetensors");
}

const command_line data_list_line = {
    .table = (const option[]){JSON,
        {OPTION_FLAG, "all", NULL, AT(all), "also the data sets of the paper that are not there, with their licence"},
        {OPTION_END}},
    .words = "",
    .about = "Lists the graphs that every command knows by name: those that come with the program, and those in the "
             "data folder ($MOCHI_DATA, else mochi/ in ~/.local/share).\v"
             "Example:\n  mochi data list --all",
    .take_word = take_data_word,
    .end = check_list};

static const option described[] = {JSON, EXPAND_OPTION, {OPTION_END}};

const command_line data_info_line = {.table = described,
    .words = "NAME|PATH...",
    .about =
        "Says what a graph or file holds: any name of `mochi data list`, a graph as .npz, GML, TU folder, adjacency "
        "list, edge list, interaction lists (train.txt), or a folder of features.npy, edges.txt and, if there, "
        "labels.npy or labels.txt; an array (.npy, .npz), weights (.safetensors). Of a data set of the manifest also "
        "licence, citation and the counts it must have.\v"
        "Examples:\n  mochi data info cora\n  mochi data info runs/a/weights.safetensors Z.npy --json",
    .take_word = take_data_word,
    .end = check_info};

const command_line data_verify_line = {.table = described,
    .words = "[NAME...]",
    .about = "Compares files of the data folder with the manifest: by SHA-256, then what a loader finds.\v"
             "Example:\n  mochi data verify",
    .take_word = take_data_word};

const command_line data_convert_line = {.table = (const option[]){EXPAND_OPTION, {OPTION_END}},
    .words = "NAME|PATH OUT.npz|OUT.safetensors",
    .about = "Writes any graph that `mochi data info` describes as .npz. Weights and checkpoints of older versions, "
             "which lack digests of their tensors, get them.\v"
             "Examples:\n  mochi data convert football.gml football.npz\n"
             "  mochi data convert runs/a/weights.safetensors runs/a/weights.safetensors",
    .take_word = take_convert_word,
    .end = check_convert};

static const struct action {
    const char *name, *full_name;
    const command_line *line;
    int (*run)(mo_context *ctx, const data_options *o);
} actions[] = {
    {"list", "mochi data list", &data_list_line, data_list},
    {"info", "mochi data info", &data_info_line, data_info},
    {"verify", "mochi data verify", &data_verify_line, data_verify},
    {"convert", "mochi data convert", &data_convert_line, data_convert},
};
enum { ACTIONS = sizeof actions / sizeof *actions };

#define NO_DATA_FOLDER "data folder: expected MOCHI_DATA or HOME to name it, found neither"

const command_line data_line = {.table = (const option[]){{OPTION_END}},
    .words = "list|info|get|verify|convert|cache [OPTION...]",
    .about = "Which graphs there are, what they hold, and how to get, check and convert them.\v"
             "  list     the graphs that every command knows by name\n"
             "  info     what a graph or file holds\n"
             "  get      download data sets of the paper, verified\n"
             "  verify   compare the data folder with the manifest\n"
             "  convert  write a graph as .npz, older weights in today's form\n"
             "  cache    the features that are kept\n\n"
             "mochi data ACTION --help has the options of an action, with examples."};

bool open_data_folder(mo_context *ctx, char *folder, size_t bytes) {
    if (mo_data_folder(folder, bytes))
        return true;
    mo_fail(ctx, MO_IO, NO_DATA_FOLDER);
    return false;
}

int data_info(mo_context *ctx, const data_options *o) {
    int code = EXIT_FINE;
    json_t *m = manifest_read(ctx);
    if (!m)
        return report_failure(ctx);
    for (int i = 0; i < o->words.count; i++) /* goes on after a bad file */
        if (!describe_data(ctx, o->words.items[i], m, o->json)) {
            code = report_failure(ctx);
            mo_clear_error(ctx);
        }
    json_decref(m);
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
    const char *from = o->words.items[0], *to = o->words.items[1], *ending = strrchr(to, '.');
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
    for (int i = 0; argc > 1 && i < ACTIONS; i++)
        if (!strcmp(argv[1], actions[i].name))
            return i;
    if (argc > 1 && argv[1][0] == '-')
        read_command_line(&data_line, 2, argv, NULL, &(given_options){0});
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
    data_options o = {0};
    snprintf(full_name, sizeof full_name, "%s", a->full_name);
    argv[1] = full_name; /* what argp calls the program in help and errors */
    read_command_line(a->line, argc - 1, argv + 1, &o, &(given_options){0});
    mo_context *ctx = open_context(1);
    int code = ctx ? a->run(ctx, &o) : EXIT_FAILED;
    mo_context_release(ctx);
    free_names(&o.words);
    return code;
}
