/* train/features/hop_work.h - a hop stack while it is computed (library internal). */
#ifndef MO_HOP_WORK_H
#define MO_HOP_WORK_H

#include "train/features/hop_file.h"

typedef struct mo_hop_work {
    mo_hop_store *s;
    mo_hop_file file;
    float *block;     /* [rows of a block, columns] */
    uint16_t *halves; /* the same in float16, where the file is */
    mo_tensor *X;     /* the hop before */
    int64_t blocks;   /* that this process has to see finished */
    int64_t finished; /* of them */
    int64_t begun;    /* of the finished ones, those that were there */
    double start, told;
} mo_hop_work;

/* Allocates the halves, where the file is of float16; the others are the caller's. */
void mo_hop_work_begin(mo_hop_work *w);
/* Writes a block, and tells how far the work is every few seconds. */
bool mo_hop_finish_block(mo_hop_work *w, int64_t side, int64_t hop, int64_t b, const float *rows);

#endif
