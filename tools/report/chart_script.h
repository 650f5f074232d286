/* tools/report/chart_script.h - declarations that the parts of the chart writer share. */
#ifndef CHART_SCRIPT_H
#define CHART_SCRIPT_H

#include "tools/report/chart.h"

#define CHART_GRID "#dddddd"
enum { CHART_WIDTH = 420, CHART_HEIGHT = 290 }; /* size of a chart in a page, in its own units */

/* A script of gnuplot, owned: charts one after the other if title is NULL, else side by side under it. NULL if out of
 * memory. */
char *chart_script(const char *title, const chart *charts, int n);
/* "#rrggbb" */
const char *chart_colour(int i);

#endif
