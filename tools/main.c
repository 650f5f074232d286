/* tools/main.c - the program `mochi`: finds the subcommand and runs it.
 *
 * Exit codes: 0 fine, 1 failed (one line on standard error says why), 2 wrong usage; 130, 143 and 129: SIGINT, SIGTERM
 * or SIGHUP ended the run after its checkpoint was written. */
#include "tools/command.h"
#include "tools/core.h"
#include "tools/memory.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

typedef struct command {
    const char *name, *full_name, *summary;
    int (*run)(int argc, char **argv);
} command;

static const command commands[] = {
    {"train", "mochi train", "meta-train an encoder on a pool of graphs", train_command},
    {"eval", "mochi eval", "few-shot accuracy of trained weights and baselines on other graphs", eval_command},
    {"compare", "mochi compare", "evaluations side by side, or beside the paper's tables", compare_command},
    {"embed", "mochi embed", "write the embeddings of a graph's nodes, or of a set's graphs", embed_command},
    {"predict", "mochi predict", "the labels of a graph's nodes, or of a set's graphs, from a few", predict_command},
    {"suggest", "mochi suggest", "which nodes of a graph, or graphs of a set, to label next", suggest_command},
    {"fit", "mochi fit", "few-shot accuracy and calibration of readouts on your own embeddings", fit_command},
    {"explain", "mochi explain", "an op, a readout or a method on small numbers, its adjoint line by line",
        explain_command},
    {"data", "mochi data", "list the known graphs; describe any graph, array, weights or edge list", data_command},
    {"gradcheck", "mochi gradcheck", "check the derivatives of ops and heads against differences", gradcheck_command},
    {"new", "mochi new", "write a head, an encoder or an op of your own to start from, with its test", new_command},
    {"graph", "mochi graph", "show the ops of one training step, as text or for graphviz", graph_command},
    {"lab", "mochi lab", "experiments on gradients: error, memory and time", lab_command},
    {"pitfalls", "mochi pitfalls", "where prototypes fail and a ridge does not: synthetic, or on your own embeddings",
        pitfalls_command},
    {"doctor", "mochi doctor", "describe this machine, and check that the program makes use of it", doctor_command},
};

enum { N_COMMANDS = sizeof commands / sizeof *commands };

static void print_help(void) {
    puts("Usage: mochi COMMAND [OPTION...]\n"
         "MOCHI: a graph foundation model, meta-trained through a closed-form ridge solve.\n");
    for (int i = 0; i < N_COMMANDS; i++)
        printf("  %-13s %s\n", commands[i].name, commands[i].summary);
    puts("\n  mochi help COMMAND      the options of a command, with examples; so does mochi COMMAND --help\n"
         "  mochi --version         the version\n\n"
         "Graphs are named by `mochi data list`: embedded ones, those found in the folder $MOCHI_DATA, or paths.\n"
         "With --json a command writes one JSON object per line on standard output and nothing else.\n"
         "Exit status: 0 fine, 1 failed, 2 wrong usage; training that is interrupted writes its checkpoint\n"
         "and exits with 130 (Ctrl-C), 143 (SIGTERM) or 129 (SIGHUP).");
}

/* Replaces -h by --help: no command has an option -h. */
static void spell_help(int argc, char **argv) {
    static char option[] = "--help";
    for (int i = 2; i < argc; i++)
        if (!strcmp(argv[i], "-h"))
            argv[i] = option;
}

/* Letters to add, to leave out or to change to make b of a (Wagner and Fischer 1974); words beyond 30 letters count as
 * far. */
static int count_edits(const char *a, const char *b) {
    int row[32], n = (int)strlen(b);
    if (n > 30 || strlen(a) > 30)
        return 99;
    for (int j = 0; j <= n; j++)
        row[j] = j;
    for (; *a; a++)
        for (int j = 0, corner = row[0]++; j < n; j++) {
            int least = corner + (*a != b[j]), left = row[j] + 1, above = row[j + 1] + 1;
            corner = row[j + 1];
            least = left < least ? left : least;
            row[j + 1] = above < least ? above : least;
        }
    return row[n];
}

static int run_command(int argc, char **argv) {
    spell_help(argc, argv);
    for (int i = 0; i < N_COMMANDS; i++)
        if (!strcmp(argv[1], commands[i].name)) {
            char full_name[32];
            snprintf(full_name, sizeof full_name, "%s", commands[i].full_name);
            argv[1] = full_name; /* the program's name in help and errors */
            return commands[i].run(argc - 1, argv + 1);
        }
    if (!strcmp(argv[1], "report"))
        refuse_command_line(NULL, EXIT_USAGE, "mochi-report writes the page of figures; see mochi-report --help");
    const char *near = NULL;
    int least = 3; /* two letters may be wrong, and fewer than half of them */
    for (int i = 0; i < N_COMMANDS; i++) {
        int edits = count_edits(argv[1], commands[i].name);
        if (edits < least && 2 * edits < (int)strlen(commands[i].name)) {
            least = edits;
            near = commands[i].name;
        }
    }
    refuse_command_line(NULL, EXIT_USAGE, "no command named '%s'%s%s%s; see mochi --help", argv[1],
        near ? "; did you mean '" : "", near ? near : "", near ? "'" : "");
}

static bool asks_for_help(const char *word) {
    return !strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "-?") || !strcmp(word, "help");
}

/* `mochi help COMMAND [ACTION]` is `mochi COMMAND [ACTION] --help`, which ends the program. */
static int help_command(int argc, char **argv) {
    enum { MOST = 3 }; /* data cache prune */
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
    choose_blas_core(argv);
    argp_err_exit_status = EXIT_USAGE;
    watch_output();
    signal(SIGXFSZ, SIG_IGN); /* a file beyond `ulimit -f` is an error of its write, which says so */
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
    return run_command(argc, argv);
}
