/* tools/data/data_files.c - finds files of the manifest in a folder and computes their SHA-256 (nettle). */
#include "tools/data/manifest.h"

#include <errno.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

bool find_data_file(const char *folder, const char *path, char found[PATH_MAX]) {
    for (const char *const *ending = (const char *const[]){"", ".gz", NULL}; *ending; ending++) {
        int length = snprintf(found, PATH_MAX, "%s/%s%s", folder, path, *ending);
        if (length > 0 && length < PATH_MAX && access(found, F_OK) == 0)
            return true;
    }
    return false;
}

/* Adds the bytes of a file to the hash, through zlib if `unpacked`. */
static bool hash_stream(const char *path, bool unpacked, struct sha256_ctx *hash) {
    char buffer[1 << 16];
    if (unpacked) {
        gzFile packed = gzopen(path, "rb");
        int n = -1;
        while (packed && (n = gzread(packed, buffer, sizeof buffer)) > 0)
            sha256_update(hash, (size_t)n, (const uint8_t *)buffer);
        return packed && gzclose(packed) == Z_OK && n == 0;
    }
    FILE *file = fopen(path, "rb");
    size_t n;
    while (file && (n = fread(buffer, 1, sizeof buffer, file)) > 0)
        sha256_update(hash, n, (const uint8_t *)buffer);
    bool whole = file && !ferror(file);
    int code = errno;
    if (file)
        fclose(file);
    errno = code;
    return whole;
}

bool hash_file(mo_context *ctx, const char *found, bool unpacked, char digits[SHA256_TEXT]) {
    struct sha256_ctx hash;
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_init(&hash);
    errno = 0;
    if (!hash_stream(found, unpacked, &hash)) {
        mo_fail(ctx, MO_IO, "%s: cannot read: %s", found, errno ? strerror(errno) : "a damaged gzip file");
        return false;
    }
    sha256_digest(&hash, sizeof digest, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(digits + 2 * i, 3, "%02x", digest[i]);
    return true;
}

file_state check_file(
    mo_context *ctx, const char *folder, const manifest_file *file, char found[PATH_MAX], char digits[SHA256_TEXT]) {
    char own[SHA256_TEXT], *actual = digits ? digits : own;
    actual[0] = '\0';
    if (!find_data_file(folder, file->path, found))
        return FILE_ABSENT;
    size_t expected = strlen(folder) + 1 + strlen(file->path);
    if (!hash_file(ctx, found, strlen(found) > expected, actual))
        return FILE_ABSENT;
    if ((file->sha256 && !strcmp(actual, file->sha256)) || (file->copy && !strcmp(actual, file->copy)))
        return FILE_OK;
    return file->sha256 ? FILE_DIFFERS : FILE_UNVERIFIED;
}
