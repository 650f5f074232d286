/* train/evaluation/embed_share.c - the embeddings of a large source by several ranks: rank i mod W encodes block i, and
 * rank 0 visits the blocks in their order.
 *
 * Rank 0 asks for a block of another rank when it comes to it; the rank has encoded it meanwhile, and answers whether
 * it could. Where rank 0 cannot go on, it says so at the rank's next block: no rank waits for one that has left. */
#include "train/evaluation/embed_blocks.h"

#include "tensor/storage.h"
#include "train/episodes/pool.h"

typedef struct exchange {
    mo_tape *t;
    const mo_ranks *ranks;
    int64_t width;  /* of an embedding */
    bool going;     /* at rank 0: no failure so far */
    uint8_t *ended; /* at rank 0, [size]: whether that rank takes part no more */
} exchange;

/* Answers rank 0, which may not want the block any more. Returns whether to go on. */
static bool send_block(exchange *x, mo_tensor *Z) {
    mo_context *ctx = mo_tape_context(x->t);
    const mo_ranks *ranks = x->ranks;
    float *rows = mo_tape_scratch(x->t, mo_numel(Z), sizeof *rows);
    size_t bytes = (size_t)mo_numel(Z) * sizeof *rows;
    bool fine = rows && mo_ok(ctx) && mo_tensor_read(Z, rows, bytes) == MO_OK, wanted = false;
    ranks->receive(ranks->state, 0, &wanted, sizeof wanted);
    if (wanted)
        ranks->send(ranks->state, 0, &fine, sizeof fine);
    if (wanted && fine)
        ranks->send(ranks->state, 0, rows, bytes);
    return wanted && fine;
}

/* Asks a rank for its block of n rows; the null tensor where there is none. */
static mo_tensor *receive_block(exchange *x, int from, int64_t n) {
    mo_context *ctx = mo_tape_context(x->t);
    const mo_ranks *ranks = x->ranks;
    float *rows = x->going ? mo_tape_scratch(x->t, n * x->width, sizeof *rows) : NULL;
    bool wanted = rows && mo_ok(ctx), fine = false;
    ranks->send(ranks->state, from, &wanted, sizeof wanted);
    if (wanted)
        ranks->receive(ranks->state, from, &fine, sizeof fine);
    x->ended[from] = !fine;
    x->going &= fine;
    if (!fine)
        return mo_null_tensor(ctx);
    ranks->receive(ranks->state, from, rows, (size_t)(n * x->width) * sizeof *rows);
    return mo_from(x->t, MO_F32, 2, (int64_t[]){n, x->width}, rows);
}

/* Block b, the turn of a rank, at rank 0. */
static void visit_in_turn(exchange *x, const mo_embedding *e, const mo_embed_block *b, int turn) {
    mo_tensor *Z = NULL;
    if (turn && !x->ended[turn])
        Z = receive_block(x, turn, b->last - b->first);
    else if (!turn && x->going)
        Z = mo_embed_block_rows(x->t, e, b);
    if (!turn && Z)
        x->width = mo_dim(Z, 1);
    x->going = x->going && Z && mo_embed_visit_block(x->t, e, Z, b);
}

void mo_embed_blocks_shared(mo_tape *t, const mo_embedding *e, const mo_ranks *ranks) {
    mo_context *ctx = e->source->graph->ctx;
    uint8_t *ended = mo_host_alloc(ctx, (size_t)ranks->size);
    exchange x = {.t = t, .ranks = ranks, .going = true, .ended = ended};
    bool begun = mo_ranks_agree(ctx, ranks, true), leads = ranks->rank == 0;
    int64_t examples = begun ? mo_embed_examples(e) : 0;
    mo_embed_block b = {0};
    for (int turn = 0; b.last < examples; turn = (turn + 1) % ranks->size) {
        b = mo_embed_block_from(e, b.last);
        if (leads)
            visit_in_turn(&x, e, &b, turn);
        else if (turn == ranks->rank && !send_block(&x, mo_embed_block_rows(t, e, &b)))
            break;
        mo_tape_reset(t);
    }
    mo_host_free(ctx, ended, (size_t)ranks->size);
    mo_ranks_agree(ctx, ranks, true);
}
