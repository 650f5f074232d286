/* tools/digest.h - digests of files, for the lines that name a command's inputs. */
#ifndef DIGEST_H
#define DIGEST_H

#include <jansson.h>

/* A new text: XXH3-128 of a file's bytes, as `xxhsum -H2` prints it; of FILE if the path is FILE:NAME. JSON null if it
 * cannot be read. */
json_t *file_digest(const char *path);

#endif
