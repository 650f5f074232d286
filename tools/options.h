/* tools/options.h - the options of a command as one table: from it come the reading of the command line, --help, the
 * manual page, bash completion, and the refusal of options that have no effect beside another one. An option is one
 * row.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "tools/command.h"

#include <stddef.h>

/* What the value of an option is, and what its field holds. */
typedef enum option_kind {
    OPTION_END,      /* ends the table */
    OPTION_GROUP,    /* no option: `help` is a heading of --help */
    OPTION_FLAG,     /* bool; without a value */
    OPTION_INT,      /* int from low to high */
    OPTION_INT64,    /* int64_t of at least low and, unless it is 0, at most high */
    OPTION_REAL,     /* double from low to high */
    OPTION_POSITIVE, /* double above 0 */
    OPTION_TEXT,     /* const char *, borrowed from the command line */
    OPTION_WORD,     /* the same, one of `choices` */
    OPTION_NAMES,    /* names, owned; separated by commas; unless it is 0, at most high of them */
    OPTION_CHOICE,   /* enum or int: low + the place of the word among `choices` */
    OPTION_RANGE,    /* int64_t[2]: "8:32" or "8" */
    OPTION_BYTES,    /* int64_t: "4G" */
    OPTION_AGE,      /* int64_t: seconds, "30d" */
    OPTION_OUTPUT,   /* const char *: a file to write, of one of the forms in `choices`; without them a folder */
    OPTION_HEAD,     /* const mo_head * */
    OPTION_ENCODER,  /* const mo_encoder * */
    OPTION_OTHER,    /* `take` reads it, into the field; field 0: the command's options themselves */
} option_kind;

typedef struct option_row {
    option_kind kind;
    const char *name, *value; /* "dim", "D"; a value in brackets "[N]" may be absent, and the text is then NULL */
    size_t field;             /* offset in the command's options */
    const char *help;
    double low, high;
    const char *choices; /* separated by |; of texts, names and others those that completion offers: "@graphs" */
    const char *needs, *not_with; /* another option without which, or beside which, this one has no effect, .. */
    const char *why;              /* .. and the sentence that says so */
    void (*take)(void *field, const char *text, const struct argp_state *state);
} option;

/* The options that a command line gave, by their place in the table. Starts as zeroes. */
enum { MOST_OPTIONS = 64 };
typedef struct given_options {
    const option *table;
    const char *command; /* "mochi eval": messages begin with it */
    bool silent;         /* another process of this command says what is refused */
    bool given[MOST_OPTIONS];
} given_options;

typedef struct command_line {
    const option *table;
    const char *words; /* the words beside the options, as --help names them; NULL: none */
    const char *about; /* what the command does; behind \v what --help says below the options, with examples */
    /* Each word, and the end, in the order of the command line; NULL: words are refused; nothing is done at the end. */
    void (*take_word)(void *options, const char *word, const struct argp_state *state);
    void (*end)(void *options, const struct argp_state *state);
} command_line;

/* Reads the words into `options` and notes in `given` (not NULL) what was given. Ends the program where they are wrong,
 * where an option has no effect beside another, or where an output cannot be written. argv[0] is "mochi eval". */
void read_command_line(const command_line *line, int argc, char **argv, void *options, given_options *given);
/* Whether the option of this name was given. The name must be in the table. */
bool is_given(const given_options *g, const char *name);
/* If `useless` is true and one of these options, separated by blanks, was given, ends the program with EXIT_USAGE and
 * "mochi eval: --lambda: <why>". */
void refuse_given(const given_options *g, const char *names, bool useless, const char *why);
/* Refuses --math tf32 and --device-memory without --device cuda. Whether the processor has bf16 is asked when the
 * context opens. */
void refuse_math_on_cpu(const given_options *g, const mo_context_options *device);

/* Prints the options of a command for the manual page, in the form of scdoc. */
void print_manual(const char *command, const char *summary, const command_line *line);
/* Prints the words that may follow: the options, or the values of the option `before`, one a line. */
void print_completions(const command_line *line, const char *before);

/* ---- rows that several commands share; T is the struct of their options, f its field ---- */

#define THREADS_OPTION(T, f)                                                                                           \
    {                                                                                                                  \
        OPTION_INT, "threads", "N", offsetof(T, f), "CPU threads; no figure depends on it (default: all processors)",  \
            1, 1024                                                                                                    \
    }
#define SEED_OPTION(T, f, of)                                                                                          \
    { OPTION_INT64, "seed", "S", offsetof(T, f), "seed of " of " (default 0)" }
#define JSON_OPTION(T, f, what)                                                                                        \
    { OPTION_FLAG, "json", NULL, offsetof(T, f), what }
#define MAX_ROWS_OPTION(T, f, help)                                                                                    \
    { OPTION_INT64, "max-rows", "N", offsetof(T, f), help }
/* f: mo_context_options. */
#define MATH_OPTIONS(T, f)                                                                                             \
    {OPTION_CHOICE, "math", "NAME", offsetof(T, f.math),                                                               \
        "float32 products: fp32, bf16 or, on cuda, tf32 (default: fp32)", .choices = "fp32|tf32|bf16"},                \
    {                                                                                                                  \
        OPTION_BYTES, "device-memory", "SIZE", offsetof(T, f.device_memory),                                           \
            "bytes of cuda that may be held (4G; default: all)"                                                        \
    }
#define DEVICE_OPTIONS(T, f)                                                                                           \
    {OPTION_OTHER, "device", "NAME", offsetof(T, f), "cpu, cuda or, of several, cuda:N (default: cpu)",                \
        .choices = "cpu|cuda|cuda:1", .take = take_device},                                                            \
        MATH_OPTIONS(T, f)
void take_device(void *device, const char *text, const struct argp_state *state);
/* For commands that read graphs or arrays; contexts that are opened from then on have its value. */
#define EXPAND_OPTION                                                                                                  \
    {                                                                                                                  \
        OPTION_OTHER, "max-expand", "RATIO", 0,                                                                        \
            "compressed files may unfold to 64 MiB and RATIO times their size (default: 32)", .take = take_expand      \
    }
void take_expand(void *unused, const char *text, const struct argp_state *state);
/* For commands that make features: m is an int64_t, c a text. */
#define KEEPING_OPTIONS(T, m, c)                                                                                       \
    {OPTION_BYTES, "memory", "SIZE", offsetof(T, m),                                                                   \
        "bytes that the features of a graph, and what is taken beside them, may take (500M, 4G); a hop stack beyond "  \
        "is a file in --cache (default: what is free)"},                                                               \
        EXPAND_OPTION, {                                                                                               \
        OPTION_TEXT, "cache", "DIR", offsetof(T, c), "keep computed features in this folder (default $MOCHI_CACHE)"    \
    }
/* Where features are kept; f: mo_feature_place. */
#define PLACE_OPTION(T, f)                                                                                             \
    {                                                                                                                  \
        OPTION_CHOICE, "features", "PLACE", offsetof(T, f),                                                            \
            "where features are kept: device, host memory, or disk, as files in --cache; rows are copied to the "      \
            "device as they are encoded (default: device, and host for a graph whose features do not fit)",            \
            .low = MO_FEATURES_ON_DEVICE, .choices = "device|host|disk"                                                \
    }

#endif
