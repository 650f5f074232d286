/* tools/data/data.c - `mochi data`: lists, describes and converts graphs; downloads.py gets and verifies
 * them. */
#include "tools/data/data.h"

#include "tensor/platform.h"
#include "tools/cli/input.h"
#include "tools/cli/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* ---- options ---- */

#define AT(field) offsetof(data_options, field)
#define JSON JSON_OPTION(data_options, json, "one JSON object per line on standard output")

static void take_data_word(void *options, const char *word, const struct argp_state *state) {
    (void)state;
    append_name(&((data_options *)options)->words, word);
}

/* Takes the command's second word as a file to write. Tensors can be converted in place, as the new file keeps
 * everything that the old one held. */
static void take_convert_word(void *options, const char *word, const struct argp_state *state) {
    names *words = &((data_options *)options)->words;
    bool in_place = words->count == 1 && mo_path_ends_with(word, ".safetensors") && !strcmp(word, words->items[0]);
    append_name(words, words->count == 1 && !in_place ? take_output(state, "OUT", word, ".npz or .safetensors") : word);
}

const command_line data_list_line = {
    .table = (const option[]){JSON,
        {OPTION_FLAG, "all", NULL, AT(all),
            "also list the paper's data sets that are not installed, with their licences"},
        {OPTION_END}},
    .words = "",
    .about = "Lists the graphs that every command knows by name: those that come with the program, and those in the "
             "data folder ($MOCHI_DATA, else mochi/ in ~/.local/share).\v"
             "Example:\n  mochi data list --all",
    .take_word = take_data_word};

static const option described[] = {JSON, EXPAND_OPTION, {OPTION_END}};

const command_line data_info_line = {.table = described,
    .words = "NAME|PATH...",
    .about =
        "Describes a graph or a file: a name of `mochi data list`; a graph as .npz, TU folder, edge list, or a "
        "folder of edges.csv (or .txt), features.csv (or .npy) and, "
        "optionally, labels.csv (or .npy, .txt); an array (.npy, .npz); or weights (.safetensors). Of the features of "
        "a TU set, the first columns are its attributes. For a data set of the manifest also prints the licence, the "
        "citation and the expected counts.\vExamples:\n"
        "  mochi data info cora\n"
        "  mochi data info runs/a/weights.safetensors Z.npy --json",
    .take_word = take_data_word};

const command_line data_convert_line = {.table = (const option[]){EXPAND_OPTION, {OPTION_END}},
    .words = "NAME|PATH OUT.npz|OUT.safetensors",
    .about = "Writes any graph that `mochi data info` can read as .npz. Adds digests of the tensors to weights and "
             "checkpoints that another program wrote.\vExamples:\n"
             "  mochi data convert tu/MUTAG mutag.npz\n"
             "  mochi data convert runs/a/weights.safetensors runs/a/weights.safetensors",
    .take_word = take_convert_word};

static const struct {
    const char *name;
    const command_line *line;
    data_action *run;
    int fewest, most; /* numbers of words */
} actions[] = {{"list", &data_list_line, data_list, 0, 0}, {"info", &data_info_line, data_info, 1, INT_MAX},
    {"convert", &data_convert_line, data_convert, 2, 2}};

const command_line data_line = {.table = (const option[]){{OPTION_END}},
    .words = "list|info|get|verify|convert [OPTION...]",
    .about = "Lists, describes, downloads, verifies and converts graphs.\v"
             "  list     list the graphs that every command knows by name\n  info     describe a graph or a file\n"
             "  get      download data sets of the paper and verify them\n"
             "  verify   compare the data folder with the manifest\n"
             "  convert  write a graph as .npz, or add digests to weights\n\n"
             "mochi data ACTION --help has the options of an action, with examples."};

/* ---- the manifest ---- */

static json_t *read_manifest(mo_context *ctx) {
    char path[PATH_MAX];
    json_error_t error;
    if (!mo_data_file("manifest.json", path, sizeof path)) {
        mo_fail(ctx, MO_IO, "manifest.json: not found among the files of the program");
        return NULL;
    }
    json_t *root = read_json_file(path, JSON_REJECT_DUPLICATES, &error);
    json_t *list = json_incref(json_object_get(root, "datasets"));
    if (!json_is_array(list))
        mo_fail(ctx, MO_FORMAT, "%s:%d: expected a manifest: %s", path, root ? 1 : error.line,
            root ? "no list \"datasets\"" : error.text);
    json_decref(root);
    return list;
}

const char *text_of(const json_t *o, const char *key) {
    return json_string_value(json_object_get(o, key));
}

const json_t *manifest_find(const json_t *manifest, const char *name) {
    size_t i;
    json_t *entry;
    json_array_foreach(manifest, i, entry) if (!strcasecmp(text_of(entry, "name"), name)) return entry;
    return NULL;
}

/* ---- list ---- */

/* Appends an object for an installed graph to the list. */
static void keep_graph(const char *name, const char *path, bool embedded, void *list) {
    json_array_append_new(list, json_pack("{s:s, s:s, s:b}", "name", name, "path", path, "embedded", embedded));
}

const char *trust_of(const json_t *e) {
    bool any = false, all = true;
    size_t i;
    json_t *f;
    json_array_foreach(json_object_get(e, "files"), i, f) {
        bool url = text_of(f, "url");
        any |= url;
        all &= !url || (text_of(f, "sha256") && !text_of(f, "member"));
    }
    return !any ? "by hand" : all ? "verified" : "unverified";
}

/* Prints an entry of the manifest. `here`: the object of the installed graph; NULL: not installed. */
static void print_entry(const json_t *e, const json_t *here, bool json) {
    const char *where = !here ? "-" : json_is_true(json_object_get(here, "embedded")) ? "embedded" : "here";
    json_t *paper = json_object_get(e, "paper");
    if (json) {
        print_json(json_pack("{s:s, s:s, s:s, s:O?, s:s, s:O?, s:s, s:s?}", "name", text_of(e, "name"), "state", where,
            "download", trust_of(e), "paper", paper, "licence", text_of(e, "licence"), "cite",
            json_object_get(e, "cite"), "page", text_of(e, "page"), "note", text_of(e, "note")));
        return;
    }
    int column = printf("%-16s %-9s %-11s ", text_of(e, "name"), where, trust_of(e)), width = column + 29;
    for (size_t i = 0; i < json_array_size(paper); i++)
        column += printf("%s%s", i ? ", " : "", json_string_value(json_array_get(paper, i)));
    printf("%*s%s\n", column < width ? width - column : 1, "", text_of(e, "licence"));
}

bool data_list(mo_context *ctx, const data_options *o, const json_t *m) {
    json_t *graphs = json_array(), *x;
    size_t i;
    mo_graph_list(ctx, keep_graph, graphs);
    if (o->all)
        json_array_foreach(m, i, x) print_entry(x, manifest_find(graphs, text_of(x, "name")), o->json);
    else
        json_array_foreach(graphs, i, x) {
            if (o->json)
                print_json(json_incref(x));
            else
                printf("%-16s %-9s %s\n", text_of(x, "name"),
                    json_is_true(json_object_get(x, "embedded")) ? "embedded" : "", text_of(x, "path"));
        }
    json_decref(graphs);
    return mo_ok(ctx);
}

/* ---- convert ---- */

bool data_convert(mo_context *ctx, const data_options *o, const json_t *m) {
    const char *from = o->words.items[0], *to = o->words.items[1];
    (void)m;
    if (mo_path_ends_with(to, ".safetensors")) { /* rewrites tensors and their metadata in the current format */
        mo_arrays *arrays = mo_safetensors_read(ctx, from);
        if (arrays)
            mo_safetensors_write(arrays, arrays->metadata, to);
        mo_arrays_release(arrays);
        return mo_ok(ctx);
    }
    mo_graph *graph = mo_graph_open(ctx, from);
    print_left_out(graph);
    if (graph)
        mo_graph_write(graph, to);
    mo_graph_release(graph);
    return mo_ok(ctx);
}

/* ---- the command ---- */

/* Replaces this process by downloads.py, which calls this program to count what is in the files. Returns only on
 * failure. */
static int run_downloads(int argc, char **argv) {
    char script[PATH_MAX], folder[PATH_MAX], own[PATH_MAX];
    char **words = needed(calloc((size_t)argc + 4, sizeof *words));
    if (!mo_program_path(own, sizeof own))
        strcpy(own, "mochi");
    if (!mo_data_file("downloads.py", script, sizeof script) &&
        !mo_data_file("../../tools/data/downloads.py", script, sizeof script)) {
        fputs("mochi: downloads.py: not found among the files of the program\n", stderr);
    } else if (!mo_data_folder(folder, sizeof folder)) {
        fputs("mochi: data folder: expected MOCHI_DATA or HOME to name it, found neither\n", stderr);
    } else {
        setenv("MOCHI_PROGRAM", own, 1);
        setenv("MOCHI_DATA", folder, 1);
        memcpy(words, (char *[]){"python3", "-B", script}, 3 * sizeof *words);
        memcpy(words + 3, argv, (size_t)argc * sizeof *words);
        execvp("python3", words);
        fprintf(stderr, "mochi: data %s: expected python3, found none: %s\n", argv[0], strerror(errno));
    }
    free(words);
    return EXIT_FAILED;
}

bool went_well(mo_context *ctx) {
    if (mo_ok(ctx))
        return true;
    report_failure(ctx);
    mo_clear_error(ctx);
    return false;
}

int data_command(int argc, char **argv) {
    char full_name[32];
    data_options o = {0};
    const char *name = argc > 1 ? argv[1] : "";
    size_t a = 0;
    if (!strcmp(name, "get") || !strcmp(name, "verify"))
        return run_downloads(argc - 1, argv + 1);
    while (a < sizeof actions / sizeof *actions && strcmp(name, actions[a].name) != 0)
        a++;
    if (a == sizeof actions / sizeof *actions) {
        if (*name == '-') /* an option, not an action: --help ends the program here */
            read_command_line(&data_line, 2, argv, NULL, &(given_options){0});
        fprintf(stderr, "mochi data: expected list, info, get, verify or convert%s%s\n",
            *name ? ", found " : " behind it", argc > 1 ? make_printable(argv[1]) : "");
        return EXIT_USAGE;
    }
    snprintf(full_name, sizeof full_name, "mochi data %s", name);
    argv[1] = full_name; /* argp prints it as the program's name in help and errors */
    read_command_line(actions[a].line, argc - 1, argv + 1, &o, &(given_options){0});
    if (o.words.count < actions[a].fewest || o.words.count > actions[a].most) {
        const char *words = actions[a].line->words;
        fprintf(stderr, "%s: expected `%s%s%s`, found %d words after it\n", full_name, full_name, *words ? " " : "",
            words, o.words.count);
        free_names(&o.words);
        return EXIT_USAGE;
    }
    mo_context *ctx = open_context(1);
    bool asks = actions[a].run == data_info || o.all; /* needs the manifest */
    json_t *m = ctx && asks ? read_manifest(ctx) : NULL;
    bool fine = ctx && (m || !asks) && actions[a].run(ctx, &o, m);
    fine = ctx && went_well(ctx) && fine;
    json_decref(m);
    mo_context_release(ctx);
    free_names(&o.words);
    return fine ? EXIT_FINE : EXIT_FAILED;
}
