/* train/features/hop_file.c - opening and locking the file behind a hop stack, reading and writing its hops. */
#include "train/features/hop_file.h"

#include "tensor/files/file.h"
#include "tensor/storage.h"
#include "train/features/hop_layout.h"
#include "train/features/row_stack.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static bool hop_file_failed(mo_hop_file *f, const char *what) {
    if (mo_ok(f->ctx))
        mo_fail(
            f->ctx, MO_IO, "hop stack '%s': cannot %s: %s", f->locked ? f->partial : f->path, what, strerror(errno));
    return false;
}

/* A full disk leaves no file behind: the space is better than the blocks. */
static bool write_at(mo_hop_file *f, const void *bytes, size_t n, int64_t offset) {
    for (size_t done = 0; done < n;) {
        ssize_t put = pwrite(f->fd, (const char *)bytes + done, n - done, offset + (int64_t)done);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0) {
            hop_file_failed(f, "write");
            unlink(f->partial);
            return false;
        }
        done += (size_t)put;
    }
    return true;
}

/* ---- opening ---- */

static void hop_file_tell(const mo_hop_file *f, const mo_hop_store *s, const char *what, int64_t blocks) {
    char line[1200];
    if (!s->cache.notice)
        return;
    snprintf(line, sizeof line, "cache: hop stack '%s': %" PRId64 " blocks %s", f->path, blocks, what);
    s->cache.notice(line, s->cache.state);
}

static void close_fd(mo_hop_file *f) {
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
    f->locked = false;
}

/* open, again if a signal interrupts it: a stack that is there must not be computed again. */
static int open_uninterrupted(const char *path, int flags) {
    int fd;
    do
        fd = open(path, flags | O_NOFOLLOW | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* Checks the whole file. Damage makes it a partial one. */
static bool open_whole(mo_hop_file *f, const mo_hop_store *s) {
    f->fd = open_uninterrupted(f->path, O_RDONLY);
    if (f->fd < 0)
        return false;
    int64_t damaged = mo_hop_read_own_table(f, s) ? mo_hop_verify(f) : f->blocks;
    if (!damaged && mo_hop_file_finished(f) == f->blocks) {
        futimens(f->fd, NULL);
        return true;
    }
    hop_file_tell(f, s, "are damaged; made again", damaged);
    rename(f->path, f->partial);
    close_fd(f);
    return false;
}

/* Waits for the lock on the partial file; false where the file has another name by then. */
static bool lock_partial(mo_hop_file *f, const mo_hop_store *s) {
    struct stat held, named;
    if (flock(f->fd, LOCK_EX | LOCK_NB) < 0) {
        hop_file_tell(f, s, "are being written by another process; waiting", f->blocks);
        while (flock(f->fd, LOCK_EX) < 0 && errno == EINTR)
            ;
    }
    return fstat(f->fd, &held) == 0 && stat(f->partial, &named) == 0 && held.st_ino == named.st_ino;
}

/* Empties the file and gives it its full size, each again if a signal interrupts it. Returns 0 or the reason. */
static int reserve(mo_hop_file *f) {
    int reason;
    do
        reason = ftruncate(f->fd, 0) < 0 ? errno : 0;
    while (reason == EINTR);
    while (!reason && (reason = posix_fallocate(f->fd, 0, mo_hop_file_bytes(f))) == EINTR)
        reason = 0;
    return reason;
}

/* An empty file of full size, or what an interrupted run has left. */
static bool prepare_partial(mo_hop_file *f, const mo_hop_store *s) {
    char page[MO_HOP_PAGE];
    if (mo_hop_read_own_table(f, s)) {
        mo_hop_verify(f);
        hop_file_tell(f, s, "are there from an interrupted run", mo_hop_file_finished(f));
        return mo_ok(f->ctx);
    }
    memset(f->digest, 0, (size_t)f->blocks * sizeof *f->digest);
    mo_hop_describe(f, s->sides, s->key, page);
    int reason = reserve(f);
    if (reason) {
        mo_fail(f->ctx, MO_IO, "hop stack '%s': cannot reserve %.1f GB: %s", f->partial,
            1e-9 * (double)mo_hop_file_bytes(f), strerror(reason));
        unlink(f->partial);
        return false;
    }
    return write_at(f, page, MO_HOP_PAGE, 0);
}

bool mo_hop_file_name(mo_hop_file *f, const mo_hop_store *s) {
    *f = (mo_hop_file){
        .ctx = s->cache.ctx, .fd = -1, .dtype = s->dtype, .hops = s->hops, .nodes = s->nodes, .columns = s->columns};
    mo_hop_lay_out(f, s->sides);
    f->path = mo_cache_path(&s->cache, s->key, ".stack");
    if (f->path && asprintf(&f->partial, "%s.partial", f->path) < 0)
        f->partial = NULL;
    if (!f->partial && mo_ok(f->ctx))
        mo_fail(f->ctx, MO_MEMORY, "hop stack: out of memory");
    return mo_ok(f->ctx);
}

/* Opens the partial file. */
static bool open_partial(mo_hop_file *f, int flags) {
    char label[MO_LABEL];
    f->fd = mo_file_open_own(f->ctx, mo_file_label("hop stack", f->partial, label), f->partial, O_RDWR | flags);
    f->locked = true;
    return f->fd >= 0;
}

bool mo_hop_file_join(mo_hop_file *f) {
    return open_partial(f, 0);
}

bool mo_hop_file_open(mo_hop_file *f, const mo_hop_store *s) {
    mo_hop_file_name(f, s);
    while (mo_ok(f->ctx)) {
        if (open_whole(f, s))
            return true;
        if (!open_partial(f, O_CREAT))
            return false;
        if (lock_partial(f, s))
            return prepare_partial(f, s);
        close_fd(f);
    }
    return false;
}

void mo_hop_file_close(mo_hop_file *f) {
    close_fd(f);
    free(f->digest);
    free(f->path);
    free(f->partial);
}

bool mo_hop_file_write(mo_hop_file *f, int64_t side, int64_t hop, int64_t block, const void *rows) {
    size_t n = (size_t)(mo_hop_file_rows(f, block) * mo_hop_row_bytes(f));
    uint64_t *digest = mo_hop_file_digest(f, side, hop, block);
    int64_t entry = mo_hop_digests_offset(f) + (digest - f->digest) * (int64_t)sizeof *digest;
    if (!write_at(f, rows, n, mo_hop_offset(f, side, hop) + block * f->block_rows * mo_hop_row_bytes(f)))
        return false;
    *digest = mo_hop_digest_of(rows, n);
    return write_at(f, digest, sizeof *digest, entry);
}

bool mo_hop_file_put_quality(mo_hop_file *f, const double quality[2]) {
    memcpy(f->quality, quality, sizeof f->quality);
    f->quality_digest = mo_hop_digest_of(f->quality, sizeof f->quality);
    return write_at(f, f->quality, sizeof f->quality, mo_hop_table_offset(f)) &&
           write_at(
               f, &f->quality_digest, sizeof f->quality_digest, mo_hop_table_offset(f) + (int64_t)sizeof f->quality);
}

bool mo_hop_file_read_rows(mo_hop_file *f, int64_t side, int64_t hop, int64_t first, int64_t count, float *rows) {
    int64_t n = count * f->columns, bytes = count * mo_hop_row_bytes(f);
    int64_t at = mo_hop_offset(f, side, hop) + first * mo_hop_row_bytes(f);
    if (!mo_hop_read_at(f, (char *)(rows + n) - bytes, (size_t)bytes, at))
        return hop_file_failed(f, "read");
    if (f->dtype == MO_F16)
        mo_widen_halves(rows, n);
    return true;
}

bool mo_hop_file_read_hop(mo_hop_file *f, int64_t side, int64_t hop, float *rows) {
    return mo_hop_file_read_rows(f, side, hop, 0, f->nodes, rows);
}

/* Syncs the folder of the file, so that its new name lasts; some file systems cannot (EINVAL). */
static bool sync_folder(const char *path) {
    char *folder = strdup(path), *slash = folder ? strrchr(folder, '/') : NULL;
    if (slash)
        slash[1] = '\0';
    int fd = folder ? open_uninterrupted(slash ? folder : ".", O_RDONLY | O_DIRECTORY) : -1;
    bool synced = fd >= 0 && (mo_file_sync(fd) == 0 || errno == EINVAL);
    int reason = errno;
    if (fd >= 0)
        close(fd);
    free(folder);
    errno = reason;
    return synced;
}

bool mo_hop_file_sync(mo_hop_file *f) {
    return mo_file_sync(f->fd) == 0 || hop_file_failed(f, "sync");
}

bool mo_hop_file_complete(mo_hop_file *f) {
    if (!f->locked)
        return true;
    if (!mo_hop_file_sync(f))
        return false;
    if (rename(f->partial, f->path) < 0)
        return hop_file_failed(f, "rename");
    return sync_folder(f->path) || hop_file_failed(f, "sync the folder");
}

mo_tensor *mo_hop_file_map(mo_hop_file *f, const mo_hop_store *s) {
    int64_t shape[] = {s->sides, s->hops, s->nodes, s->columns};
    return mo_tensor_map(f->ctx, f->dtype, 4, shape, f->fd, MO_HOP_PAGE, f->path);
}
