/* train/features/nodes/attribute_rows.h - the attributes of nodes, those of their neighbours and the difference, as
 * centred rows of unit length, made for the nodes asked for (library internal). */
#ifndef MO_ATTRIBUTE_ROWS_H
#define MO_ATTRIBUTE_ROWS_H

#include "train/features/gram_blocks.h"

/* X: attributes at unit length; P X: their means over the neighbours; X - P X. */
typedef enum mo_attribute_kind { MO_OWN, MO_OF_NEIGHBOURS, MO_DIFFERENCE, MO_ATTRIBUTE_KINDS } mo_attribute_kind;

typedef struct mo_attribute_rows {
    const mo_graph *graph; /* borrowed */
    bool full;             /* every node has every column, in order */
    double *scale;         /* [nodes]: 1 / |x|, 0 where x is zero */
    struct mo_attribute_mean {
        double *row;     /* [columns]: the mean row of a kind */
        double squares;  /* its square length */
        double *along;   /* [nodes]: <row, mean> */
        double *inverse; /* [nodes]: 1 / |row - mean|, 0 where the row is the mean */
    } mean[MO_ATTRIBUTE_KINDS];
} mo_attribute_rows;

/* Returns false on failure; mo_attribute_rows_free in any case. */
bool mo_attribute_rows_make(const mo_graph *graph, mo_attribute_rows *x);
void mo_attribute_rows_free(mo_attribute_rows *x);

/* out [MO_ATTRIBUTE_KINDS, n, columns]: the centred rows of nodes node[0 .. n - 1]. Returns false on failure. */
bool mo_attribute_rows_fill(const mo_attribute_rows *x, const int64_t *node, int64_t n, float *out);

/* How alike the attributes of neighbours are: the mean of <x, y> over edges, for centred rows x and y of unit length,
 * over the root of the mean square of two nodes drawn at random. Both means are of 16,384 pairs, which a seed of the
 * graph's size draws. About 0 where neighbours are like any two nodes; 0 of a graph without edges. */
double mo_attribute_assortativity(const mo_attribute_rows *x);

/* attribute_products.c: products of the rows of all nodes with those of a list, made as they are asked for; zero at
 * first. */
typedef struct mo_attribute_products {
    int64_t n;      /* of the list */
    int64_t met;    /* nodes whose rows are made */
    int32_t *place; /* [nodes]: of such a node its row, else -1; NULL: no table yet */
    float *own;     /* [nodes, n], the first `met` rows made: <x_u, x_j> */
    float *near;    /* the same of <x_u, row j of P X> */
} mo_attribute_products;

/* Whether products of sparse rows cost less than those of dense ones, by what an episode reads of the graph. */
bool mo_attributes_are_sparse(const mo_graph *graph);
/* K [MO_ATTRIBUTE_KINDS, n_a, n_b] := 1 + the products of the centred rows of the nodes a and b. products: what earlier
 * calls with the same b made; free it before another b, and at last. host: a context of the CPU. Returns false on
 * failure. */
bool mo_attribute_products_fill(
    const mo_attribute_rows *x, mo_context *host, mo_attribute_products *products, const mo_row_pairs *pairs, float *K);
void mo_attribute_products_free(mo_attribute_products *products);

#endif
