/* train/features/hop_file.h - the file behind a hop stack (library internal; the layout is in hop_layout.c). */
#ifndef MO_HOP_FILE_H
#define MO_HOP_FILE_H

#include "train/features/hop_store.h"

typedef struct mo_hop_file {
    mo_context *ctx;
    char *path, *partial;
    int fd;
    bool locked; /* the open file is the .partial one */
    mo_dtype dtype;
    int64_t hops, nodes, columns, block_rows, hop_blocks, blocks;
    uint64_t *digest; /* [blocks] */
    double quality[2];
    uint64_t quality_digest;
} mo_hop_file;

/* Opens the complete file, or else the partial one (made if there is none) under its lock; sets checksums that do not
 * match to 0. Returns false on failure; close in any case. */
bool mo_hop_file_open(mo_hop_file *f, const mo_hop_store *s);
/* Fills in names and layout of a file that is not opened. */
bool mo_hop_file_name(mo_hop_file *f, const mo_hop_store *s);
/* Opens the partial file that another rank holds the lock of, with the checksums that it has found. */
bool mo_hop_file_join(mo_hop_file *f);
void mo_hop_file_close(mo_hop_file *f);
/* Syncs what this process has written. */
bool mo_hop_file_sync(mo_hop_file *f);
int64_t mo_hop_file_rows(const mo_hop_file *f, int64_t block);
uint64_t *mo_hop_file_digest(const mo_hop_file *f, int64_t side, int64_t hop, int64_t block);
int64_t mo_hop_file_finished(const mo_hop_file *f); /* number of finished blocks */
bool mo_hop_file_lacks(const mo_hop_file *f, int64_t side, int64_t hop);
/* Writes a block and then its checksum. If the disk is full, the file is removed. */
bool mo_hop_file_write(mo_hop_file *f, int64_t side, int64_t hop, int64_t block, const void *rows);
bool mo_hop_file_put_quality(mo_hop_file *f, const double quality[2]);
/* Reads a hop, or n of its rows, into float32 rows. */
bool mo_hop_file_read_hop(mo_hop_file *f, int64_t side, int64_t hop, float *rows);
bool mo_hop_file_read_rows(mo_hop_file *f, int64_t side, int64_t hop, int64_t first, int64_t n, float *rows);
/* Syncs the partial file and renames it to its final name. */
bool mo_hop_file_complete(mo_hop_file *f);
/* Maps the file as [sides, hops, nodes, columns]; release. Returns the null tensor on failure. */
mo_tensor *mo_hop_file_map(mo_hop_file *f, const mo_hop_store *s);
/* The key that the file was made from (free() it; NULL if the file is not a hop stack), and whether it is intact;
 * check: compares its checksums too. */
char *mo_hop_file_inspect(mo_context *ctx, const char *path, bool check, bool *intact);

#endif
