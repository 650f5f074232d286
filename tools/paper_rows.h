/* tools/paper_rows.h - what the paper reports for its own method. */
#ifndef PAPER_ROWS_H
#define PAPER_ROWS_H

#include <stdint.h>

/* Percent, mean and standard deviation over three seeds, of the two trained models with the ridge head. k is 0 for link
 * prediction, which has no shots. */
typedef struct paper_row {
    const char *data, *task, *metric;
    int64_t k;
    double mochi, mochi_sd, plus, plus_sd;
} paper_row;

/* NULL where the paper has none. Names are compared without case. */
const paper_row *find_paper_row(const char *data, const char *task, const char *metric, int64_t k);

#endif
