/* tools/lessons/explain.c - `mochi explain`: shows an op or a readout on a small example, forward and backward, line by
 * line, with central differences beside every line of the adjoint. */
#include "tools/lessons/explain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct topic {
    const char *name, *summary;
    void (*explain)(lesson *l);
} topic;

static const topic topics[] = {
    {"solve", "A X = B and its adjoint, which reuses the factor", explain_solve},
    {"cholesky", "A = L L^T, and a gradient among symmetric matrices", explain_cholesky},
    {"softmax_cross_entropy", "a loss whose adjoint is probability minus target", explain_softmax_cross_entropy},
    {"ridge", "a readout fitted in closed form, and the gradient through the fit", explain_ridge},
    {"shift", "four points on a line, moved by 5: prototypes fail, ridge does not", explain_shift},
    {"hull", "prototypes (2, 2), (1, 1), (0, 0): the middle one never wins", explain_hull},
};

enum { N_TOPICS = sizeof topics / sizeof *topics };

static const char description[] =
    "Walks through a small example on the terminal: the values computed forward, the values saved, and each line of "
    "the "
    "adjoint "
    "with its numbers and central differences beside them. Everything is computed as you watch, in float64.\v"
    "Without a topic, lists them. Exit status 1 if an adjoint and its differences differ by more than 1e-6.\n\n"
    "Examples:\n"
    "  mochi explain solve\n"
    "  mochi explain ridge | less";

static error_t take_explain_option(int key, char *text, struct argp_state *state) {
    const topic **chosen = state->input;
    if (key != ARGP_KEY_ARG)
        return ARGP_ERR_UNKNOWN;
    const char *names[N_TOPICS];
    for (int i = 0; i < N_TOPICS; i++)
        names[i] = topics[i].name;
    if (*chosen)
        refuse_command_line(state, EXIT_USAGE, "'%s': expected one topic", text);
    *chosen = &topics[parse_choice(state, "topic", text, names, N_TOPICS)];
    return 0;
}

static int explain_topic(const topic *chosen) {
    mo_context *ctx = open_context(1);
    lesson l = {.ctx = ctx, .t = ctx ? mo_tape_create(ctx, MO_RECORD) : NULL};
    if (l.t)
        chosen->explain(&l);
    int code = !ctx ? EXIT_FAILED : mo_ok(ctx) ? EXIT_FINE : report_failure(ctx);
    if (code == EXIT_FINE && !(l.largest <= 1e-6)) {
        fprintf(stderr, "mochi: an adjoint differs from its differences by %.1e\n", l.largest);
        code = EXIT_FAILED;
    }
    mo_tape_release(l.t);
    mo_context_release(ctx);
    return code;
}

int explain_command(int argc, char **argv) {
    static const struct argp argp = {.parser = take_explain_option, .args_doc = "[TOPIC]", .doc = description};
    const topic *chosen = NULL;
    parse_options(&argp, argc, argv, &chosen);
    if (chosen)
        return explain_topic(chosen);
    for (int i = 0; i < N_TOPICS; i++)
        printf("%-24s%s\n", topics[i].name, topics[i].summary);
    return EXIT_FINE;
}
