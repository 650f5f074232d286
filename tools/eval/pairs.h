/* tools/eval/pairs.h - differences between the columns of a table, seed by seed or episode by episode. */
#ifndef PAIRS_H
#define PAIRS_H

#include "tools/eval/eval_table.h"

/* Below a table, the block that item `first` begins: the column `features` minus those that need no training (the
 * untrained encoder, x0, hop), for every k with its 95% interval, * where that leaves out 0; then the k at which the
 * column is within noise of the other, and those at which it is worse by more than the interval. */
void print_pairs(const results *list, int first, const char *features);
/* One object a k for every pair of columns of that block, or if it is NULL of every block, from item `first` on; label:
 * of the file, or NULL. Returns false where standard output was lost. */
bool print_pairs_json(const results *list, int first, const result *block, const char *label);

#endif
