/* train/run/buckets.h - the gradients of a step on their way between ranks, some parameters at a time (library
 * internal).
 *
 * A bucket is a run of parameters whose gradients travel together, as soon as they are final. Each has a tree of sums
 * of its own: sums of parts are parts of sums, so the bits do not depend on the buckets. */
#ifndef MO_BUCKETS_H
#define MO_BUCKETS_H

#include "train/ranks/ranks.h"
#include "train/run/sum_tree.h"

typedef enum mo_move_kind {
    MO_SEND_NODE = 0, /* to the rank below */
    MO_RECEIVE_NODE,  /* from a rank above */
    MO_JOIN_NODES,    /* at rank 0, which then has the sums of all episodes */
    MO_RECEIVE_TOTAL,
    MO_SEND_TOTAL,
    MO_MOVE_KINDS
} mo_move_kind;

/* One move of a bucket in a step. Every bucket of a rank makes the same ones, one after another. */
typedef struct mo_move {
    mo_move_kind kind;
    int peer;
    int node;           /* of MO_SEND_NODE: its place in the tree */
    int level;          /* of a node, which is */
    int64_t first, end; /* the sum over the episodes first .. end - 1 */
} mo_move;

typedef struct mo_bucket {
    int first, n; /* parameters */
    mo_sum_tree *tree;
    size_t at, bytes;        /* of a message; where it lies in the memory of messages */
    int waiting;             /* gradients of the current episode that are not final yet */
    int64_t have;            /* the tree has the sums over the episodes from the rank's first to before this one */
    int move;                /* the current one */
    bool started, arrived;   /* the message of this move */
    int message;             /* its number */
    mo_tensor *const *total; /* the sums over all episodes, once this rank has them */
    mo_tensor *whole;        /* their memory */
} mo_bucket;

typedef struct mo_buckets {
    mo_context *ctx;
    mo_ranks ranks;
    mo_tape *tape;                /* borrowed */
    int n_parameters, first, end; /* episodes of this rank in a step */
    int n, n_moves;
    mo_bucket *bucket;
    mo_move *moves;
    int sending[MO_MOVE_KINDS]; /* messages on their way */
    mo_tensor **total;
    char *message; /* `bytes` of the host, for sums that lie in a device's memory; NULL: messages are the sums' own */
    size_t bytes;
} mo_buckets;

/* Whether messages can travel while this rank computes: gradients of these shapes, on this device. */
bool mo_buckets_can_start(mo_context *ctx, const mo_ranks *ranks, mo_tensor *const *like, int n);
/* For gradients like the n tensors, which are borrowed, as is the tape. A bucket has `bytes` or more, save the last; 0:
 * there is one, and its messages wait. NULL on failure. */
mo_buckets *mo_buckets_create(
    mo_tape *t, const mo_ranks *ranks, mo_tensor *const *like, int n, int episodes, size_t bytes);
void mo_buckets_release(mo_buckets *b);

/* A step begins. From here on no rank leaves out a message: one that fails sends what it has, and all hear of it when
 * they agree. */
void mo_buckets_begin(mo_buckets *b);
/* The gradients X [n_parameters] of the next episode, of all parameters; or one parameter's, X[i], which is final. */
void mo_buckets_add(mo_buckets *b, int64_t episode, mo_tensor *const *X);
void mo_buckets_add_one(mo_buckets *b, int64_t episode, int i, mo_tensor *const *X);
/* Passes on what has arrived; waits for nothing. */
void mo_buckets_poll(mo_buckets *b);
/* Makes what is left of the step's moves; asks whether messages have arrived until all have. Returns the sums over all
 * episodes, of use where no rank has failed. */
mo_tensor *const *mo_buckets_end(mo_buckets *b);

#endif
