/* tools/explain/explain.c - `mochi explain`: shows an op, a readout or a method on small numbers, forward and backward,
 * line by line, with central differences beside every line of the adjoint. */
#include "tools/explain/lesson.h"

#include <stdlib.h>
#include <string.h>

static const topic *const topics[] = {
    &topic_solve,
    &topic_triangular,
    &topic_cholesky,
    &topic_lu,
    &topic_qr,
    &topic_eigh,
    &topic_logdet,
    &topic_least_squares,
    &topic_matmul,
    &topic_softmax_cross_entropy,
    &topic_logistic,
    &topic_ridge,
    &topic_leave_one_out,
    &topic_svm,
    &topic_implicit,
    &topic_unrolled,
    &topic_neumann,
    &topic_second_order,
    &topic_shift,
    &topic_hull,
};

enum { N_TOPICS = sizeof topics / sizeof *topics };
enum { KEY_MATRIX = 0x100, KEY_N, KEY_SEED, KEY_STEP, KEY_JSON };

typedef struct explain_options {
    const topic *chosen;
    lesson_choice numbers;
    bool step, json;
} explain_options;

static const struct argp_option options[] = {
    {"matrix", KEY_MATRIX, "FILE", 0,
        "your numbers for the first matrix of the topic: rows of a CSV or text file, or .npy, at most 8 x 8", 0},
    {"n", KEY_N, "N", 0, "its size, 2 to 7: the numbers are drawn (default: the topic's own numbers)", 0},
    {"seed", KEY_SEED, "S", 0, "draw all numbers that --matrix does not give from this seed", 0},
    {"step", KEY_STEP, NULL, 0, "ask for each line of the adjoint before it is shown; answer, or press Enter", 0},
    {"json", KEY_JSON, NULL, 0,
        "one JSON object: the lesson's blocks, formulas in LaTeX; `mochi-page` makes a page of it", 0},
    {0},
};

static const char description[] =
    "Walks through a small example: the values computed forward, the values saved, and each line of the adjoint with "
    "its numbers and central differences beside them. Everything is computed as you watch, in float64.\v"
    "Without a topic, lists them. Exit status 1 if a line differs from its differences, or from mo_grad, by more than "
    "1e-6 of its largest number (1, if that is smaller); a matrix close to a singular one does that.\n\n"
    "Examples:\n"
    "  mochi explain solve\n"
    "  mochi explain cholesky --step\n"
    "  mochi explain solve --matrix A.csv --json | mochi-page > solve.html\n"
    "  mochi explain ridge --n 5 --seed 3 | less";

static const topic *find_topic(const char *text, struct argp_state *state) {
    const char *names[N_TOPICS];
    for (int i = 0; i < N_TOPICS; i++)
        names[i] = topics[i]->name;
    return topics[parse_choice(state, "topic", text, names, N_TOPICS)];
}

/* The first option given that says something about numbers; NULL: none. */
static const char *number_option(const explain_options *o) {
    return o->numbers.matrix ? "--matrix" : o->numbers.n > 0 ? "--n" : o->numbers.seed >= 0 ? "--seed" : NULL;
}

static void check_explain_options(const explain_options *o, const struct argp_state *state) {
    const char *numbers = number_option(o), *any = numbers ? numbers : o->step ? "--step" : o->json ? "--json" : NULL;
    if (!o->chosen && any)
        refuse_command_line(state, EXIT_USAGE, "%s: expected a topic; `mochi explain` lists them", any);
    if (o->numbers.matrix && o->numbers.n > 0)
        refuse_command_line(state, EXIT_USAGE, "--n: the matrix of --matrix has its size");
    if (o->chosen && !o->chosen->forward && numbers)
        refuse_command_line(state, EXIT_USAGE, "%s: %s has its own numbers and no adjoint", numbers, o->chosen->name);
    if (o->step && o->json)
        refuse_command_line(state, EXIT_USAGE, "--step: --json asks nothing");
}

static error_t take_explain_option(int key, char *text, struct argp_state *state) {
    explain_options *o = state->input;
    if (key == KEY_MATRIX)
        o->numbers.matrix = text;
    else if (key == KEY_N)
        o->numbers.n = parse_integer(state, "--n", text, 2, MOST_N - 1);
    else if (key == KEY_SEED)
        o->numbers.seed = parse_integer(state, "--seed", text, 0, INT64_MAX);
    else if (key == KEY_STEP)
        o->step = true;
    else if (key == KEY_JSON)
        o->json = true;
    else if (key == ARGP_KEY_ARG && o->chosen)
        refuse_command_line(state, EXIT_USAGE, "'%s': expected one topic", text);
    else if (key == ARGP_KEY_ARG)
        o->chosen = find_topic(text, state);
    else if (key == ARGP_KEY_END)
        check_explain_options(o, state);
    else
        return ARGP_ERR_UNKNOWN;
    return 0;
}

static int explain_topic(const explain_options *o) {
    mo_context *ctx = open_context(1);
    lesson l = {.ctx = ctx,
        .t = ctx ? mo_tape_create(ctx, MO_RECORD) : NULL,
        .topic = o->chosen,
        .ask = o->step,
        .json = o->json ? json_array() : NULL};
    int code = EXIT_FAILED;
    if (l.t) {
        lesson_open_inputs(&l, &o->numbers);
        code = lesson_run(&l);
        if (l.json && code == EXIT_FINE &&
            !print_json(json_pack("{s:s, s:O}", "topic", o->chosen->name, "blocks", l.json)))
            code = EXIT_FAILED;
    } else if (ctx) {
        code = report_failure(ctx);
    }
    json_decref(l.json);
    mo_tape_release(l.t);
    mo_context_release(ctx);
    return code;
}

int explain_command(int argc, char **argv) {
    static const struct argp argp = {
        .options = options, .parser = take_explain_option, .args_doc = "[TOPIC]", .doc = description};
    explain_options o = {.numbers = {.n = -1, .seed = -1}};
    parse_options(&argp, argc, argv, &o);
    if (o.chosen)
        return explain_topic(&o);
    for (int i = 0; i < N_TOPICS; i++)
        printf("%-24s%s\n", topics[i]->name, topics[i]->summary);
    return EXIT_FINE;
}
