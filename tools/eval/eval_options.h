/* tools/eval/eval_options.h - the command line of `mochi eval`. */
#ifndef EVAL_OPTIONS_H
#define EVAL_OPTIONS_H

#include "tools/options.h"

enum { MAX_HEADS = 8, MAX_SHOTS = 64, MAX_WEIGHTS = 8 };

/* Metrics: those of links by their numbers in the library, then those of nodes and graphs, of which accuracy is the
 * first. */
enum { METRIC_ACCURACY = MO_LINK_METRICS, N_METRICS = MO_LINK_METRICS + MO_CLASS_METRICS };
const char *metric_name(int i);

typedef struct eval_options {
    const char *recipe; /* the recipe that the weights must have, or NULL */
    names weights;      /* files, or "random", or "none" */
    names data, pool;
    const mo_head *heads[MAX_HEADS]; /* none given: the head trained with the weights */
    int n_heads;
    const mo_encoder *encoder; /* the user's encoder, of weights trained with one; or NULL */
    bool dot;                  /* also score links by inner products */
    const char *suite;         /* its name or path, or NULL */
    given_options given;
    unsigned metrics; /* bits 1 << METRIC_ACCURACY or the number of a link metric; 0: all, or the suite's metrics */
    bool seeds_said;  /* --seeds or the suite gave the seeds */
    int task, hop;    /* -1: not given */
    int64_t shots[MAX_SHOTS];
    mo_eval_options evaluation;
    int dim;                   /* width of untrained encoders */
    double lambda;             /* 0: not given */
    const char *cache, *draws; /* folders, or NULL */
    int64_t memory;            /* most bytes for the features of a graph; 0: any */
    mo_feature_place place;
    mo_context_options device; /* device, math mode and threads */
    bool transductive, json, quiet;
    int argc; /* the command's words; argv[0] is its full name */
    char **argv;
} eval_options;

/* Reads the command line; ends the program on wrong usage. */
void parse_eval_options(eval_options *o, int argc, char **argv);
void free_eval_options(eval_options *o);
/* The metrics of a task, as bits of their numbers. */
unsigned metrics_of(mo_task task);
/* The protocol of a task as the figures name it. */
const char *eval_protocol_name(const eval_options *o, const char *task);

#endif
