/* tools/digest.h - digests of files, for the lines that name a command's inputs. */
#ifndef DIGEST_H
#define DIGEST_H

#include "tensor/tensor.h"

#include <jansson.h>
#include <stdint.h>

/* A new text: XXH3-128 of a file's bytes, as `xxhsum -H2` prints it; of FILE if the path is FILE:NAME. JSON null on
 * failure, which it raises. */
json_t *file_digest(mo_context *ctx, const char *path);
/* A new text: a digest of 128 bits, high half first, as the library gives those of graphs and weights. */
json_t *json_hash(const uint64_t hash[2]);

#endif
