/* tools/cli/input.h - files that the program reads as text. */
#ifndef INPUT_H
#define INPUT_H

#include <jansson.h>
#include <stdio.h>

/* Opens a file for reading without blocking on a pipe: a named pipe without a writer reads as an empty file. */
FILE *open_input(const char *path);
/* Reads a whole file. The caller frees the text, which ends with a null byte that *bytes does not count. On failure
 * returns NULL and sets errno; EFBIG above 1 GiB, since a device can be endless. */
char *read_text_file(const char *path, size_t *bytes);
/* As json_load_file, but opens the file by open_input. */
json_t *read_json_file(const char *path, size_t flags, json_error_t *error);

#endif
