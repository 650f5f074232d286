/* tools/new.c - `mochi new head|encoder|op NAME`: writes a plug-in to start from, a renamed example (tools/examples):
 * built as a shared object it is the plug-in, built as a program it tests itself. */
#include "tools/cli/input.h"
#include "tools/cli/memory.h"
#include "tools/cli/options.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A kind of plug-in: its example, the example's name inside the library, and a first use of the plug-in NAME.so. */
typedef struct kind {
    const char *name, *example, *plugin, *libraries, *use;
} kind;

static const kind kinds[] = {
    {"head", "custom_head", "log_cosh", "", "  mochi eval --data cora --task nc --shots 4,16 --head ridge,./%s.so\n"},
    {"encoder", "custom_encoder", "mixed_hops", "",
        "  mochi train --encoder ./%s.so --pool cora,photo --out runs/%s\n"},
    {"op", "custom_op", "lorentzian", " -lm", ""}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const char description[] =
    "Writes a head, an encoder or an op of your own to start from: NAME.c, a shared object or, with its test, a "
    "program. The code compiles, and passes `mochi gradcheck`, as it stands; no file is overwritten.\v"
    "Examples:\n"
    "  mochi new head my_head\n"
    "  mochi new encoder my_encoder\n"
    "  mochi new op my_op";

typedef struct new_options {
    const char *word, *name;
    const kind *kind;
} new_options;

static bool is_identifier(const char *name) {
    bool fine = isalpha((unsigned char)*name) && strlen(name) <= 40;
    for (; *name; name++)
        fine &= isalnum((unsigned char)*name) || *name == '_';
    return fine;
}

static void take_new_word(void *options, const char *word, const struct argp_state *state) {
    new_options *o = options;
    if (o->name)
        usage_error(state, "arguments", "head|encoder|op NAME and no more", word);
    *(o->word ? &o->name : &o->word) = word;
}

static void check_new_words(void *options, const struct argp_state *state) {
    new_options *o = options;
    for (int i = 0; o->word && i < KINDS; i++)
        if (!strcmp(kinds[i].name, o->word))
            o->kind = &kinds[i];
    if (!o->name)
        refuse_command_line(state, EXIT_USAGE, "expected what to write, and its name: mochi new head my_head");
    else if (!o->kind)
        usage_error(state, "kind", "head, encoder or op", o->word);
    else if (!is_identifier(o->name))
        usage_error(state, "NAME", "at most 40 letters, digits and _, a letter first", o->name);
}

const command_line new_line = {.table = (const option[]){{OPTION_END}},
    .words = "head|encoder|op NAME",
    .about = description,
    .take_word = take_new_word,
    .end = check_new_words};

/* Copies the example to a new file and replaces the names of the example and its plug-in by `name`. */
static void write_example(mo_context *ctx, const char *file, const new_options *o) {
    char example[64], path[PATH_MAX], *all;
    size_t n, bytes;
    snprintf(example, sizeof example, "%s.c", o->kind->example);
    bool found = mo_data_file(example, path, sizeof path);
    snprintf(example, sizeof example, "../../tools/examples/%s.c", o->kind->example);
    found = found || mo_data_file(example, path, sizeof path);
    char *text = found ? read_text_file(path, &n) : NULL;
    if (!text) {
        mo_fail(ctx, MO_IO, "%s: expected an example among the files of the program: %s", o->kind->example,
            strerror(found ? errno : ENOENT));
        return;
    }
    FILE *out = open_text(&all, &bytes);
    for (const char *at = text; *at;) {
        const char *words[] = {o->kind->example, o->kind->plugin}, *word = NULL;
        for (int i = 0; i < 2; i++)
            if (!strncmp(at, words[i], strlen(words[i])))
                word = words[i];
        fprintf(out, "%.*s", word ? INT_MAX : 1, word ? o->name : at);
        at += word ? strlen(word) : 1;
    }
    close_text(out, &all);
    mo_file_replace(ctx, file, all, bytes);
    free(all);
    free(text);
}

int new_command(int argc, char **argv) {
    new_options o = {0};
    read_command_line(&new_line, argc, argv, &o, &(given_options){0});
    char file[64];
    snprintf(file, sizeof file, "%s.c", o.name);
    if (access(file, F_OK) == 0) {
        fprintf(stderr, "mochi: %s is there already\n", file);
        return EXIT_FAILED;
    }
    mo_context *ctx = open_context(1);
    if (!ctx)
        return EXIT_FAILED;
    write_example(ctx, file, &o);
    const char *libraries = o.kind->libraries;
    if (mo_ok(ctx)) {
        printf("%s written; build and check it (pkg-config finds the library once it is installed: meson install -C "
               "build; in a prefix of your own, put LIBDIR/pkgconfig into PKG_CONFIG_PATH and LIBDIR into "
               "LD_LIBRARY_PATH, LIBDIR: the folder of libmochi.so):\n"
               "  cc -shared -fPIC %s $(pkg-config --cflags --libs mochi)%s -o %s.so\n"
               "  mochi gradcheck --%s ./%s.so\n"
               "  cc %s $(pkg-config --cflags --libs mochi)%s -o %s && ./%s\n",
            file, file, libraries, o.name, o.kind->name, o.name, file, libraries, o.name, o.name);
        printf(o.kind->use, o.name, o.name);
    }
    int code = mo_ok(ctx) ? EXIT_FINE : report_failure(ctx);
    mo_context_release(ctx);
    return code;
}
