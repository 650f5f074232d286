/* tools/predict/predict_readout.h - a fit that is kept: the labels, the readout, and what they belong to. */
#ifndef PREDICT_READOUT_H
#define PREDICT_READOUT_H

#include "tools/predict/predict.h"

/* Writes labels and readout with the digests of weights and data. Returns false on failure. */
bool save_readout(const char *path, const mo_graph *graph, const mo_few_shot_options *o, const mo_labels *known);
/* Reads such a file and sets head and lambda of o as it says. Raises where the weights or the data are others: every
 * coordinate of a graph's features depends on the whole graph, so that a readout is of one graph. */
bool load_readout(const char *path, const mo_graph *graph, mo_few_shot_options *o, mo_labels *known);

#endif
