/* tools/data/data_cache.h - `mochi data cache`. */
#ifndef DATA_CACHE_H
#define DATA_CACHE_H

#include "tools/command.h"

/* argv[0] is "mochi data cache". Returns the exit code. */
int data_cache_command(int argc, char **argv);

#endif
