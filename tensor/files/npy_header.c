/* tensor/files/npy_header.c - the header of an .npy array: magic, version, length and a Python dictionary of three
 * keys.
 *
 *     \x93NUMPY 1 0 <length> {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } spaces \n
 *
 * The dictionary is read by a strict tokenizer: these keys once each, in any order, no escapes, no expressions. */
#include "tensor/files/npy.h"

#include "tensor/files/file.h"
#include "tensor/objects.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

typedef struct cursor {
    mo_context *ctx;
    const char *label;
    const char *text, *at, *end;
} cursor;

/* Raises an error with what was expected and what was found at the cursor. Returns false. */
static bool unexpected(const cursor *c, const char *expected) {
    char found[20];
    size_t left = (size_t)(c->end - c->at);
    mo_quote(c->at, left < 16 ? left : 16, found, sizeof found);
    mo_fail(c->ctx, MO_FORMAT, "%s: npy header, byte %td: expected %s, found %s%s%s", c->label, c->at - c->text,
        expected, left ? "'" : "its end", found, left ? "'" : "");
    return false;
}

static void skip_space(cursor *c) {
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r'))
        c->at++;
}

/* Consumes the word or sign if it comes next. Returns whether it did. */
static bool accept(cursor *c, const char *word) {
    size_t n = strlen(word);
    skip_space(c);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) != 0)
        return false;
    c->at += n;
    return true;
}

static bool expect(cursor *c, const char *sign, const char *name) {
    return accept(c, sign) || unexpected(c, name);
}

/* Reads a quoted string without escapes into buffer. */
static bool string(cursor *c, const char *expected, char *buffer, size_t bytes) {
    skip_space(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"'))
        return unexpected(c, expected);
    const char *close = memchr(c->at + 1, *c->at, (size_t)(c->end - c->at) - 1);
    size_t n = close ? (size_t)(close - c->at) - 1 : 0;
    if (!close || n >= bytes || memchr(c->at + 1, '\\', n) || memchr(c->at + 1, 0, n))
        return unexpected(c, expected);
    memcpy(buffer, c->at + 1, n);
    buffer[n] = 0;
    c->at = close + 1;
    return true;
}

/* Reads one size of a shape; Python 2 on Windows wrote an L after it. */
static bool size(cursor *c, int64_t *value) {
    cursor start = *c;
    *value = 0;
    if (c->at == c->end || !isdigit((unsigned char)*c->at))
        return unexpected(c, "a size of 0 or more");
    for (; c->at < c->end && isdigit((unsigned char)*c->at); c->at++)
        if (__builtin_mul_overflow(*value, 10, value) || __builtin_add_overflow(*value, *c->at - '0', value))
            return unexpected(&start, "a size below 2^63");
    accept(c, "L");
    return true;
}

/* Reads a shape: (), (n,) or (m, n), with a trailing comma or without. */
static bool shape(cursor *c, mo_npy_header *h) {
    if (!expect(c, "(", "the tuple of the shape"))
        return false;
    bool comma = true;
    for (h->ndim = 0; !accept(c, ")"); h->ndim++) {
        if (!comma)
            return unexpected(c, "',' or ')'");
        if (h->ndim == MO_MAX_AXES) {
            mo_fail(c->ctx, MO_UNSUPPORTED, "%s: expected at most %d axes, found more", c->label, MO_MAX_AXES);
            return false;
        }
        if (!size(c, &h->shape[h->ndim]))
            return false;
        comma = accept(c, ",");
    }
    return h->ndim != 1 || comma || unexpected(c, "a tuple, '(n,)'");
}

static bool fortran_order(cursor *c, mo_npy_header *h) {
    h->fortran = accept(c, "True");
    return h->fortran || expect(c, "False", "True or False");
}

/* Reads a dtype such as '<f4', '|b1', '>i8', '<U7': byte order, kind, and size in bytes (for U in characters of four
 * bytes). */
static bool descr(cursor *c, mo_npy_header *h) {
    if (accept(c, "[")) {
        mo_fail(c->ctx, MO_UNSUPPORTED, "%s: expected an array of numbers, found a structured dtype", c->label);
        return false;
    }
    cursor start = *c;
    if (!string(c, "a dtype such as '<f4'", h->descr, sizeof h->descr))
        return false;
    const char *d = h->descr;
    for (; *d; d++)
        if (*d < 32 || *d > 126) /* messages quote it */
            return unexpected(&start, "a dtype such as '<f4'");
    d = h->descr;
    bool order = *d && strchr("<>=|", *d), any_order = *d == '|';
    h->big = *d == '>';
    h->kind = order ? d[1] : d[0];
    d += order ? 2 : 1;
    h->item = 0;
    for (; h->descr[0] && isdigit((unsigned char)*d) && h->item < INT32_MAX / 10; d++)
        h->item = h->item * 10 + (*d - '0');
    if (h->kind == 'O' || h->kind == 'M' || h->kind == 'm') /* objects, and dates, whose unit follows, are never read */
        return true;
    if (!order || !h->kind || !strchr("biufcUSV", h->kind) || *d ||
        (any_order && h->item > 1 && strchr("iufcU", h->kind)))
        return unexpected(&start, "a dtype such as '<f4'");
    h->item *= h->kind == 'U' ? 4 : 1;
    return true;
}

static bool dictionary(cursor *c, mo_npy_header *h) {
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    static bool (*const values[])(cursor *, mo_npy_header *) = {descr, fortran_order, shape};
    bool seen[3] = {false, false, false}, comma = true;
    if (!expect(c, "{", "'{'"))
        return false;
    while (!accept(c, "}")) {
        char key[16];
        int k = 0;
        if (!comma)
            return unexpected(c, "',' or '}'");
        cursor start = *c;
        if (!string(c, "the key descr, fortran_order or shape", key, sizeof key))
            return false;
        while (k < 3 && strcmp(key, keys[k]) != 0)
            k++;
        if (k == 3 || seen[k])
            return unexpected(&start, k < 3 ? "every key once" : "the key descr, fortran_order or shape");
        seen[k] = true;
        if (!expect(c, ":", "':'"))
            return false;
        skip_space(c);
        if (!values[k](c, h))
            return false;
        comma = accept(c, ",");
    }
    for (int k = 0; k < 3; k++)
        if (!seen[k]) {
            mo_fail(c->ctx, MO_FORMAT, "%s: npy header: expected the key '%s', found none", c->label, keys[k]);
            return false;
        }
    skip_space(c);
    return c->at == c->end || unexpected(c, "spaces after the dictionary");
}

/* Raises an error that guesses from the first bytes what the file is instead. */
static void refuse_file(mo_context *ctx, const char *label, const unsigned char *bytes, size_t n) {
    size_t plain = 0;
    while (plain < n && plain < 64 && (isprint(bytes[plain]) || isspace(bytes[plain])))
        plain++;
    bool text = plain > 0 && (plain == n || plain == 64), zip = n >= 4 && memcmp(bytes, "PK\3\4", 4) == 0;
    char first[16];
    if (text)
        mo_fail(ctx, MO_FORMAT,
            "%s: expected an .npy array, found text: NumPy's save(\"Z.npy\", loadtxt(\"Z.txt\")) makes an array of it",
            label);
    else if (zip)
        mo_fail(ctx, MO_FORMAT,
            "%s: expected an .npy array, found a zip archive: one of NumPy's is named .npz; tensors of PyTorch become "
            "arrays by tensor.numpy()",
            label);
    else
        mo_fail(ctx, MO_FORMAT, "%s: expected an .npy array (it begins with \\x93NUMPY), found '%s'", label,
            mo_quote((const char *)bytes, n < 6 ? n : 6, first, sizeof first));
}

bool mo_npy_header_read(
    mo_context *ctx, const char *label, const unsigned char *bytes, size_t n, mo_npy_header *header) {
    *header = (mo_npy_header){0};
    if (n < 6 || memcmp(bytes, "\x93NUMPY", 6) != 0) {
        refuse_file(ctx, label, bytes, n);
        return false;
    }
    size_t start = n > 6 && bytes[6] == 1 ? 10 : 12;
    if (n < start) {
        mo_fail(ctx, MO_FORMAT, "%s: expected an npy header of %zu bytes or more, found %zu", label, start, n);
        return false;
    }
    if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0) {
        mo_fail(
            ctx, MO_UNSUPPORTED, "%s: expected npy version 1.0, 2.0 or 3.0, found %d.%d", label, bytes[6], bytes[7]);
        return false;
    }
    size_t length = bytes[8] | (size_t)bytes[9] << 8;
    if (start == 12)
        length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (length > n - start) {
        mo_fail(ctx, MO_FORMAT, "%s: expected %zu bytes of npy header, found %zu", label, length, n - start);
        return false;
    }
    const char *text = (const char *)bytes + start;
    header->data = start + length;
    cursor c = {.ctx = ctx, .label = label, .text = text, .at = text, .end = text + length};
    return dictionary(&c, header);
}

bool mo_npy_header_fits(mo_context *ctx, const char *label, mo_npy_header *h, size_t n) {
    /* Counts an axis of size 0 as 1: the array is empty, but the strides of the other axes must not overflow either. */
    int64_t room = h->item > 8 ? h->item : 8;
    bool overflow = false;
    h->numel = 1;
    for (int i = 0; i < h->ndim; i++) {
        overflow = overflow || __builtin_mul_overflow(room, h->shape[i] ? h->shape[i] : 1, &room);
        h->numel = overflow ? 0 : h->numel * h->shape[i];
    }
    char shape_text[160];
    mo_format_shape(h->ndim, h->shape, shape_text, sizeof shape_text);
    size_t found = n - h->data;
    if (overflow)
        mo_fail(ctx, MO_FORMAT,
            "%s: expected a shape that the data holds, found %s of '%s', which overflows, and %zu bytes", label,
            shape_text, h->descr, found);
    else if (h->numel > 0 && h->item == 0)
        mo_fail(
            ctx, MO_FORMAT, "%s: expected elements of 1 byte or more, found %s of '%s'", label, shape_text, h->descr);
    else if (h->numel == 0 &&
             !mo_claim_fits(ctx, label, "bytes in the other axes of an empty array", room, 1, (int64_t)n))
        return false;
    else if ((uint64_t)h->numel * (uint64_t)h->item != found)
        mo_fail(ctx, MO_FORMAT, "%s: expected %" PRId64 " bytes of data for shape %s of '%s', found %zu", label,
            h->numel * h->item, shape_text, h->descr, found);
    return mo_ok(ctx);
}
