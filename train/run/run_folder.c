/* train/run/run_folder.c - the folder of a run: made, empty before a new run, and told from one whose first save was
 * cut short.
 *
 * A run writes run.json, then its first checkpoint, then opens the log. Where only run.json is there, no step has been
 * taken: the run is resumed from its beginning. */
#include "tensor/files/file.h"
#include "tensor/given.h"
#include "train/run/trainer.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Makes the folder and its missing parents. */
static void make_folder(mo_context *ctx, const char *folder) {
    char path[MO_PATH];
    snprintf(path, sizeof path, "%s", folder);
    for (char *at = path + 1; mo_ok(ctx); at++) {
        if (*at && *at != '/')
            continue;
        bool last = !*at;
        *at = 0;
        if (mkdir(path, 0777) < 0 && errno != EEXIST)
            mo_fail(ctx, MO_IO, "train: cannot make the folder %s: %s", path, strerror(errno));
        if (last)
            break;
        *at = '/';
    }
}

/* Whether the process that makes such a file may still run: .mochi-PID-N.tmp. Without /proc it may. */
static bool is_being_written(const char *name) {
    char path[64];
    long process = strtol(name + strlen(".mochi-"), NULL, 10);
    snprintf(path, sizeof path, "/proc/%ld", process);
    return process > 0 && process != (long)getpid() && (access(path, F_OK) == 0 || access("/proc/self", F_OK) != 0);
}

void mo_run_tidy(const char *folder) {
    DIR *listing = opendir(folder);
    for (struct dirent *entry; listing && (entry = readdir(listing));)
        if (mo_is_temporary(entry->d_name) && !is_being_written(entry->d_name))
            unlinkat(dirfd(listing), entry->d_name, 0);
    if (listing)
        closedir(listing);
}

/* Raises if the folder is not empty: its files may be of value. */
static void require_empty(mo_context *ctx, const char *folder) {
    DIR *listing = opendir(folder);
    if (!listing) {
        mo_fail(ctx, MO_IO, "train: cannot open the folder %s: %s", folder, strerror(errno));
        return;
    }
    for (struct dirent *entry; mo_ok(ctx) && (entry = readdir(listing));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && !mo_is_temporary(entry->d_name))
            mo_fail(ctx, MO_STATE,
                "train: the folder %s holds %s already: continue its run with --resume or name another folder", folder,
                entry->d_name);
    closedir(listing);
}

mo_code mo_run_folder(mo_context *ctx, const char *folder) {
    if (!mo_given(ctx, "run", "the folder", folder))
        return mo_code_of(ctx);
    make_folder(ctx, folder);
    if (mo_ok(ctx))
        require_empty(ctx, folder);
    return mo_context_status(ctx)->code;
}

bool mo_run_is_begun(const char *folder) {
    static const char *const later[] = {MO_CHECKPOINT, MO_PREVIOUS_CHECKPOINT, "log.jsonl", "weights.safetensors"};
    char path[MO_PATH];
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        if (snprintf(path, sizeof path, "%s/%s", folder, later[i]) >= MO_PATH || access(path, F_OK) == 0)
            return false;
    return snprintf(path, sizeof path, "%s/run.json", folder) < MO_PATH && access(path, F_OK) == 0;
}
