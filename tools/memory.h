/* tools/memory.h - what the program does where there is no memory: one line and EXIT_FAILED, never another result. */
#ifndef MEMORY_H
#define MEMORY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Ends the program with "mochi: out of memory" and EXIT_FAILED; takes no memory itself. */
_Noreturn void end_out_of_memory(void);
/* Returns what an allocation gave; ends the program where that is NULL. */
void *needed(void *memory);

/* A stream into memory, and its end, which ends the program where a part of the text is missing: such a stream drops
 * what it has no memory for and marks no error. *text is to be freed. Between the two no call may reset errno. */
FILE *open_text(char **text, size_t *bytes);
void close_text(FILE *stream, char *const *text);

/* jansson leaves things out where it has no memory (letters of a text, members of an object) and calls a good file
 * damaged. From now on the program remembers that it has happened: what was read or made since is not to be used. */
void watch_json_memory(void);
bool json_lacked_memory(void);
/* Returns what jansson read or made, NULL included; ends the program where it lacked memory for it. */
json_t *whole_json(json_t *value);
/* Says the line of end_out_of_memory, once. Returns EXIT_FAILED. */
int say_out_of_memory(void);

#endif
