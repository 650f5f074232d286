/* tensor/files/npy.h - the header of an .npy array, for the readers of .npy and .npz (library internal). */
#ifndef MO_NPY_H
#define MO_NPY_H

#include "tensor/inside.h"

/* The header as parsed: its syntax is checked, its numbers are not. */
typedef struct mo_npy_header {
    char kind;    /* as NumPy's dtype.kind: b i u f are read, U S are text, c V m M O are not read */
    bool big;     /* big-endian */
    int64_t item; /* bytes of one element */
    char descr[24];
    bool fortran; /* first axis fastest */
    int ndim;
    int64_t shape[MO_MAX_AXES];
    size_t data;   /* where the elements begin */
    int64_t numel; /* set by mo_npy_header_fits */
} mo_npy_header;

/* Reads the header at the start of an .npy array of n bytes. False on failure. */
bool mo_npy_header_read(
    mo_context *ctx, const char *label, const unsigned char *bytes, size_t n, mo_npy_header *header);
/* Whether the elements that the header claims are exactly the bytes after it; sets numel. */
bool mo_npy_header_fits(mo_context *ctx, const char *label, mo_npy_header *header, size_t n);

/* An unfilled tensor in host memory that can take the elements as they lie in the file; the null tensor, without an
 * error, if they must be converted or copied to a device. */
mo_tensor *mo_npy_tensor_of(mo_context *ctx, const mo_npy_header *header);

/* Visits the texts of an array of one axis, of kind U or S, as UTF-8; data: where its elements begin. Returns false on
 * failure, or if take returns false. */
bool mo_npy_texts(mo_context *ctx, const char *label, const mo_npy_header *header, const unsigned char *data,
    bool (*take)(void *state, const char *text), void *state);

/* Bytes of a tensor as an .npy array; 0 and an error if the format has no such dtype. */
size_t mo_npy_encoded_size(const char *label, const mo_tensor *T);
/* Fills a buffer of exactly that size. Returns the status. */
mo_code mo_npy_encode(const mo_tensor *T, unsigned char *bytes, size_t n);

#endif
