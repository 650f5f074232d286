/* tools/digest.h - digests of files, for output lines that list a command's inputs. */
#ifndef DIGEST_H
#define DIGEST_H

#include "tensor/tensor.h"

#include <jansson.h>
#include <stdint.h>

/* A new text: XXH3-128 of a file's bytes, as printed by `xxhsum -H2`; for FILE:NAME, of FILE. Raises and returns JSON
 * null on failure. */
json_t *file_digest(mo_context *ctx, const char *path);
/* A new text: a digest of 128 bits, high half first, as in the library's graphs and weights. */
json_t *json_hash(const uint64_t hash[2]);

#endif
