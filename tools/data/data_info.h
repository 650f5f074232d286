/* tools/data/data_info.h - describes a file. */
#ifndef DATA_INFO_H
#define DATA_INFO_H

#include "tools/data/manifest.h"

/* Describes a graph, array or weights file on standard output, and the entry of its name in the manifest. Returns false
 * with the context's error set. */
bool describe_data(mo_context *ctx, const char *name, const json_t *m, bool json);

#endif
