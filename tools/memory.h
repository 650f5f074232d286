/* tools/memory.h - what the program does where there is no memory: one line and EXIT_FAILED, never another result. */
#ifndef MEMORY_H
#define MEMORY_H

#include <stdio.h>

/* Ends the program with "mochi: out of memory" and EXIT_FAILED; takes no memory itself. */
_Noreturn void end_out_of_memory(void);
/* Returns what an allocation gave; ends the program where that is NULL. */
void *needed(void *memory);

/* A stream into memory, and its end, which ends the program where a part of the text is missing: such a stream drops
 * what it has no memory for and marks no error. *text is to be freed. Between the two no call may reset errno. */
FILE *open_text(char **text, size_t *bytes);
void close_text(FILE *stream, char *const *text);

/* From now on jansson ends the program as well. Left alone, it drops letters of texts and members of objects where it
 * has no memory, calls good files damaged, and stops at an assert. */
void need_json_memory(void);

#endif
