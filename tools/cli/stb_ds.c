/* tools/cli/stb_ds.c - compiles the implementation of stb_ds. It does not check realloc's result, so here its realloc
 * ends the program instead of returning NULL. */
#include "tools/cli/memory.h"

#include <stdlib.h>

#pragma GCC diagnostic ignored "-Wextra"
#define STBDS_REALLOC(context, pointer, bytes) needed(realloc(pointer, bytes))
#define STBDS_FREE(context, pointer) free(pointer)
#define STB_DS_IMPLEMENTATION
#include <stb/stb_ds.h>
