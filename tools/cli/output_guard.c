/* tools/cli/output_guard.c - checks the files that a command line asks to write, before any computation: each needs a
 * suffix that the command can write and an existing folder, and the command must not also read it or write it twice. */
#include "tools/cli/command.h"
#include "tools/cli/memory.h"
#include "tools/ranks/ranks.h"

#include <errno.h>
#include <limits.h>
#include <stb/stb_ds.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct output {
    const char *option, *word; /* the option's name; its value as given */
    char *path;                /* the file, after following symbolic links */
    const char *name;          /* the last part of path, within `folder` */
    struct stat folder, file;
    bool exists, is_folder; /* is_folder: the output is a folder */
} output;

enum { MOST_OUTPUTS = 8 };
static output outputs[MOST_OUTPUTS]; /* global, as a process runs one command */
static int n_outputs;
static const char **inputs; /* stb_ds array of words */

void note_input(const char *word) {
    arrput(inputs, word);
}

/* Whether a path ends in one of the suffixes that forms lists: ".csv, .tsv or .npy". */
static bool has_form(const char *path, const char *forms) {
    char ending[32];
    for (const char *at = strchr(forms, '.'); at; at = strchr(at + 1, '.')) {
        snprintf(ending, sizeof ending, "%.*s", (int)strcspn(at, ", "), at);
        if (mo_path_ends_with(path, ending))
            return true;
    }
    return false;
}

const char *take_output(const struct argp_state *state, const char *option, const char *text, const char *forms) {
    struct stat st;
    int i = 0;
    if (forms && !has_form(text, forms))
        refuse_command_line(state, EXIT_USAGE, "%s: expected a file %s, found '%s'", option, forms, text);
    bool link = lstat(text, &st) == 0 && S_ISLNK(st.st_mode);
    char *target = link ? realpath(text, NULL) : NULL;
    if (link && !target)
        refuse_command_line(
            state, EXIT_FAILED, "%s: '%s': cannot follow the symbolic link: %s", option, text, strerror(errno));
    while (i < n_outputs && strcmp(outputs[i].option, option) != 0) /* an option given again replaces its output */
        i++;
    if (i == MOST_OUTPUTS)
        abort(); /* no command has that many output options */
    n_outputs += i == n_outputs;
    outputs[i] =
        (output){.option = option, .word = text, .path = target ? target : needed(strdup(text)), .is_folder = !forms};
    for (size_t n = strlen(text); !forms && !link && n > 1 && text[n - 1] == '/'; n--)
        outputs[i].path[n - 1] = '\0';
    return outputs[i].path;
}

/* Finds the output's folder and whether the file exists. Returns why it cannot be written; NULL if it can. */
static const char *find_output(output *o) {
    char folder[PATH_MAX];
    const char *slash = strrchr(o->path, '/');
    o->name = slash ? slash + 1 : o->path;
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - o->path) + 1 : 1, slash ? o->path : ".");
    o->exists = stat(o->path, &o->file) == 0;
    if (!o->exists && errno == ENAMETOOLONG)
        return "cannot write";
    if (stat(folder, &o->folder) != 0)
        return "cannot open its folder";
    errno = 0;
    if (o->exists && o->is_folder && !S_ISDIR(o->file.st_mode))
        return "expected a folder or nothing, found a file";
    if (o->exists && !o->is_folder && !S_ISREG(o->file.st_mode))
        return "expected a file or nothing, found a folder, device, pipe or socket";
    if (access(o->exists ? o->path : folder, W_OK) != 0)
        return o->exists ? "cannot write" : "cannot write into its folder";
    return NULL;
}

static bool is_same(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Whether a file of this name is read as part of a graph's folder (train/FORMATS.md). The other formats of folders have
 * file names with suffixes that no output has. */
static bool is_read_in_folder(const char *name) {
    static const char *const stems[] = {"edges", "features", "labels", "names", "nodes"};
    size_t n = strcspn(name, ".");
    for (size_t i = 0; i < sizeof stems / sizeof *stems; i++)
        if (n == strlen(stems[i]) && strncmp(name, stems[i], n) == 0)
            return true;
    return false;
}

/* Whether path names the output itself, or a graph's folder that the output is a part of. "-" is standard input, which
 * can be the output by "< file". */
static bool is_at(const output *o, const char *path) {
    struct stat st;
    if (!o->exists || (strcmp(path, "-") ? stat(path, &st) : fstat(STDIN_FILENO, &st)) != 0)
        return false;
    return S_ISDIR(st.st_mode) ? is_same(&st, &o->folder) && is_read_in_folder(o->name) : is_same(&st, &o->file);
}

/* Whether a word names the output, as a path or as the name of a graph that is stored there. */
static bool is_of_word(const output *o, const char *word) {
    char path[PATH_MAX];
    return is_at(o, word) || (mo_graph_locate(word, path, sizeof path) && is_at(o, path));
}

/* Whether a word, one part of a list (a,b), or FILE in FILE:NAME names the output. */
static bool is_of_list(const output *o, const char *word) {
    char *copy = needed(strdup(word)), *rest = copy, *part;
    bool found = is_of_word(o, word);
    while (!found && (part = strsep(&rest, ","))) {
        char *colon = strrchr(part, ':');
        found = is_of_word(o, part);
        if (colon && !found) {
            *colon = '\0';
            found = is_of_word(o, part);
        }
    }
    free(copy);
    return found;
}

/* Ends the program because `word` reads or writes the output too. */
static _Noreturn void refuse_output(const output *o, const char *command, const char *word) {
    fprintf(stderr, "%s: %s: expected another file than %s, which would be lost, found '%s'\n", command, o->option,
        strcmp(word, "-") ? word : "standard input", o->word);
    exit(EXIT_USAGE);
}

static bool is_output(const char *value) {
    for (int i = 0; i < n_outputs; i++)
        if (outputs[i].word == value)
            return true;
    return false;
}

void check_outputs(const char *command) {
    for (int i = 0; i < n_outputs; i++) {
        output *o = &outputs[i];
        const char *why = find_output(o);
        if (why && ranks_global() == 0) { /* only rank 0 writes */
            fprintf(stderr, "%s: %s: '%s': %s%s%s\n", command, o->option, o->word, why, errno ? ": " : "",
                errno ? strerror(errno) : "");
            exit(EXIT_FAILED);
        }
        for (const output *p = outputs; p < o; p++)
            if ((is_same(&o->folder, &p->folder) && strcmp(o->name, p->name) == 0) ||
                (o->exists && p->exists && is_same(&o->file, &p->file)))
                refuse_output(o, command, p->word);
        for (int k = 0; o->exists && k < arrlen(inputs); k++)
            if (!is_output(inputs[k]) && is_of_list(o, inputs[k]))
                refuse_output(o, command, inputs[k]);
    }
}
