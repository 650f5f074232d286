/* train/features/nodes/diffuse.h - sums of powers of the adjacency times rows, and rows diffused by personalised
 * PageRank (library internal). */
#ifndef MO_DIFFUSE_H
#define MO_DIFFUSE_H

#include "autograd/inside.h"

enum { MO_DIFFUSED = 2 }; /* restart probability .15 with 12 steps, .05 with 24 */
enum { MO_POWERS = 25 };  /* powers 0 .. 24 of the adjacency */

/* c[k] := the coefficient of A^k P in diffused row i. */
void mo_diffusion_coefficients(int i, double c[MO_POWERS]);
/* sum[i] [n, d] := sum_k c[i][k] A^k P for n_sums sums, each with a coefficient other than 0. Needs memory for two
 * matrices of at most 64 columns, and frees it. sum[i] can be P itself if c[i] is 0 but for c[i][2]. */
void mo_sum_powers(mo_tape *t, const mo_csr *A, mo_tensor *P, double c[][MO_POWERS], mo_tensor *const *sum, int n_sums);

#endif
