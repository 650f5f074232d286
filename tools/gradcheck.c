/* tools/gradcheck.c - `mochi gradcheck`: checks the derivatives of ops, heads and encoders by central differences. */
#include "tools/cli/options.h"

#include <stdio.h>
#include <string.h>

typedef struct gradcheck_options {
    names ops;      /* names of ops to check; if empty, all ops of the objects or, without objects, of the program */
    names objects;  /* paths of shared objects with the user's ops */
    names heads;    /* names, and paths of plug-ins; if given, only these heads and the named ops are checked */
    names encoders; /* paths of plug-ins; if given, only these encoders and the named ops are checked */
    int order, threads;
    uint64_t seed;
    bool json, certificate;
    given_options given;
} gradcheck_options;

static void take_checked_heads(void *options, const char *text, const struct argp_state *state) {
    gradcheck_options *o = options;
    names list = parse_names(state, "--head", text);
    const mo_head *head;
    for (int i = 0; i < list.count; i++)
        if (strcmp(list.items[i], "all") != 0) {
            parse_head(state, list.items[i]); /* ends the program if the name is unknown */
            append_name(&o->heads, list.items[i]);
        } else {
            for (int k = 0; (head = mo_head_at(k)); k++)
                append_name(&o->heads, head->name);
        }
    free_names(&list);
}

static void take_object(void *objects, const char *text, const struct argp_state *state) {
    (void)state;
    append_name(objects, text);
}

static void take_encoder(void *encoders, const char *text, const struct argp_state *state) {
    parse_encoder(state, text); /* ends the program if the file is no encoder */
    append_name(encoders, text);
}

static void take_op(void *options, const char *word, const struct argp_state *state) {
    (void)state;
    append_name(&((gradcheck_options *)options)->ops, word);
}

#define AT(field) offsetof(gradcheck_options, field)

static const option table[] = {
    {OPTION_INT, "order", "1|2", AT(order),
        "highest order: 1: the vector-Jacobian product; 2: also its derivative (default 2)", 1, 2, .choices = "1|2"},
    SEED_OPTION(gradcheck_options, seed, "the samples and directions"),
    {OPTION_FLAG, "certificate", NULL, AT(certificate),
        "also compare <J v, w> with <v, J^T w>, which must agree to 1e-10; finds a vjp that cannot be differentiated"},
    {OPTION_OTHER, "op", "FILE.so", AT(objects),
        "load the ops of a shared object (its mo_ops) and check those; may be repeated", .take = take_object},
    {OPTION_OTHER, "head", "NAMES", 0, "check heads, separated by commas: all, " HEADS ", or FILE.so with your own",
        .choices = HEADS, .take = take_checked_heads},
    {OPTION_OTHER, "encoder", "FILE.so", AT(encoders), "check an encoder of your own; may be repeated",
        .take = take_encoder},
    THREADS_OPTION(gradcheck_options, threads),
    JSON_OPTION(gradcheck_options, json,
        "one JSON object per op, head or encoder and order (0: certificate) on standard output: name, order, samples, "
        "error, pass"),
    {OPTION_END},
};

static const char about[] =
    "Compares the derivatives of ops with central differences in float64 on the samples each op declares, along "
    "random directions. An op without samples fails. For heads, checks derivatives in support and query embeddings, "
    "labels and hyper-parameters, and that a batch gives the results of its episodes.\v"
    "Errors are relative; up to 1e-6 passes at order 1 and 1e-5 at order 2, which is checked only if order 1 passes. "
    "Order 1 also checks that the gradient stays the same if fewer inputs need one, after values that the op does not "
    "declare to read are changed in place, in a batch, and in float32. Exit status 1 if any fails.\n\nExamples:\n"
    "  mochi gradcheck\n"
    "  mochi gradcheck solve_spd matmul --order 1\n"
    "  mochi gradcheck --op ./my_op.so\n"
    "  mochi gradcheck --head ridge,./my_head.so\n"
    "  mochi gradcheck --encoder ./my_encoder.so";

const command_line gradcheck_line = {.table = table, .words = "[OP...]", .about = about, .take_word = take_op};

/* Prints the result of one check; kind: "op", "head" or "encoder". Returns whether it passed. */
static bool report_gradcheck(
    mo_context *ctx, const char *kind, const char *name, int order, const mo_check_result *r, bool json) {
    if (json)
        print_json(json_pack("{s:s, s:i, s:i, s:o, s:b}", kind, name, "order", order, "samples", r->samples, "error",
            json_number(r->error), "pass", r->pass));
    if (json && !r->pass)
        fprintf(stderr, "mochi: %s: order %d: %s\n", name, order, r->worst);
    if (!json)
        printf("%-24s %s  %3d samples  error %8.1e  %s%s%s\n", name,
            (const char *const[]){"certificate", "order 1", "order 2"}[order], r->samples, r->error,
            r->pass ? "pass" : "FAIL", r->pass ? "" : ": ", r->pass ? "" : r->worst);
    fflush(stdout);
    mo_clear_error(ctx); /* the failure of one op must not end the next check */
    return r->pass;
}

/* Returns true if the op passes every order. Order 1 is checked even if the certificate (order 0) fails, order 2 only
 * if nothing has failed. */
static bool check_op(mo_context *ctx, const mo_op *op, const gradcheck_options *o) {
    bool passes = true;
    for (int order = o->certificate ? 0 : 1; order <= o->order && (passes || order == 1); order++) {
        mo_check_result r = mo_check_op(ctx, op, order, o->seed);
        passes &= report_gradcheck(ctx, "op", op->name, order, &r, o->json);
    }
    return passes;
}

/* Returns the number of heads or encoders that fail. A head with only first derivatives is checked at order 1. */
static int check_plugins(mo_context *ctx, const gradcheck_options *o, const char *kind, const names *list) {
    int failed = 0;
    char why[1200];
    bool heads = list == &o->heads;
    for (int i = 0; i < list->count; i++) {
        const mo_head *head = heads ? open_head(list->items[i], why, sizeof why) : NULL;
        const mo_encoder *encoder = heads ? NULL : open_encoder(list->items[i], why, sizeof why);
        int most = head && head->order < o->order ? head->order : o->order;
        bool passes = head || encoder;
        for (int order = 1; passes && order <= most; order++) {
            mo_check_result r =
                heads ? mo_check_head(ctx, head, order, o->seed) : mo_check_encoder(ctx, encoder, order, o->seed);
            passes = report_gradcheck(ctx, kind, heads ? head->name : encoder->name, order, &r, o->json);
        }
        failed += !passes;
    }
    if (list->count && !o->json)
        printf("%d %s%s, %d failed\n", list->count, kind, list->count == 1 ? "" : "s", failed);
    return failed;
}

/* Whether a user's object defines one of the named ops; true if no op is named, or there are no objects. The objects'
 * ops are numbered from `first` on. */
static bool objects_are_asked(mo_context *ctx, const gradcheck_options *o, int first) {
    bool asked = !o->ops.count || !o->objects.count;
    for (int i = first; i < mo_n_ops(ctx); i++)
        for (int j = 0; j < o->ops.count; j++)
            asked |= !strcmp(mo_op_at(ctx, i)->name, o->ops.items[j]);
    return asked;
}

/* Checks the named ops or, if none is named, all ops from number `first` on. Returns the number of failures; -1 if a
 * name is not registered. */
static int check_ops(mo_context *ctx, const gradcheck_options *o, int first) {
    int failed = 0;
    if ((o->heads.count || o->encoders.count) && !o->ops.count && !o->objects.count)
        return 0;
    for (int i = 0; i < o->ops.count; i++)
        if (!mo_find_op(ctx, o->ops.items[i])) {
            fprintf(stderr, "mochi: no op named '%s'\n", make_printable(o->ops.items[i]));
            return -1;
        }
    for (int i = 0; i < o->ops.count; i++)
        failed += !check_op(ctx, mo_find_op(ctx, o->ops.items[i]), o);
    for (int i = first; !o->ops.count && i < mo_n_ops(ctx); i++)
        failed += !check_op(ctx, mo_op_at(ctx, i), o);
    int n = o->ops.count ? o->ops.count : mo_n_ops(ctx) - first;
    if (!o->json)
        printf("%d op%s, %d failed\n", n, n == 1 ? "" : "s", failed);
    return failed;
}

int gradcheck_command(int argc, char **argv) {
    gradcheck_options o = {.order = 2};
    read_command_line(&gradcheck_line, argc, argv, &o, &o.given);
    mo_context *ctx = open_context(o.threads);
    int code = EXIT_FAILED;
    if (ctx && mo_register_ops(ctx) == MO_OK) {
        int first = o.objects.count ? mo_n_ops(ctx) : 0;
        for (int i = 0; i < o.objects.count; i++)
            mo_load_ops(ctx, o.objects.items[i]);
        refuse_given(
            &o.given, "op", mo_ok(ctx) && !objects_are_asked(ctx, &o, first), "all named ops are in the library");
        int failed = mo_ok(ctx) ? check_ops(ctx, &o, first) : 0;
        failed += failed >= 0 && mo_ok(ctx)
                      ? check_plugins(ctx, &o, "head", &o.heads) + check_plugins(ctx, &o, "encoder", &o.encoders)
                      : 0;
        code = failed < 0 ? EXIT_USAGE : failed > 0 ? EXIT_FAILED : EXIT_FINE;
    }
    if (ctx && !mo_ok(ctx))
        code = report_failure(ctx);
    mo_context_release(ctx);
    free_names(&o.ops);
    free_names(&o.objects);
    free_names(&o.heads);
    free_names(&o.encoders);
    return code;
}
