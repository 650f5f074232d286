/* ops/composed/solve_with.h - the systems of one mo_solve_with, and what is known of them (library internal). */
#ifndef MO_SOLVE_WITH_H
#define MO_SOLVE_WITH_H

#include "ops/rules/condition.h"

/* The systems A X = B after the policy has had its say. */
typedef struct mo_systems {
    mo_tensor *A, *B; /* A + lambda I */
    bool spd, refined;
    mo_conditioning condition; /* of that A; null where neither health nor policy asks */
    double *lambda;            /* host [batch], owned; NULL: zeros */
    int64_t batch;
} mo_systems;

/* "solve_with: matrix 1 of 4 <reason>", or "the matrix" where there is one alone. */
void mo_fail_system(mo_context *ctx, const mo_systems *s, int64_t which, const char *reason);
/* The reason behind an info word that is not 0. Returns text. */
const char *mo_info_reason(int32_t word, bool spd, char *text, size_t bytes);
/* Writes info, rcond, residual, lambda and error of the solution X. */
void mo_fill_health(mo_tape *t, const mo_systems *s, mo_tensor *X, mo_solve_health *health);

#endif
