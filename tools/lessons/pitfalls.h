/* tools/lessons/pitfalls.h - what `mochi pitfalls` calls. */
#ifndef PITFALLS_H
#define PITFALLS_H

#include "tools/command.h"

enum { PITFALL_ORIGIN = 1, PITFALL_HULL = 2, PITFALL_CALIBRATION = 4 };

/* Runs the experiments whose bits are set, for the seeds 0 .. seeds - 1, and prints their tables, or lines of JSON.
 * Returns false if a line could not be written; failures are in the context. */
bool pitfalls_run(mo_context *ctx, int which, int64_t seeds, bool json);

#endif
