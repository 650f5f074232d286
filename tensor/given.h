/* tensor/given.h - what a public function asks of its arguments first: any object may be NULL (library internal). */
#ifndef MO_GIVEN_H
#define MO_GIVEN_H

#include "tensor/inside.h"

/* The code of the status; MO_INVALID of no context. */
mo_code mo_code_of(const mo_context *ctx);
/* Between these, which nest, errors are not told to on_error: the library may clear them. One that stands when the last
 * ends is told then. */
void mo_try(mo_context *ctx);
void mo_tried(mo_context *ctx);
/* Whether there is a context, free of errors, and the argument is not NULL: raises "function: argument is NULL". */
bool mo_given(mo_context *ctx, const char *function, const char *argument, const void *value);

/* Whether the calling thread rounds to nearest and keeps subnormal numbers, as every thread does that has not been told
 * otherwise; raises if not, as all results would have other bits. */
bool mo_usual_arithmetic(mo_context *ctx, const char *function);

#endif
