/* tools/memory.h - ends the program when memory runs out: one line and EXIT_FAILED, never a different result. */
#ifndef MEMORY_H
#define MEMORY_H

#include <stdio.h>

/* Ends the program with "mochi: out of memory" and EXIT_FAILED; takes no memory itself. */
_Noreturn void end_out_of_memory(void);
/* Returns the allocated memory; ends the program if it is NULL. */
void *needed(void *memory);

/* Opens and closes a stream into memory. Closing ends the program if a part of the text is missing: such a stream drops
 * text for lack of memory and sets no error. The caller frees *text. Between the two no call may reset errno. */
FILE *open_text(char **text, size_t *bytes);
void close_text(FILE *stream, char *const *text);

/* From now on jansson ends the program as well. Left alone, it drops letters of texts and members of objects where it
 * has no memory, calls good files damaged, and stops at an assert. */
void need_json_memory(void);

#endif
