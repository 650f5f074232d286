/* tools/cli/command.h - shared by the subcommands: exit codes, option values, messages to the user. */
#ifndef COMMAND_H
#define COMMAND_H

#include "tools/inside.h"

#include <argp.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>

enum { EXIT_FINE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* One subcommand: argv[0] is its full name, "mochi train". Returns the exit code. */
typedef int command_function(int argc, char **argv);
command_function train_command, eval_command, embed_command, label_command, suggest_command, predict_command,
    explain_command, fit_command, readouts_command, data_command, gradcheck_command, new_command, tape_command,
    doctor_command;
/* The subcommands' options (options.h); for `data` also each action's. */
struct command_line;
extern const struct command_line train_line, eval_line, embed_line, label_line, suggest_line, predict_line,
    explain_line, fit_line, readouts_line, data_line, data_list_line, data_info_line, data_convert_line, gradcheck_line,
    new_line, tape_line, doctor_line;

/* ---- values.c: parse an option's text. A bad value ends the program with one line and EXIT_USAGE. ---- */

/* A comma-separated list; the strings are owned. */
typedef struct names {
    char **items;
    int count;
} names;

/* Prints the line "mochi train: <text>" and ends the program with the given exit code. */
_Noreturn void refuse_command_line(const struct argp_state *state, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void usage_error(const struct argp_state *state, const char *option, const char *expected, const char *found);
/* Returns the name that is nearest to a misspelt word, or NULL if none is near. NULLs among the names are skipped. */
const char *nearest_name(const char *word, const char *const *names, int n);
/* Reads a member of a struct (tensor/files/fields.h). */
void parse_member(
    const struct argp_state *state, const char *option, const mo_field *f, const char *text, void *options);
int64_t parse_integer(const struct argp_state *state, const char *option, const char *text, int64_t low, int64_t high);
/* text: "4G", "500M" or a plain number of bytes. */
int64_t parse_bytes(const struct argp_state *state, const char *option, const char *text);
double parse_positive(const struct argp_state *state, const char *option, const char *text);
/* Returns the index of text among the n choices. */
int parse_choice(
    const struct argp_state *state, const char *option, const char *text, const char *const *choices, int n);
extern const char *const math_names[3]; /* names of mo_math */
names parse_names(const struct argp_state *state, const char *option, const char *text);
/* Parses at most `most` integers from low to high, separated by commas, into list. Returns their number. */
int parse_integers(const struct argp_state *state, const char *option, const char *text, int64_t *list, int most,
    int64_t low, int64_t high);
void append_name(names *list, const char *name);
void free_names(names *list);

/* ---- output_guard.c ---- */

/* Parses the value of an option (or a word, "OUT") that names a file to write, with one of the suffixes in `forms`:
 * ".csv, .tsv or .npy". Returns the path to write: if text is a symbolic link, the path of its target. Ends the program
 * with EXIT_USAGE if no suffix matches. forms NULL: a folder, which is created if its parent exists. */
const char *take_output(const struct argp_state *state, const char *option, const char *text, const char *forms);
/* Notes a word that may name an input: a path, "-", a graph, FILE:NAME, or a list of these. Borrowed. */
void note_input(const char *word);
/* Ends the program if an output cannot be written, or if an input or another output is the same file, directly or
 * within a folder. Prints one line; the exit code is EXIT_FAILED or EXIT_USAGE. */
void check_outputs(const char *command);

/* ---- open_head.c ---- */

/* HEADS in a help text stands for the names of all heads; name_heads, the help filter for argp, inserts them. */
#define HEADS "@heads"
char *name_heads(int key, const char *text, void *input);
/* The library's head of that name, or the mo_head_plugin of a shared object (text with a slash, or ending in .so). On
 * failure NULL, with one line in `why`. */
const mo_head *open_head(const char *text, char *why, size_t bytes);
/* Opens --head's value by open_head. On failure ends the program with the line in `why`, and EXIT_USAGE for a name or
 * EXIT_FAILED for a file. */
const mo_head *parse_head(const struct argp_state *state, const char *text);

/* Opens the mo_encoder_plugin of a shared object; failures as for open_head and parse_head. */
const mo_encoder *open_encoder(const char *text, char *why, size_t bytes);
const mo_encoder *parse_encoder(const struct argp_state *state, const char *text);

/* ---- tools/train/open_pool.c ---- */

/* The graphs to train on. */
typedef struct pool_choice {
    names graphs;            /* in the syntax of mo_pool_open; owned */
    double link_share;       /* share of links that are held out; 0: not given */
    double family[MO_TASKS]; /* weights */
} pool_choice;

/* The value of --pool: graphs separated by commas, the name of a pool, or FILE.pool. Ends the program with EXIT_FAILED
 * if the file cannot be used. */
void parse_pool(const struct argp_state *state, const char *option, const char *text, pool_choice *choice);

/* ---- print.c ---- */

/* Returns c, or '?' for a control character, which could change the terminal. */
static inline char printable(char c) {
    return (unsigned char)c < 32 || c == 127 ? '?' : c;
}
/* The columns of a line of text on standard output: the terminal's, or COLUMNS where there is none; at most 79. */
int text_width(void);
/* Prints a text and a new line, in lines of at most text_width() columns. `indent` columns of the first line are
 * printed already; the others are indented by as many. */
void print_wrapped(const char *text, int indent);
/* Prints a text, '?' in place of control characters. */
void print_safely(FILE *out, const char *text);
/* Replaces control characters in a text, in place; returns it. */
char *make_printable(char *text);
/* Prints "mochi: <the context's error>" on standard error. Returns EXIT_FAILED. */
int report_failure(const mo_context *ctx);
/* Prints a notice of the library on standard error; ignores state. */
void print_notice(const char *line, void *state);
/* Print on standard error what a loader dropped and what it read as headers (each may be NULL), after the name unless
 * it is "". print_left_out: of a graph, or nothing for NULL. */
void print_not_data(const char *name, const char *left_out, const char *headers);
void print_left_out(const mo_graph *graph);
/* As print_notice, but omits notices on the quality of a basis: for commands that print figures of their own on
 * standard error. */
void print_event(const char *line, void *state);
/* Sets max_expand for all contexts opened later. */
void set_max_expand(double ratio);
/* The most bytes that contexts opened later may hold (mo_context_options.memory). */
void set_memory(int64_t bytes);
/* Opens a context; on failure reports it and returns NULL. */
mo_context *open_context(int threads);
/* As open_context, on the device in options. */
mo_context *open_context_on(mo_context_options options);
/* Whether contexts open in debug mode: MOCHI_DEBUG is set, but not to 0. */
bool debug_mode(void);
/* Prints an object as one line on standard output and frees it. Returns false if the line could not be written. */
bool print_json(json_t *object);
/* Prints an object's members as text, one per line, with the names of --json. Prints lists of objects, texts to cite,
 * "manifest" and "metadata" below their names, one item per line. Omits null and empty lists. */
void print_members(const json_t *object, int indent);
/* A JSON number, or null if the value is not finite. */
static inline json_t *json_number(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}
/* A new object for the first line of --json output: the words of the command line, versions, BLAS kernels. */
json_t *command_object(int argc, char **argv);
/* Makes the program check standard output whenever it ends: if output was lost, it prints one line on standard error
 * and exits with EXIT_FAILED. */
void watch_output(void);

#endif
