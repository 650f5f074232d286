/* tests/golden/golden.h - compares our results with stored vectors: .npz files with float64 arrays named case.name. */
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
    mo_tensor *leaves[GOLDEN_LEAVES]; /* leaves of the current case, released at its end */
    int n_leaves;
} golden;

/* Returns the stored array case.name, or NULL. `test` is the case. */
mo_tensor *golden_find(const golden *g, const char *test, const char *name);
/* Returns a leaf of type g->real with the stored values, which needs a gradient; counts a failure if there is no
 * array. */
mo_tensor *golden_leaf(golden *g, const char *test, const char *name);
/* Returns the stored values as a tensor without a gradient (index arrays stay int64). */
mo_tensor *golden_data(golden *g, const char *test, const char *name);
double golden_number(const golden *g, const char *test, const char *name, double otherwise);
/* Compares `got` with case.name, at the file's tolerance, relative to the largest array of its kind in the case. */
void golden_compare(golden *g, const char *test, const char *name, const mo_tensor *got);
/* Compares the gradients of sum(Y * G) in xs[i] with the arrays case.names[i]. */
void golden_gradients(golden *g, const char *test, mo_tensor *Y, mo_tensor *const *xs, const char *const *names, int n);
/* Ends a case: turns an error of the context into a failure, frees tape and leaves. */
void golden_end_case(golden *g, const char *test);
/* Calls check for every case of the file ("a" of "a.x"), in the order of first appearance. */
void golden_each_case(golden *g, void (*check)(golden *g, const char *test));

/* ---- of the files that hold a model ---- */

/* Returns a model with the file's parameters; the arrays give widths, hops and number of layers. */
mo_model *golden_model(golden *g, mo_temperature temperature, double lambda);
int golden_parameters(mo_model *m, mo_tensor **P); /* returns their number, at most GOLDEN_PARAMETERS */
mo_adamw_options golden_adamw(const golden *g);
/* Reorders x [n, (l + 1) d], with hop blocks side by side, to [l + 1, n, d]. */
mo_tensor *golden_hop_major(mo_tape *t, mo_tensor *x, int hops, int dim);
/* Returns the first row of each graph, from task.cnt; NULL if the file has no graphs. */
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
