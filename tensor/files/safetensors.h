/* tensor/files/safetensors.h - the digests in our safetensors files (library internal).
 *
 * A file is a length (8 bytes, little-endian), a header of that length and the data. The header is a JSON object,
 * padded with spaces: {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "__metadata__": {"key":
 * "text"}}. Files that this library writes have digests in the metadata, XXH3-128 in 32 hexadecimal digits each:
 * "xxh3_tensors" has one for each tensor, in the order of the data, with blanks between; "xxh3_header" has one for the
 * padded header, with its own digits read as zeros. A file with xxh3_tensors must have xxh3_header, so that one damaged
 * bit cannot hide both. */
#ifndef MO_SAFETENSORS_H
#define MO_SAFETENSORS_H

#include "tensor/inside.h"

#include <jansson.h>

enum { MO_DIGITS = 32 };

/* How JSON text is written. To be used with json_dumpb: if memory runs out, json_dumps leaves out a key without an
 * error. */
enum { MO_JSON_FLAGS = JSON_COMPACT | JSON_SORT_KEYS };
/* Writes the XXH3-128 of n bytes as digits and a terminating 0. */
void mo_safetensors_digest(const void *bytes, size_t n, char digits[MO_DIGITS + 1]);
/* Returns whether a file of this library that has been read carries digests, which reading has then verified. If not,
 * raises MO_FORMAT with the command that adds digests. path and metadata are the file's. */
bool mo_require_digests(mo_context *ctx, const char *path, const char *metadata);

#endif
