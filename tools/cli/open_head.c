/* tools/cli/open_head.c - finds the head that an option names, in the library or in a user's shared object; also opens
 * a user's encoder. */
#include "tools/cli/command.h"

#include <stdio.h>
#include <string.h>

static bool is_file(const char *text) {
    size_t n = strlen(text);
    return strchr(text, '/') || (n > 3 && !strcmp(text + n - 3, ".so"));
}

/* Writes the names of all heads into text: "a, b, c". */
static void list_heads(char *text, size_t bytes) {
    const mo_head *head;
    size_t used = 0;
    for (int i = 0; (head = mo_head_at(i)) && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%s", i ? ", " : "", head->name);
}

char *name_heads(int key, const char *text, void *input) {
    char names[1024], *filled;
    const char *mark = text ? strstr(text, HEADS) : NULL;
    (void)key;
    (void)input;
    list_heads(names, sizeof names);
    if (mark && asprintf(&filled, "%.*s%s%s", (int)(mark - text), text, names, mark + strlen(HEADS)) > 0)
        return filled; /* argp frees it */
    return (char *)text;
}

/* Writes what may have been meant by a name that is no head's; nothing if that is unknown. */
static void hint_at_head(const char *text, char *hint, size_t bytes) {
    const char *known[32], *near;
    int n = 0;
    for (; n < 32 && mo_head_at(n); n++)
        known[n] = mo_head_at(n)->name;
    *hint = 0;
    if (!strcmp(text, "prototype"))
        snprintf(hint, bytes, " (prototype_euclidean takes distances to class means, prototype_inner inner products)");
    else if (!strcmp(text, "knn"))
        snprintf(hint, bytes, " (the nearest neighbours are a baseline of `mochi readouts` alone)");
    else if ((near = nearest_name(text, known, n)))
        snprintf(hint, bytes, "; did you mean '%s'", near);
}

const mo_head *open_head(const char *text, char *why, size_t bytes) {
    const mo_head *head = NULL;
    if (is_file(text)) {
        mo_context *ctx = mo_context_create(&(mo_context_options){.threads = 1, .debug = debug_mode()});
        head = ctx ? mo_load_head(ctx, text) : NULL;
        if (!head)
            snprintf(why, bytes, "%s", ctx ? mo_context_status(ctx)->message : "out of memory");
        mo_context_release(ctx);
    } else if (!(head = mo_find_head(text))) {
        char names[1024], hint[160];
        list_heads(names, sizeof names);
        hint_at_head(text, hint, sizeof hint);
        snprintf(why, bytes, "no head named '%.80s'%s; there are %s, or FILE.so", text, hint, names);
    }
    return head;
}

const mo_head *parse_head(const struct argp_state *state, const char *text) {
    char why[1400];
    const mo_head *head = open_head(text, why, sizeof why);
    if (!head)
        refuse_command_line(state, is_file(text) ? EXIT_FAILED : EXIT_USAGE, "%s", why);
    return head;
}

const mo_encoder *open_encoder(const char *text, char *why, size_t bytes) {
    if (!is_file(text)) {
        snprintf(why, bytes, "no encoder named '%.80s'; expected FILE.so (`mochi new encoder NAME` writes one)", text);
        return NULL;
    }
    mo_context *ctx = mo_context_create(&(mo_context_options){.threads = 1, .debug = debug_mode()});
    const mo_encoder *encoder = ctx ? mo_load_encoder(ctx, text) : NULL;
    if (!encoder)
        snprintf(why, bytes, "%s", ctx ? mo_context_status(ctx)->message : "out of memory");
    mo_context_release(ctx);
    return encoder;
}

const mo_encoder *parse_encoder(const struct argp_state *state, const char *text) {
    char why[1400];
    const mo_encoder *encoder = open_encoder(text, why, sizeof why);
    if (!encoder)
        refuse_command_line(state, is_file(text) ? EXIT_FAILED : EXIT_USAGE, "%s", why);
    return encoder;
}
