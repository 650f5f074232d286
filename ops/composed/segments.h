/* ops/composed/segments.h - shared by the functions of segments (library internal). */
#ifndef MO_SEGMENTS_H
#define MO_SEGMENTS_H

#include "ops/inside.h"

/* Each of the `rows` rows gets the row of X [S, ..] of its segment; the adjoint of mo_segment_sum (ops/segment.c). */
mo_tensor *mo_segment_spread(mo_tape *t, mo_tensor *X, mo_tensor *offset, int64_t rows);
/* Requires real rows X [n, ..] and offsets int64 [S + 1]; raises in the name of the function. */
bool mo_check_segments(mo_context *ctx, const char *name, const mo_tensor *X, const mo_tensor *offset);

#endif
