/* ops/composed/segments.h - shared by the functions of segments (library internal). */
#ifndef MO_SEGMENTS_H
#define MO_SEGMENTS_H

#include "ops/inside.h"

/* Returns whether X is real rows [n, ..] and offset int64 [S + 1]; raises an error that begins with `name` if not. */
bool mo_check_segments(mo_context *ctx, const char *name, const mo_tensor *X, const mo_tensor *offset);

#endif
