/* tools/data/download.h - downloads a file, continuing where an earlier attempt stopped. */
#ifndef DOWNLOAD_H
#define DOWNLOAD_H

#include "tools/command.h"

#include <signal.h>

typedef struct download_options {
    int64_t timeout;                   /* seconds without a byte */
    int64_t limit;                     /* bytes */
    bool progress;                     /* show a line on standard error, redrawn as bytes arrive */
    const volatile sig_atomic_t *stop; /* the download stops once *stop is not 0 */
} download_options;

/* Downloads url to `path`; follows redirects within http and https only. An unfinished attempt leaves path.part, and in
 * path.tag the server's name of that version: the next attempt continues if the server still has it. Returns false
 * after raising, MO_STATE if *stop ended it. */
bool download(mo_context *ctx, const char *url, const char *path, const download_options *o);

#endif
