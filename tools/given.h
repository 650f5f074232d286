/* tools/given.h - the options that a command line gave. The program refuses an option that has no effect, as the user
 * who gave it expects one. */
#ifndef GIVEN_H
#define GIVEN_H

#include "tools/command.h"

enum { MAX_GIVEN = 64 };

/* Starts as zero but for the argp table (ended by an empty entry) and the command: no option is given. */
typedef struct given_options {
    const struct argp_option *table;
    const char *command; /* "mochi eval": messages begin with it */
    bool silent;         /* another process of this command says what is refused */
    bool given[MAX_GIVEN];
} given_options;

/* Notes the option with this key, if the table has it. */
void note_given(given_options *g, int key);
/* Whether the option of this name ("lambda") was given. The name must be in the table. */
bool is_given(const given_options *g, const char *name);
/* If it was given and `useless` is true, ends the program with EXIT_USAGE and "mochi eval: --lambda: <why>". */
void refuse_given(const given_options *g, const char *name, bool useless, const char *why);

/* ---- rules that several commands share ---- */

/* Refuses --math tf32 without --device cuda. Whether the processor has bf16 is asked when the context opens. */
void refuse_math_on_cpu(const given_options *g, const mo_context_options *device);
/* The products of a command that goes on with a run, or repeats it, are those of the run; refuses another --math. */
void take_math_of_run(const given_options *g, const char *run, mo_math kept, mo_context_options *device);

#endif
