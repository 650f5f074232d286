/* tools/report/report.c - `mochi report`: writes one page of trainings, evaluations and measurements, for others to
 * read. */
#include "tools/report/report.h"

#include <stdlib.h>

enum { KEY_OUT = 0x100, MOST_INPUTS = 64 };

typedef struct report_options {
    const char *out, *inputs[MOST_INPUTS];
    int n;
} report_options;

static const struct argp_option options[] = {
    {"out", KEY_OUT, "FILE", 0, "the page", 0},
    {0},
};

static const char description[] =
    "One self-contained page of results: training curves by family, accuracy against k beside the baselines and the "
    "paper's figures, calibration, the hull of prototypes, cost, profile, and the commands, versions and digests that "
    "repeat them. Charts are drawn by gnuplot; the page has no script and fetches nothing.\v"
    "INPUT: a folder of mochi train; a table .csv or .tsv of mochi predict (--pca adds a picture of the embedding); or "
    "a file of lines that one of these wrote with --json:\n"
    "  mochi eval, mochi fit (--diagnose adds reliability and hull), mochi pitfalls, mochi bench step (--profile)\n\n"
    "Example:\n"
    "  mochi train --out runs/a\n"
    "  mochi eval --weights runs/a/weights.safetensors --json > eval.jsonl\n"
    "  mochi pitfalls all --json > pitfalls.jsonl\n"
    "  mochi report runs/a eval.jsonl pitfalls.jsonl --out report.html";

static error_t take_report_option(int key, char *text, struct argp_state *state) {
    report_options *o = state->input;
    if (key == KEY_OUT)
        o->out = take_output(state, "--out", text, ".html");
    else if (key == ARGP_KEY_ARG && o->n == MOST_INPUTS)
        usage_error(state, "INPUT", "at most 64 of them", text);
    else if (key == ARGP_KEY_ARG)
        o->inputs[o->n++] = text;
    else if (key == ARGP_KEY_END && !o->n)
        usage_error(
            state, "INPUT", "a folder of mochi train, a table of mochi predict or a file of --json lines", "nothing");
    else if (key == ARGP_KEY_END && !o->out)
        usage_error(state, "--out", "the file of the page", "nothing");
    else if (key != ARGP_KEY_END)
        return ARGP_ERR_UNKNOWN;
    return 0;
}

int report_command(int argc, char **argv) {
    static const struct argp argp = {
        .options = options, .parser = take_report_option, .args_doc = "INPUT...", .doc = description};
    report_options o = {0};
    parse_options(&argp, argc, argv, &o);
    mo_context *ctx = open_context(1);
    if (!ctx)
        return EXIT_FAILED;
    report r = {.ctx = ctx};
    char why[512];
    if (!results_read(&r.paper, "paper", why, sizeof why))
        mo_fail(ctx, MO_FORMAT, "%s", why);
    for (int i = 0; i < o.n && mo_ok(ctx); i++)
        report_read(&r, o.inputs[i]);
    if (mo_ok(ctx))
        report_write(&r, o.out);
    int code = mo_ok(ctx) ? EXIT_FINE : report_failure(ctx);
    if (code == EXIT_FINE)
        printf("%s written\n", o.out);
    report_release(&r);
    mo_context_release(ctx);
    return code;
}
