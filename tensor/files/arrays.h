/* tensor/files/arrays.h - decodes array files that lie in memory into lists of arrays (library internal).
 *
 * The decoders check everything that the bytes claim. label starts every message: "npz: graph.npz". */
#ifndef MO_ARRAYS_H
#define MO_ARRAYS_H

#include "tensor/inside.h"

/* Like mo_arrays_take, but does not look for duplicate names, which the caller must have excluded. Takes T over even if
 * it fails; returns false then. */
bool mo_arrays_append(mo_arrays *arrays, const char *name, mo_tensor *T);

/* Each a mo_file_check (tensor/files/file.h) of the files that mo_.._decode reads. */
bool mo_npy_check(mo_context *ctx, const char *label, const unsigned char *head, size_t head_bytes, size_t n);
bool mo_npz_check(mo_context *ctx, const char *label, const unsigned char *head, size_t head_bytes, size_t n);
bool mo_safetensors_check(mo_context *ctx, const char *label, const unsigned char *head, size_t head_bytes, size_t n);

/* mo_npy_decode returns the null tensor on failure; the other two return NULL. */
mo_tensor *mo_npy_decode(mo_context *ctx, const char *label, const unsigned char *bytes, size_t n);
mo_arrays *mo_npz_decode(mo_context *ctx, const char *label, const unsigned char *bytes, size_t n);
mo_arrays *mo_safetensors_decode(mo_context *ctx, const char *label, const unsigned char *bytes, size_t n);

#endif
