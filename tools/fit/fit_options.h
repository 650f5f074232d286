/* tools/fit/fit_options.h - the command line of `mochi fit`. */
#ifndef FIT_OPTIONS_H
#define FIT_OPTIONS_H

#include "tools/options.h"

enum { FIT_HEADS = 32, FIT_SHOTS = 64 };

typedef struct fit_options {
    const char *rows, *labels, *draws;
    const char *train, *test;                   /* lists of a split, or NULL */
    const char *save, *readout, *predict, *out; /* files of a readout that is kept, or NULL */
    double least;                               /* rows whose probability is below it get no label */
    const char *confusion;                      /* the head whose confusion matrix is shown, or NULL */
    const mo_head *heads[FIT_HEADS];
    int n_heads;
    int64_t shots[FIT_SHOTS];
    mo_fit_options fit;
    double lambda, epsilon;
    mo_context_options device; /* device, math mode and threads */
    const char *tune;          /* "loo", or NULL */
    int argc;
    char **argv;
    bool standardise, centre, normalise; /* at most one */
    bool diagnose, no_geometry, pairs, probabilities, json, quiet;
    given_options given;
} fit_options;

/* Reads the command line; ends the program on wrong usage. */
void parse_fit_options(fit_options *o, int argc, char **argv);

#endif
