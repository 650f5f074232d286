/* tools/data_info.h - what a file holds. */
#ifndef DATA_INFO_H
#define DATA_INFO_H

#include "tools/command.h"

/* Describes a graph, array or weights file on standard output. False with the context's error set. */
bool describe_data(mo_context *ctx, const char *name, bool json);

#endif
