/* tensor/files/npy.c - reading NumPy's .npy arrays into tensors, and writing them.
 *
 * Little-endian arrays in C order whose dtype a tensor can hold are copied as they lie; all others are converted
 * element by element. */
#include "tensor/files/npy.h"

#include "tensor/files/arrays.h"
#include "tensor/files/file.h"
#include "tensor/objects.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "array files are copied to and from little-endian memory");

typedef struct element {
    char kind;
    int64_t item; /* bytes of an element in the file */
    mo_dtype dtype;
    bool widened;
} element;

static const element elements[] = {{'b', 1, MO_U8, true}, {'i', 1, MO_I32, true}, {'i', 2, MO_I32, true},
    {'i', 4, MO_I32, false}, {'i', 8, MO_I64, false}, {'u', 1, MO_U8, false}, {'u', 2, MO_I32, true},
    {'u', 4, MO_I64, true}, {'u', 8, MO_I64, true}, {'f', 2, MO_F16, false}, {'f', 4, MO_F32, false},
    {'f', 8, MO_F64, false}};

/* Returns how elements of the header's dtype are stored in a tensor; NULL after raising if they cannot be. */
static const element *find_element(mo_context *ctx, const char *label, const mo_npy_header *h) {
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        if (elements[i].kind == h->kind && elements[i].item == h->item)
            return &elements[i];
    if (h->kind == 'O')
        mo_fail(ctx, MO_UNSUPPORTED,
            "%s holds Python objects: expected numbers, found dtype '%s'; NumPy's unique(y, return_inverse=True)[1] "
            "numbers labels",
            label, h->descr);
    else if (h->kind == 'U' || h->kind == 'S')
        mo_fail(ctx, MO_UNSUPPORTED,
            "%s holds text ('%s'): expected numbers; NumPy's unique(y, return_inverse=True)[1] numbers labels", label,
            h->descr);
    else
        mo_fail(ctx, MO_UNSUPPORTED, "%s: expected a boolean, integer or real dtype of at most 64 bits, found '%s'",
            label, h->descr);
    return NULL;
}

/* The bits of one element of 1 to 8 bytes, zero-extended. */
static uint64_t load(const unsigned char *p, int64_t item, bool big) {
    uint64_t bits = 0;
    for (int64_t k = 0; k < item; k++)
        bits |= (uint64_t)p[big ? item - 1 - k : k] << (8 * k);
    return bits;
}

/* Extends the bits of an element to the tensor's dtype. Returns NULL or, if the value does not fit, the text of what
 * was expected. */
static const char *widen(const element *e, uint64_t *bits) {
    unsigned unused = 64 - 8 * (unsigned)e->item;
    if (e->kind == 'i')
        *bits = (uint64_t)((int64_t)(*bits << unused) >> unused);
    else if (e->kind == 'b' && *bits > 1)
        return "a boolean of 0 or 1";
    else if (e->kind == 'u' && *bits > INT64_MAX)
        return "an integer below 2^63";
    return NULL;
}

/* Converts the elements at data to row-major host memory. */
static bool convert(mo_context *ctx, const char *label, const mo_npy_header *h, const element *e,
    const unsigned char *data, unsigned char *host) {
    int64_t index[MO_MAX_AXES] = {0}, stride[MO_MAX_AXES], step = 1, at = 0;
    mo_contiguous_strides(h->ndim, h->shape, stride);
    for (int a = 0; a < h->ndim && h->fortran; step *= h->shape[a++])
        stride[a] = step;
    size_t size = mo_dtype_size(e->dtype);
    for (int64_t i = 0; i < h->numel; i++) {
        uint64_t bits = load(data + at * e->item, e->item, h->big);
        const char *expected = e->widened ? widen(e, &bits) : NULL;
        if (expected) {
            mo_fail(ctx, e->kind == 'b' ? MO_FORMAT : MO_UNSUPPORTED,
                "%s: element %" PRId64 ": expected %s, found %" PRIu64, label, i, expected, bits);
            return false;
        }
        memcpy(host + (size_t)i * size, &bits, size);
        for (int a = h->ndim - 1; a >= 0; a--) {
            at += stride[a];
            if (++index[a] < h->shape[a])
                break;
            at -= stride[a] * h->shape[a];
            index[a] = 0;
        }
    }
    return true;
}

static bool is_reordered(const mo_npy_header *h) {
    return (h->fortran && h->ndim > 1) || (h->big && h->item > 1);
}

mo_tensor *mo_npy_tensor_of(mo_context *ctx, const mo_npy_header *h) {
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        if (elements[i].kind == h->kind && elements[i].item == h->item && !elements[i].widened && !is_reordered(h) &&
            mo_context_device(ctx) == MO_CPU)
            return mo_tensor_uninitialized(ctx, elements[i].dtype, h->ndim, h->shape);
    return mo_null_tensor(ctx);
}

/* Makes a tensor of the converted elements; on the CPU, conversion writes straight into the tensor's memory. */
static mo_tensor *convert_to_tensor(
    mo_context *ctx, const char *label, const mo_npy_header *h, const element *e, const unsigned char *data) {
    size_t host_bytes = (size_t)h->numel * mo_dtype_size(e->dtype);
    bool direct = mo_context_device(ctx) == MO_CPU;
    mo_tensor *T = direct ? mo_tensor_uninitialized(ctx, e->dtype, h->ndim, h->shape) : mo_null_tensor(ctx);
    unsigned char *host = !direct ? mo_host_alloc(ctx, host_bytes) : mo_is_null(T) ? NULL : mo_tensor_view(T).data;
    bool converted = host && convert(ctx, label, h, e, data, host);
    if (!direct && converted)
        T = mo_tensor_create_from(ctx, e->dtype, h->ndim, h->shape, host);
    if (!direct)
        mo_host_free(ctx, host, host_bytes);
    if (converted)
        return T;
    mo_tensor_release(T);
    return mo_null_tensor(ctx);
}

mo_tensor *mo_npy_decode(mo_context *ctx, const char *label, const unsigned char *bytes, size_t n) {
    mo_npy_header h;
    if (!mo_npy_header_read(ctx, label, bytes, n, &h))
        return mo_null_tensor(ctx);
    const element *e = find_element(ctx, label, &h);
    if (!e || !mo_npy_header_fits(ctx, label, &h, n))
        return mo_null_tensor(ctx);
    if (is_reordered(&h) || e->widened)
        return convert_to_tensor(ctx, label, &h, e, bytes + h.data);
    return mo_tensor_create_from(ctx, e->dtype, h.ndim, h.shape, bytes + h.data);
}

bool mo_npy_check(mo_context *ctx, const char *label, const unsigned char *head, size_t head_bytes, size_t n) {
    mo_npy_header h;
    return mo_npy_header_read(ctx, label, head, head_bytes, &h) && find_element(ctx, label, &h) &&
           mo_npy_header_fits(ctx, label, &h, n);
}

mo_tensor *mo_npy_read(mo_context *ctx, const char *path) {
    char label[MO_LABEL];
    mo_file_bytes content;
    if (!mo_given(ctx, "npy_read", "path", path) ||
        !mo_file_read_checked(ctx, mo_file_label("npy", path, label), path, mo_npy_check, &content))
        return mo_null_tensor(ctx);
    mo_tensor *T = mo_npy_decode(ctx, label, content.data, content.n);
    mo_file_bytes_free(ctx, &content);
    return T;
}

/* Room for magic, version, length and the dictionary of an array with six axes. */
enum { HEADER_ROOM = 320 };

/* Writes the header of an array, padded to a multiple of 64 bytes. Returns its size. */
static size_t write_header(mo_dtype dtype, int ndim, const int64_t *shape, char *header) {
    static const char *const descr[MO_DTYPES] = {"<f4", "<f8", "<i4", "<i8", "|u1", "<f2", NULL};
    size_t used = 10 + (size_t)snprintf(header + 10, HEADER_ROOM - 10,
                           "{'descr': '%s', 'fortran_order': False, 'shape': (", descr[dtype]);
    for (int a = 0; a < ndim; a++)
        used += (size_t)snprintf(
            header + used, HEADER_ROOM - used, ndim > 1 && a ? " %" PRId64 "," : "%" PRId64 ",", shape[a]);
    used -= ndim > 1; /* only a shape of one axis, (n,), keeps its last comma */
    used += (size_t)snprintf(header + used, HEADER_ROOM - used, "), }");
    size_t total = (used + 1 + 63) / 64 * 64;
    memset(header + used, ' ', total - 1 - used);
    header[total - 1] = '\n';
    memcpy(header, "\x93NUMPY\x01\x00", 8);
    header[8] = (char)((total - 10) & 0xFF);
    header[9] = (char)((total - 10) >> 8);
    return total;
}

size_t mo_npy_encoded_size(const char *label, const mo_tensor *T) {
    char header[HEADER_ROOM];
    if (T->dtype != MO_BF16)
        return write_header(T->dtype, T->ndim, T->shape, header) + (size_t)mo_numel(T) * mo_dtype_size(T->dtype);
    mo_fail(T->ctx, MO_UNSUPPORTED, "%s: expected a dtype that NumPy has, found bfloat16: cast it first", label);
    return 0;
}

mo_code mo_npy_encode(const mo_tensor *T, unsigned char *bytes, size_t n) {
    char header[HEADER_ROOM];
    size_t start = write_header(T->dtype, T->ndim, T->shape, header);
    memcpy(bytes, header, start);
    return mo_tensor_read(T, bytes + start, n - start);
}

/* Appends the values of T in parts along its first axis, so that there is never a copy of the whole array. */
static bool append_values(mo_context *ctx, mo_file_writer *file, const mo_tensor *T) {
    const size_t most = (size_t)16 << 20;
    int64_t rows = T->ndim ? T->shape[0] : 1;
    size_t row = mo_numel(T) ? (size_t)(mo_numel(T) / rows) * mo_dtype_size(T->dtype) : 0;
    int64_t some = row && row < most ? (int64_t)(most / row) : 1;
    some = some < rows ? some : rows;
    void *bytes = row ? mo_host_alloc(ctx, (size_t)some * row) : NULL;
    for (int64_t first = 0; bytes && first < rows && mo_ok(ctx); first += some) {
        mo_tensor piece = *T;
        int64_t n = rows - first < some ? rows - first : some;
        if (T->ndim) {
            piece.shape[0] = n;
            piece.offset += first * T->stride[0];
        }
        if (mo_tensor_read(&piece, bytes, (size_t)n * row) == MO_OK)
            mo_file_append(file, bytes, (size_t)n * row);
    }
    mo_host_free(ctx, bytes, (size_t)some * row);
    return mo_ok(ctx);
}

mo_code mo_npy_write(const mo_tensor *T, const char *path) {
    mo_context *ctx = mo_tensor_context(T);
    if (!mo_given(ctx, "npy_write", "the path", path))
        return mo_code_of(ctx);
    char label[MO_LABEL], header[HEADER_ROOM];
    mo_file_label("npy", path, label);
    if (mo_ok(ctx) && mo_is_null(T))
        mo_fail(ctx, MO_INVALID, "%s: expected a tensor, found the null tensor", label);
    mo_file_writer *file = mo_ok(ctx) && mo_npy_encoded_size(label, T) ? mo_file_start(ctx, path) : NULL;
    if (file) {
        mo_file_append(file, header, write_header(T->dtype, T->ndim, T->shape, header));
        append_values(ctx, file, T);
        mo_file_finish(file);
    }
    return mo_context_status(ctx)->code;
}

struct mo_npy_writer {
    mo_context *ctx;
    mo_file_writer *file;
    char label[MO_LABEL];
    mo_dtype dtype;
    int64_t rows, columns, done;
};

mo_npy_writer *mo_npy_start(mo_context *ctx, const char *path, mo_dtype dtype, int64_t rows, int64_t columns) {
    if (!mo_given(ctx, "npy", "path", path))
        return NULL;
    if (mo_ok(ctx) && (dtype < 0 || dtype >= MO_DTYPES || dtype == MO_BF16 || rows < 0 || columns < 0))
        mo_fail(ctx, MO_INVALID,
            "npy: expected sizes of 0 or more and a dtype that NumPy has, found %s [%" PRId64 ", %" PRId64 "]",
            mo_dtype_name(dtype), rows, columns);
    mo_npy_writer *w = mo_ok(ctx) ? mo_host_alloc(ctx, sizeof *w) : NULL;
    if (!w)
        return NULL;
    char header[HEADER_ROOM];
    size_t n = write_header(dtype, 2, (int64_t[]){rows, columns}, header);
    *w =
        (mo_npy_writer){.ctx = ctx, .file = mo_file_start(ctx, path), .dtype = dtype, .rows = rows, .columns = columns};
    mo_file_label("npy", path, w->label);
    if (mo_file_append(w->file, header, n))
        return w;
    mo_npy_finish(w);
    return NULL;
}

bool mo_npy_append(mo_npy_writer *w, const mo_tensor *block) {
    char shape[160];
    if (!w || !mo_ok(w->ctx))
        return false;
    if (mo_is_null(block) || mo_ndim(block) != 2 || block->dtype != w->dtype || mo_dim(block, 1) != w->columns ||
        mo_dim(block, 0) > w->rows - w->done) {
        mo_fail(w->ctx, MO_INVALID, "%s: expected %s [%" PRId64 " or fewer, %" PRId64 "], found %s %s", w->label,
            mo_dtype_name(w->dtype), w->rows - w->done, w->columns,
            mo_is_null(block) ? "the null tensor" : mo_dtype_name(block->dtype),
            mo_is_null(block) ? "" : mo_shape_string(block, shape, sizeof shape));
        return false;
    }
    if (append_values(w->ctx, w->file, block))
        w->done += mo_dim(block, 0);
    return mo_ok(w->ctx);
}

mo_code mo_npy_finish(mo_npy_writer *w) {
    if (!w)
        return MO_INVALID;
    mo_context *ctx = w->ctx;
    if (mo_ok(ctx) && w->done < w->rows)
        mo_fail(ctx, MO_INVALID, "%s: expected %" PRId64 " rows, found %" PRId64, w->label, w->rows, w->done);
    if (w->file)
        mo_file_finish(w->file);
    mo_host_free(ctx, w, sizeof *w);
    return mo_code_of(ctx);
}

/* ---- arrays of text ---- */

/* Writes one character as UTF-8; returns its bytes, or 0 if there is no such character. */
static int npy_put_character(uint32_t c, char *text) {
    if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
        return 0;
    int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xC0, 0xE0, 0xF0};
    text[0] = (char)(first[more] | c >> 6 * more);
    for (int i = 1; i <= more; i++)
        text[i] = (char)(0x80 | (c >> 6 * (more - i) & 0x3F));
    return more + 1;
}

static uint32_t npy_character(const unsigned char *p, bool big) {
    uint32_t c = 0;
    for (int k = 0; k < 4; k++)
        c |= (uint32_t)p[big ? 3 - k : k] << (8 * k);
    return c;
}

/* Writes the text of one element, without the zeros that fill it up. Returns false if it is not valid text. */
static bool npy_element_text(const mo_npy_header *h, const unsigned char *p, char *text) {
    int64_t step = h->kind == 'U' ? 4 : 1, n = h->item / step, used = 0;
    while (n > 0 && (h->kind == 'U' ? npy_character(p + (n - 1) * 4, h->big) : p[n - 1]) == 0)
        n--;
    for (int64_t i = 0; i < n; i++) {
        uint32_t c = h->kind == 'U' ? npy_character(p + i * 4, h->big) : p[i];
        int bytes = 1;
        if (h->kind == 'U')
            bytes = npy_put_character(c, text + used);
        else
            text[used] = (char)c;
        if (c == 0 || bytes == 0)
            return false;
        used += bytes;
    }
    text[used] = '\0';
    return mo_is_utf8(text, (size_t)used);
}

bool mo_npy_texts(mo_context *ctx, const char *label, const mo_npy_header *h, const unsigned char *data,
    bool (*take)(void *state, const char *text), void *state) {
    size_t room = h->numel > 0 ? (size_t)h->item + 1 : 1; /* UTF-8 takes at most four bytes a character, like kind U */
    char *text = mo_host_alloc(ctx, room);
    bool fine = text;
    for (int64_t i = 0; fine && i < h->numel; i++) {
        fine = npy_element_text(h, data + i * h->item, text);
        if (!fine)
            mo_fail(ctx, MO_FORMAT, "%s: element %" PRId64 ": expected text in %s without zeroes inside it", label, i,
                h->kind == 'U' ? "Unicode" : "UTF-8");
        fine = fine && take(state, text);
    }
    mo_host_free(ctx, text, room);
    return fine;
}
