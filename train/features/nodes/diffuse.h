/* train/features/nodes/diffuse.h - rows diffused over a graph by personalised PageRank (library internal). */
#ifndef MO_DIFFUSE_H
#define MO_DIFFUSE_H

#include "autograd/inside.h"

enum { MO_DIFFUSED = 2 }; /* restart probability .15 with 12 steps, .05 with 24 */

/* Writes the diffused rows of P [n, d] to each sum[i] [n, d]; needs memory for two such matrices and frees it. */
void mo_diffuse(mo_tape *t, const mo_csr *A, mo_tensor *P, mo_tensor *const sum[MO_DIFFUSED]);

#endif
