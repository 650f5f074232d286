/* train/hop_file.h - the file behind a hop stack (library internal; the layout is in hop_store.c). */
#ifndef MO_HOP_FILE_H
#define MO_HOP_FILE_H

#include "train/hop_store.h"

typedef struct mo_hop_file {
    mo_context *ctx;
    char *path, *partial;
    int fd;
    bool locked; /* it is the .partial one */
    mo_dtype dtype;
    int64_t hops, nodes, columns, block_rows, hop_blocks, blocks;
    uint64_t *digest; /* [blocks] */
    double quality[2];
} mo_hop_file;

/* Opens the whole file, or else the partial one (made where there is none), under its lock; checksums that do not hold
 * become 0. False on failure; close in any case. */
bool mo_hop_file_open(mo_hop_file *f, const mo_hop_store *s);
void mo_hop_file_close(mo_hop_file *f);
int64_t mo_hop_file_rows(const mo_hop_file *f, int64_t block);
uint64_t *mo_hop_file_digest(const mo_hop_file *f, int64_t side, int64_t hop, int64_t block);
int64_t mo_hop_file_finished(const mo_hop_file *f); /* blocks */
bool mo_hop_file_lacks(const mo_hop_file *f, int64_t side, int64_t hop);
/* A block and then its checksum. Where the disk is full the file is removed. */
bool mo_hop_file_write(mo_hop_file *f, int64_t side, int64_t hop, int64_t block, const void *rows);
bool mo_hop_file_put_quality(mo_hop_file *f, const double quality[2]);
/* Into float32 rows. */
bool mo_hop_file_read_hop(mo_hop_file *f, int64_t side, int64_t hop, float *rows);
/* Syncs it and gives it its name. */
bool mo_hop_file_complete(mo_hop_file *f);
/* [sides, hops, nodes, columns]; release. The null tensor on failure. */
mo_tensor *mo_hop_file_map(mo_hop_file *f, const mo_hop_store *s);
/* What the file of that path was made of (free(); NULL where it is none), and whether it is whole; check: by its
 * checksums. */
char *mo_hop_file_inspect(mo_context *ctx, const char *path, bool check, bool *intact);

#endif
