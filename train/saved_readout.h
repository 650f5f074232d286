/* train/saved_readout.h - the file of a fitted readout: its state, its settings, and what it was fitted on
 * (train/FORMATS.md, "A saved readout"). Part of tools/inside.h. */
#ifndef MO_SAVED_READOUT_H
#define MO_SAVED_READOUT_H

#include "train/inside.h"

/* The state of a head alone. mo_state_read takes the state from a file of any kind whose readout is that head. Both
 * return the status. */
MO_API mo_code mo_state_write(const mo_state *state, const char *path);
MO_API mo_code mo_state_read(mo_context *ctx, const mo_head *head, const char *path, mo_state *state);

/* A readout of rows. own: the head of a readout that is not one of the library's, or NULL. Both return the status;
 * release the readout even on failure. */
MO_API mo_code mo_row_readout_write(const mo_row_readout *readout, const char *path);
MO_API mo_code mo_row_readout_read(mo_context *ctx, const char *path, const mo_head *own, mo_row_readout *readout);

/* A readout of a graph's examples, of classes or of real targets, that was read from a file. Release it. */
typedef struct mo_saved_readout {
    mo_arrays *arrays; /* for mo_few_shot_take */
    mo_labels known;   /* the labelled examples of `graph`, and their classes' names; of real targets: label is NULL */
    char *values;      /* the classes' values as JSON, which Python has written; or NULL */
    mo_graph *graph;   /* where the readout is applied: the data or, if it is of others, mo_graph_beside */
    int64_t *old;      /* [known.n]: the labelled examples in the graph of the fit, if that is another one; or NULL */
} mo_saved_readout;

/* Writes a fit of classes or real targets that `known` has, on data, options and weights with which f was opened.
 * values: as in mo_saved_readout, or NULL. Returns the status. */
MO_API mo_code mo_few_shot_write(mo_few_shot *f, const mo_graph *data, const mo_few_shot_options *options,
    const mo_weights *weights, const mo_labels *known, const char *values, const char *path);
/* Reads a fit, and sets the readout in the options, with which an object is then opened on saved->graph. Raises if the
 * weights are others, and if the fit is of other data that have other attributes. Returns the status; release saved
 * even on failure. */
MO_API mo_code mo_saved_readout_read(
    const char *path, mo_graph *data, mo_few_shot_options *options, const mo_weights *weights, mo_saved_readout *saved);
/* Takes a fit that was read in place of fitting. Returns the status. */
MO_API mo_code mo_few_shot_take(mo_few_shot *f, const mo_saved_readout *saved);
MO_API void mo_saved_readout_release(mo_saved_readout *saved);

/* A readout of links, whose support are pairs of nodes. mo_link_readout_read sets the readout in the options, the
 * support, and in *fitted the arrays for mo_link_scorer_open. Both return the status; release support and arrays even
 * on failure. */
MO_API mo_code mo_link_readout_write(const mo_link_scorer *scorer, const mo_graph *data,
    const mo_few_shot_options *options, const mo_weights *weights, const char *path);
MO_API mo_code mo_link_readout_read(const char *path, const mo_graph *data, mo_few_shot_options *options,
    const mo_weights *weights, mo_link_support *support, mo_arrays **fitted);

#endif
