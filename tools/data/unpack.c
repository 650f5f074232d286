/* tools/data/unpack.c - unpacks by libarchive; file names never come from the archive. */
#include "tools/data/unpack.h"

#include "tools/data/manifest.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_MEMBERS = 1 << 20 };

typedef struct unpacking {
    mo_context *ctx;
    const char *name;
    struct archive *archive;
    unpack_wish *wishes;
    int n;
    int64_t left; /* bytes that may still be unpacked */
} unpacking;

/* A member's name, made fit for a message. */
static const char *quote_member(const char *member, char shown[64]) {
    snprintf(shown, 64, "%.60s", member);
    for (char *p = shown; *p; p++)
        *p = *p >= 32 && *p < 127 ? *p : '?';
    return shown;
}

/* Returns false after raising if no archive may have such a member. */
static bool is_harmless(const unpacking *u, struct archive_entry *entry) {
    char shown[64];
    const char *member = archive_entry_pathname(entry);
    __LA_MODE_T kind = archive_entry_filetype(entry);
    if (!member || !*member) {
        mo_fail(u->ctx, MO_FORMAT, "%s: expected members with names, found one without", u->name);
        return false;
    }
    char trimmed[1024]; /* folders end in a slash */
    size_t n = strlen(member);
    snprintf(trimmed, sizeof trimmed, "%s", member);
    if (n < sizeof trimmed && n > 1 && kind == AE_IFDIR && trimmed[n - 1] == '/')
        trimmed[n - 1] = '\0';
    const char *local = strncmp(trimmed, "./", 2) ? trimmed : trimmed + 2;
    if (n >= sizeof trimmed || (*local && !is_safe_path(local))) {
        mo_fail(u->ctx, MO_FORMAT, "%s: expected members below one folder, found '%s'", u->name,
            quote_member(member, shown));
        return false;
    }
    if ((kind != AE_IFREG && kind != AE_IFDIR) || archive_entry_hardlink(entry) || archive_entry_symlink(entry)) {
        mo_fail(u->ctx, MO_FORMAT, "%s: expected files and folders, found '%s', a link or a device", u->name,
            quote_member(member, shown));
        return false;
    }
    return true;
}

static bool too_much(const unpacking *u) {
    mo_fail(u->ctx, MO_FORMAT, "%s: expected less to unpack than the limit, found more; see --limit", u->name);
    return false;
}

/* Copies the data of the current member, or only counts it (file NULL). */
static bool copy_data(unpacking *u, FILE *file, const char *path) {
    char buffer[1 << 16];
    la_ssize_t got;
    while ((got = archive_read_data(u->archive, buffer, sizeof buffer)) > 0) {
        u->left -= got;
        if (u->left < 0)
            return too_much(u);
        errno = 0;
        if (file && fwrite(buffer, 1, (size_t)got, file) != (size_t)got) {
            mo_fail(u->ctx, MO_IO, "%s: cannot write: %s", path, strerror(errno));
            return false;
        }
    }
    if (got < 0)
        mo_fail(u->ctx, MO_FORMAT, "%s: cannot unpack: %.200s", u->name, archive_error_string(u->archive));
    return got == 0;
}

static bool write_member(unpacking *u, unpack_wish *wish) {
    if (wish->found) {
        mo_fail(u->ctx, MO_FORMAT, "%s: expected one member '%s', found two", u->name, wish->member);
        return false;
    }
    wish->found = true;
    FILE *file = fopen(wish->path, "wb");
    if (!file) {
        mo_fail(u->ctx, MO_IO, "%s: cannot write: %s", wish->path, strerror(errno));
        return false;
    }
    bool done = copy_data(u, file, wish->path);
    errno = 0;
    if ((fclose(file) != 0) && done) {
        mo_fail(u->ctx, MO_IO, "%s: cannot write: %s", wish->path, strerror(errno));
        return false;
    }
    return done;
}

static bool take_entry(unpacking *u, struct archive_entry *entry) {
    if (!is_harmless(u, entry))
        return false;
    if (archive_entry_size_is_set(entry) && archive_entry_size(entry) > u->left)
        return too_much(u);
    const char *member = archive_entry_pathname(entry);
    member += strncmp(member, "./", 2) ? 0 : 2;
    for (int i = 0; i < u->n; i++)
        if (!strcmp(member, u->wishes[i].member) && archive_entry_filetype(entry) == AE_IFREG)
            return write_member(u, &u->wishes[i]);
    return copy_data(u, NULL, NULL); /* counts the bytes that it really holds */
}

static bool read_all_members(unpacking *u) {
    struct archive_entry *entry;
    int code, members = 0;
    while ((code = archive_read_next_header(u->archive, &entry)) == ARCHIVE_OK || code == ARCHIVE_WARN) {
        if (++members > MOST_MEMBERS)
            return too_much(u);
        if (!take_entry(u, entry))
            return false;
    }
    if (code != ARCHIVE_EOF) {
        mo_fail(u->ctx, MO_FORMAT, "%s: cannot unpack: %.200s", u->name, archive_error_string(u->archive));
        return false;
    }
    for (int i = 0; i < u->n; i++)
        if (!u->wishes[i].found) {
            mo_fail(u->ctx, MO_FORMAT, "%s: expected a member '%s', found none among %d", u->name, u->wishes[i].member,
                members);
            return false;
        }
    return true;
}

bool unpack(mo_context *ctx, const char *path, const char *name, unpack_wish *wishes, int n, int64_t limit) {
    unpacking u = {.ctx = ctx, .name = name, .archive = archive_read_new(), .wishes = wishes, .n = n, .left = limit};
    if (!u.archive) {
        mo_fail(ctx, MO_MEMORY, "%s: out of memory for the archive", name);
        return false;
    }
    archive_read_support_format_zip_seekable(u.archive); /* reads the zip's directory, which a truncated file lacks */
    archive_read_support_format_tar(u.archive);
    archive_read_support_filter_gzip(u.archive);
    archive_read_support_filter_xz(u.archive);
    bool done = archive_read_open_filename(u.archive, path, 1 << 16) == ARCHIVE_OK;
    if (!done)
        mo_fail(ctx, MO_FORMAT, "%s: expected a zip or tar archive, found neither", name);
    done = done && read_all_members(&u);
    archive_read_free(u.archive);
    return done;
}
