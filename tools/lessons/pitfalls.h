/* tools/lessons/pitfalls.h - what `mochi pitfalls` calls. */
#ifndef PITFALLS_H
#define PITFALLS_H

#include "tools/command.h"

enum { PITFALL_ORIGIN = 1, PITFALL_HULL = 2, PITFALL_CALIBRATION = 4, PITFALL_CONE = 8 };

/* Runs the experiments whose bits are set, for the seeds 0 .. seeds - 1, and prints their tables, or lines of JSON.
 * Returns false if a line could not be written; failures are in the context. */
bool pitfalls_run(mo_context *ctx, int which, int64_t seeds, bool json);
/* Prints the geometry that the paper's Appendix A expects of embeddings Z [n, d] trained by link prediction, row v that
 * of node v of the graph. Raises where Z is no float matrix, its rows are not the graph's nodes or a number is not
 * finite. run: the first line of --json, taken; NULL: a text is printed. Returns as pitfalls_run does. */
bool cone_measure(const mo_tensor *Z, const mo_graph *graph, json_t *run);

#endif
