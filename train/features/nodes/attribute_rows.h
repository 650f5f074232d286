/* train/features/nodes/attribute_rows.h - the attributes of nodes, those of their neighbours and the difference, as
 * centred rows of unit length, made for the nodes asked for (library internal). */
#ifndef MO_ATTRIBUTE_ROWS_H
#define MO_ATTRIBUTE_ROWS_H

#include "train/inside.h"

/* X: attributes at unit length; P X: their means over the neighbours; X - P X. */
typedef enum mo_attribute_kind { MO_OWN, MO_OF_NEIGHBOURS, MO_DIFFERENCE, MO_ATTRIBUTE_KINDS } mo_attribute_kind;

typedef struct mo_attribute_rows {
    const mo_graph *graph;               /* borrowed */
    double *scale;                       /* [nodes]: 1 / |x|, 0 where x is zero */
    double *mean[MO_ATTRIBUTE_KINDS];    /* [columns]: the mean row of each kind */
    double *inverse[MO_ATTRIBUTE_KINDS]; /* [nodes]: 1 / |row - mean|, 0 where the row is the mean */
} mo_attribute_rows;

/* Returns false on failure; mo_attribute_rows_free in any case. */
bool mo_attribute_rows_make(const mo_graph *graph, mo_attribute_rows *x);
void mo_attribute_rows_free(mo_attribute_rows *x);

/* out [MO_ATTRIBUTE_KINDS, n, columns]: the centred rows of nodes node[0 .. n - 1]. Returns false on failure. */
bool mo_attribute_rows_fill(const mo_attribute_rows *x, const int64_t *node, int64_t n, float *out);

#endif
