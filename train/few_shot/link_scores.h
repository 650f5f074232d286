/* train/few_shot/link_scores.h - a readout of missing links that scores any number of pairs (library internal). */
#ifndef MO_LINK_SCORES_H
#define MO_LINK_SCORES_H

#include "train/features/pairs/pair_reader.h"
#include "train/few_shot/few_shot.h"

typedef struct mo_link_scorer {
    mo_context *ctx;
    mo_graph *graph; /* borrowed */
    mo_candidate candidate;
    mo_links *links;        /* the support */
    mo_features *own;       /* its rows, from the graph without its links */
    mo_pair_reader *reader; /* of the whole graph */
    mo_tape *t;
} mo_link_scorer;

/* Returns NULL on failure, as where the graph has fewer than two edges. */
mo_link_scorer *mo_link_scorer_open(mo_graph *graph, const mo_few_shot_options *options);
void mo_link_scorer_release(mo_link_scorer *s);
/* Scores of n pairs of different nodes without a link. One call takes a pass over all nodes, and memory for the n pairs
 * (MO_BYTES_PER_PAIR each, at the default width). Returns the status. */
mo_code mo_link_scorer_score(mo_link_scorer *s, const int64_t *u, const int64_t *v, int64_t n, double *score);

#endif
