/* train/few_shot/link_scores.h - a readout of missing links that scores any number of pairs (library internal). */
#ifndef MO_LINK_SCORES_H
#define MO_LINK_SCORES_H

#include "train/features/pairs/pair_reader.h"
#include "train/few_shot/few_shot.h"

enum {
    MO_PAIR_MATRICES = 7,   /* of all nodes, held at once: the SVD's, or the basis and a pass over the hops */
    MO_LINK_QUERIES = 16384 /* pairs that the readout scores at once */
};

struct mo_link_scorer {
    mo_context *ctx;
    mo_graph *graph; /* borrowed */
    mo_candidate candidate;
    int64_t memory;          /* bytes, of the options */
    mo_link_support support; /* links before others */
    mo_links *links;         /* the same */
    int64_t n_fit, *fit;     /* numbers of the pairs that are fitted, in order, as often as they are */
    mo_features *own;        /* rows of the support, from the graph without its links */
    mo_pair_reader *reader;  /* of the whole graph */
    int64_t part;            /* queries of a block that the readout is applied to at once; as memory allows */
    mo_tape *t;
    mo_tensor *alpha; /* that a readout in two steps has learned, owned; else NULL */
};

/* link_support.c: at most 512 links of the graph and as many other pairs; or given ones, links first. Both fill s,
 * owned also on failure, and return the links, or NULL. */
mo_links *mo_link_support_draw(const mo_graph *graph, mo_link_support *s);
mo_links *mo_link_support_take(const mo_graph *graph, const mo_link_support *from, mo_link_support *s);

#endif
