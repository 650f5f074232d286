/* tools/data/data_fetch.h - brings the files of a data set into its stage. */
#ifndef DATA_FETCH_H
#define DATA_FETCH_H

#include "tools/data/data.h"
#include "tools/data/data_stage.h"

#include <signal.h>

enum { MOST_DOWNLOADS = 64 };

typedef struct fetch {
    mo_context *ctx;
    const data_options *options;
    const manifest_entry *entry;
    const volatile sig_atomic_t *stop;
    char folder[PATH_MAX], stage[PATH_MAX];
    char cached[MOST_DOWNLOADS][PATH_MAX]; /* finished downloads */
    int n_cached;
} fetch;

/* Whether the SHA-256 of the bytes at the file's address is known. */
bool is_verified(const manifest_file *f);
/* Fills the stage: it links or copies files that are already right and downloads the others, verified before anything
 * reads them. Returns false after raising. */
bool fill_stage(fetch *f);
/* Runs tools/data/convert.py on the stage if the entry asks for it. Returns false after raising. */
bool run_converter(fetch *f);
/* Deletes the finished downloads. */
void drop_cached(const fetch *f);

#endif
