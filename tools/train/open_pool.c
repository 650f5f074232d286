/* tools/train/open_pool.c - opens the argument of --pool: graphs, the name of a pool that comes with the program, or a
 * pool file. */
#include "tools/cli/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns whether all graphs of a pool are installed; if not, writes one line to `why` that names the missing ones. */
static bool all_there(const char *text, const mo_pool_file *file, char *why, size_t bytes) {
    int absent = 0;
    size_t used = 0;
    char missing[600] = "";
    for (int i = 0; i < file->n; i++) {
        size_t length = strcspn(file->graph[i], ":@");
        char *name = strndup(file->graph[i], length);
        if (name && !mo_graph_exists(name)) {
            absent++;
            if (used < sizeof missing)
                used += (size_t)snprintf(missing + used, sizeof missing - used, " %s", name);
        }
        free(name);
    }
    if (absent)
        snprintf(why, bytes, "pool %.200s: %d of %d graphs are not there (set MOCHI_DATA):%s", text, absent, file->n,
            missing);
    return !absent;
}

static void take_file(const mo_pool_file *file, pool_choice *choice) {
    free_names(&choice->graphs);
    for (int i = 0; i < file->n; i++)
        append_name(&choice->graphs, file->graph[i]);
    choice->link_share = file->link_share;
    memcpy(choice->family, file->family, sizeof choice->family);
}

void parse_pool(const struct argp_state *state, const char *option, const char *text, pool_choice *choice) {
    char why[1100] = "";
    *choice = (pool_choice){.family = {1, 1, 1}};
    if (!mo_is_pool_file(text)) {
        choice->graphs = parse_names(state, option, text);
        return;
    }
    mo_context *ctx = mo_context_create(&(mo_context_options){.threads = 1});
    mo_pool_file *file = ctx ? mo_pool_file_read(ctx, text) : NULL;
    if (file && all_there(text, file, why, sizeof why))
        take_file(file, choice);
    else if (!file)
        snprintf(why, sizeof why, "%s", ctx ? mo_context_status(ctx)->message : "out of memory");
    mo_pool_file_release(file);
    mo_context_release(ctx);
    if (why[0])
        refuse_command_line(state, EXIT_FAILED, "%s", why);
}
