/* tools/fit/fit.h - the parts of `mochi fit`. */
#ifndef FIT_H
#define FIT_H

#include "tools/fit/labelled_rows.h"

typedef struct fit_options {
    labelled_rows in;
    const char *save, *readout, *predict, *out; /* the files, or NULL, of the readout to write, the readout to read, the
                                                 * rows to predict, and the predictions */
    const char *target;                         /* the column of real targets of the table, or NULL */
    double least;                               /* rows whose largest probability is smaller get no label */
    mo_context_options device;                  /* device, math mode and threads */
    bool probabilities, json;
    given_options given;
} fit_options;

/* ---- fit_readout.c ---- */

/* Writes a readout: its state, and the head and its settings as metadata. Returns false on failure. */
bool save_row_readout(mo_context *ctx, const char *path, const mo_row_readout *r);
/* Reads a readout; release r even on failure. Returns false on failure. */
bool load_row_readout(mo_context *ctx, const char *path, const mo_head *own, mo_row_readout *r);

#endif
