/* tools/report/chart_gnuplot.h - runs gnuplot on a script. */
#ifndef CHART_GNUPLOT_H
#define CHART_GNUPLOT_H

#include "tools/inside.h"

/* The text that gnuplot writes on standard output for a script; owned. NULL on failure, with the status set, also if
 * gnuplot is not installed. The user's own settings of gnuplot are not read. */
char *gnuplot_run(mo_context *ctx, const char *script);

#endif
