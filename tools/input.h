/* tools/input.h - files that the program reads as text. */
#ifndef INPUT_H
#define INPUT_H

#include <jansson.h>
#include <stdio.h>

/* Opens a file for reading without waiting for the writer of a pipe: a named pipe without a writer reads as an empty
 * file. */
FILE *open_input(const char *path);
/* The whole file and a final null byte, owned; *bytes without it. NULL on failure, with errno set;
 * EFBIG above 1 GiB, since a device may never end. */
char *read_text_file(const char *path, size_t *bytes);
/* json_load_file, by open_input. */
json_t *read_json_file(const char *path, size_t flags, json_error_t *error);

#endif
