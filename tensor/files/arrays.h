/* tensor/files/arrays.h - array files that already lie in memory, and the list they are read into (library internal).
 *
 * The decoders trust nothing in the bytes. label starts every message: "npz: graph.npz". */
#ifndef MO_ARRAYS_H
#define MO_ARRAYS_H

#include "tensor/inside.h"

/* Like mo_arrays_take, for a reader that has excluded duplicate names itself. False on failure; T is taken anyway. */
bool mo_arrays_append(mo_arrays *arrays, const char *name, mo_tensor *T);

/* Return the null tensor or NULL on failure. */
mo_tensor *mo_npy_decode(mo_context *ctx, const char *label, const unsigned char *bytes, size_t n);
mo_arrays *mo_npz_decode(mo_context *ctx, const char *label, const unsigned char *bytes, size_t n);
mo_arrays *mo_safetensors_decode(mo_context *ctx, const char *label, const unsigned char *bytes, size_t n);

#endif
