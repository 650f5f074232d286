/* train/row_reader.h - a thread that fetches rows ahead of their use (library internal). */
#ifndef MO_ROW_READER_H
#define MO_ROW_READER_H

#include "train/row_stack.h"

enum { MO_MOST_PIECES = 2 };

/* Rows of one array, to be fetched. */
typedef struct mo_row_piece {
    mo_row_stack stack;
    const int64_t *row;
    int64_t n;
    char *out;
} mo_row_piece;

/* What is asked of the thread at once. It reads the pieces and writes what they point to until the order is done. */
typedef struct mo_row_order {
    mo_row_piece piece[MO_MOST_PIECES];
    int n;
    bool done;
    char failure[512]; /* one line; "" where all went well */
    struct mo_row_order *next;
} mo_row_order;

typedef struct mo_row_reader mo_row_reader;

/* NULL on failure. The thread starts with the first order. */
mo_row_reader *mo_row_reader_create(mo_context *ctx);
/* Waits for the order at hand and forgets the others. */
void mo_row_reader_release(mo_row_reader *r);
/* Queues an order, the caller's until the reader is released; raises where no thread can be had. Returns the status. */
mo_code mo_row_reader_order(mo_row_reader *r, mo_row_order *order);
/* Waits for it and raises its failure. Returns the status. */
mo_code mo_row_reader_wait(mo_row_reader *r, const mo_row_order *order);

#endif
