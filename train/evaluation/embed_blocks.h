/* train/evaluation/embed_blocks.h - the examples of a source in blocks that are encoded together (library internal). */
#ifndef MO_EMBED_BLOCKS_H
#define MO_EMBED_BLOCKS_H

#include "train/inside.h"

/* Examples first .. last - 1; of a model of nodes also its rows, which are nodes. */
typedef struct mo_embed_block {
    int64_t first, last, rows, first_node;
} mo_embed_block;

/* What an embedding of all examples is done with: a visit gets each block. */
typedef struct mo_embedding {
    mo_model *model;
    const mo_source *source;
    int64_t max_rows;
    bool ones;         /* behind each row of a model of examples */
    mo_tensor *sketch; /* a matrix that the rows are multiplied with, or NULL */
    mo_embed_visit visit;
    void *state;
} mo_embedding;

int64_t mo_embed_examples(const mo_embedding *e);
/* The block that begins with example `first`. */
mo_embed_block mo_embed_block_from(const mo_embedding *e, int64_t first);
/* What a visit gets of a block, on the tape. */
mo_tensor *mo_embed_block_rows(mo_tape *t, const mo_embedding *e, const mo_embed_block *b);
/* Calls the visit with the rows of a block; false where it ends the embedding, or an error does. */
bool mo_embed_visit_block(mo_tape *t, const mo_embedding *e, mo_tensor *Z, const mo_embed_block *b);
/* Visits all blocks, encoded by this process, or by all ranks (embed_share.c). */
void mo_embed_blocks(mo_tape *t, const mo_embedding *e);
void mo_embed_blocks_shared(mo_tape *t, const mo_embedding *e, const mo_ranks *ranks);

#endif
