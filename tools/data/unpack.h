/* tools/data/unpack.h - unpacks single files of an archive that is not trusted. */
#ifndef UNPACK_H
#define UNPACK_H

#include "tools/command.h"

typedef struct unpack_wish {
    const char *member; /* its name in the archive */
    const char *path;   /* the path to write; its folder exists */
    bool found;
} unpack_wish;

/* Writes the wanted members of a zip or tar (plain, gzip, xz); each must be in it exactly once. All other members are
 * checked too: an archive with an absolute path, a "..", a link or a device in it, or with more than `limit` bytes, is
 * refused as a whole. `name` starts the messages. Returns false after raising; some files may be written then. */
bool unpack(mo_context *ctx, const char *archive, const char *name, unpack_wish *wishes, int n, int64_t limit);

#endif
