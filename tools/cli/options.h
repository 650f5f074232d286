/* tools/cli/options.h - a command's options as one table, one row per option. The table gives the parser of the command
 * line, --help, the manual page, bash completion, and errors for options that would have no effect. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "tools/cli/command.h"

#include <stddef.h>

/* The kind of an option's value, and the type of its field. The first are kinds of mo_field (tensor/files/fields.h),
 * with its rules for `low`, `high` and `choices`. */
typedef enum option_kind {
    OPTION_END = MO_FIELDS_END,          /* ends the table */
    OPTION_CHOICE = MO_FIELD_CHOICE,     /* enum or int */
    OPTION_INT = MO_FIELD_INT,           /* int */
    OPTION_INT64 = MO_FIELD_INT64,       /* int64_t */
    OPTION_REAL = MO_FIELD_REAL,         /* double */
    OPTION_POSITIVE = MO_FIELD_POSITIVE, /* double above 0 */
    OPTION_GROUP = 32,                   /* a heading of --help, the field `help`; not an option */
    OPTION_FIELDS,  /* every member in `fields` that has a meaning, as an option or group of its own */
    OPTION_FLAG,    /* bool; the option takes no value */
    OPTION_TEXT,    /* const char *, borrowed from the command line */
    OPTION_INPUT,   /* const char *, borrowed too: what the command reads, a file, a graph or a list of these; inputs
                     * also are the values of INPUTS, HEAD, ENCODER and OTHER, and the words beside the options */
    OPTION_WORD,    /* const char *, one of `choices`, borrowed from the command line */
    OPTION_NAMES,   /* names, owned; separated by commas; unless `high` is 0, at most `high` names */
    OPTION_INPUTS,  /* as NAMES, of files or graphs */
    OPTION_BYTES,   /* int64_t: "4G" */
    OPTION_OUTPUT,  /* const char *: a file to write, with a suffix of `choices`; without choices a folder */
    OPTION_HEAD,    /* const mo_head * */
    OPTION_ENCODER, /* const mo_encoder * */
    OPTION_OTHER,   /* parsed by `take`, which gets the field or, if `field` is 0, the command's whole options */
} option_kind;

typedef struct option_row {
    option_kind kind;
    const char *name, *value; /* "dim", "D"; "[N]": the value can be omitted, and then reads as NULL */
    size_t field;             /* offset in the command's options */
    const char *help;
    double low, high;
    const char *choices; /* separated by |; OPTION_INPUT, OPTION_INPUTS and OPTION_OTHER use them for completion
                          * only: "@graphs" */
    const char *needs, *not_with; /* an option without which, or with which, this one has no effect */
    const char *why;              /* the sentence that explains `needs` or `not_with` */
    void (*take)(void *field, const char *text, const struct argp_state *state);
    const mo_field *fields; /* of OPTION_FIELDS: the members of the struct at `field` */
} option;

/* The row as a member of the command's options, if its kind is one of mo_field. */
mo_field option_field(const option *row);

/* Which options a command line gave: given[i] for row i of the table. Zero-initialise. */
enum { MOST_OPTIONS = 64 };
typedef struct given_options {
    const option *table;
    const char *command; /* "mochi eval", the start of messages */
    bool silent;         /* prints no messages: another process of this command prints them */
    bool given[MOST_OPTIONS];
} given_options;

/* Options of one name, from which the defaults in --help are taken; `lacks` lists options that have no effect there. */
typedef struct preset {
    const char *name, *lacks;
    const void *options;
} preset;

typedef struct command_line {
    const option *table;
    const preset *(*presets)(int *n); /* the first has the defaults; NULL: help texts tell them */
    const char *words;                /* the words beside the options, for --help; NULL: none */
    const char *about; /* what the command does; after \v the text below the options of --help, with examples */
    /* take_word is called for each word beside the options, in order; if NULL, words are refused. end, unless NULL, is
     * called after the whole command line. */
    void (*take_word)(void *options, const char *word, const struct argp_state *state);
    void (*end)(void *options, const struct argp_state *state);
    const struct command_line *other; /* a command with options that may be looked for here; NULL: none */
    const char *other_is;             /* its name and what it does, for the refusal of such an option */
} command_line;

/* The command's table, with a row for each member that OPTION_FIELDS stands for. */
const option *option_table(const command_line *line);
/* Whether a list of names, separated by blanks, has this one. */
bool is_among(const char *name, const char *list);
/* Parses the command line into `options` and records the given options in `given` (not NULL). Ends the program if a
 * word is wrong, an option has no effect beside another, or an output cannot be written. argv[0] is "mochi eval". */
void read_command_line(const command_line *line, int argc, char **argv, void *options, given_options *given);
/* Whether the command line gave the option of this name, which must be in the table. */
bool is_given(const given_options *g, const char *name);
/* If `useless` and one of these options (separated by blanks) was given, ends the program with EXIT_USAGE and "mochi
 * eval: --lambda: <why>". */
void refuse_given(const given_options *g, const char *names, bool useless, const char *why);
/* Refuses --math tf32 and --device-memory without --device cuda. The context itself checks for bf16 when it opens. */
void refuse_math_on_cpu(const given_options *g, const mo_context_options *device);

/* Prints a command's options for the manual page, in scdoc syntax. */
void print_manual(const char *command, const char *summary, const command_line *line);
/* Prints possible next words, one per line: the command's words and options or, if the word `before` is an option, its
 * values. */
void print_completions(const command_line *line, const char *before);

/* ---- rows that several commands share; T is the struct of their options, f its field ---- */

/* The weights that come with mochi, for the help texts of --weights. */
#define SHIPPED_WEIGHTS                                                                                                \
    "best: the weights that come with mochi (default); free: the untrained encoder with an exponent set by hand"

#define THREADS_OPTION(T, f)                                                                                           \
    {                                                                                                                  \
        OPTION_INT, "threads", "N", offsetof(T, f),                                                                    \
            "CPU threads; results do not depend on it (default: all processors)", 1, 1024                              \
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
        "float32 matrix products: fp32, bf16 or, with cuda, tf32 (default: fp32)", .choices = "fp32|tf32|bf16"},       \
    {                                                                                                                  \
        OPTION_BYTES, "device-memory", "SIZE", offsetof(T, f.device_memory),                                           \
            "the most GPU memory that may be used, such as 4G (default: all)"                                          \
    }
#define DEVICE_OPTIONS(T, f)                                                                                           \
    {OPTION_OTHER, "device", "NAME", offsetof(T, f), "cpu, cuda, or cuda:N for GPU N, from 0 (default: cpu)",          \
        .choices = "cpu|cuda|cuda:1", .take = take_device},                                                            \
        MATH_OPTIONS(T, f)
void take_device(void *device, const char *text, const struct argp_state *state);
/* For commands that read graphs or arrays. Sets the value for all contexts opened later. */
#define EXPAND_OPTION                                                                                                  \
    {                                                                                                                  \
        OPTION_OTHER, "max-expand", "RATIO", 0,                                                                        \
            "compressed files may unfold to 64 MiB and RATIO times their size, and what a file claims without "        \
            "listing it may take as much (default: 32)",                                                               \
            .take = take_expand                                                                                        \
    }
void take_expand(void *unused, const char *text, const struct argp_state *state);
void take_memory(void *unused, const char *text, const struct argp_state *state);
/* For commands that make features: c is the text field of --cache. --memory holds for all contexts opened later. */
#define KEEPING_OPTIONS(T, c)                                                                                          \
    {OPTION_OTHER, "memory", "SIZE", 0,                                                                                \
        "the most memory that arrays may take, such as 500M or 4G: what would take more ends with an error; hop "      \
        "stacks for which it, or the free memory, is too small become files in --cache (default: no bound)",           \
        .take = take_memory},                                                                                          \
        EXPAND_OPTION, {                                                                                               \
        OPTION_TEXT, "cache", "DIR", offsetof(T, c), "save computed features in this folder (default $MOCHI_CACHE)"    \
    }
/* What the features are made of; f: mo_attributes. */
#define ATTRIBUTES_OPTION(T, f, by_default)                                                                            \
    {                                                                                                                  \
        OPTION_CHOICE, "attributes", "MODE", offsetof(T, f),                                                           \
            "attributes of a single graph's nodes: scaled, with columns of another scale brought to that of the "      \
            "others and constant columns left out, or raw (default: " by_default ")",                                  \
            .low = MO_ATTRIBUTES_SCALED, .choices = "scaled|raw"                                                       \
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
