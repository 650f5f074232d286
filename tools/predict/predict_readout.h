/* tools/predict/predict_readout.h - a fit that is kept: the labels, the readout, and what they belong to. */
#ifndef PREDICT_READOUT_H
#define PREDICT_READOUT_H

#include "tools/predict/predict.h"

extern const char *const transductive_names[4]; /* no, yes, auto, never: in the order of mo_transductive */

/* Writes labels and readout with the digests of weights and data. Returns false on failure. */
bool save_readout(const char *path, const mo_graph *graph, const mo_few_shot_options *o, const mo_labels *known);
/* Reads such a file and sets head and lambda of o as it says. Raises where the weights or the data are others: every
 * coordinate of a graph's features depends on the whole graph, so that a readout is of one graph. */
bool load_readout(const char *path, const mo_graph *graph, mo_few_shot_options *o, mo_labels *known);

/* The same for a readout of links, whose labels are pairs. */
bool save_link_readout(
    const char *path, const mo_graph *graph, const mo_few_shot_options *o, const mo_link_support *support);
bool load_link_readout(const char *path, const mo_graph *graph, mo_few_shot_options *o, mo_link_support *support);

/* Parts of both. The metadata of a file that says it is of that format, whose weights and data are these; it sets the
 * readout in o. NULL, with an error, otherwise. */
json_t *open_readout(
    const char *path, const char *format, const mo_graph *graph, const mo_arrays *arrays, mo_few_shot_options *o);
/* The metadata of a new file as text, owned; classes: JSON text. NULL on failure. */
char *readout_metadata(const char *format, const mo_graph *graph, const mo_few_shot_options *o, const char *classes);

/* ---- parts of reading such a file, for readouts of other commands: `command` wrote it ---- */

/* The text of a key; NULL, with an error, where the file has none. */
const char *readout_text(
    mo_context *ctx, const char *path, const char *command, const json_t *metadata, const char *key);
/* A number of 0 or more; none: or "none", NaN. */
double readout_real(
    mo_context *ctx, const char *path, const char *command, const json_t *metadata, const char *key, bool none);
/* The names of two classes or more, none twice, owned: free each of *classes, and the list, also on failure. */
char **readout_names(mo_context *ctx, const char *path, const char *command, const json_t *metadata, int64_t *classes);
/* An int64 array [n] of the file, owned; *n 0: receives its length. NULL on failure. */
int64_t *readout_numbers(mo_context *ctx, const char *path, const mo_arrays *arrays, const char *name, int64_t *n);

#endif
