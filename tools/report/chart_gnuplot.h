/* tools/report/chart_gnuplot.h - gnuplot as a program that turns a script into text. */
#ifndef CHART_GNUPLOT_H
#define CHART_GNUPLOT_H

#include "tools/inside.h"

/* What gnuplot writes on standard output for a script; owned. NULL on failure, with the status set: also where gnuplot
 * is not installed. The user's own settings of gnuplot are not read. */
char *gnuplot_run(mo_context *ctx, const char *script);

#endif
