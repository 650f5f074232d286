/* train/episodes/row_reader.h - a thread that fetches rows ahead of their use (library internal). */
#ifndef MO_ROW_READER_H
#define MO_ROW_READER_H

#include "train/features/row_stack.h"

enum { MO_MOST_PIECES = 8 };

/* Rows of one array, to be fetched. */
typedef struct mo_row_piece {
    mo_row_stack stack;
    const int64_t *row;
    int64_t n;
    char *out;
} mo_row_piece;

/* One order to the thread, which reads the pieces and writes to their buffers until the order is done. */
typedef struct mo_row_order {
    mo_row_piece piece[MO_MOST_PIECES];
    int n;
    bool done;
    char failure[512]; /* one line; "" on success */
    struct mo_row_order *next;
} mo_row_order;

typedef struct mo_row_reader mo_row_reader;

/* NULL on failure. The thread starts with the first order. */
mo_row_reader *mo_row_reader_create(mo_context *ctx);
/* Waits for the running order and drops the others. */
void mo_row_reader_release(mo_row_reader *r);
/* Queues an order, which the caller keeps until the reader is released; raises if no thread can be started. Returns the
 * status. */
mo_code mo_row_reader_order(mo_row_reader *r, mo_row_order *order);
/* Waits for the order and raises its failure. Returns the status. */
mo_code mo_row_reader_wait(mo_row_reader *r, const mo_row_order *order);

#endif
