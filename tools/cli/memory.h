/* tools/cli/memory.h - ends the program when memory runs out, with one line and EXIT_FAILED, instead of going on with
 * less. */
#ifndef MEMORY_H
#define MEMORY_H

#include <stdio.h>

/* Ends the program with "mochi: out of memory" and EXIT_FAILED; allocates nothing itself. */
_Noreturn void end_out_of_memory(void);
/* Returns the allocated memory; ends the program if it is NULL. */
void *needed(void *memory);

/* Open and close a stream into memory; the caller frees *text. Such a stream drops text when memory runs out and sets
 * only errno, so close_text ends the program if text is missing, and no call between the two may reset errno. */
FILE *open_text(char **text, size_t *bytes);
void close_text(FILE *stream, char *const *text);

/* Makes jansson too end the program if memory runs out. By itself it would drop letters of texts and members of
 * objects, report good files as damaged, and fail an assert. */
void need_json_memory(void);

#endif
