/* tools/eval/eval_options.h - the command line of `mochi eval`. */
#ifndef EVAL_OPTIONS_H
#define EVAL_OPTIONS_H

#include "tools/given.h"

enum { MAX_HEADS = 8, MAX_SHOTS = 64, MAX_WEIGHTS = 8 };

/* Those of links by their numbers in the library, then accuracy: of nodes and graphs. */
enum { METRIC_ACCURACY = MO_LINK_METRICS, N_METRICS };

typedef struct eval_options {
    const char *recipe; /* what the weights must be of, or NULL */
    names weights;      /* files, or "random", or "none" */
    names data, pool;
    const mo_head *heads[MAX_HEADS]; /* none given: the trained one */
    int n_heads;
    const mo_encoder *encoder; /* of weights of an encoder from outside; or NULL */
    bool dot;                  /* links are scored by inner products too */
    const char *suite;         /* its name or path, or NULL */
    given_options given;
    unsigned metrics; /* bits 1 << METRIC_ACCURACY or the number of a link metric; 0: all, or those of the suite */
    bool seeds_said;  /* by --seeds or the suite */
    int task, hop;    /* -1: not given */
    int64_t shots[MAX_SHOTS];
    mo_eval_options evaluation;
    int dim;                   /* of untrained encoders */
    double lambda;             /* 0: not given */
    const char *cache, *draws; /* folders, or NULL */
    int64_t memory;            /* bytes for the features of a graph; 0: any */
    mo_feature_place place;
    mo_dtype stack;
    int threads;
    mo_context_options device; /* and math */
    bool transductive, json, quiet;
    int argc; /* the command's words, argv[0] its full name */
    char **argv;
} eval_options;

/* Wrong usage ends the program. */
void parse_eval_options(eval_options *o, int argc, char **argv);
void free_eval_options(eval_options *o);

#endif
