/* tools/data_cache.h - `mochi data cache`. */
#ifndef DATA_CACHE_H
#define DATA_CACHE_H

#include "tools/command.h"

/* argv[0] is "mochi data cache". Returns the exit code. */
int data_cache_command(int argc, char **argv);
/* "4G", "500M" or a plain number of bytes, for options. */
int64_t parse_bytes(const struct argp_state *state, const char *option, const char *text);

#endif
