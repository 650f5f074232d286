/* tools/stb_ds.c - the one place where the bodies of stb_ds are compiled. */
#pragma GCC diagnostic ignored "-Wextra"
#define STB_DS_IMPLEMENTATION
#include <stb/stb_ds.h>
