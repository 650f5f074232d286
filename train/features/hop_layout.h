/* train/features/hop_layout.h - what lies where in the file of a hop stack (library internal). */
#ifndef MO_HOP_LAYOUT_H
#define MO_HOP_LAYOUT_H

#include "train/features/hop_file.h"

enum { MO_HOP_PAGE = 4096 };

/* Sets the sizes of blocks, and their checksums to 0, from the shape in f. */
void mo_hop_lay_out(mo_hop_file *f, int64_t sides);
int64_t mo_hop_row_bytes(const mo_hop_file *f);
/* The offsets of a hop, of the table behind the hops, and of the checksums in it; the bytes of the whole file. */
int64_t mo_hop_offset(const mo_hop_file *f, int64_t side, int64_t hop);
int64_t mo_hop_table_offset(const mo_hop_file *f);
int64_t mo_hop_digests_offset(const mo_hop_file *f);
int64_t mo_hop_file_bytes(const mo_hop_file *f);

/* The first page: the file's nature in words. */
void mo_hop_describe(const mo_hop_file *f, int64_t sides, const char *key, char page[MO_HOP_PAGE]);
/* The checksum of n bytes, never 0. */
uint64_t mo_hop_digest_of(const void *bytes, size_t n);
/* Returns false if the file ends before n bytes are read. */
bool mo_hop_read_at(mo_hop_file *f, void *bytes, size_t n, int64_t offset);
/* Reads the table. Returns false if the file is cut short, holds more than it should, or is not the one that the store
 * wants. */
bool mo_hop_read_own_table(mo_hop_file *f, const mo_hop_store *s);
/* Forgets the blocks whose checksums do not hold; without the quality, which comes with hop 0, its blocks. Returns the
 * number of those blocks. */
int64_t mo_hop_verify(mo_hop_file *f);

#endif
