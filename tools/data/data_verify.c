/* tools/data/data_verify.c - `mochi data verify`: compares every file of an entry with its SHA-256 (nettle), then the
 * loaded graph's counts with the manifest's. */
#include "tools/data/data.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

enum { SHA256_TEXT = 2 * SHA256_DIGEST_SIZE + 1 };

/* Writes the SHA-256 of a file as hexadecimal digits; if `packed`, of the text inside a gzipped file. Returns false
 * after raising. */
static bool hash_file(mo_context *ctx, const char *found, bool packed, char digits[SHA256_TEXT]) {
    struct sha256_ctx hash;
    uint8_t digest[SHA256_DIGEST_SIZE], buffer[1 << 16];
    struct stat st;
    if (stat(found, &st) == 0 && !S_ISREG(st.st_mode)) /* a pipe without a writer would be waited for */
        return mo_fail(ctx, MO_IO, "%s: expected a file, found something else", found);
    sha256_init(&hash);
    errno = 0;
    gzFile text = packed ? gzopen(found, "rb") : NULL;
    FILE *plain = packed ? NULL : fopen(found, "rb");
    int n = -1;
    while (text ? (n = gzread(text, buffer, sizeof buffer)) > 0
                : plain && (n = (int)fread(buffer, 1, sizeof buffer, plain)) > 0)
        sha256_update(&hash, (size_t)n, buffer);
    if ((text && gzclose(text) != Z_OK) || (plain && (ferror(plain) | fclose(plain))) || n != 0)
        return mo_fail(ctx, MO_IO, "%s: cannot read: %s", found, errno ? strerror(errno) : "a damaged gzip file");
    sha256_digest(&hash, sizeof digest, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(digits + 2 * i, 3, "%02x", digest[i]);
    return true;
}

/* Prints the state of an entry's file: "ok", "differs", "absent", or "unverified" without a SHA-256. Returns whether
 * the state is fine; `may_lack` accepts "absent". Reports a file that cannot be read. */
static bool verify_file(mo_context *ctx, const data_options *o, const char *name, const json_t *file, bool may_lack) {
    char found[PATH_MAX], digits[SHA256_TEXT] = "";
    const char *path = text_of(file, "path"), *known = text_of(file, "sha256"), *copy = text_of(file, "copy_sha256"),
               *state = "absent"; /* copy_sha256: another file with the same content */
    if (find_data_file(path, found) &&
        hash_file(ctx, found, mo_path_ends_with(found, ".gz") && !mo_path_ends_with(path, ".gz"), digits))
        state = (known && !strcmp(digits, known)) || (copy && !strcmp(digits, copy)) ? "ok"
                : known                                                              ? "differs"
                                                                                     : "unverified";
    went_well(ctx);
    if (o->json)
        print_json(json_pack("{s:s, s:s, s:s, s:s?, s:s?}", "name", name, "path", path, "state", state, "expected",
            known ? known : copy, "found", *digits ? digits : NULL));
    else if (!strcmp(state, "differs"))
        printf("%-10s %s: expected %s, found %s\n", state, path, known, digits);
    else
        printf("%-10s %s\n", state, path);
    return *state == 'o' || *state == 'u' || (*state == 'a' && may_lack);
}

/* Raises unless the graph has the entry's counts. */
static void verify_counts(mo_context *ctx, const data_options *o, const json_t *e, const mo_graph *graph) {
    json_t *counts = find_counts(graph), *n;
    const char *name = text_of(e, "name"), *other = find_other_count(e, counts), *of, *between = " ";
    if (other)
        mo_fail(ctx, MO_FORMAT, "%s: expected %" PRId64 " %s, found %" PRId64 " in %s", name,
            (int64_t)json_integer_value(json_object_get(json_object_get(e, "counts"), other)), other,
            (int64_t)json_integer_value(json_object_get(counts, other)), graph->source);
    if (o->json) {
        print_json(json_pack("{s:s, s:s, s:s, s:O}", "name", name, "path", graph->source, "state",
            other ? "differs" : "ok", "counts", counts));
    } else if (!other) {
        printf("%-10s %s:", "ok", name);
        json_object_foreach(counts, of, n) {
            printf("%s%" PRId64 " %s", between, (int64_t)json_integer_value(n), of);
            between = ", ";
        }
        putchar('\n');
    }
    json_decref(counts);
}

/* Verifies an entry's files and counts. If the converted file is here, the files that it was made from can be
 * absent. */
static bool verify_entry(mo_context *ctx, const data_options *o, const json_t *e) {
    char path[PATH_MAX];
    size_t i;
    json_t *file;
    bool loadable = text_of(e, "path") && find_data_file(text_of(e, "path"), path), fine = true;
    json_array_foreach(json_object_get(e, "files"), i, file) fine &=
        verify_file(ctx, o, text_of(e, "name"), file, loadable && json_object_get(e, "convert"));
    mo_graph *graph = loadable ? mo_graph_open(ctx, path) : NULL;
    if (graph)
        verify_counts(ctx, o, e, graph);
    mo_graph_release(graph);
    return went_well(ctx) && fine;
}

/* Verifies the named entries; without names, all entries that have a file here. */
bool data_verify(mo_context *ctx, const data_options *o, const json_t *m) {
    char folder[PATH_MAX], path[PATH_MAX];
    bool fine = true;
    int checked = 0;
    if (!mo_data_folder(folder, sizeof folder))
        return mo_fail(ctx, MO_IO, "data folder: expected MOCHI_DATA or HOME to name it, found neither");
    for (int i = 0; i < o->words.count; i++, checked++) {
        const json_t *e = manifest_find(m, o->words.items[i]);
        if (!e)
            return mo_fail(ctx, MO_INVALID,
                "'%.200s': expected a name of the manifest; mochi data list --all shows them", o->words.items[i]);
        fine &= verify_entry(ctx, o, e);
    }
    for (size_t i = 0; o->words.count == 0 && i < json_array_size(m); i++) {
        json_t *e = json_array_get(m, i), *files = json_object_get(e, "files");
        bool here = false;
        for (size_t f = 0; f < json_array_size(files); f++)
            here |= find_data_file(text_of(json_array_get(files, f), "path"), path);
        fine &= !here || verify_entry(ctx, o, e);
        checked += here;
    }
    if (checked == 0)
        mo_fail(ctx, MO_IO, "%s: expected files of the manifest, found none; mochi data get fetches them", folder);
    return fine;
}
