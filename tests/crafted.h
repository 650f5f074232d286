/* tests/crafted.h - tensors, .npy arrays and zip archives made by hand, valid or invalid. */
#ifndef CRAFTED_H
#define CRAFTED_H

#include "tensor/files/arrays.h"
#include "tests/scratch.h"

#include <zlib.h>

/* Tear-down of a test: removes the files of its folder. */
static inline int remove_files(void **state) {
    scratch_files(*state, true);
    return 0;
}

/* Returns a tensor whose bytes any conversion would change. */
static inline mo_tensor *make_tensor(mo_context *ctx, mo_dtype dtype, int ndim, const int64_t *shape) {
    unsigned char host[4096];
    size_t n = mo_dtype_size(dtype);
    for (int a = 0; a < ndim; a++)
        n *= (size_t)shape[a];
    assert_true(n <= sizeof host);
    for (size_t i = 0; i < n; i++)
        host[i] = (unsigned char)(37 * i + 11);
    return mo_tensor_create_from(ctx, dtype, ndim, shape, host);
}

static inline void assert_same(const mo_tensor *A, const mo_tensor *B) {
    unsigned char a[4096] = {0}, b[4096] = {0};
    size_t n = (size_t)mo_numel(A) * mo_dtype_size(mo_tensor_dtype(A));
    assert_false(mo_is_null(A) || mo_is_null(B));
    assert_int_equal(mo_tensor_dtype(A), mo_tensor_dtype(B));
    assert_int_equal(mo_ndim(A), mo_ndim(B));
    for (int axis = 0; axis < mo_ndim(A); axis++)
        assert_int_equal(mo_dim(A, axis), mo_dim(B, axis));
    assert_int_equal(mo_tensor_read(A, a, n), MO_OK);
    assert_int_equal(mo_tensor_read(B, b, n), MO_OK);
    assert_memory_equal(a, b, n ? n : 1);
}

/* Fails unless two lists hold the same names and bytes. */
static inline void assert_same_arrays(const mo_arrays *A, const mo_arrays *B) {
    assert_int_equal(A->count, B->count);
    for (int64_t i = 0; i < A->count; i++) {
        assert_string_equal(A->items[i].name, B->items[i].name);
        assert_same(A->items[i].tensor, B->items[i].tensor);
    }
}

/* Refuses bytes, which it takes over: fails unless the error is of this code with these parts. */
typedef void (*refuser)(mo_context *ctx, bytes b, mo_code code, const char *const *parts);

/* Fails unless every beginning of `whole` is refused, and `whole`, which it takes over, with one byte more. */
static inline void assert_other_lengths_refused(
    mo_context *ctx, refuser refused, bytes whole, const char *const *shorter, const char *const *longer) {
    for (size_t n = 0; n < whole.n; n++) {
        bytes part = {0}; /* its own allocation, so that a sanitizer sees any read beyond it */
        bytes_append(&part, whole.data, n);
        refused(ctx, part, MO_FORMAT, shorter);
    }
    bytes_append(&whole, "x", 1);
    refused(ctx, whole, MO_FORMAT, longer);
}

/* Returns an .npy array of version 1 with this dictionary as its header. */
static inline bytes make_npy(const char *dictionary, const void *data, size_t n) {
    bytes b = {0};
    bytes_append(&b, "\x93NUMPY\x01\x00", 8);
    bytes_append_number(&b, strlen(dictionary), 2);
    bytes_append(&b, dictionary, strlen(dictionary));
    bytes_append(&b, data, n);
    return b;
}

/* A member of a zip archive, with what the archive claims about it. */
typedef struct zip_member {
    const char *name;
    bytes content;     /* the bytes before deflating; taken over */
    int method;        /* 0 stored, 8 deflated; any other is claimed only, and the bytes are stored */
    bool local64;      /* writes sizes in a zip64 field of the local header, as NumPy does */
    bool central64;    /* writes sizes in a zip64 field of the central directory */
    bool encrypted;    /* claimed */
    uint32_t crc_flip; /* bits to flip in the claimed CRC-32 */
    int64_t size_more; /* bytes to add to the claimed size */
} zip_member;

static inline bytes deflated(bytes content) {
    bytes b = {0};
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    b.n = deflateBound(&z, content.n);
    b.data = malloc(b.n);
    z.next_in = content.data;
    z.avail_in = (unsigned)content.n;
    z.next_out = b.data;
    z.avail_out = (unsigned)b.n;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    b.n = z.total_out;
    deflateEnd(&z);
    return b;
}

/* Appends the fields that a local header and an entry of the central directory share, sizes last. */
static inline void append_claims(bytes *b, const zip_member *m, size_t packed, bool zip64) {
    bytes_append_number(b, 45, 2);
    bytes_append_number(b, m->encrypted, 2);
    bytes_append_number(b, (uint64_t)m->method, 2);
    bytes_append_number(b, 0x00210000, 4); /* 1980-01-01 */
    bytes_append_number(b, crc32_z(0, m->content.data, m->content.n) ^ m->crc_flip, 4);
    bytes_append_number(b, zip64 ? 0xFFFFFFFF : packed, 4);
    bytes_append_number(b, zip64 ? 0xFFFFFFFF : m->content.n + (uint64_t)m->size_more, 4);
    bytes_append_number(b, strlen(m->name), 2);
    bytes_append_number(b, zip64 ? 20 : 0, 2);
}

static inline void append_zip64(bytes *b, const zip_member *m, size_t packed) {
    bytes_append_number(b, 1, 2);
    bytes_append_number(b, 16, 2);
    bytes_append_number(b, m->content.n + (uint64_t)m->size_more, 8);
    bytes_append_number(b, packed, 8);
}

/* Returns an archive of these members, and releases their contents. */
static inline bytes make_zip(zip_member *members, int count) {
    bytes b = {0}, central = {0};
    for (int i = 0; i < count; i++) {
        zip_member *m = &members[i];
        bytes packed = m->method == 8 ? deflated(m->content) : m->content;
        size_t offset = b.n;
        bytes_append(&b, "PK\x03\x04", 4);
        append_claims(&b, m, packed.n, m->local64);
        bytes_append(&b, m->name, strlen(m->name));
        if (m->local64)
            append_zip64(&b, m, packed.n);
        bytes_append(&b, packed.data, packed.n);
        bytes_append(&central, "PK\x01\x02\x2D\x03", 6);
        append_claims(&central, m, packed.n, m->central64);
        bytes_append(&central, "\0\0\0\0\0\0\0\0\0\0", 10);
        bytes_append_number(&central, offset, 4);
        bytes_append(&central, m->name, strlen(m->name));
        if (m->central64)
            append_zip64(&central, m, packed.n);
        if (m->method == 8)
            bytes_release(&packed);
        bytes_release(&m->content);
    }
    size_t start = b.n;
    bytes_append(&b, central.data, central.n);
    bytes_append(&b, "PK\x05\x06\0\0\0\0", 8);
    bytes_append_number(&b, (uint64_t)count, 2);
    bytes_append_number(&b, (uint64_t)count, 2);
    bytes_append_number(&b, central.n, 4);
    bytes_append_number(&b, start, 4);
    bytes_append_number(&b, 0, 2);
    bytes_release(&central);
    return b;
}

#endif
