/* ops/composed/segments.h - shared by the functions of segments (library internal). */
#ifndef MO_SEGMENTS_H
#define MO_SEGMENTS_H

#include "ops/inside.h"

/* Returns Y [rows, ..]: each row of a segment gets that segment's row of X [S, ..]; the adjoint of mo_segment_sum
 * (ops/segment.c). */
mo_tensor *mo_segment_spread(mo_tape *t, mo_tensor *X, mo_tensor *offset, int64_t rows);
/* Returns whether X is real rows [n, ..] and offset int64 [S + 1]; raises an error that begins with `name` if not. */
bool mo_check_segments(mo_context *ctx, const char *name, const mo_tensor *X, const mo_tensor *offset);

#endif
