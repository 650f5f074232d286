/* tools/predict/label.c - `mochi label`: shows one node of a graph after another, the most useful first, takes the key
 * of its class, and predicts again. The labels lie in the file after every answer: a killed process loses none. */
#include "tools/cli/interrupt.h"
#include "tools/cli/memory.h"
#include "tools/cli/options.h"
#include "tools/cli/progress.h"
#include "tools/cli/table_file.h"
#include "tools/predict/predict.h"
#include "train/graphs/label_column.h"
#include "train/graphs/table_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <termios.h>
#include <unistd.h>

enum { QUEUE = 32 /* examples that are chosen together */, NAME_BYTES = 256 };

typedef struct label_options {
    const char *data, *labels, *cache;
    names classes;
    mo_few_shot_options few_shot;
    mo_context_options device;
    bool quiet;
    given_options given;
} label_options;

typedef struct labelling {
    const label_options *options;
    mo_context *ctx;
    mo_graph *graph;
    mo_few_shot *few_shot;
    const char *what; /* "node" or "graph" */
    int64_t examples;
    int64_t *class_of;       /* [examples]: the class, or -1 */
    int64_t *queue, queued;  /* [examples]: those shown so far and those to show next, and how many these are */
    int64_t at, first;       /* the example shown; the first that this session has chosen (before it: the file's) */
    names classes;           /* in order of their keys */
    int64_t *of, fitted;     /* [fitted]: the classes of the fit, owned; none before the first */
    bool changed;            /* the labels have changed since the fit */
    double accuracy, before; /* expected, now and before the last answer; NaN: unknown */
    bool terminal, ended;    /* ended: standard input has no more */
} labelling;

#define AT(field) offsetof(label_options, field)

static const option table[] = {
    {OPTION_INPUT, "data", "NAME", AT(data), "a graph, or a set of graphs: a name of `mochi data list`, or a path",
        .choices = "@graphs"},
    {OPTION_OUTPUT, "labels", "FILE", AT(labels),
        "where the labels are kept, as `mochi predict --labels` reads them: .csv or .tsv; if the file is there, its "
        "labels are taken over (default: DATA.labels.csv in the current folder)",
        .choices = ".csv or .tsv"},
    {OPTION_NAMES, "classes", "NAMES", AT(classes), "the classes, separated by commas; more can be added on the way"},
    {OPTION_INPUT, "weights", "FILE", AT(few_shot.weights), "weights.safetensors of a run; " SHIPPED_WEIGHTS,
        .choices = "best|free"},
    ATTRIBUTES_OPTION(label_options, few_shot.attributes, "as for the weights"),
    KEEPING_OPTIONS(label_options, cache),
    THREADS_OPTION(label_options, device.threads),
    DEVICE_OPTIONS(label_options, device),
    {OPTION_FLAG, "quiet", NULL, AT(quiet), "no notices on standard error"},
    {OPTION_END},
};

static const char about[] =
    "Labels a graph with you: shows a node with its attributes and neighbours, the most useful first (`mochi "
    "suggest`), "
    "takes one key for its class, predicts again, and says how accurate the predictions should be by now. Labels that "
    "the data have for a part of the nodes are kept. The file of labels is written after each answer, so a session can "
    "end at any time and go on later. Answers may also come from a pipe, one a line.\v"
    "Keys: 1 to 9 and letters for the classes, Enter for the class that is predicted, n for a new class, s to skip, u "
    "to "
    "undo, q to leave.\n\n"
    "Examples:\n"
    "  mochi label --data kitchen\n"
    "  mochi label --data my_graph --classes spam,fine --labels mine.csv\n"
    "  mochi predict --data my_graph --labels mine.csv --out predictions.csv";

static void check_options(void *options, const struct argp_state *state) {
    label_options *o = options;
    if (!o->data)
        refuse_command_line(state, EXIT_USAGE, "--data NAME is missing");
    if (!o->labels) {
        size_t n = strlen(o->data);
        while (n > 1 && o->data[n - 1] == '/')
            n--;
        char *folder = o->data[n - 1] == '.' ? realpath(o->data, NULL) : NULL; /* "." has a name too */
        const char *data = folder ? folder : o->data, *end = data + (folder ? strlen(folder) : n), *name = end;
        while (name > data && name[-1] != '/')
            name--;
        char *path = needed(malloc((size_t)(end - name) + sizeof ".labels.csv"));
        sprintf(path, "%.*s.labels.csv", (int)(end - name), name);
        free(folder);
        o->labels = take_output(state, "--labels", path, ".csv or .tsv");
    }
    refuse_math_on_cpu(&o->given, &o->device);
}

const command_line label_line = {.table = table, .about = about, .end = check_options};

/* ---- what the reader types ---- */

/* Reads a byte of standard input; -1 at its end, or when a signal asks the command to end. */
static int read_byte(labelling *l) {
    unsigned char c;
    ssize_t n = -1;
    while (!*interruption() && (n = read(STDIN_FILENO, &c, 1)) < 0 && errno == EINTR)
        continue;
    l->ended |= n != 1;
    return n == 1 ? c : -1;
}

/* Reads a line without its end; empty at the end of standard input. Bytes beyond the buffer are dropped. */
static void read_line(labelling *l, char *text, size_t bytes) {
    size_t n = 0;
    for (int c; (c = read_byte(l)) >= 0 && c != '\n';)
        if (n + 1 < bytes)
            text[n++] = (char)c;
    while (n && (text[n - 1] == ' ' || text[n - 1] == '\r'))
        n--;
    text[n] = 0;
}

/* Reads a key: on a terminal one character, without Enter; elsewhere a line, of which `rest` receives what follows the
 * key and a blank. Returns '\n' for an empty line and 'q' at the end. */
static int read_key(labelling *l, char rest[NAME_BYTES]) {
    struct termios usual, raw;
    *rest = 0;
    if (!l->terminal || tcgetattr(STDIN_FILENO, &usual) != 0) {
        char line[NAME_BYTES];
        read_line(l, line, sizeof line);
        if (*line && line[1] == ' ')
            strcpy(rest, line + 2 + strspn(line + 2, " "));
        return l->ended && !*line ? 'q' : *line && line[1] && line[1] != ' ' ? '?' : *line ? *line : '\n';
    }
    raw = usual;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    int c = read_byte(l);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &usual);
    return c < 0 || c == 4 ? 'q' : c == '\r' ? '\n' : c; /* 4: Ctrl-D */
}

static const char class_keys[] = "123456789abcdefghijklmoprtvwxyz"; /* without n, s, u and q */

/* ---- the labels ---- */

static int64_t count_labels(const labelling *l) {
    int64_t n = 0;
    for (int64_t i = 0; i < l->examples; i++)
        n += l->class_of[i] >= 0;
    return n;
}

/* Writes the labels, class by class in the order of their keys, which the next session then has too, and in a class in
 * the order of the nodes; the old file is replaced when the new one is complete. */
static bool save_labels(const labelling *l) {
    table_file t;
    open_table(&t, l->options->labels, false);
    begin_table(&t, (const char *[]){l->what, "label"}, 2);
    for (int c = 0; c < l->classes.count; c++)
        for (int64_t i = 0; i < l->examples; i++)
            if (l->class_of[i] == c) {
                put_example(&t, l->graph, i);
                put_text(&t, l->classes.items[c]);
                end_row(&t);
            }
    return close_table(l->ctx, &t);
}

/* The number of a class, which is added if it is new; -1 after saying why it cannot be one. */
static int64_t class_number(labelling *l, const char *text) {
    char plain[64];
    const char *name = mo_plain_label(text, plain);
    for (int i = 0; i < l->classes.count; i++)
        if (!strcmp(l->classes.items[i], name))
            return i;
    for (const char *at = name; *at; at++)
        name = *at == printable(*at) ? name : "";
    if (!*name) {
        printf("'");
        print_safely(stdout, text);
        printf("' names no class: in a file it marks the unknown\n");
        return -1;
    }
    for (int i = 0; i < l->classes.count; i++)
        if (!strcasecmp(l->classes.items[i], name)) {
            printf("a class of its own: ");
            print_safely(stdout, name);
            printf(" differs from ");
            print_safely(stdout, l->classes.items[i]);
            printf(" in case alone\n");
        }
    append_name(&l->classes, name);
    return l->classes.count - 1;
}

/* Takes the classes of the file in their order, which is that of their keys. Returns whether it has a label. Raises if
 * it is no file that this command may replace. */
static bool take_keys(labelling *l) {
    const char *path = l->options->labels;
    mo_table row;
    bool labels = false;
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return false;
    if (mo_table_open(&row, l->ctx, path, MO_TABLE_CSV))
        while (mo_table_next(&row)) {
            if (row.row == 0 &&
                (row.n != 2 || strcmp(row.field[0], l->what) != 0 || strcmp(row.field[1], "label") != 0))
                mo_fail(l->ctx, MO_FORMAT,
                    "%s:1: expected the header %s,label, of a file that `mochi label` or `mochi suggest` has written "
                    "and that may be replaced, found '%.60s'; name another file (--labels)",
                    path, l->what, row.field[0]);
            if (row.row > 0 && (row.n != 2 || *row.field[1])) {
                labels = true;
                if (row.n == 2)
                    class_number(l, row.field[1]);
            }
        }
    mo_table_close(&row);
    return labels && mo_ok(l->ctx);
}

static void take_labels(labelling *l, const mo_labels *known) {
    for (int64_t i = 0; i < known->n; i++) {
        l->class_of[known->id[i]] = class_number(l, known->name[known->label[i]]);
        l->queue[l->queued++] = known->id[i];
    }
    l->at = l->first = l->queued;
    l->changed = true;
}

/* Adds what the data have come to know since the file was written, and says where they differ. */
static void add_own_labels(labelling *l) {
    int64_t differ = 0;
    char number[24];
    for (int64_t i = 0; i < l->graph->n_labels; i++) {
        int64_t c =
            l->graph->label[i] < 0 ? -1 : class_number(l, mo_graph_class_name(l->graph, l->graph->label[i], number));
        if (c >= 0 && l->class_of[i] < 0) {
            l->class_of[i] = c;
            l->queue[l->queued++] = i;
        }
        differ += c >= 0 && l->class_of[i] != c;
    }
    l->at = l->first = l->queued;
    if (differ)
        printf("%" PRId64 " label%s of %s differ%s from the data's own, and count%s\n", differ, differ > 1 ? "s" : "",
            l->options->labels, differ > 1 ? "" : "s", differ > 1 ? "" : "s");
}

/* Takes the labels of the file, and those of data that have labels for a part of the nodes. */
static bool take_known_labels(labelling *l) {
    mo_labels known = {0};
    int64_t own = 0;
    for (int64_t i = 0; i < l->graph->n_labels; i++)
        own += l->graph->label[i] >= 0;
    if (take_keys(l)) {
        if (read_known(l->graph, l->options->labels, &known)) {
            take_labels(l, &known);
            if (own > 0 && own < l->examples)
                add_own_labels(l);
        }
    } else if (mo_ok(l->ctx) && own > 0 && own < l->examples && take_own_labels(l->graph, 0, &known)) {
        take_labels(l, &known);
    }
    mo_labels_release(&known);
    return mo_ok(l->ctx);
}

/* ---- the predictions ---- */

/* Fits the labels again, if there are two classes. */
static void fit_labels(labelling *l) {
    mo_labels known = {0};
    l->before = l->accuracy;
    l->accuracy = NAN;
    l->fitted = 0;
    l->changed = false;
    if (mo_labels_of(l->ctx, l->class_of, NULL, l->examples, &known) && known.classes > 1 &&
        mo_few_shot_fit(l->few_shot, known.id, known.label, known.n) == MO_OK) {
        l->of = needed(realloc(l->of, (size_t)known.classes * sizeof *l->of));
        for (; l->fitted < known.classes; l->fitted++)
            l->of[l->fitted] = strtoll(known.name[l->fitted], NULL, 10); /* mo_labels_of names a class by its number */
        l->accuracy = mo_few_shot_expect(l->few_shot).accuracy;
    }
    mo_labels_release(&known);
    if (mo_context_status(l->ctx)->code == MO_NUMERICAL) { /* more labels may do: the session goes on */
        printf("no prediction: %s\n", mo_context_status(l->ctx)->message);
        mo_clear_error(l->ctx);
    }
}

/* Says what the labels are worth. */
static void print_accuracy(const labelling *l) {
    int64_t n = count_labels(l);
    if (isnan(l->accuracy) && n) {
        printf("%" PRId64 " label%s; the expected accuracy takes two of each of two classes\n", n, n > 1 ? "s" : "");
    } else if (n) {
        mo_few_shot_estimate e = mo_few_shot_expect(l->few_shot);
        printf("expected accuracy %.0f%% (95%%: %.0f to %.0f) from %" PRId64 " labels", 100 * e.accuracy, 100 * e.low,
            100 * e.high, n);
        if (!isnan(l->before))
            printf("; %.0f%% before", 100 * l->before);
        putchar('\n');
    }
    putchar('\n');
}

/* The class that is predicted for an example; -1: unknown. */
static int64_t predicted_class(const labelling *l, int64_t id) {
    double *p = needed(malloc((size_t)l->fitted * sizeof *p + 1));
    bool known = l->fitted && mo_few_shot_probabilities(l->few_shot, &id, 1, p) == MO_OK;
    int64_t best = known ? l->of[mo_first_largest(p, l->fitted)] : -1;
    free(p);
    return best;
}

/* ---- the session ---- */

/* Chooses the next examples, when none waits: those that, beside all that were shown, tell most. */
static bool choose_next(labelling *l) {
    int64_t left = l->examples - l->queued, n = left < QUEUE ? left : QUEUE;
    if (l->at == l->queued && n > 0 &&
        mo_few_shot_suggest(l->few_shot, l->queue, l->queued, n, l->queue + l->queued) == MO_OK)
        l->queued += n;
    return mo_ok(l->ctx) && l->at < l->queued;
}

static void print_question(const labelling *l, int64_t id, int64_t guess) {
    char number[24];
    print_safely(stdout, mo_graph_example_name(l->graph, id, number));
    putchar('\n');
    char *words = needed(mo_example_words(l->graph, id, l->class_of, l->classes.items));
    fputs(words, stdout);
    free(words);
    for (int i = 0; i < l->classes.count && class_keys[i]; i++) {
        printf("%s%c ", i ? "  " : "   ", class_keys[i]);
        print_safely(stdout, l->classes.items[i]);
        fputs(i == guess ? " (predicted: Enter)" : "", stdout);
    }
    printf("%sn new class  s skip  u undo  q leave\n> ", l->classes.count ? "  " : "   ");
    fflush(stdout);
}

/* Takes the answer for an example. Returns whether the next one is to be shown. */
static bool take_answer(labelling *l, int64_t id, int64_t guess) {
    char rest[NAME_BYTES];
    int key = read_key(l, rest);
    const char *at = key > 0 ? strchr(class_keys, key) : NULL;
    int64_t chosen = at && at - class_keys < l->classes.count ? at - class_keys : key == '\n' ? guess : -1;
    if (l->terminal && key != '\n')
        printf("%c\n", printable((char)key));
    else if (l->terminal)
        putchar('\n');
    if (key == 'q') {
        l->ended = true;
        return false;
    }
    if (key == 'n') {
        if (l->terminal) {
            printf("name of the class: ");
            fflush(stdout);
            read_line(l, rest, sizeof rest);
        }
        chosen = *rest ? class_number(l, rest) : -1;
        if (chosen < 0)
            return false;
    } else if (key == 's') {
        l->at++;
        return true;
    } else if (key == 'u') {
        if (l->at == l->first) {
            printf("nothing to undo in this session; earlier answers are lines of %s\n", l->options->labels);
            return false;
        }
        l->class_of[l->queue[--l->at]] = -1;
        l->changed = true;
        return save_labels(l);
    }
    if (chosen < 0) {
        printf("expected one of the keys above\n");
        return false;
    }
    l->class_of[id] = chosen;
    l->changed = true;
    l->at++;
    return save_labels(l);
}

static void run_session(labelling *l) {
    printf("%s: %" PRId64 " %ss, %" PRId64 " of them labelled; answers go to %s\n\n", l->graph->name, l->examples,
        l->what, count_labels(l), l->options->labels);
    int64_t guess = -1;
    bool next = true;
    while (!l->ended && !*interruption() && choose_next(l)) {
        int64_t id = l->queue[l->at];
        if (l->changed) {
            fit_labels(l);
            print_accuracy(l);
        }
        if (next)
            guess = predicted_class(l, id);
        if (!mo_ok(l->ctx))
            return;
        print_question(l, id, guess);
        next = take_answer(l, id, guess);
    }
    if (mo_ok(l->ctx) && !*interruption() && l->at == l->queued && l->queued == l->examples) {
        fit_labels(l);
        print_accuracy(l);
        printf("every %s is labelled or skipped\n", l->what);
    }
    if (mo_ok(l->ctx))
        printf("\n%" PRId64 " label%s in %s; to predict the others: mochi predict --data %s --labels %s\n",
            count_labels(l), count_labels(l) == 1 ? "" : "s", l->options->labels, l->options->data, l->options->labels);
}

static void open_labelling(labelling *l) {
    const label_options *o = l->options;
    phase_begin(o->quiet, "mochi label: reading %.80s", o->data);
    l->graph = mo_graph_open(l->ctx, o->data);
    if (!l->graph)
        return;
    l->what = l->graph->graphs > 1 ? "graph" : "node";
    l->examples = mo_graph_examples(l->graph);
    l->class_of = needed(malloc((size_t)l->examples * sizeof *l->class_of + 1));
    l->queue = needed(malloc((size_t)l->examples * sizeof *l->queue + 1));
    for (int64_t i = 0; i < l->examples; i++)
        l->class_of[i] = -1;
    for (int i = 0; i < o->classes.count; i++)
        class_number(l, o->classes.items[i]);
    if (!take_known_labels(l) || !save_labels(l)) /* a file that cannot be written is refused before the first answer */
        return;
    if (!o->quiet)
        print_left_out(l->graph);
    phase_begin(o->quiet, "mochi label: features of %.80s", l->graph->name);
    l->few_shot = mo_few_shot_open(l->graph, l->graph->graphs > 1 ? MO_TASK_GC : MO_TASK_NC, &o->few_shot);
    phase_end();
}

int label_command(int argc, char **argv) {
    label_options o = {.few_shot.transductive = MO_TRANSDUCTIVE_AUTO};
    read_command_line(&label_line, argc, argv, &o, &o.given);
    o.few_shot.cache = o.cache ? o.cache : getenv("MOCHI_CACHE");
    o.few_shot.notice = o.quiet ? NULL : print_event;
    mo_context *ctx = open_context_on(o.device);
    if (!ctx)
        return EXIT_FAILED;
    catch_interrupts(0);
    labelling l = {.options = &o, .ctx = ctx, .accuracy = NAN, .before = NAN, .terminal = isatty(STDIN_FILENO)};
    open_labelling(&l);
    if (l.few_shot && mo_ok(ctx))
        run_session(&l);
    int code = !mo_ok(ctx) ? report_failure(ctx) : *interruption() ? interrupted_code() : EXIT_FINE;
    mo_few_shot_release(l.few_shot);
    mo_graph_release(l.graph);
    mo_context_release(ctx);
    free_names(&l.classes);
    free_names(&o.classes);
    free(l.queue);
    free(l.of);
    free(l.class_of);
    return code;
}
