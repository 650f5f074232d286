/* train/episode_rows.h - which rows of its source's features an episode takes, listed apart from the tensors that they
 * become, so that a thread can fetch them ahead (library internal). */
#ifndef MO_EPISODE_ROWS_H
#define MO_EPISODE_ROWS_H

#include "tensor/arena.h"
#include "train/pool.h"
#include "train/row_reader.h"

/* Lists in a host arena. */
typedef struct mo_listed_rows {
    const mo_source *source;
    int64_t n, *row;            /* nodes or examples, in the order of the episode's rows */
    int64_t examples, *example; /* of rows of nodes: the distinct ones that the plan names, rising */
    int64_t *segment;           /* of sets of graphs: [examples + 1], where each one's rows begin */
} mo_listed_rows;

/* False on failure. The source and what is allocated must outlive the list; the plan need not. */
bool mo_list_rows(
    mo_host_arena *host, const mo_source *source, const mo_plan *plan, mo_listed_rows *r, mo_context *ctx);

/* Rows that have been fetched. */
typedef struct mo_fetched {
    const mo_pinned *buffer;
    int n;
    const mo_tensor *array[MO_MOST_PIECES]; /* of which array, and from where in the buffer on */
    size_t offset[MO_MOST_PIECES];
} mo_fetched;

/* The arrays of the source's features that the context cannot read itself and that an episode has rows of. How many. */
int mo_episode_arrays(const mo_context *ctx, const mo_source *source, const mo_tensor *array[MO_MOST_PIECES]);
/* The tensors of the episode. Rows that are not at hand come from `fetched`, or (NULL) are waited for. */
mo_code mo_episode_tensors(
    mo_tape *t, const mo_plan *plan, const mo_listed_rows *r, const mo_fetched *fetched, mo_episode *e);
/* example_rows.c: rows of examples among them. */
void mo_example_tensors(
    mo_tape *t, const mo_source *source, const int64_t *example, int64_t n, const mo_fetched *fetched, mo_episode *e);
/* Rows of X, which is not at hand: a tensor [.., n, w] of the tape. */
mo_tensor *mo_rows_taken(mo_tape *t, mo_tensor *X, const int64_t *row, int64_t n, const mo_fetched *fetched);

#endif
