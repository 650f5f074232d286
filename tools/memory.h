/* tools/memory.h - ends the program when memory runs out: one line and EXIT_FAILED, never a different result. */
#ifndef MEMORY_H
#define MEMORY_H

#include <stdio.h>

/* Ends the program with "mochi: out of memory" and EXIT_FAILED; allocates nothing itself. */
_Noreturn void end_out_of_memory(void);
/* Returns the allocated memory; ends the program if it is NULL. */
void *needed(void *memory);

/* Open and close a stream into memory. close ends the program if text is missing: such a stream drops text when memory
 * runs out and sets no error. The caller frees *text. No call between the two may reset errno. */
FILE *open_text(char **text, size_t *bytes);
void close_text(FILE *stream, char *const *text);

/* From now on jansson too ends the program if memory runs out. By itself it would drop letters of texts and members of
 * objects, report good files as damaged, and fail an assert. */
void need_json_memory(void);

#endif
