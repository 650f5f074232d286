/* tools/data/data_info.h - what a file holds. */
#ifndef DATA_INFO_H
#define DATA_INFO_H

#include "tools/data/manifest.h"

/* Describes a graph, array or weights file on standard output, with what the manifest (or NULL) says of a name. False
 * with the context's error set. */
bool describe_data(mo_context *ctx, const char *name, const manifest *m, bool json);

#endif
