/* tools/input.h - files that the program reads as text. */
#ifndef INPUT_H
#define INPUT_H

#include <jansson.h>
#include <stdio.h>

/* Opens a file for reading without blocking on a pipe: a named pipe without a writer reads as an empty file. */
FILE *open_input(const char *path);
/* The whole file, owned, with a final null byte that *bytes does not count. On failure NULL, with errno set; EFBIG
 * above 1 GiB, since a device can be endless. */
char *read_text_file(const char *path, size_t *bytes);
/* json_load_file, by open_input. */
json_t *read_json_file(const char *path, size_t flags, json_error_t *error);

#endif
