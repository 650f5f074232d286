/* tensor/files/safetensors_digest.c - the digests that our own safetensors carry: made, found and compared. */
#include "tensor/files/file.h"
#include "tensor/files/number_text.h"
#include "tensor/files/safetensors.h"
#include "tensor/storage.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

void mo_safetensors_digest(const void *bytes, size_t n, char digits[MO_DIGITS + 1]) {
    XXH128_canonical_t digest;
    XXH128_canonicalFromHash(&digest, XXH3_128bits(bytes, n));
    for (int i = 0; i < MO_DIGITS / 2; i++)
        snprintf(digits + 2 * i, 3, "%02x", digest.digest[i]);
}

ptrdiff_t mo_safetensors_find_digits(const char *header, size_t n, const char *key) {
    char pattern[32]; /* a quote inside a JSON string is escaped, so that this can only be the key */
    snprintf(pattern, sizeof pattern, "\"%s\":\"", key);
    const char *found = memmem(header, n, pattern, strlen(pattern));
    if (!found || (size_t)(header + n - found) < strlen(pattern) + MO_DIGITS)
        return -1;
    return found + strlen(pattern) - header;
}

bool mo_safetensors_matches(
    mo_context *ctx, const char *label, const char *part, const void *bytes, size_t n, const char *expected) {
    char found[MO_DIGITS + 1], shown[MO_DIGITS + 8];
    mo_safetensors_digest(bytes, n, found);
    if (strcmp(expected, found) == 0)
        return true;
    mo_fail(ctx, MO_FORMAT, "%s: damaged %s: expected XXH3-128 %s, found %s", label, part,
        mo_quote(expected, strlen(expected), shown, sizeof shown), found);
    return false;
}

bool mo_safetensors_check_header(
    mo_context *ctx, const char *label, const char *header, size_t n, const json_t *metadata) {
    const char *digits = json_string_value(json_object_get(metadata, MO_HEADER_DIGEST));
    if (!digits && json_object_get(metadata, MO_TENSOR_DIGESTS))
        mo_fail(ctx, MO_FORMAT,
            "%s: damaged header: expected " MO_HEADER_DIGEST " beside " MO_TENSOR_DIGESTS ", found none", label);
    char *blanked = digits ? mo_host_alloc(ctx, n) : NULL;
    if (!blanked)
        return mo_ok(ctx);
    ptrdiff_t at = mo_safetensors_find_digits(header, n, MO_HEADER_DIGEST);
    memcpy(blanked, header, n);
    if (at >= 0)
        memset(blanked + at, '0', MO_DIGITS);
    bool ok = mo_safetensors_matches(ctx, label, "header", blanked, n, digits);
    mo_host_free(ctx, blanked, n);
    return ok;
}

bool mo_require_digests(mo_context *ctx, const char *path, const char *metadata) {
    char shown[200];
    json_t *object = mo_json_metadata(ctx, path, metadata);
    bool there = json_object_get(object, MO_HEADER_DIGEST) && json_object_get(object, MO_TENSOR_DIGESTS);
    json_decref(object);
    if (there || !mo_ok(ctx))
        return there;
    mo_quote(path, strlen(path), shown, sizeof shown);
    mo_fail(ctx, MO_FORMAT,
        "%s: expected digests of its header and tensors, found none, as in files of older versions: `mochi data "
        "convert %s NEW.safetensors` adds them",
        shown, shown);
    return false;
}
