/* tools/train/verify_resume.c - `mochi verify-resume`: takes the last steps of a run again (repeat_run.c) and compares
 * what they leave: the lines of the log, the tensors of the newest checkpoint, and the digests of a run that has
 * them. */
#include "tools/given.h"
#include "tools/input.h"
#include "tools/interrupt.h"
#include "tools/memory.h"
#include "tools/train/digests.h"
#include "tools/train/repeat_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_STEPS = 0x100, KEY_THREADS, KEY_JSON };

typedef struct verify_options {
    const char *run, *cache;
    int64_t steps, memory;
    mo_context_options device;
    bool json;
    given_options given;
} verify_options;

static const struct argp_option options[] = {
    {"steps", KEY_STEPS, "N", 0,
        "repeat at most N steps; the checkpoint is compared only where they reach it (default: all up to the newest "
        "checkpoint)",
        0},
    KEEPING_OPTIONS,
    DEVICE_OPTIONS,
    {"threads", KEY_THREADS, "N", 0, "CPU threads; the result does not depend on it (default: all processors)", 0},
    {"json", KEY_JSON, NULL, 0, "the result as one JSON object on standard output", 0},
    {0},
};

static const char description[] =
    "Takes the last steps of a run again: from the checkpoint before its newest one (from step 0 where there is none), "
    "with a stop and a resumption halfway, to the newest one. Compares each line of log.jsonl but its seconds, all "
    "tensors of checkpoint.safetensors, and digests.jsonl of a run with --digest. RUN is only read; the repetition is "
    "written to a folder below $TMPDIR, which is removed.\v"
    "Exit status 0 where all of it is the same, bit for bit, 1 where something differs: the line names the first "
    "difference.\n\n"
    "Example:\n"
    "  mochi verify-resume runs/a --threads 1";

static error_t take_verify_option(int key, char *text, struct argp_state *state) {
    verify_options *o = state->input;
    note_given(&o->given, key);
    if (take_device(&o->device, key, text, state) || take_keeping(&o->memory, &o->cache, key, text, state))
        return 0;
    if (key == KEY_STEPS)
        o->steps = parse_integer(state, "--steps", text, 1, INT64_MAX);
    else if (key == KEY_THREADS)
        o->device.threads = (int)parse_integer(state, "--threads", text, 1, 1024);
    else if (key == KEY_JSON)
        o->json = true;
    else if (key == ARGP_KEY_ARG && !o->run)
        o->run = text;
    else if (key == ARGP_KEY_ARG)
        refuse_command_line(state, EXIT_USAGE, "'%s': expected one run", text);
    else if (key == ARGP_KEY_END && !o->run)
        refuse_command_line(state, EXIT_USAGE, "expected the folder of a run");
    else
        return ARGP_ERR_UNKNOWN;
    return 0;
}

/* What was compared, and the first difference. */
typedef struct verdict {
    int64_t lines, tensors, digests;
    char difference[768]; /* empty: none */
} verdict;

/* Line `step` of a log without its seconds; NULL if there is none. */
static json_t *log_line(const char *log, int64_t step) {
    for (int64_t i = 0; log && i < step; i++)
        log = strchr(log, '\n') ? strchr(log, '\n') + 1 : NULL;
    const char *end = log ? strchr(log, '\n') : NULL;
    json_t *line = end ? json_loadb(log, (size_t)(end - log), 0, NULL) : NULL;
    json_object_del(line, "seconds");
    return line;
}

static void compare_logs(const repeat *r, verdict *v) {
    char path[4096];
    size_t n;
    snprintf(path, sizeof path, "%s/log.jsonl", r->run);
    char *kept = read_text_file(path, &n);
    snprintf(path, sizeof path, "%s/log.jsonl", r->folder);
    char *now = read_text_file(path, &n);
    for (int64_t step = r->from; step < r->end && !v->difference[0]; step++) {
        json_t *a = log_line(kept, step), *b = log_line(now, step);
        if (a && b && json_equal(a, b))
            v->lines++;
        else
            snprintf(v->difference, sizeof v->difference,
                "step %lld: the log has loss %.9g and gradient norm %.9g, the repetition %.9g and %.9g",
                (long long)step, json_number_value(json_object_get(a, "loss")),
                json_number_value(json_object_get(a, "gradient_norm")), json_number_value(json_object_get(b, "loss")),
                json_number_value(json_object_get(b, "gradient_norm")));
        json_decref(a);
        json_decref(b);
    }
    free(kept);
    free(now);
}

static void compare_run_digests(const repeat *r, verdict *v) {
    digests a, b;
    if (!r->digest || !read_digests(&a, r->run))
        return;
    if (read_digests(&b, r->folder)) {
        digest_difference d = compare_digests(&a, &b);
        v->digests = d.compared;
        if (d.kind == DIGESTS_DIFFER)
            snprintf(v->difference, sizeof v->difference, "step %lld: %s is %s, in the repetition %s",
                (long long)d.step, d.name, d.digits[0], d.digits[1]);
        free_digests(&b);
    }
    free_digests(&a);
}

/* Two tensors have the same type, number and bits. */
static bool same_tensor(const mo_tensor *A, const mo_tensor *B) {
    if (!B || mo_tensor_dtype(A) != mo_tensor_dtype(B) || mo_numel(A) != mo_numel(B))
        return false;
    size_t bytes = (size_t)mo_numel(A) * mo_dtype_size(mo_tensor_dtype(A));
    char *a = needed(malloc(bytes + 1)), *b = needed(malloc(bytes + 1));
    bool same = mo_tensor_read(A, a, bytes) == MO_OK && mo_tensor_read(B, b, bytes) == MO_OK && !memcmp(a, b, bytes);
    free(a);
    free(b);
    return same;
}

/* Compares the newest checkpoint of the run with the one that the repetition wrote at the same step. */
static void compare_checkpoints(mo_context *ctx, const repeat *r, verdict *v) {
    char path[2][4096];
    for (int i = 0; i < 2; i++)
        snprintf(path[i], sizeof path[i], "%s/checkpoint.safetensors", i ? r->folder : r->run);
    mo_arrays *a = mo_safetensors_read(ctx, path[0]), *b = a ? mo_safetensors_read(ctx, path[1]) : NULL;
    for (int64_t i = 0; b && i < a->count && !v->difference[0]; i++) {
        const mo_tensor *other = mo_arrays_find(b, a->items[i].name);
        if (same_tensor(a->items[i].tensor, other))
            v->tensors++;
        else
            snprintf(v->difference, sizeof v->difference, "checkpoint.safetensors of step %lld: %s differs",
                (long long)r->newest, a->items[i].name);
    }
    mo_arrays_release(b);
    mo_arrays_release(a);
}

static int print_verdict(const verify_options *o, const repeat *r, const verdict *v) {
    bool same = !v->difference[0];
    if (o->json)
        print_json(json_pack("{s:s, s:s, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "kind", "resume", "run", o->run,
            "same", same, "from", (json_int_t)r->from, "stop", (json_int_t)repeat_stop(r), "end", (json_int_t)r->end,
            "log_lines", (json_int_t)v->lines, "tensors", (json_int_t)v->tensors, "digests", (json_int_t)v->digests,
            "difference", same ? json_null() : json_string(v->difference)));
    else if (same)
        printf("%s: steps %lld to %lld, repeated from %s with a stop before step %lld, are the same: %lld lines of the "
               "log, %lld tensors of the checkpoint, %lld digests\n",
            o->run, (long long)r->from, (long long)r->end - 1,
            r->from_start ? "the start" : "the checkpoint before the newest", (long long)repeat_stop(r),
            (long long)v->lines, (long long)v->tensors, (long long)v->digests);
    else
        printf("%s: the repetition differs: %s\n", o->run, v->difference);
    return same ? EXIT_FINE : EXIT_FAILED;
}

static int verify_run(mo_context *ctx, const verify_options *o, repeat *r) {
    verdict v = {.lines = 0};
    mo_feature_options features = r->recipe.features;
    features.memory = o->memory;
    features.cache = o->cache ? o->cache : getenv("MOCHI_CACHE");
    if (repeat_prepare(ctx, r, o->steps) == MO_OK)
        r->pool = mo_pool_open(ctx, (const char *const *)r->recipe.pool.items, r->recipe.pool.count, &features,
            r->recipe.link_share, NULL, NULL);
    if (r->pool) {
        mo_pool_set_families(r->pool, r->recipe.family);
        repeat_steps(ctx, r);
    }
    if (r->pool && mo_ok(ctx) && !*interruption()) {
        compare_run_digests(r, &v);
        if (!v.difference[0])
            compare_logs(r, &v);
        if (!v.difference[0] && r->end == r->newest)
            compare_checkpoints(ctx, r, &v);
    }
    if (*interruption())
        return interrupted_code();
    return mo_ok(ctx) ? print_verdict(o, r, &v) : report_failure(ctx);
}

int verify_resume_command(int argc, char **argv) {
    static const struct argp argp = {
        .options = options, .parser = take_verify_option, .args_doc = "RUN", .doc = description};
    verify_options o = {.given = {.table = options, .command = argv[0]}};
    parse_options(&argp, argc, argv, &o);
    refuse_math_on_cpu(&o.given, &o.device);
    repeat r = {.run = o.run};
    mo_math math;
    mo_context *ctx = NULL;
    if (recipe_read(&r.recipe, o.run, &r.settings, &math)) {
        recipe_settle(&r.recipe);
        take_math_of_run(&o.given, o.run, math, &o.device);
        ctx = open_context_on(o.device);
    }
    int code = ctx ? verify_run(ctx, &o, &r) : EXIT_FAILED;
    repeat_release(&r);
    mo_context_release(ctx);
    return code;
}
