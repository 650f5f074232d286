/* tensor/files/npy.h - the header of an .npy array, for the readers of .npy and .npz (library internal). */
#ifndef MO_NPY_H
#define MO_NPY_H

#include "tensor/inside.h"

/* A parsed header: its syntax has been checked, its numbers have not. */
typedef struct mo_npy_header {
    char kind;    /* NumPy's dtype.kind: b i u f are read as numbers, U S as text; c V m M O are refused */
    bool big;     /* big-endian */
    int64_t item; /* bytes of one element */
    char descr[24];
    bool fortran; /* first axis fastest */
    int ndim;
    int64_t shape[MO_MAX_AXES];
    size_t data;   /* offset of the elements from the start of the array */
    int64_t numel; /* set by mo_npy_header_fits */
} mo_npy_header;

/* Reads the header at the start of an .npy array of n bytes. Returns false on failure. */
bool mo_npy_header_read(
    mo_context *ctx, const char *label, const unsigned char *bytes, size_t n, mo_npy_header *header);
/* Returns whether the array, of n bytes in all, has exactly the elements that the header claims; sets numel. */
bool mo_npy_header_fits(mo_context *ctx, const char *label, mo_npy_header *header, size_t n);

/* Makes an uninitialised tensor for the elements as they lie in the file. Returns the null tensor, without an error, if
 * they must be converted or copied to a device. */
mo_tensor *mo_npy_tensor_of(mo_context *ctx, const mo_npy_header *header);

/* Calls `take` with each text of an array of one axis and of kind U or S, as UTF-8. data: the array's elements. Returns
 * false on failure, or if `take` returns false. */
bool mo_npy_texts(mo_context *ctx, const char *label, const mo_npy_header *header, const unsigned char *data,
    bool (*take)(void *state, const char *text), void *state);

/* Returns the size of a tensor as an .npy array; 0 after raising if the format lacks its dtype. */
size_t mo_npy_encoded_size(const char *label, const mo_tensor *T);
/* Writes T as an .npy array to a buffer of n = mo_npy_encoded_size bytes. Returns the status. */
mo_code mo_npy_encode(const mo_tensor *T, unsigned char *bytes, size_t n);

#endif
