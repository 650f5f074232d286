/* tensor/files/expansion.h - how far a compressed file may unfold (library internal).
 *
 * deflate packs zeros a thousand times, so that a file of 2 MB can claim 2 GB. Text and arrays that are what they seem
 * pack 3 to 25 times. */
#ifndef MO_EXPANSION_H
#define MO_EXPANSION_H

#include "tensor/tensor.h"

/* 64 MiB and mo_context_options.max_expand times the file, in bytes. */
int64_t mo_expansion_limit(const mo_context *ctx, int64_t file_bytes);
/* Raises MO_FORMAT: the limit, and how to raise it. label starts the message. */
void mo_expansion_fail(mo_context *ctx, const char *label, int64_t file_bytes);

#endif
