/* train/episodes/episode_rows.h - the list of feature rows that an episode needs, made before its tensors, so that a
 * thread can fetch the rows ahead (library internal). */
#ifndef MO_EPISODE_ROWS_H
#define MO_EPISODE_ROWS_H

#include "tensor/arena.h"
#include "train/episodes/pool.h"
#include "train/features/row_stack.h"

enum { MO_MOST_PIECES = 8 /* arrays that an episode has rows of */ };

/* The rows of an episode; the lists lie in a host arena. */
typedef struct mo_row_list {
    const mo_source *source;
    int64_t n, *row;            /* nodes or examples, in the order of the episode's rows */
    int64_t examples, *example; /* for rows of nodes: the distinct examples of the plan, in rising order */
    int64_t *segment;           /* for sets of graphs: [examples + 1], the first row of each graph */
} mo_row_list;

/* Returns false on failure. The source and the arena must outlive the list; the plan need not. */
bool mo_list_rows(mo_host_arena *host, const mo_source *source, const mo_plan *plan, mo_row_list *r, mo_context *ctx);

/* Rows that have been fetched. */
typedef struct mo_fetched {
    const mo_pinned *buffer;
    int n;
    const mo_tensor *array[MO_MOST_PIECES]; /* the array of each piece, and the piece's offset in the buffer */
    size_t offset[MO_MOST_PIECES];
} mo_fetched;

/* Lists the arrays that an episode has rows of and that are not resident; returns their number. */
int mo_episode_arrays(const mo_context *ctx, const mo_source *source, const mo_tensor *array[MO_MOST_PIECES]);
/* The tensors of the episode. Rows that are not resident come from `fetched`; if it is NULL, they are fetched now. */
mo_code mo_episode_tensors(
    mo_tape *t, const mo_plan *plan, const mo_row_list *r, const mo_fetched *fetched, mo_episode *e);
/* The weights int64 [B, n] of the rows of B supports, as mo_episode has them, from the numbers [B, n] of their
 * examples; NULL where no support has an example twice, or on failure. mo_plan_weight: [n_support]. */
mo_tensor *mo_support_weight(mo_tape *t, const int64_t *id, int64_t B, int64_t n);
mo_tensor *mo_plan_weight(mo_tape *t, const mo_plan *plan);
/* example_tensors.c: the tensors of rows of examples. */
void mo_example_tensors(
    mo_tape *t, const mo_source *source, const int64_t *example, int64_t n, const mo_fetched *fetched, mo_episode *e);
/* Rows of X, which is not resident, as a tensor [.., n, w] of the tape: from `fetched`, or fetched now. */
mo_tensor *mo_fetch_episode_rows(mo_tape *t, mo_tensor *X, const int64_t *row, int64_t n, const mo_fetched *fetched);

#endif
