/* train/features/nodes/attribute_rows.h - centred rows of unit length (nodes' attributes, means over their neighbours,
 * and the difference), made for requested nodes (library internal). */
#ifndef MO_ATTRIBUTE_ROWS_H
#define MO_ATTRIBUTE_ROWS_H

#include "train/features/gram_blocks.h"

/* MO_OWN: X, the attributes at unit length. MO_OF_NEIGHBOURS: P X, the means of X over the neighbours. MO_DIFFERENCE: X
 * - P X. */
typedef enum mo_attribute_kind { MO_OWN, MO_OF_NEIGHBOURS, MO_DIFFERENCE, MO_ATTRIBUTE_KINDS } mo_attribute_kind;

typedef struct mo_attribute_rows {
    const mo_graph *graph; /* borrowed */
    bool full;             /* every node has every column, in order */
    double *scale;         /* [nodes]: 1 / |x|, 0 if x is zero */
    struct mo_attribute_mean {
        double *row;     /* [columns]: mu, the mean of the rows of a kind */
        double squares;  /* |mu|^2 */
        double *along;   /* [nodes]: <r_u, mu> for the row r_u of node u */
        double *inverse; /* [nodes]: 1 / |r_u - mu|, 0 if r_u equals mu */
    } mean[MO_ATTRIBUTE_KINDS];
} mo_attribute_rows;

/* Returns false on failure; call mo_attribute_rows_free even then. */
bool mo_attribute_rows_make(const mo_graph *graph, mo_attribute_rows *x);
void mo_attribute_rows_free(mo_attribute_rows *x);

/* out [MO_ATTRIBUTE_KINDS, n, columns]: the centred rows of nodes node[0 .. n - 1]. Returns false on failure. */
bool mo_attribute_rows_fill(const mo_attribute_rows *x, const int64_t *node, int64_t n, float *out);

/* How similar neighbours' attributes are: the mean of <x, y> over edges, divided by its root mean square over random
 * pairs of nodes, for centred rows of unit length. Both means use 16,384 pairs, seeded by the graph's size. About 0 if
 * neighbours are like random pairs; 0 for a graph without edges. */
double mo_attribute_assortativity(const mo_attribute_rows *x);

/* attribute_products.c: products of all nodes' rows with the rows of a list of nodes, computed on request;
 * zero-initialise. */
typedef struct mo_attribute_products {
    int64_t n;      /* length of the list */
    int64_t met;    /* number of nodes that have a row */
    int32_t *place; /* [nodes]: a node's row, or -1; NULL: no table yet */
    float *own;     /* [nodes, n]: <x_u, x_j>; only the first `met` rows are made */
    float *near;    /* as own: <x_u, row j of P X> */
} mo_attribute_products;

/* Returns whether sparse products cost less than dense ones for the part of the graph that an episode reads. */
bool mo_attributes_are_sparse(const mo_graph *graph);
/* K [MO_ATTRIBUTE_KINDS, n_a, n_b] := 1 + the products of the centred rows of nodes a and b. products: kept from
 * earlier calls with the same b; free it before another b, and at the end. host: a CPU context. Returns false on
 * failure. */
bool mo_attribute_products_fill(
    const mo_attribute_rows *x, mo_context *host, mo_attribute_products *products, const mo_row_pairs *pairs, float *K);
void mo_attribute_products_free(mo_attribute_products *products);

#endif
