/* tools/data/data_stage.c - changes the data folder only by renaming finished files into it. */
#include "tools/data/data_stage.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool make_folders_above(mo_context *ctx, const char *path) {
    char part[PATH_MAX];
    if (snprintf(part, sizeof part, "%s", path) >= (int)sizeof part) {
        mo_fail(ctx, MO_IO, "%.200s: expected a shorter path", path);
        return false;
    }
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST) {
            mo_fail(ctx, MO_IO, "%s: cannot make the folder: %s", part, strerror(errno));
            return false;
        }
        *slash = '/';
    }
    return true;
}

/* Writes FOLDER/NAME; raises if it does not fit. */
static bool join_path(mo_context *ctx, const char *folder, const char *name, char full[PATH_MAX]) {
    if (snprintf(full, PATH_MAX, "%s/%s", folder, name) < PATH_MAX)
        return true;
    mo_fail(ctx, MO_IO, "%.200s: expected a shorter path", folder);
    return false;
}

bool stage_open(mo_context *ctx, const char *folder, char stage[PATH_MAX]) {
    if (!join_path(ctx, folder, ".get-XXXXXX", stage) || !make_folders_above(ctx, stage))
        return false;
    if (mkdtemp(stage))
        return true;
    mo_fail(ctx, MO_IO, "%s: cannot make a folder: %s", folder, strerror(errno));
    return false;
}

bool stage_path(mo_context *ctx, const char *stage, const char *path, char full[PATH_MAX]) {
    return join_path(ctx, stage, path, full) && make_folders_above(ctx, full);
}

static bool copy_into_stage(mo_context *ctx, const char *from, const char *to) {
    char buffer[1 << 16];
    size_t n = 0;
    FILE *in = fopen(from, "rb"), *out = in ? fopen(to, "wb") : NULL;
    errno = in && out ? 0 : errno;
    while (out && (n = fread(buffer, 1, sizeof buffer, in)) > 0 && fwrite(buffer, 1, n, out) == n)
        continue;
    bool done = out && n == 0 && !ferror(in);
    int code = errno;
    if (in)
        fclose(in);
    if (out && fclose(out) != 0 && done) {
        done = false;
        code = errno;
    }
    if (!done)
        mo_fail(ctx, MO_IO, "%s: cannot copy to %s: %s", from, to, strerror(code));
    return done;
}

bool stage_add(mo_context *ctx, const char *stage, const char *path, const char *source) {
    char full[PATH_MAX];
    return stage_path(ctx, stage, path, full) && (link(source, full) == 0 || copy_into_stage(ctx, source, full));
}

bool stage_publish(mo_context *ctx, const char *stage, const char *folder, const manifest_entry *e) {
    char from[PATH_MAX], to[PATH_MAX];
    for (int i = 0; i < e->n_files; i++) {
        if (!join_path(ctx, stage, e->files[i].path, from) || !join_path(ctx, folder, e->files[i].path, to))
            return false;
        if (access(from, F_OK) != 0)
            continue;
        if (!make_folders_above(ctx, to))
            return false;
        if (rename(from, to) != 0) {
            mo_fail(ctx, MO_IO, "%s: cannot put the file in place: %s", to, strerror(errno));
            return false;
        }
    }
    return true;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *at) {
    (void)status, (void)kind, (void)at;
    return remove(path);
}

void stage_close(const char *stage) {
    nftw(stage, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}
