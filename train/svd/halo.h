/* train/svd/halo.h - the normalised adjacency of a graph whose rows are spread over ranks (library internal). */
#ifndef MO_HALO_H
#define MO_HALO_H

#include "train/ranks/spread.h"

/* Columns that a product exchanges at once: the rows of others that a rank holds are as wide. */
enum { MO_HALO_PANEL = 16 };

typedef struct mo_halo mo_halo;

/* The rows of this rank. The graph is the same on every rank, and symmetric. Fails on one rank where it does on any.
 * Release; returns NULL on failure. */
mo_halo *mo_halo_create(mo_spread *spread, const mo_graph *graph);
void mo_halo_release(mo_halo *h);
/* NULL without a halo. */
mo_spread *mo_halo_spread(const mo_halo *h);
/* The rows, whose columns are the nodes of this rank and, behind them, those of others that they lead to. */
const mo_csr *mo_halo_rows(const mo_halo *h);
/* Y := A X, both the rows of this rank of float32 matrices, X not Y; every rank calls it. */
void mo_halo_multiply(mo_halo *h, mo_tensor *X, mo_tensor *Y);

#endif
