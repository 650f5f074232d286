/* tools/main.c - the program `mochi`: finds the subcommand and runs it.
 *
 * Exit codes: 0 success, 1 failure (with one line on standard error), 2 wrong usage; 130, 143 and 129: SIGINT, SIGTERM
 * or SIGHUP ended the run after its checkpoint was written. */
#include "tools/cli/command.h"
#include "tools/cli/memory.h"
#include "tools/cli/options.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static void *leave(void *state) {
    pthread_exit(state);
}

/* When a thread first ends by pthread_exit, as OpenMP's threads do, the C library loads libgcc_s, and aborts if it has
 * no memory for that. This thread makes it load at the start, when there is memory. */
__attribute__((constructor)) static void load_unwinder(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, leave, NULL) == 0)
        pthread_join(thread, NULL);
}

typedef struct command {
    const char *name, *summary;
    command_function *run; /* NULL: `name` is an action of the command listed before it */
    const command_line *line;
    const char *reader; /* the heading of --help under which this command and the next ones stand; NULL: as before */
} command;

static const command commands[] = {
    {"label", "label a graph node by node, and see the predictions grow", label_command, &label_line, "Label a graph:"},
    {"predict", "the labels of a graph's nodes, or of a set's graphs, from a few", predict_command, &predict_line},
    {"suggest", "which nodes of a graph, or graphs of a set, to label next", suggest_command, &suggest_line},
    {"data", "list, describe, get and convert graphs", data_command, &data_line},
    {"data list", "list the graphs that every command knows by name", NULL, &data_list_line},
    {"data info", "describe a graph or a file", NULL, &data_info_line},
    {"data convert", "write a graph as .npz, or add digests to weights", NULL, &data_convert_line},
    {"readouts", "accuracy and calibration of readouts, side by side", readouts_command, &readouts_line,
        "Readouts on your own embeddings or table:"},
    {"fit", "fit one readout, save it, predict rows by it", fit_command, &fit_line},
    {"train", "meta-train an encoder on a pool of graphs", train_command, &train_line, "Train and evaluate:"},
    {"eval", "few-shot accuracy of weights and baselines on other graphs", eval_command, &eval_line},
    {"embed", "write the embeddings of a graph's nodes, or of a set's graphs", embed_command, &embed_line},
    {"new", "a head, an encoder or an op of your own to start from", new_command, &new_line,
        "Write your own head, encoder or op:"},
    {"gradcheck", "check derivatives of ops and heads against differences", gradcheck_command, &gradcheck_line},
    {"tape", "the ops of one training step, as text or for graphviz", tape_command, &tape_line},
    {"explain", "explain an op, a readout or a method line by line", explain_command, &explain_line, "Learn:"},
    {"doctor", "whether the program runs well on this machine, and what to do", doctor_command, &doctor_line,
        "If something is wrong or slow:"},
};

enum { N_COMMANDS = sizeof commands / sizeof *commands };

static void print_help(void) {
    puts("Usage: mochi COMMAND [OPTION...]     a graph foundation model, meta-trained through a ridge solve");
    for (int i = 0; i < N_COMMANDS; i++) {
        if (commands[i].reader)
            printf("\n%s\n", commands[i].reader);
        if (commands[i].run)
            printf("  %-10s %s\n", commands[i].name, commands[i].summary);
    }
    puts("\n`mochi help COMMAND` has its options, with examples; `mochi --version` the version.\n"
         "Graphs are named by `mochi data list`, or by paths. With --json a command writes one JSON\n"
         "object per line on standard output and nothing else. Exit status: 0 fine, 1 failed, 2 wrong\n"
         "usage; 130, 143 or 129: training was interrupted and has written its checkpoint.");
}

static const command *find_command(const char *name) {
    for (int i = 0; i < N_COMMANDS; i++)
        if (!strcmp(name, commands[i].name))
            return &commands[i];
    return NULL;
}

/* Prints the option part of the manual page: `mochi --manual`, called when the program is built. */
static void print_commands(void) {
    for (int i = 0; i < N_COMMANDS; i++)
        print_manual(commands[i].name, commands[i].summary, commands[i].line);
}

/* Prints the possible next words for the shell, one per line: `mochi --complete WORD.. BEFORE`. */
static void print_next_words(int argc, char **argv) {
    char two[64];
    snprintf(two, sizeof two, "%s %s", argc > 0 ? argv[0] : "", argc > 1 ? argv[1] : "");
    const command *c = argc > 1 ? find_command(two) : NULL;
    if (argc > 0 && !c)
        c = find_command(argv[0]);
    for (int i = 0; i < N_COMMANDS && !c; i++)
        if (commands[i].run)
            puts(commands[i].name);
    if (!c)
        puts("help");
    else
        print_completions(c->line, argv[argc - 1]);
}

/* Replaces -h by --help; no command has another option -h. */
static void spell_help(int argc, char **argv) {
    static char option[] = "--help";
    for (int i = 2; i < argc; i++)
        if (!strcmp(argv[i], "-h"))
            argv[i] = option;
}

static int run_command(int argc, char **argv) {
    spell_help(argc, argv);
    const command *chosen = find_command(argv[1]);
    if (chosen && chosen->run) {
        char full_name[32];
        snprintf(full_name, sizeof full_name, "mochi %s", chosen->name);
        argv[1] = full_name; /* argp prints it as the program's name in help and errors */
        return chosen->run(argc - 1, argv + 1);
    }
    const char *names[N_COMMANDS];
    for (int i = 0; i < N_COMMANDS; i++)
        names[i] = commands[i].run ? commands[i].name : NULL;
    const char *near = nearest_name(argv[1], names, N_COMMANDS);
    refuse_command_line(NULL, EXIT_USAGE, "no command named '%s'%s%s%s; see mochi --help", argv[1],
        near ? "; did you mean '" : "", near ? near : "", near ? "'" : "");
}

static bool asks_for_help(const char *word) {
    return !strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "-?") || !strcmp(word, "help");
}

/* `mochi help COMMAND [ACTION]`: runs `mochi COMMAND [ACTION] --help`, which ends the program. */
static int help_command(int argc, char **argv) {
    enum { MOST = 2 }; /* words of the longest commands, such as "data info" */
    static char option[] = "--help";
    char *words[MOST + 3] = {argv[0]};
    int n = 1;
    while (n <= MOST && n + 1 < argc) {
        words[n] = argv[n + 1];
        n++;
    }
    words[n++] = option;
    return run_command(n, words);
}

int main(int argc, char **argv) {
    argp_err_exit_status = EXIT_USAGE;
    watch_output();
    signal(SIGXFSZ, SIG_IGN); /* so that a write beyond `ulimit -f` fails with an error instead of a kill */
    need_json_memory();
    if (argc < 2) {
        fprintf(stderr, "mochi: expected a command; see mochi --help\n");
        return EXIT_USAGE;
    }
    if (asks_for_help(argv[1])) {
        if (argc > 2 && !asks_for_help(argv[2]))
            return help_command(argc, argv);
        print_help();
        return EXIT_FINE;
    }
    if (!strcmp(argv[1], "--version")) {
        puts("mochi " MO_VERSION);
        return EXIT_FINE;
    }
    if (!strcmp(argv[1], "--manual")) {
        print_commands();
        return EXIT_FINE;
    }
    if (!strcmp(argv[1], "--complete")) {
        print_next_words(argc - 2, argv + 2);
        return EXIT_FINE;
    }
    return run_command(argc, argv);
}
