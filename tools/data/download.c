/* tools/data/download.c - libcurl, one transfer at a time.
 *
 * A transfer continues at the end of path.part with Range and If-Range: the server answers 206 and the rest if it still
 * has the version that path.tag names (a strong ETag, else the date), or 200 and the whole file. Without path.tag every
 * attempt starts again. The transfer decodes nothing, so that the file has the bytes whose SHA-256 is known. */
#include "tools/data/download.h"

#include "tensor/clock.h"
#include "tools/progress.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { LONGEST_TAG = 256, MOST_REDIRECTS = 10 };

typedef struct transfer {
    const char *url;
    const download_options *options;
    CURL *curl;
    char part[PATH_MAX], tag_path[PATH_MAX];
    FILE *file;
    int64_t offset;      /* bytes of an earlier attempt; 0 if they cannot be used */
    int64_t bytes;       /* bytes in the file now */
    int64_t range_start; /* the first byte of the answer; -1 if it does not say */
    char tag[LONGEST_TAG], date[LONGEST_TAG];
    bool started; /* the body of the final answer has begun */
    bool too_long;
    int write_error; /* errno */
    double shown_at;
} transfer;

/* ---- the server's answer ---- */

/* Writes the value of a header line of this name without surrounding blanks; "" if it does not fit. */
static bool take_header(const char *line, size_t n, const char *name, char value[LONGEST_TAG]) {
    size_t m = strlen(name);
    if (n <= m || strncasecmp(line, name, m) || line[m] != ':')
        return false;
    const char *start = line + m + 1, *end = line + n;
    while (start < end && (*start == ' ' || *start == '\t'))
        start++;
    while (end > start && strchr(" \t\r\n", end[-1]))
        end--;
    snprintf(value, LONGEST_TAG, "%.*s", end - start < LONGEST_TAG ? (int)(end - start) : 0, start);
    return true;
}

static size_t on_header(char *line, size_t size, size_t n, void *state) {
    transfer *t = state;
    char range[LONGEST_TAG];
    if (size * n > 5 && !strncmp(line, "HTTP/", 5)) { /* a new answer: the one before was a redirect */
        t->tag[0] = t->date[0] = '\0';
        t->range_start = -1;
    } else if (take_header(line, size * n, "Content-Range", range)) {
        sscanf(range, "bytes %" SCNd64, &t->range_start);
    } else if (!take_header(line, size * n, "ETag", t->tag)) {
        take_header(line, size * n, "Last-Modified", t->date);
    }
    return size * n;
}

/* Opens a file beside the one that is fetched, for writing; never through a symbolic link, which may be another user's.
 */
static FILE *open_beside(const char *path, int flags, const char *mode) {
    int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | flags, 0666);
    FILE *file = fd >= 0 ? fdopen(fd, mode) : NULL;
    if (fd >= 0 && !file)
        close(fd);
    return file;
}

/* Writes the name of this version to path.tag: a strong ETag, else the date. */
static void keep_tag(const transfer *t) {
    const char *tag = t->tag[0] == '"' ? t->tag : t->date;
    FILE *file = *tag ? open_beside(t->tag_path, O_TRUNC, "w") : NULL;
    if (file) {
        fputs(tag, file);
        fclose(file);
    } else {
        unlink(t->tag_path);
    }
}

/* Called before the first byte: continues at the end of the file, or starts at its beginning. */
static bool start_body(transfer *t) {
    long code = 0;
    curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &code);
    t->started = true;
    if (code == 206 && t->range_start == t->offset)
        return true;
    if (code == 206) /* a range that was not requested */
        return false;
    t->offset = t->bytes = 0;
    rewind(t->file);
    if (ftruncate(fileno(t->file), 0) != 0)
        return false;
    keep_tag(t);
    return true;
}

static size_t on_body(char *data, size_t size, size_t n, void *state) {
    transfer *t = state;
    if (!t->started && !start_body(t))
        return 0;
    if (t->bytes + (int64_t)n > t->options->limit) {
        t->too_long = true;
        return 0;
    }
    errno = 0;
    size_t written = fwrite(data, size, n, t->file);
    t->bytes += (int64_t)written;
    t->write_error = written < n ? errno : 0;
    return written;
}

static int on_download_progress(void *state, curl_off_t total, curl_off_t now, curl_off_t up_total, curl_off_t up) {
    transfer *t = state;
    (void)up_total, (void)up;
    double time = mo_clock(CLOCK_MONOTONIC);
    if (t->options->progress && total > 0 && time - t->shown_at >= 0.2) {
        t->shown_at = time;
        redraw(stderr, "%s: %.1f of %.1f MB", strrchr(t->url, '/') + 1, 1e-6 * (double)(t->offset + now),
            1e-6 * (double)(t->offset + total));
    }
    return t->options->stop && *t->options->stop;
}

/* ---- one attempt ---- */

static struct curl_slist *set_range(transfer *t, char range[32]) {
    char line[LONGEST_TAG + 16], tag[LONGEST_TAG] = "";
    FILE *file = t->offset > 0 ? fopen(t->tag_path, "r") : NULL;
    if (file) {
        if (!fgets(tag, sizeof tag, file))
            tag[0] = '\0';
        fclose(file);
    }
    if (!tag[0]) {
        t->offset = 0;
        return NULL;
    }
    snprintf(range, 32, "%" PRId64 "-", t->offset);
    snprintf(line, sizeof line, "If-Range: %s", tag);
    curl_easy_setopt(t->curl, CURLOPT_RANGE, range);
    return curl_slist_append(NULL, line);
}

static CURLcode perform_transfer(transfer *t, char reason[CURL_ERROR_SIZE]) {
    char range[32];
    CURL *c = t->curl;
    t->bytes = t->offset;
    struct curl_slist *headers = set_range(t, range);
    curl_easy_setopt(c, CURLOPT_URL, t->url);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(c, CURLOPT_MAXREDIRS, (long)MOST_REDIRECTS);
    curl_easy_setopt(c, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_USERAGENT, "mochi/" MO_VERSION);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)t->options->timeout);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, (long)t->options->timeout);
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(c, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, on_download_progress);
    curl_easy_setopt(c, CURLOPT_XFERINFODATA, t);
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, reason);
    CURLcode result = curl_easy_perform(c);
    curl_slist_free_all(headers);
    return result;
}

/* Raises the reason of the failure. Returns whether the partial file is worth keeping. */
static bool explain_transfer(mo_context *ctx, const transfer *t, CURLcode result, const char *reason) {
    long code = 0;
    curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &code);
    if (result == CURLE_ABORTED_BY_CALLBACK) {
        mo_fail(ctx, MO_STATE, "%s: interrupted after %" PRId64 " bytes", t->url, t->bytes);
    } else if (t->too_long) {
        mo_fail(
            ctx, MO_IO, "%s: expected at most %" PRId64 " bytes, found more; see --limit", t->url, t->options->limit);
        return false;
    } else if (result == CURLE_WRITE_ERROR && t->started && t->write_error) {
        mo_fail(ctx, MO_IO, "%s: cannot write: %s", t->part, strerror(t->write_error));
        return false;
    } else if (result == CURLE_WRITE_ERROR) {
        mo_fail(ctx, MO_IO, "%s: expected bytes from %" PRId64 " on, found others", t->url, t->offset);
        return false;
    } else if (result == CURLE_HTTP_RETURNED_ERROR) {
        mo_fail(ctx, MO_IO, "%s: expected a file, found the answer %ld", t->url, code);
    } else if (result == CURLE_OPERATION_TIMEDOUT) {
        mo_fail(ctx, MO_IO,
            "%s: nothing came for %" PRId64 " s, after %" PRId64 " bytes; the same command goes on there", t->url,
            t->options->timeout, t->bytes);
    } else if (result == CURLE_PARTIAL_FILE || result == CURLE_RECV_ERROR) {
        mo_fail(ctx, MO_IO, "%s: the connection ended after %" PRId64 " bytes; the same command goes on there", t->url,
            t->bytes);
    } else {
        mo_fail(ctx, MO_IO, "%s: %.300s", t->url, *reason ? reason : curl_easy_strerror(result));
    }
    return true;
}

/* Renames a complete file to its own name; keeps or removes a partial one. */
static bool settle_part(mo_context *ctx, const transfer *t, const char *path, CURLcode result, const char *reason) {
    bool useful = t->bytes > 0;
    if (result != CURLE_OK) {
        useful &= explain_transfer(ctx, t, result, reason);
    } else if (rename(t->part, path) == 0) {
        unlink(t->tag_path);
        return true;
    } else {
        mo_fail(ctx, MO_IO, "%s: cannot rename: %s", t->part, strerror(errno));
    }
    if (!useful) {
        unlink(t->part);
        unlink(t->tag_path);
    }
    return false;
}

static bool transfer_once(mo_context *ctx, transfer *t, const char *path, bool *again) {
    char reason[CURL_ERROR_SIZE] = "";
    long code = 0;
    t->file = open_beside(t->part, O_APPEND, "ab");
    if (!t->file) {
        mo_fail(ctx, MO_IO, "%s: cannot write: %s", t->part, strerror(errno));
        return false;
    }
    fseeko(t->file, 0, SEEK_END);
    t->offset = ftello(t->file);
    t->curl = curl_easy_init();
    CURLcode result = t->curl ? perform_transfer(t, reason) : CURLE_OUT_OF_MEMORY;
    errno = 0;
    if (fclose(t->file) != 0 && result == CURLE_OK) {
        result = CURLE_WRITE_ERROR;
        t->write_error = errno;
    }
    curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &code);
    *again = result == CURLE_HTTP_RETURNED_ERROR && code == 416 && t->offset > 0; /* the part is complete */
    bool done = false;
    if (*again)
        unlink(t->part);
    else
        done = settle_part(ctx, t, path, result, reason);
    if (t->options->progress)
        clear_line(stderr);
    curl_easy_cleanup(t->curl);
    return done;
}

bool download(mo_context *ctx, const char *url, const char *path, const download_options *o) {
    bool again = false, done = false;
    for (int attempt = 0; attempt < 2 && (attempt == 0 || again); attempt++) {
        transfer t = {.url = url, .options = o, .range_start = -1};
        if (snprintf(t.part, sizeof t.part, "%s.part", path) >= (int)sizeof t.part ||
            snprintf(t.tag_path, sizeof t.tag_path, "%s.tag", path) >= (int)sizeof t.tag_path) {
            mo_fail(ctx, MO_IO, "%.200s: expected a shorter path", path);
            return false;
        }
        done = transfer_once(ctx, &t, path, &again);
    }
    if (!done && mo_ok(ctx))
        mo_fail(ctx, MO_IO, "%s: expected a file, found the answer 416", url);
    return done;
}
