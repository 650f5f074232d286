/* tools/stb_ds.c - the one place where the bodies of stb_ds are compiled. They write through what realloc returned:
 * where that is NULL, the program ends. */
#include "tools/memory.h"

#include <stdlib.h>

#pragma GCC diagnostic ignored "-Wextra"
#define STBDS_REALLOC(context, pointer, bytes) needed(realloc(pointer, bytes))
#define STBDS_FREE(context, pointer) free(pointer)
#define STB_DS_IMPLEMENTATION
#include <stb/stb_ds.h>
