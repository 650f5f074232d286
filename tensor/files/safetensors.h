/* tensor/files/safetensors.h - the digests of our own safetensors (library internal).
 *
 * A file is a length (8 bytes, little-endian), a header of that length and the data. The header is a JSON object,
 * padded with spaces: {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "__metadata__": {"key":
 * "text"}}. Files that this library writes carry digests in the metadata, XXH3-128 in 32 hexadecimal digits each:
 * "xxh3_tensors", of each tensor in the order of the data, with a blank between, and "xxh3_header", of the padded
 * header with its own digits read as zeros. Where xxh3_tensors is, xxh3_header must be, so that no damaged bit hides
 * both. "xxh3", of all data, is what older versions wrote in the place of xxh3_tensors. */
#ifndef MO_SAFETENSORS_H
#define MO_SAFETENSORS_H

#include "tensor/inside.h"

#include <jansson.h>

enum { MO_DIGITS = 32 };

/* How JSON text is written. Always with json_dumpb: json_dumps loses a key, unseen, when it runs out of memory. */
enum { MO_JSON_FLAGS = JSON_COMPACT | JSON_SORT_KEYS };
/* XXH3-128 of n bytes as digits and a closing zero. */
void mo_safetensors_digest(const void *bytes, size_t n, char digits[MO_DIGITS + 1]);
/* For files of our own formats, after they have been read: whether they carry the digests, which were then verified.
 * Raises MO_FORMAT with the command that adds them if not. path and metadata: of the file. */
bool mo_require_digests(mo_context *ctx, const char *path, const char *metadata);

#endif
