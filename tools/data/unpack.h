/* tools/data/unpack.h - single files out of an archive that nobody vouches for. */
#ifndef UNPACK_H
#define UNPACK_H

#include "tools/command.h"

typedef struct unpack_wish {
    const char *member; /* its name in the archive */
    const char *path;   /* where it shall lie; its folder is there */
    bool found;
} unpack_wish;

/* Writes the wished members of a zip or tar (plain, gzip, xz), which must all be there once. Every other member is
 * looked at too: an archive with an absolute path, a "..", a link or a device in it, or with more than `limit` bytes,
 * is refused whole. `name` starts the messages. False raises; files may then have been written. */
bool unpack(mo_context *ctx, const char *archive, const char *name, unpack_wish *wishes, int n, int64_t limit);

#endif
