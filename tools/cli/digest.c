/* tools/cli/digest.c - XXH3-128 of a file, read block by block. */
#include "tools/cli/digest.h"

#include "tensor/inside.h"
#include "tools/cli/input.h"
#include "tools/cli/memory.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Opens the file at path. If there is none and path is FILE:NAME, an array of a file, opens FILE. */
static FILE *open_file(const char *path) {
    FILE *file = open_input(path);
    const char *colon = strrchr(path, ':');
    if (file || !colon)
        return file;
    char *whole = needed(strndup(path, (size_t)(colon - path)));
    file = open_input(whole);
    free(whole);
    return file;
}

json_t *json_hash(const uint64_t hash[2]) {
    return json_sprintf("%016" PRIx64 "%016" PRIx64, hash[0], hash[1]);
}

json_t *file_digest(mo_context *ctx, const char *path) {
    static const size_t block = 1 << 16;
    errno = 0;
    FILE *file = open_file(path);
    if (!file && errno == ENOMEM)
        end_out_of_memory();
    XXH3_state_t *state = needed(XXH3_createState());
    unsigned char *bytes = needed(malloc(block));
    bool fine = file && XXH3_128bits_reset(state) == XXH_OK;
    for (size_t n; fine && (n = fread(bytes, 1, block, file)) > 0;)
        XXH3_128bits_update(state, bytes, n);
    fine = fine && !ferror(file);
    if (!fine)
        mo_fail(ctx, MO_IO, "%s: cannot read: %s", path, strerror(errno));
    XXH128_hash_t hash = fine ? XXH3_128bits_digest(state) : (XXH128_hash_t){0};
    free(bytes);
    XXH3_freeState(state);
    if (file)
        fclose(file);
    return fine ? json_hash((uint64_t[]){hash.high64, hash.low64}) : json_null();
}
