/* tools/data/data_cache.c - `mochi data cache`: lists, checks, removes and builds cached features. */
#include "tools/data/data_cache.h"

#include "tensor/hidden.h"
#include "tools/options.h"
#include "tools/train/recipe.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LIST, VERIFY, PRUNE, CLEAR, BUILD, ACTIONS };
static const char *const action_names[ACTIONS] = {"list", "verify", "prune", "clear", "build"};

typedef struct cache_options {
    int action; /* -1: none yet */
    names graphs;
    const char *folder;
    int64_t older, size; /* seconds, bytes; -1: any */
    int recipe, threads;
    int64_t seed, memory;
    bool json;
    given_options given;
    int64_t count, bytes, damaged; /* totals over the entries visited */
} cache_options;

#define AT(field) offsetof(cache_options, field)

static const option table[] = {
    {OPTION_TEXT, "cache", "DIR", AT(folder), "the folder (default $MOCHI_CACHE)"},
    {OPTION_AGE, "older", "AGE", AT(older), "prune: entries not used for 30d, 12h, 45m or 10s"},
    {OPTION_BYTES, "size", "BYTES", AT(size),
        "prune: the least recently used, until the rest takes 500M, 4G or this number of bytes"},
    {OPTION_CHOICE, "recipe", "NAME", AT(recipe), "build: best, paper, paper++ or released (default best)",
        .choices = RECIPES},
    SEED_OPTION(cache_options, seed, "the recipe, for build"),
    {OPTION_BYTES, "memory", "SIZE", AT(memory), "build: bytes that features may take, as in train"},
    EXPAND_OPTION,
    THREADS_OPTION(cache_options, threads),
    JSON_OPTION(cache_options, json, "one JSON object per line on standard output"),
    {OPTION_END},
};

static const char about[] =
    "Features that train, eval and embed computed with --cache DIR (or $MOCHI_CACHE), one file for each graph's "
    "content "
    "and all options they depend on. list: every entry, the least recently used first. verify: reads them and compares "
    "their checksums. prune: removes by age and size. clear: removes all entries (files that say what they were made "
    "of). build: computes what training on the graphs "
    "would, and nothing else.\v"
    "A damaged entry needs no care: the command that reads it says so and makes it again.\n\n"
    "Examples:\n"
    "  mochi data cache list --cache cache\n"
    "  mochi data cache prune --older 30d --size 4G --cache cache\n"
    "  mochi data cache build cora citeseer:nc --recipe paper++ --cache cache";

static void take_cache_word(void *options, const char *text, const struct argp_state *state) {
    cache_options *o = options;
    if (o->action == BUILD) {
        append_name(&o->graphs, text);
        return;
    }
    if (o->action >= 0)
        refuse_command_line(state, EXIT_USAGE, "%s takes no '%s'", action_names[o->action], text);
    o->action = parse_choice(state, "data cache", text, action_names, ACTIONS);
}

static void check_cache_options(void *options, const struct argp_state *state) {
    const cache_options *o = options;
    if (o->action < 0)
        refuse_command_line(state, EXIT_USAGE, "expected list, verify, prune, clear or build");
    if (!o->folder || !*o->folder)
        refuse_command_line(state, EXIT_USAGE, "no folder: --cache DIR is missing, and MOCHI_CACHE is not set");
    if (o->action == PRUNE && o->older < 0 && o->size < 0)
        refuse_command_line(state, EXIT_USAGE, "prune: --older AGE or --size BYTES is missing");
    if (o->action == BUILD && !o->graphs.count)
        refuse_command_line(state, EXIT_USAGE, "build: expected the names of graphs");
    refuse_given(&o->given, "older size", o->action != PRUNE, "expected the action prune");
    refuse_given(&o->given, "recipe seed memory max-expand threads", o->action != BUILD,
        "expected the action build, which alone reads graphs and computes");
}

const command_line data_cache_line = {.table = table,
    .words = "list|verify|prune|clear\nbuild NAME[:TASK]...",
    .about = about,
    .take_word = take_cache_word,
    .end = check_cache_options};

static const char *base_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void on_entry(const mo_cache_entry *entry, void *state) {
    cache_options *o = state;
    char used[32] = "";
    struct tm when;
    time_t seconds = entry->used;
    if (gmtime_r(&seconds, &when))
        strftime(used, sizeof used, "%Y-%m-%dT%H:%M:%SZ", &when);
    o->count++;
    o->bytes += entry->bytes;
    o->damaged += entry->damage != NULL;
    if (o->json)
        print_json(json_pack("{s:s, s:I, s:s, s:s, s:s?}", "path", entry->path, "bytes", (json_int_t)entry->bytes,
            "used", used, "made_of", entry->made_of, "damage", entry->damage));
    else
        printf("%.12s  %9.1f MB  %s  %s\n", base_of(entry->path), 1e-6 * (double)entry->bytes, used,
            entry->damage ? entry->damage : entry->made_of);
}

static void print_total(const cache_options *o) {
    static const char *const done[] = {"kept", "verified", "removed", "removed"};
    if (!o->json)
        printf("%s: %" PRId64 " entries %s, %.1f MB%s\n", o->folder, o->count, done[o->action], 1e-6 * (double)o->bytes,
            o->damaged ? ", some of them DAMAGED" : "");
}

/* Fills the cache by opening the graphs as a pool of the recipe. */
static void build_cache(mo_context *ctx, const cache_options *o) {
    recipe r = recipe_defaults(o->recipe);
    r.seed = (uint64_t)o->seed;
    recipe_settle(&r);
    r.features.cache = o->folder;
    r.features.memory = o->memory;
    for (int i = 0; i < o->graphs.count && mo_ok(ctx); i++) {
        double start = mo_clock(CLOCK_MONOTONIC);
        mo_pool *pool = mo_pool_open(
            ctx, (const char *const *)&o->graphs.items[i], 1, &r.features, r.link_share, print_notice, NULL);
        for (int k = 0; pool && k < mo_pool_size(pool); k++) {
            const mo_source *s = mo_pool_source(pool, k);
            const mo_features *f = s->features;
            if (o->json)
                print_json(
                    json_pack("{s:s, s:s, s:b, s:o, s:o, s:o}", "graph", s->graph->name, "task", mo_task_name(s->task),
                        "from_cache", f->from_cache, "svd_residual", json_number(f->svd_residual), "svd_orthogonality",
                        json_number(f->svd_orthogonality), "seconds", json_number(mo_clock(CLOCK_MONOTONIC) - start)));
            else
                printf("%s:%s %s; SVD residual %.4f, orthogonal to %.1e; %.1f s\n", s->graph->name,
                    mo_task_name(s->task), f->from_cache ? "was there" : "computed", f->svd_residual,
                    f->svd_orthogonality, mo_clock(CLOCK_MONOTONIC) - start);
        }
        mo_pool_release(pool);
    }
    free_names(&r.pool);
}

int data_cache_command(int argc, char **argv) {
    cache_options o = {.action = -1, .folder = getenv("MOCHI_CACHE"), .older = -1, .size = -1, .recipe = RECIPE_BEST};
    read_command_line(&data_cache_line, argc, argv, &o, &o.given);
    mo_context *ctx = open_context(o.threads);
    if (!ctx)
        return EXIT_FAILED;
    if (o.action == BUILD)
        build_cache(ctx, &o);
    else if (o.action == PRUNE || o.action == CLEAR)
        mo_cache_prune(ctx, o.folder, o.older, o.action == CLEAR ? 0 : o.size, on_entry, &o);
    else
        (o.action == VERIFY ? mo_cache_verify : mo_cache_visit)(ctx, o.folder, on_entry, &o);
    int code = mo_ok(ctx) ? EXIT_FINE : report_failure(ctx);
    if (mo_ok(ctx) && o.action != BUILD)
        print_total(&o);
    mo_context_release(ctx);
    free_names(&o.graphs);
    return o.damaged && code == EXIT_FINE ? EXIT_FAILED : code;
}
