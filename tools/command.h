/* tools/command.h - declarations that the subcommands share: exit codes, option values, messages to the user. */
#ifndef COMMAND_H
#define COMMAND_H

#include "tools/inside.h"

#include <argp.h>
#include <jansson.h>

enum { EXIT_FINE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* One subcommand: argv[0] is its full name, "mochi train". Returns the exit code. */
typedef int command_function(int argc, char **argv);
command_function train_command, eval_command, compare_command, embed_command, suggest_command, predict_command,
    explain_command, fit_command, data_command, gradcheck_command, new_command, graph_command, lab_command,
    pitfalls_command, doctor_command;
/* Their options (options.h); those of `data` by action. */
struct command_line;
extern const struct command_line train_line, eval_line, compare_line, embed_line, suggest_line, predict_line,
    explain_line, fit_line, data_line, data_list_line, data_info_line, data_verify_line, data_convert_line,
    gradcheck_line, new_line, graph_line, lab_line, pitfalls_line, doctor_line;

/* ---- values.c: an option's text as a value. A bad one ends the program with one line and EXIT_USAGE. ---- */

/* A comma-separated list; the strings are owned. */
typedef struct names {
    char **items;
    int count;
} names;

/* Prints the line "mochi train: <text>" and ends the program with the given exit code. */
_Noreturn void refuse_command_line(const struct argp_state *state, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void usage_error(const struct argp_state *state, const char *option, const char *expected, const char *found);
int64_t parse_integer(const struct argp_state *state, const char *option, const char *text, int64_t low, int64_t high);
double parse_real(const struct argp_state *state, const char *option, const char *text, double low, double high);
/* "4G", "500M" or a plain number of bytes. */
int64_t parse_bytes(const struct argp_state *state, const char *option, const char *text);
double parse_positive(const struct argp_state *state, const char *option, const char *text);
/* "8:32", or "8" for both ends. */
void parse_range(const struct argp_state *state, const char *option, const char *text, int64_t range[2]);
/* The index of text among the n choices. */
int parse_choice(
    const struct argp_state *state, const char *option, const char *text, const char *const *choices, int n);
extern const char *const math_names[3]; /* of mo_math */
names parse_names(const struct argp_state *state, const char *option, const char *text);
/* At most `most` integers from low to high, separated by commas, into list. Returns how many. */
int parse_integers(const struct argp_state *state, const char *option, const char *text, int64_t *list, int most,
    int64_t low, int64_t high);
void append_name(names *list, const char *name);
void free_names(names *list);

/* ---- outputs.c ---- */

/* Takes the value of an option (or of a word, "OUT") that names a file to write, in one of the forms that are listed:
 * ".csv, .tsv or .npy". Returns the path to write: where text is a symbolic link, that of the file it points to. Ends
 * the program with EXIT_USAGE where the suffix is none of these. forms NULL: a folder, made if only it is missing. */
const char *take_output(const struct argp_state *state, const char *option, const char *text, const char *forms);
/* Ends the program where an output cannot be written, or is a file that another word of the command line names, reads
 * from a folder or writes: EXIT_FAILED or EXIT_USAGE, after one line. */
void check_outputs(int argc, char *const *argv);

/* ---- open_head.c ---- */

/* HEADS stands for the names of all heads in help texts: name_heads, the help filter of an argp, replaces it. */
#define HEADS "@heads"
char *name_heads(int key, const char *text, void *input);
/* The library's head of that name, or the mo_head_plugin of a shared object (text with a slash, or that ends in .so).
 * NULL with one line in `why`. */
const mo_head *open_head(const char *text, char *why, size_t bytes);
/* The head that --head names, by open_head. Ends the program with its line if there is none: with EXIT_USAGE for a
 * name, EXIT_FAILED for a file. */
const mo_head *parse_head(const struct argp_state *state, const char *text);
/* Whether a head has a hyper-parameter of this name. */
bool head_has(const mo_head *head, const char *parameter);

/* The mo_encoder_plugin of a shared object; failures as in open_head and parse_head. */
const mo_encoder *open_encoder(const char *text, char *why, size_t bytes);
const mo_encoder *parse_encoder(const struct argp_state *state, const char *text);

/* ---- open_pool.c ---- */

/* The graphs to train on. */
typedef struct pool_choice {
    names graphs;            /* in the form of mo_pool_open; owned */
    double link_share;       /* 0: not given */
    double family[MO_TASKS]; /* weights */
} pool_choice;

/* The value of --pool: graphs separated by commas, the name of a pool, or FILE.pool. Ends the program with EXIT_FAILED
 * if the file cannot be used. */
void parse_pool(const struct argp_state *state, const char *option, const char *text, pool_choice *choice);

/* ---- output.c ---- */

/* A character as a terminal may have it: '?' in place of one that controls the terminal. */
static inline char printable(char c) {
    return (unsigned char)c < 32 || c == 127 ? '?' : c;
}
/* Prints the words of a text in lines of at most 79 columns, all with that indent. */
void print_wrapped(const char *text, int indent);
/* Makes a text printable in place; returns it. */
char *make_printable(char *text);
/* Prints "mochi: <the context's error>" on standard error. Returns EXIT_FAILED. */
int report_failure(const mo_context *ctx);
/* Prints a notice of the library on standard error; state is not read. */
void print_notice(const char *line, void *state);
/* Prints what the loader left out of a graph, if anything, on standard error. */
void print_left_out(const mo_graph *graph);
/* The same, but for the quality of a basis: for commands whose lines on standard error are figures of their own. */
void print_event(const char *line, void *state);
/* The max_expand of contexts that are opened from then on. */
void set_max_expand(double ratio);
/* A context; NULL after a failure has been reported. */
mo_context *open_context(int threads);
/* A context on a device; NULL after a failure has been reported. */
mo_context *open_context_on(mo_context_options options);
/* Whether MOCHI_DEBUG asks for contexts in debug mode: it is set, and not to 0. */
bool debug_mode(void);
/* Prints an object as one line on standard output and frees it. Returns false if the line could not be written. */
bool print_json(json_t *object);
/* Prints its members as text, a line each, by the names that --json gives them; of a list of objects, of texts to cite
 * and of "manifest" and "metadata" a line each below. Without what is null or an empty list. */
void print_members(const json_t *object, int indent);
/* A JSON number, or null where the value is not finite. */
json_t *json_number(double value);
/* A new object for the first line of a command's --json output: the words typed, versions, BLAS kernels. */
json_t *command_object(int argc, char **argv);
/* A new object of lists over the bins: n, right and the sum of confidence. */
json_t *calibration_bins(const mo_calibration *c);
/* Makes every end of the program check standard output: if output was lost, the program says so in one line on standard
 * error and exits with EXIT_FAILED. */
void watch_output(void);

#endif
