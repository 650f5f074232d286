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

#endif
