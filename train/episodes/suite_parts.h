/* train/episodes/suite_parts.h - what the readers of pools and suites share (library internal). */
#ifndef MO_SUITE_PARTS_H
#define MO_SUITE_PARTS_H

#include "tensor/files/json_text.h"

/* pool_file.c: the path of a file of that kind, "pool" or "suite": embedded data by name, or a path. */
bool mo_find_list(mo_context *ctx, const char *kind, const char *name_or_path, char *path, size_t bytes);
/* The member "data" of an object: the name of a known data set, or a path. */
const char *mo_read_data(const mo_json_text *text, mo_json_place place, const json_t *object);

#endif
