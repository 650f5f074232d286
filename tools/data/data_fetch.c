/* tools/data/data_fetch.c - downloads, unpacks and verifies the files of a data set in a stage.
 *
 * Downloads lie in mochi/downloads/ of the user's cache folder, named after the SHA-256 of their address, until the
 * data set is in place: a partial download is continued, a wrong file is deleted. */
#include "tools/data/data_fetch.h"

#include "tools/data/download.h"
#include "tools/data/unpack.h"
#include "tools/progress.h"

#include <errno.h>
#include <nettle/sha2.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

bool is_verified(const manifest_file *f) {
    return f->sha256 && !f->member;
}

/* The path of a download until it is used. Returns false after raising. */
static bool cache_path(mo_context *ctx, const char *url, char path[PATH_MAX]) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    struct sha256_ctx hash;
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_init(&hash);
    sha256_update(&hash, strlen(url), (const uint8_t *)url);
    sha256_digest(&hash, sizeof digest, digest);
    if ((!cache || !*cache) && (!home || !*home)) {
        mo_fail(ctx, MO_IO, "cache folder: expected XDG_CACHE_HOME or HOME to name it, found neither");
        return false;
    }
    int n = cache && *cache ? snprintf(path, PATH_MAX, "%s/mochi/downloads/", cache)
                            : snprintf(path, PATH_MAX, "%s/.cache/mochi/downloads/", home);
    if (n + 33 > PATH_MAX) {
        mo_fail(ctx, MO_IO, "cache folder: expected a shorter path, found %.200s", path);
        return false;
    }
    for (int i = 0; i < 16; i++)
        snprintf(path + n + 2 * i, 3, "%02x", digest[i]);
    return make_folders_above(ctx, path);
}

/* Downloads a file and compares it with the SHA-256 of the manifest or of --sha256; deletes a wrong one. Writes its
 * path. */
static bool fetch_url(fetch *f, const manifest_file *file, char path[PATH_MAX]) {
    char digits[SHA256_TEXT];
    const char *expected = is_verified(file) ? file->sha256 : f->options->sha256;
    download_options o = {.timeout = f->options->timeout,
        .limit = is_verified(file) && file->bytes >= 0 ? file->bytes : f->options->limit,
        .progress = can_redraw(stderr),
        .stop = f->stop};
    if (!cache_path(f->ctx, file->url, path))
        return false;
    if (access(path, F_OK) != 0 && !download(f->ctx, file->url, path, &o))
        return false;
    if (f->n_cached < MOST_DOWNLOADS)
        snprintf(f->cached[f->n_cached++], PATH_MAX, "%s", path);
    if (!hash_file(f->ctx, path, false, digits))
        return false;
    if (expected && strcmp(expected, digits)) {
        unlink(path);
        mo_fail(f->ctx, MO_FORMAT, "%s: expected SHA-256 %s, found %s", file->url, expected, digits);
        return false;
    }
    if (!expected && !f->options->json)
        printf("%s: %s has SHA-256 %s, which is not verified\n", f->entry->name, file->url, digits);
    return true;
}

/* Unpacks the members of the archive at this address that are not staged yet, from entry `first` on. */
static bool unpack_members(fetch *f, int first, const char *archive) {
    const manifest_entry *e = f->entry;
    unpack_wish *wishes = calloc((size_t)e->n_files, sizeof *wishes);
    char(*paths)[PATH_MAX] = calloc((size_t)e->n_files, sizeof *paths);
    int n = 0;
    if (!wishes || !paths)
        mo_fail(f->ctx, MO_MEMORY, "%s: out of memory", e->name);
    for (int i = first; mo_ok(f->ctx) && i < e->n_files; i++)
        if (e->files[i].url && e->files[i].member && !strcmp(e->files[i].url, e->files[first].url) &&
            stage_path(f->ctx, f->stage, e->files[i].path, paths[n]) && access(paths[n], F_OK) != 0) {
            wishes[n] = (unpack_wish){.member = e->files[i].member, .path = paths[n]};
            n++;
        }
    if (mo_ok(f->ctx) && !unpack(f->ctx, archive, e->files[first].url, wishes, n, f->options->limit))
        unlink(archive); /* an archive that cannot be unpacked is useless */
    free(wishes);
    free(paths);
    return mo_ok(f->ctx);
}

/* Checks the SHA-256 of every staged file whose SHA-256 is known. */
static bool check_staged(fetch *f) {
    char found[PATH_MAX], digits[SHA256_TEXT];
    for (int i = 0; i < f->entry->n_files; i++) {
        const manifest_file *file = &f->entry->files[i];
        if (check_file(f->ctx, f->stage, file, found, digits) == FILE_DIFFERS) {
            mo_fail(f->ctx, MO_FORMAT, "%s: %s: expected SHA-256 %s, found %s", f->entry->name, file->path,
                file->sha256, digits);
            return false;
        }
    }
    return mo_ok(f->ctx);
}

bool fill_stage(fetch *f) {
    const manifest_entry *e = f->entry;
    char path[PATH_MAX], staged[PATH_MAX];
    for (int i = 0; i < e->n_files && mo_ok(f->ctx); i++) /* first, so that no archive overwrites them */
        if (e->files[i].url && check_file(f->ctx, f->folder, &e->files[i], path, NULL) == FILE_OK)
            stage_add(f->ctx, f->stage, path + strlen(f->folder) + 1, path);
    for (int i = 0; i < e->n_files && mo_ok(f->ctx); i++) {
        const manifest_file *file = &e->files[i];
        if (file->url && !find_data_file(f->stage, file->path, staged) && fetch_url(f, file, path))
            (void)(file->member ? unpack_members(f, i, path) : stage_add(f->ctx, f->stage, file->path, path));
    }
    return mo_ok(f->ctx) && check_staged(f);
}

/* The converter lies beside the installed data, and in tools/ of the source tree. */
bool run_converter(fetch *f) {
    const manifest_entry *e = f->entry;
    char script[PATH_MAX], input[PATH_MAX], output[PATH_MAX];
    int status = 0;
    pid_t child;
    if (!e->converter[0])
        return true;
    if (!mo_data_file("convert.py", script, sizeof script) &&
        !mo_data_file("../../tools/data/convert.py", script, sizeof script)) {
        mo_fail(f->ctx, MO_IO, "convert.py: not found among the files of the program");
        return false;
    }
    if (!stage_path(f->ctx, f->stage, e->converter[1], input) || !stage_path(f->ctx, f->stage, e->converter[2], output))
        return false;
    char *argv[] = {"python3", "-B", script, (char *)e->converter[0], input, output, NULL};
    fflush(stdout);
    int code = posix_spawnp(&child, "python3", NULL, NULL, argv, environ);
    while (code == 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        if (*f->stop)
            kill(child, SIGTERM);
    if (code != 0)
        mo_fail(f->ctx, MO_IO, "%s: expected python3 to convert the files, found none: %s", e->name, strerror(code));
    else if (*f->stop)
        mo_fail(f->ctx, MO_STATE, "%s: interrupted", e->name);
    else if (status != 0)
        mo_fail(f->ctx, MO_FORMAT, "%s: tools/data/convert.py could not convert the files", e->name);
    return mo_ok(f->ctx);
}

void drop_cached(const fetch *f) {
    for (int i = 0; i < f->n_cached; i++)
        unlink(f->cached[i]);
}
