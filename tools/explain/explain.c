/* tools/explain/explain.c - `mochi explain`: shows an op, a readout or a method on small numbers, forward and backward,
 * line by line; every line of the adjoint is compared with central differences. */
#include "tools/cli/options.h"
#include "tools/explain/lesson.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TOPICS = 64 };

typedef struct explain_options {
    const char *const *chosen; /* the heading line of the topic; NULL: none */
    lesson_choice numbers;
    bool step, json;
    given_options given;
} explain_options;

static const option table[] = {
    {OPTION_INPUT, "matrix", "FILE", offsetof(explain_options, numbers.matrix),
        "your own numbers for the topic's first matrix: rows of a CSV or text file, or .npy, at most 8 x 8"},
    {OPTION_INT64, "n", "N", offsetof(explain_options, numbers.n),
        "size of the matrices, 2 to 7, with random numbers (default: the topic's own numbers)", 2, MOST_N - 1,
        .not_with = "matrix", .why = "the matrix of --matrix has its size"},
    {OPTION_INT64, "seed", "S", offsetof(explain_options, numbers.seed),
        "seed of the random numbers, which replace all that --matrix does not give"},
    {OPTION_FLAG, "step", NULL, offsetof(explain_options, step),
        "ask for each line of the adjoint before it is shown: three tries, ? for a hint, Enter for the answer",
        .not_with = "json", .why = "--json asks nothing"},
    JSON_OPTION(explain_options, json, "one JSON object: the lesson's blocks, formulas in LaTeX"),
    {OPTION_END},
};

static const char about[] =
    "Walks through a small example: the values computed forward, the values saved, and each line of the adjoint with "
    "its numbers and central differences beside them. Everything is computed as you watch, in float64.\v"
    "Without a topic, lists them. Exit status 1 if a line differs from its differences, or from mo_grad, by more than "
    "1e-6 of its largest number (1, if that is smaller); a nearly singular matrix can cause that.\n\nExamples:\n"
    "  mochi explain solve\n"
    "  mochi explain cholesky --step\n"
    "  mochi explain solve --matrix A.csv\n"
    "  mochi explain ridge --n 5 --seed 3 | less";

static void take_topic(void *options, const char *word, const struct argp_state *state) {
    explain_options *o = options;
    char names[MOST_TOPICS][NAME_BYTES];
    const char *list[MOST_TOPICS] = {NULL}, *summary;
    const char *const *headings[MOST_TOPICS];
    int n = 0;
    for (const char *const *line = lesson_lines; *line && n < MOST_TOPICS; line++)
        if (lesson_heading(*line, names[n], &summary)) {
            headings[n] = line;
            list[n] = names[n];
            n++;
        }
    if (o->chosen)
        refuse_command_line(state, EXIT_USAGE, "'%s': expected one topic", word);
    const char *near = nearest_name(word, list, n);
    for (int i = 0; i < n; i++) { /* solve_spd: an op of the topic solve */
        size_t length = strlen(list[i]);
        if (!strncmp(word, list[i], length) && word[length] == '_')
            near = list[i];
    }
    if (near && strcmp(near, word) != 0)
        refuse_command_line(state, EXIT_USAGE, "no topic is named '%s'; did you mean '%s'?", word, near);
    o->chosen = headings[parse_choice(state, "topic", word, list, n)];
}

static void check_topic(void *options, const struct argp_state *state) {
    const explain_options *o = options;
    char name[NAME_BYTES], expected[512] = "expected a topic:";
    const char *summary;
    (void)state;
    for (const char *const *line = lesson_lines; *line; line++)
        if (lesson_heading(*line, name, &summary)) {
            size_t used = strlen(expected);
            snprintf(expected + used, sizeof expected - used, " %s", name);
        }
    refuse_given(&o->given, "matrix n seed step json", !o->chosen, expected);
}

const command_line explain_line = {
    .table = table, .words = "[TOPIC]", .about = about, .take_word = take_topic, .end = check_topic};

static int explain_topic(const explain_options *o) {
    mo_context *ctx = open_context(1);
    char topic[NAME_BYTES];
    lesson l = {.ctx = ctx,
        .t = ctx ? mo_tape_create(ctx, MO_RECORD) : NULL,
        .topic = topic,
        .text = o->chosen + 1,
        .ask = o->step,
        .json = o->json ? json_array() : NULL};
    int code = EXIT_FAILED;
    lesson_heading(*o->chosen, topic, &l.summary);
    if (l.t) {
        lesson_open_inputs(&l, &o->numbers);
        code = lesson_run(&l);
        if (l.json && code == EXIT_FINE && !print_json(json_pack("{s:s, s:O}", "topic", topic, "blocks", l.json)))
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
    explain_options o = {.numbers = {.n = -1, .seed = -1}};
    char name[NAME_BYTES];
    const char *summary;
    read_command_line(&explain_line, argc, argv, &o, &o.given);
    if (o.chosen)
        return explain_topic(&o);
    const bool beside = text_width() >= 60; /* a topic's name and its summary on one line */
    for (const char *const *line = lesson_lines; *line; line++)
        if (lesson_heading(*line, name, &summary)) {
            printf(beside ? "%-24s" : "%s\n    ", name);
            print_wrapped(summary, beside ? 24 : 4);
        }
    return EXIT_FINE;
}
