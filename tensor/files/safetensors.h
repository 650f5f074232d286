/* tensor/files/safetensors.h - what reader and writer of safetensors agree on (library internal).
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
#define MO_METADATA "__metadata__"
#define MO_DATA_DIGEST "xxh3"
#define MO_TENSOR_DIGESTS "xxh3_tensors"
#define MO_HEADER_DIGEST "xxh3_header"

/* How JSON text is written. Always with json_dumpb: json_dumps loses a key, unseen, when it runs out of memory. */
enum { MO_JSON_FLAGS = JSON_COMPACT | JSON_SORT_KEYS };
/* Whether metadata are as they must be: an object of strings. */
bool mo_safetensors_is_metadata(json_t *metadata);
/* "F32", "BF16", ... */
const char *mo_safetensors_dtype(mo_dtype dtype);
/* XXH3-128 of n bytes as digits and a closing zero. */
void mo_safetensors_digest(const void *bytes, size_t n, char digits[MO_DIGITS + 1]);
/* Where the digits of a digest stand in compact JSON text; -1 if nowhere. */
ptrdiff_t mo_safetensors_find_digits(const char *header, size_t n, const char *key);
/* Whether a part of the file has the expected digest; raises "label: damaged PART" if not. */
bool mo_safetensors_matches(
    mo_context *ctx, const char *label, const char *part, const void *bytes, size_t n, const char *expected);
/* The same for the n bytes of a header, if its metadata (NULL: none) hold digests. */
bool mo_safetensors_check_header(
    mo_context *ctx, const char *label, const char *header, size_t n, const json_t *metadata);
/* For files of our own formats, after they have been read: whether they carry the digests, which were then verified.
 * Raises MO_FORMAT with the command that adds them if not. path and metadata: of the file. */
bool mo_require_digests(mo_context *ctx, const char *path, const char *metadata);

#endif
