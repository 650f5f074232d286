/* train/graphs/text_reader.c - lines of plain or gzipped text, through zlib, which reads both. */
#include "train/graphs/text_reader.h"

#include "tensor/files/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_CAPACITY ((size_t)1 << 18)
#define LONGEST_LINE ((size_t)1 << 24) /* holds 2 million neighbours; bounds a file without line ends */

bool mo_text_find(const char *folder, const char *name, char *path, size_t bytes) {
    for (const char *const *ending = (const char *const[]){"", ".gz", NULL}; *ending; ending++) {
        int length = snprintf(path, bytes, "%s/%s%s", folder, name, *ending);
        if (length > 0 && (size_t)length < bytes && access(path, F_OK) == 0)
            return true;
    }
    return false;
}

/* Takes over the open file. file NULL: opening failed, as errno says. */
static bool start_text(mo_text_reader *r, gzFile file) {
    r->file = file;
    if (!file)
        return mo_fail(r->ctx, errno == ENOMEM ? MO_MEMORY : MO_IO, "%s: cannot open: %s", r->path, strerror(errno));
    r->buffer = malloc(FIRST_CAPACITY);
    if (!r->buffer)
        return mo_fail(r->ctx, MO_MEMORY, "%s: out of memory for the read buffer", r->path);
    r->capacity = FIRST_CAPACITY;
    return true;
}

bool mo_text_open(mo_text_reader *r, mo_context *ctx, const char *path) {
    *r = (mo_text_reader){.ctx = ctx, .path = path};
    struct stat status;
    if (stat(path, &status) != 0)
        return mo_fail(ctx, MO_IO, "%s: cannot open: %s", path, strerror(errno));
    if (!S_ISREG(status.st_mode))
        return mo_fail(ctx, MO_IO, "%s: expected a file, found %s", path,
            S_ISDIR(status.st_mode) ? "a folder" : "something that is not a plain file");
    r->file_bytes = status.st_size;
    return start_text(r, gzopen(path, "rb"));
}

bool mo_text_open_pipe(mo_text_reader *r, mo_context *ctx, const char *path) {
    bool input = strcmp(path, "-") == 0;
    struct stat status;
    if (!input && (stat(path, &status) != 0 || !S_ISFIFO(status.st_mode)))
        return mo_text_open(r, ctx, path);
    *r = (mo_text_reader){.ctx = ctx, .path = input ? "standard input" : path, .pipe = true};
    int descriptor = input ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    gzFile file = descriptor < 0 ? NULL : gzdopen(descriptor, "rb");
    if (!file && descriptor >= 0)
        close(descriptor);
    return start_text(r, file);
}

void mo_text_close(mo_text_reader *r) {
    if (r->file)
        gzclose(r->file);
    free(r->buffer);
    r->file = NULL;
    r->buffer = r->text = NULL;
}

static bool make_room(mo_text_reader *r) {
    if (r->start > 0) {
        memmove(r->buffer, r->buffer + r->start, r->end - r->start);
        r->end -= r->start;
        r->start = 0;
    }
    if (r->end + 1 < r->capacity)
        return true;
    if (r->capacity >= LONGEST_LINE)
        return mo_fail(r->ctx, MO_FORMAT, "%s:%lld: expected lines of at most %zu bytes, found a longer one", r->path,
            (long long)r->line + 1, LONGEST_LINE);
    char *grown = realloc(r->buffer, 2 * r->capacity);
    if (!grown)
        return mo_fail(r->ctx, MO_MEMORY, "%s:%lld: out of memory for a line", r->path, (long long)r->line + 1);
    r->buffer = grown;
    r->capacity *= 2;
    return true;
}

/* zlib reports a truncated stream only through gzerror, after it has returned the data before the end. */
static bool fill_text_buffer(mo_text_reader *r) {
    if (!make_room(r))
        return false;
    size_t wanted = r->capacity - r->end - 1; /* one byte stays free for the terminator of a last line */
    int got = gzread(r->file, r->buffer + r->end, (unsigned)wanted);
    r->unfolded += got > 0 ? got : 0;
    if (r->unfolded > mo_expansion_limit(r->ctx, r->file_bytes) && (r->pipe || !gzdirect(r->file))) {
        if (r->pipe)
            mo_fail(
                r->ctx, MO_FORMAT, "%s: expected at most 64 MiB of a pipe, found more; write a file first", r->path);
        else
            mo_expansion_fail(r->ctx, r->path, r->file_bytes);
        return false;
    }
    if (got >= 0 && (size_t)got == wanted) {
        r->end += (size_t)got;
        return true;
    }
    int code = Z_OK;
    const char *reason = gzerror(r->file, &code);
    if (code == Z_BUF_ERROR)
        return mo_fail(r->ctx, MO_FORMAT, "%s: expected a complete gzip stream, found one that ends early", r->path);
    if (got < 0 || (code != Z_OK && code != Z_STREAM_END)) {
        mo_code raised = code == Z_ERRNO ? MO_IO : code == Z_MEM_ERROR ? MO_MEMORY : MO_FORMAT;
        return mo_fail(r->ctx, raised, "%s: cannot read: %s", r->path, code == Z_ERRNO ? strerror(errno) : reason);
    }
    r->end += (size_t)got;
    r->exhausted = true;
    return true;
}

bool mo_text_line(mo_text_reader *r) {
    size_t scanned = 0;
    char *newline = NULL;
    while (!(newline = memchr(r->buffer + r->start + scanned, '\n', r->end - r->start - scanned))) {
        scanned = r->end - r->start;
        if (r->exhausted)
            break;
        if (!fill_text_buffer(r))
            return false;
    }
    if (!newline && scanned == 0)
        return false;
    size_t length = newline ? (size_t)(newline - (r->buffer + r->start)) : scanned;
    r->text = r->buffer + r->start;
    r->start += length + (newline ? 1 : 0);
    r->line++;
    if (memchr(r->text, '\0', length))
        return mo_fail(r->ctx, MO_FORMAT, "%s:%lld: expected text, found a zero byte", r->path, (long long)r->line);
    if (length > 0 && r->text[length - 1] == '\r')
        length--;
    r->text[length] = '\0';
    r->length = length;
    if (r->line == 1 && strncmp(r->text, "\xef\xbb\xbf", 3) == 0) {
        r->text += 3;
        r->length -= 3;
    }
    return true;
}
