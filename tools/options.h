/* tools/options.h - a command's options as one table, one row per option. It gives the parser of the command line,
 * --help, the manual page, bash completion, and the refusal of options that have no effect.
 **/
#ifndef OPTIONS_H
#define OPTIONS_H

#include "tools/command.h"

#include <stddef.h>

/* The kind of an option's value, and the type of its field. */
typedef enum option_kind {
    OPTION_END,      /* ends the table */
    OPTION_GROUP,    /* a heading of --help, `help`; not an option */
    OPTION_FLAG,     /* bool; without a value */
    OPTION_INT,      /* int from low to high */
    OPTION_INT64,    /* int64_t, at least low and, unless high is 0, at most high */
    OPTION_REAL,     /* double from low to high */
    OPTION_POSITIVE, /* double above 0 */
    OPTION_TEXT,     /* const char *, borrowed from the command line */
    OPTION_WORD,     /* const char *, one of `choices`, borrowed from the command line */
    OPTION_NAMES,    /* names, owned; separated by commas; unless high is 0, at most high names */
    OPTION_CHOICE,   /* enum or int: low + the index of the word in `choices` */
    OPTION_RANGE,    /* int64_t[2]: "8:32" or "8" */
    OPTION_BYTES,    /* int64_t: "4G" */
    OPTION_OUTPUT,   /* const char *: a file to write, with a suffix of `choices`; without choices a folder */
    OPTION_HEAD,     /* const mo_head * */
    OPTION_ENCODER,  /* const mo_encoder * */
    OPTION_OTHER,    /* `take` parses it into the field; field 0: into the command's whole options */
} option_kind;

typedef struct option_row {
    option_kind kind;
    const char *name, *value; /* "dim", "D"; "[N]": the value can be omitted, and the text is then NULL */
    size_t field;             /* offset in the command's options */
    const char *help;
    double low, high;
    const char *choices;          /* separated by |; for texts, names and others: offered by completion, "@graphs" */
    const char *needs, *not_with; /* an option without which, or with which, this one has no effect */
    const char *why;              /* the sentence that explains needs or not_with */
    void (*take)(void *field, const char *text, const struct argp_state *state);
} option;

/* The options given on a command line, by row of the table. Zero-initialise. */
enum { MOST_OPTIONS = 64 };
typedef struct given_options {
    const option *table;
    const char *command; /* "mochi eval": messages begin with it */
    bool silent;         /* another process of this command prints the messages */
    bool given[MOST_OPTIONS];
} given_options;

typedef struct command_line {
    const option *table;
    const char *words; /* the words beside the options, for --help; NULL: none */
    const char *about; /* what the command does; after \v the text below the options of --help, with examples */
    /* Called for each word in order, and at the end. take_word NULL: words are refused; end NULL: nothing happens. */
    void (*take_word)(void *options, const char *word, const struct argp_state *state);
    void (*end)(void *options, const struct argp_state *state);
} command_line;

/* Parses the command line into `options` and records the given options in `given` (not NULL). Ends the program if a
 * word is wrong, an option has no effect beside another, or an output cannot be written. argv[0] is "mochi eval". */
void read_command_line(const command_line *line, int argc, char **argv, void *options, given_options *given);
/* Whether the option of this name was given. The name must be in the table. */
bool is_given(const given_options *g, const char *name);
/* If `useless` and one of these options (separated by blanks) was given, ends the program with EXIT_USAGE and "mochi
 * eval: --lambda: <why>". */
void refuse_given(const given_options *g, const char *names, bool useless, const char *why);
/* Refuses --math tf32 and --device-memory without --device cuda. The context itself checks for bf16 when it opens. */
void refuse_math_on_cpu(const given_options *g, const mo_context_options *device);

/* Prints a command's options for the manual page, in scdoc syntax. */
void print_manual(const char *command, const char *summary, const command_line *line);
/* Prints possible next words, one per line: the options, or the values of the option `before`. */
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
