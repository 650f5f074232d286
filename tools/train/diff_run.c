/* tools/train/diff_run.c - `mochi diff-run`: compares the digests that two runs wrote, and names the first step and the
 * first tensor of it that differ. */
#include "tools/command.h"
#include "tools/input.h"
#include "tools/memory.h"
#include "tools/train/digests.h"

#include <stdio.h>
#include <stdlib.h>

enum { KEY_JSON = 0x100 };

typedef struct diff_options {
    const char *run[2];
    int n;
    bool json;
} diff_options;

static const struct argp_option options[] = {
    {"json", KEY_JSON, NULL, 0, "one JSON object with the first difference on standard output", 0},
    {0},
};

static const char description[] =
    "Compares two runs of `mochi train --digest`: their folders, or their files digests.jsonl. Names the first step "
    "that "
    "differs and its first tensor that does: a part of the episode, the loss, a gradient or a new parameter, in the "
    "order in which a step computes them.\v"
    "Exit status 0 where all steps of both are the same bit for bit, 1 where one differs or one run has more "
    "steps.\n\n"
    "Example:\n"
    "  mochi train --out a --digest --threads 1\n"
    "  mochi train --out b --digest --threads 8\n"
    "  mochi diff-run a b";

static error_t take_diff_option(int key, char *text, struct argp_state *state) {
    diff_options *o = state->input;
    if (key == KEY_JSON)
        o->json = true;
    else if (key == ARGP_KEY_ARG && o->n < 2)
        o->run[o->n++] = text;
    else if (key == ARGP_KEY_ARG)
        refuse_command_line(state, EXIT_USAGE, "'%s': expected two runs", text);
    else if (key == ARGP_KEY_END && o->n < 2)
        refuse_command_line(state, EXIT_USAGE, "expected two runs, found %d", o->n);
    else
        return ARGP_ERR_UNKNOWN;
    return 0;
}

/* Prints the result as an object. Returns false if it could not be written. */
static bool print_difference(const diff_options *o, const digest_difference *d) {
    bool tensor = d->kind == DIGESTS_DIFFER;
    return print_json(json_pack("{s:s, s:s, s:s, s:b, s:I, s:o, s:o, s:i}", "kind", "run_difference", "run", o->run[0],
        "other", o->run[1], "same", d->kind == DIGESTS_SAME, "steps", (json_int_t)d->steps, "step",
        d->kind == DIGESTS_SAME ? json_null() : json_integer(d->step), "tensor",
        tensor ? json_string(d->name) : json_null(), "tensors_apart", d->apart));
}

int diff_run_command(int argc, char **argv) {
    static const struct argp argp = {
        .options = options, .parser = take_diff_option, .args_doc = "RUN RUN", .doc = description};
    diff_options o = {.n = 0};
    parse_options(&argp, argc, argv, &o);
    digests a, b;
    digest_difference d;
    bool read = read_digests(&a, o.run[0]);
    if (read && read_digests(&b, o.run[1])) {
        d = compare_digests(&a, &b);
        free_digests(&b);
    } else {
        if (read)
            free_digests(&a);
        return EXIT_FAILED;
    }
    free_digests(&a);
    if (o.json) {
        print_difference(&o, &d);
        return d.kind == DIGESTS_SAME ? EXIT_FINE : EXIT_FAILED;
    }
    if (d.kind == DIGESTS_SAME)
        printf("%s and %s: %lld steps, %lld digests, the same\n", o.run[0], o.run[1], (long long)d.steps,
            (long long)d.compared);
    else if (d.kind == DIGESTS_END)
        printf("%s ends before step %lld; the %lld steps before it are the same in both\n", o.run[d.shorter],
            (long long)d.step, (long long)d.steps);
    else
        printf("step %lld: %s differs (%s in %s, %s in %s), the first of %d in that step; the %lld steps before it are "
               "the same\n",
            (long long)d.step, d.name, d.digits[0], o.run[0], d.digits[1], o.run[1], d.apart, (long long)d.steps);
    return d.kind == DIGESTS_SAME ? EXIT_FINE : EXIT_FAILED;
}
