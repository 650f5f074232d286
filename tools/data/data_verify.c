/* tools/data/data_verify.c - `mochi data verify`: every file of an entry against its SHA-256 (nettle), then the counts
 * of the loaded graph against the manifest's. */
#include "tools/data/data.h"
#include "tools/data/manifest.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { SHA256_TEXT = 2 * SHA256_DIGEST_SIZE + 1 };

/* ---- a file ---- */

/* Finds a file of the manifest in a folder, perhaps gzipped. Returns false if it is not there. */
static bool find_data_file(const char *folder, const char *path, char found[PATH_MAX]) {
    for (const char *const *ending = (const char *const[]){"", ".gz", NULL}; *ending; ending++) {
        int length = snprintf(found, PATH_MAX, "%s/%s%s", folder, path, *ending);
        if (length > 0 && length < PATH_MAX && access(found, F_OK) == 0)
            return true;
    }
    return false;
}

/* The SHA-256 of a file; if `unpacked`, of the text in a gzipped file. Returns false after raising. */
static bool hash_file(mo_context *ctx, const char *found, bool unpacked, char digits[SHA256_TEXT]) {
    struct sha256_ctx hash;
    uint8_t digest[SHA256_DIGEST_SIZE], buffer[1 << 16];
    sha256_init(&hash);
    errno = 0;
    gzFile file = gzopen(found, "rb"); /* which reads other files as they are */
    int n = -1;
    if (file && !unpacked && !gzdirect(file)) { /* compressed, and its own bytes are wanted */
        gzclose(file);
        file = NULL;
        FILE *plain = fopen(found, "rb");
        while (plain && (n = (int)fread(buffer, 1, sizeof buffer, plain)) > 0)
            sha256_update(&hash, (size_t)n, buffer);
        n = plain && !ferror(plain) ? 0 : -1;
        if (plain)
            fclose(plain);
    }
    while (file && (n = gzread(file, buffer, sizeof buffer)) > 0)
        sha256_update(&hash, (size_t)n, buffer);
    if ((file && gzclose(file) != Z_OK) || n != 0) {
        mo_fail(ctx, MO_IO, "%s: cannot read: %s", found, errno ? strerror(errno) : "a damaged gzip file");
        return false;
    }
    sha256_digest(&hash, sizeof digest, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(digits + 2 * i, 3, "%02x", digest[i]);
    return true;
}

/* "ok", "unverified", "differs" or "absent"; digits receives the file's SHA-256. "absent" with the context's error set
 * if it cannot be read. */
static const char *check_file(mo_context *ctx, const char *folder, const json_t *file, char digits[SHA256_TEXT]) {
    char found[PATH_MAX];
    const char *path = manifest_text(file, "path"), *known = manifest_text(file, "sha256"),
               *copy = manifest_text(file, "copy_sha256"); /* of equal content and other bytes */
    digits[0] = '\0';
    if (!find_data_file(folder, path, found) ||
        !hash_file(ctx, found, strlen(found) > strlen(folder) + 1 + strlen(path), digits))
        return "absent";
    if ((known && !strcmp(digits, known)) || (copy && !strcmp(digits, copy)))
        return "ok";
    return known ? "differs" : "unverified";
}

static void print_verified_file(
    const data_options *o, const char *name, const json_t *file, const char *state, const char *digits) {
    const char *path = manifest_text(file, "path"), *known = manifest_text(file, "sha256");
    if (o->json)
        print_json(json_pack("{s:s, s:s, s:s, s:s?, s:s?}", "name", name, "path", path, "state", state, "expected",
            known ? known : manifest_text(file, "copy_sha256"), "found", digits[0] ? digits : NULL));
    else if (!strcmp(state, "differs"))
        printf("%-10s %s: expected %s, found %s\n", state, path, known, digits);
    else
        printf("%-10s %s\n", state, path);
}

/* ---- an entry ---- */

static void print_verified_counts(const data_options *o, const char *name, const mo_graph *graph, bool right) {
    json_t *counts = find_counts(graph), *n;
    const char *of, *between = " ";
    if (o->json) {
        print_json(json_pack("{s:s, s:s, s:s, s:o}", "name", name, "path", graph->source, "state",
            right ? "ok" : "differs", "counts", counts));
        return;
    }
    if (right) {
        printf("%-10s %s:", "ok", name);
        json_object_foreach(counts, of, n) {
            printf("%s%" PRId64 " %s", between, (int64_t)json_integer_value(n), of);
            between = ", ";
        }
        putchar('\n');
    }
    json_decref(counts);
}

/* Reports the context's error, if there is one, and goes on. Returns whether there was none. */
static bool went_well(mo_context *ctx) {
    if (mo_ok(ctx))
        return true;
    report_failure(ctx);
    mo_clear_error(ctx);
    return false;
}

/* Verifies an entry that was named or has a file here. A file that only a conversion needs may be absent if the result
 * of the conversion is here. */
static bool verify_entry(mo_context *ctx, const data_options *o, const char *folder, const json_t *e) {
    char digits[SHA256_TEXT], path[PATH_MAX];
    const char *name = manifest_text(e, "name");
    const json_t *files = json_object_get(e, "files");
    bool loadable = manifest_text(e, "path") && find_data_file(folder, manifest_text(e, "path"), path), fine = true;
    for (size_t i = 0; i < json_array_size(files); i++) {
        const char *state = check_file(ctx, folder, json_array_get(files, i), digits);
        went_well(ctx);
        print_verified_file(o, name, json_array_get(files, i), state, digits);
        fine &= *state == 'o' || *state == 'u' || (*state == 'a' && json_object_get(e, "convert") && loadable);
    }
    mo_graph *graph = loadable ? mo_graph_open(ctx, path) : NULL;
    if (graph)
        print_verified_counts(o, name, graph, check_counts(e, graph));
    mo_graph_release(graph);
    return went_well(ctx) && fine;
}

static bool is_here(const char *folder, const json_t *e) {
    char found[PATH_MAX];
    const json_t *files = json_object_get(e, "files");
    for (size_t i = 0; i < json_array_size(files); i++)
        if (find_data_file(folder, manifest_text(json_array_get(files, i), "path"), found))
            return true;
    return false;
}

int data_verify(mo_context *ctx, const data_options *o) {
    char folder[PATH_MAX];
    json_t *m = open_data_folder(ctx, folder, sizeof folder) ? manifest_read(ctx) : NULL;
    bool fine = m;
    int checked = 0;
    for (int i = 0; m && i < o->words.count && mo_ok(ctx); i++, checked++) {
        const json_t *e = manifest_find(ctx, m, o->words.items[i]);
        fine = e && verify_entry(ctx, o, folder, e) && fine;
    }
    for (size_t i = 0; o->words.count == 0 && i < json_array_size(m); i++)
        if (is_here(folder, json_array_get(m, i))) {
            fine = verify_entry(ctx, o, folder, json_array_get(m, i)) && fine;
            checked++;
        }
    if (mo_ok(ctx) && checked == 0)
        mo_fail(ctx, MO_IO, "%s: expected files of the manifest, found none; mochi data get fetches them", folder);
    json_decref(m);
    return !mo_ok(ctx) ? report_failure(ctx) : fine ? EXIT_FINE : EXIT_FAILED;
}
