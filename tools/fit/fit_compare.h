/* tools/fit/fit_compare.h - heads against each other on the problems that they share. */
#ifndef FIT_COMPARE_H
#define FIT_COMPARE_H

#include "tools/command.h"

/* rows: of one k after the other, n_heads each, with their outcomes. */

/* One line for each k: which head is the best, and which are within noise of it: the 95% interval of their paired
 * difference holds 0. Nothing where there are fewer than two heads or two outcomes. */
void fit_print_verdict(const mo_fit_row *rows, int n_rows, int n_heads);
/* Every difference of two heads with its interval; * where that leaves out 0. */
void fit_print_pairs(const mo_fit_row *rows, int n_rows, int n_heads);
/* The same as JSON lines; returns false if a line could not be written. */
bool fit_print_pair_objects(const mo_fit_row *rows, int n_rows, int n_heads);

/* The rows of a sweep: figures against the value of the regularisation, and what --tune chose. */
void fit_print_sweep(const mo_fit_row *rows, int n_rows);
bool fit_print_sweep_objects(const mo_fit_row *rows, int n_rows);

#endif
