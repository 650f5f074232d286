/* tensor/files/safetensors.h - the digests of our own safetensors (library internal).
 *
 * A file is a length (8 bytes, little-endian), a header of that length and the data. The header is a JSON object,
 * padded with spaces: {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "__metadata__": {"key":
 * "text"}}. Files that this library writes carry digests in the metadata, XXH3-128 in 32 hexadecimal digits each:
 * "xxh3_tensors", of each tensor in the order of the data, with a blank between, and "xxh3_header", of the padded
 * header with its own digits read as zeros. A file with xxh3_tensors must have xxh3_header, so that no damaged bit
 * hides both. Older versions wrote "xxh3", of all data, instead of xxh3_tensors. */
#ifndef MO_SAFETENSORS_H
#define MO_SAFETENSORS_H

#include "tensor/inside.h"

#include <jansson.h>

enum { MO_DIGITS = 32 };

/* How JSON text is written. Always with json_dumpb: json_dumps loses a key, unseen, when it runs out of memory. */
enum { MO_JSON_FLAGS = JSON_COMPACT | JSON_SORT_KEYS };
/* XXH3-128 of n bytes as digits and a closing zero. */
void mo_safetensors_digest(const void *bytes, size_t n, char digits[MO_DIGITS + 1]);
/* Whether a file of our own formats, which has been read, carries digests (reading has verified them). If not, raises
 * MO_FORMAT with the command that adds digests. path, metadata: of the file. */
bool mo_require_digests(mo_context *ctx, const char *path, const char *metadata);

#endif
