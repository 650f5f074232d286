/* tools/stb_ds.c - compiles the bodies of stb_ds. They use the result of realloc unchecked: if it is NULL, the program
 * ends. */
#include "tools/memory.h"

#include <stdlib.h>

#pragma GCC diagnostic ignored "-Wextra"
#define STBDS_REALLOC(context, pointer, bytes) needed(realloc(pointer, bytes))
#define STBDS_FREE(context, pointer) free(pointer)
#define STB_DS_IMPLEMENTATION
#include <stb/stb_ds.h>
