/* ops/rules/spectrum.h - what decompositions into vectors and values share: signs that make the vectors unique, and the
 * values at which vectors have no derivative (library internal). */
#ifndef MO_SPECTRUM_H
#define MO_SPECTRUM_H

#include "autograd/inside.h"

/* Y = X, with each column times the sign of the entry of largest magnitude (the first of equal ones) of that column of
 * `by`; X and `by` have as many columns. */
void mo_fix_signs(mo_call *c, mo_view by, mo_view X, mo_view Y);

typedef struct mo_spectrum {
    const char *op, *vectors, *values; /* as an error names them: "eigh", "V", "eigenvalue" */
    bool zero;                         /* a value of 0 has no vectors with a derivative either */
} mo_spectrum;

/* Raises MO_NUMERICAL and returns false if two neighbours among the sorted values w [.., n] of a matrix differ by at
 * most 1e-8 (float32: 1e-4) of its largest magnitude, or, where 0 counts, if the last is as close to 0. */
bool mo_check_spectrum(mo_tape *t, const mo_tensor *w, const mo_spectrum *of);

#endif
