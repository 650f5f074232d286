/* ops/rules/checks.h - conditions on the values of an op's inputs and by-products, checked on the device (library
 * internal). */
#ifndef MO_CHECKS_H
#define MO_CHECKS_H

#include "autograd/inside.h"
#include "tensor/check.h"

/* Checks the condition for this call (mo_check_values); messages count positions in `subject`. Returns false if an
 * error is known already. */
bool mo_call_check(const mo_call *c, mo_check check, const mo_tensor *subject);
/* Raises "<op>: <text>; got <inputs>" for the note of a call's check. */
void mo_note_fail(mo_context *ctx, const mo_note *note, mo_code code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Writes "the matrix", or "matrix 3 of 8" if the tensor [.., m, n] whose positions the note counts has leading axes.
 * Returns text. */
const char *mo_note_matrix(const mo_note *note, int64_t matrix, char *text, size_t bytes);

#endif
