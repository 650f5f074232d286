/* tools/lessons/cone.h - the geometry that the paper's Appendix A expects of embeddings trained by link prediction. */
#ifndef CONE_H
#define CONE_H

#include "tools/command.h"

/* z_v [d] of n nodes, d_v their degrees. Cosines leave out rows of zeros; figures without a pair or a row are NaN. */
typedef struct cone_figures {
    int64_t n, d, edges, zero_rows, isolated;
    double norm_correlation; /* Pearson's, of |z_v| and sqrt(d_v), over nodes with neighbours */
    double norm_ratio[3];    /* quartiles of |z_v| / sqrt(d_v), over nodes with neighbours */
    double neighbour_cosine; /* mean over the edges of cos(z_u, z_v) */
    double pair_cosine;      /* mean over all pairs of two nodes */
    double mean_cosine;      /* mean of cos(z_v, m), m the mean of all rows */
    double half_space;       /* share of the rows with z_v . m > 0 */
    double mean_share;       /* |m| / root mean square of |z_v|: 1 of equal rows, 0 of rows about the origin */
} cone_figures;

/* Z [n, d], row v that of node v. Raises where Z is no float matrix, its rows are not the graph's nodes or a number is
 * not finite. Returns the status. */
mo_code cone_measure(const mo_tensor *Z, const mo_graph *graph, cone_figures *f);
void cone_print(const cone_figures *f);
bool cone_print_object(const cone_figures *f); /* as a line of JSON; false if it could not be written */

#endif
