/* tests/golden/golden.h - comparing our results with stored vectors: float64 arrays named case.name in .npz files. */
#ifndef GOLDEN_H
#define GOLDEN_H

#include "train/inside.h"

enum { GOLDEN_LEAVES = 256, GOLDEN_PARAMETERS = 64 };

/* One file being checked in one float type. */
typedef struct golden {
    mo_context *ctx;
    const mo_arrays *file;
    const char *file_name; /* without .npz */
    mo_dtype real;
    mo_tape *t;
    int passed, failed, skipped;
    mo_tensor *leaves[GOLDEN_LEAVES]; /* released after each case */
    int n_leaves;
} golden;

/* The stored array case.name, or NULL. */
mo_tensor *golden_find(const golden *g, const char *test, const char *name);
/* A leaf in g->real with the stored values that needs a gradient; counts a failure if the array is missing. */
mo_tensor *golden_leaf(golden *g, const char *test, const char *name);
/* Data with the stored values, without a gradient (index arrays stay int64). */
mo_tensor *golden_data(golden *g, const char *test, const char *name);
double golden_number(const golden *g, const char *test, const char *name, double otherwise);
/* Compares with case.name at the tolerance of the file, relative to the largest array of its kind in the case. */
void golden_compare(golden *g, const char *test, const char *name, const mo_tensor *got);
/* <grads of sum(Y * G)> in xs against case.names[i]. */
void golden_gradients(golden *g, const char *test, mo_tensor *Y, mo_tensor *const *xs, const char *const *names, int n);
/* Ends a case: turns an error of the context into a failure, frees tape and leaves. */
void golden_end_case(golden *g, const char *test);
/* Calls check for every distinct case ("a" of "a.x"), in order of first appearance. */
void golden_each_case(golden *g, void (*check)(golden *g, const char *test));

/* ---- of the files that hold a model ---- */

/* The model whose parameters the file holds: widths, hops and layers read off the arrays. */
mo_model *golden_model(golden *g, mo_temperature temperature, double lambda);
int golden_parameters(mo_model *m, mo_tensor **P); /* at most GOLDEN_PARAMETERS */
mo_adamw_options golden_adamw(const golden *g);
/* x [n, (l + 1) d], hop blocks side by side -> [l + 1, n, d]. */
mo_tensor *golden_hop_major(mo_tape *t, mo_tensor *x, int hops, int dim);
/* The first row of each graph, from task.cnt; NULL if there is none. */
mo_tensor *golden_offsets(golden *g, const char *task);

void golden_batched_matmul(golden *g);
void golden_encoder(golden *g);
void golden_logistic(golden *g);
void golden_ops(golden *g);
void golden_peer(golden *g);
void golden_ridge(golden *g);
void golden_solve(golden *g);
void golden_step(golden *g);
void golden_svd(golden *g);
void golden_xent(golden *g);

#endif
