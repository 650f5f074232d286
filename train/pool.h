/* train/pool.h - what a pool holds, and the rows of its sources on a tape (library internal). */
#ifndef MO_POOL_H
#define MO_POOL_H

#include "train/train.h"

struct mo_pool {
    mo_context *ctx;
    mo_feature_options options; /* cache: an owned copy */
    double link_share;
    double family[MO_TASKS]; /* how often each is drawn */
    mo_notice notice;
    void *state;
    int n, capacity;
    mo_source *source;
};

/* links.c: the graph without n of its edges u < v. NULL on failure. */
mo_graph *mo_graph_without(const mo_graph *graph, int64_t *const ends[2], int64_t n);
/* example_rows.c: the rows of n examples, in that order, as the rows of an episode. */
void mo_put_example_rows(mo_tape *t, const mo_source *source, const int64_t *example, int64_t n, mo_episode *e);
/* Whether a source has rows of examples. */
bool mo_has_example_rows(const mo_source *source);
/* How many rows of logits [n, C] have their first maximum at the label. -1 on failure. */
int64_t mo_count_right(mo_tape *t, mo_tensor *logits, mo_tensor *label);
/* Host memory that lasts until the tape's next reset, zeroed; what an episode needs costs no allocation once a tape has
 * seen one as large. NULL on failure. */
void *mo_tape_scratch(mo_tape *t, int64_t count, size_t element);

#endif
