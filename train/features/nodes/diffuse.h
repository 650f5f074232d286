/* train/features/nodes/diffuse.h - rows diffused over a graph by personalised PageRank (library internal). */
#ifndef MO_DIFFUSE_H
#define MO_DIFFUSE_H

#include "autograd/inside.h"

enum { MO_DIFFUSED = 2 }; /* restart .15 to 12 steps, restart .05 to 24 */

/* sum[i] [n, d] becomes the diffused rows of P [n, d]; takes the memory of two such matrices, which it frees. */
void mo_diffuse(mo_tape *t, const mo_csr *A, mo_tensor *P, mo_tensor *const sum[MO_DIFFUSED]);

#endif
