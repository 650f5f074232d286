/* tools/data/download.h - a file from the web, picked up again where an earlier attempt stopped. */
#ifndef DOWNLOAD_H
#define DOWNLOAD_H

#include "tools/command.h"

#include <signal.h>

typedef struct download_options {
    int64_t timeout;                   /* seconds without a byte */
    int64_t limit;                     /* bytes */
    bool progress;                     /* a line on standard error, rewritten as bytes arrive */
    const volatile sig_atomic_t *stop; /* not 0: give up */
} download_options;

/* Fetches url into `path`, redirects within http and https only. What an attempt leaves is path.part, beside it in
 * path.tag how the server names that version, with which the next attempt goes on where the server still has it. False
 * raises, MO_STATE where *stop did it. */
bool download(mo_context *ctx, const char *url, const char *path, const download_options *o);

#endif
