/* tools/fit/fit_readout.h - a fitted readout in a file, and predictions of rows by it. */
#ifndef FIT_READOUT_H
#define FIT_READOUT_H

#include "tools/fit/fit_options.h"

/* Writes a readout: the rows learned from, their labels, and in the metadata the head and its settings. Returns false
 * on failure. */
bool save_row_readout(mo_context *ctx, const char *path, const mo_row_readout *r);
/* Reads such a file; release in any case. Returns false on failure. */
bool load_row_readout(mo_context *ctx, const char *path, mo_row_readout *r);

/* `mochi fit` with --save, --predict or --readout: fits one head on the rows to learn from (E; NULL: reads the
 * readout), keeps it and predicts. Returns whether everything was written. */
bool use_fit(mo_context *ctx, const fit_options *o, const mo_embeddings *E);

#endif
