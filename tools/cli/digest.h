/* tools/cli/digest.h - digests of files, for output lines that list a command's inputs. */
#ifndef DIGEST_H
#define DIGEST_H

#include "tensor/tensor.h"

#include <jansson.h>
#include <stdint.h>

/* Returns a new JSON string: XXH3-128 of a file's bytes, as printed by `xxhsum -H2`; for FILE:NAME, of FILE. On failure
 * raises and returns JSON null. */
json_t *file_digest(mo_context *ctx, const char *path);
/* Returns a new JSON string: a digest of 128 bits, high half first, as in the library's graphs and weights. */
json_t *json_hash(const uint64_t hash[2]);

#endif
