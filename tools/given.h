/* tools/given.h - the options that a command line gave. One that has no effect on what is asked for is refused: a user
 * who gave it expects one. */
#ifndef GIVEN_H
#define GIVEN_H

#include "tools/command.h"

enum { MAX_GIVEN = 64 };

/* Zero but for the table (of argp, ended by an empty entry) and the command: none is given. */
typedef struct given_options {
    const struct argp_option *table;
    const char *command; /* "mochi eval": what messages begin with */
    bool given[MAX_GIVEN];
} given_options;

/* Notes the option of that key, if the table has it. */
void note_given(given_options *g, int key);
/* Whether the option of that name ("lambda") was given. The name must be in the table. */
bool is_given(const given_options *g, const char *name);
/* Where it was given and `useless` is true: ends the program by EXIT_USAGE with "mochi eval: --lambda: <why>". */
void refuse_given(const given_options *g, const char *name, bool useless, const char *why);

/* ---- rules that several commands share ---- */

/* --math without --device cuda. */
void refuse_math_on_cpu(const given_options *g, mo_device device);

#endif
