/* ops/registry.h - the descriptors of this folder (library internal). */
#ifndef MO_OPS_REGISTRY_H
#define MO_OPS_REGISTRY_H

#include "ops/ops.h"

extern const mo_op mo_op_abs;
extern const mo_op mo_op_accumulate; /* autograd's own */
extern const mo_op mo_op_add;
extern const mo_op mo_op_add_diag;
extern const mo_op mo_op_append_ones;
extern const mo_op mo_op_argmax;
extern const mo_op mo_op_broadcast_to;
extern const mo_op mo_op_cast;
extern const mo_op mo_op_cholesky;
extern const mo_op mo_op_clamp;
extern const mo_op mo_op_concat;
extern const mo_op mo_op_contiguous;
extern const mo_op mo_op_cumsum;
extern const mo_op mo_op_diagonal;
extern const mo_op mo_op_diagonal_embed;
extern const mo_op mo_op_div;
extern const mo_op mo_op_div_or_zero;
extern const mo_op mo_op_dropout;
extern const mo_op mo_op_eigh;
extern const mo_op mo_op_exp;
extern const mo_op mo_op_gather_rows;
extern const mo_op mo_op_gelu;
extern const mo_op mo_op_gram;
extern const mo_op mo_op_greater_equal;
extern const mo_op mo_op_hop_dot;
extern const mo_op mo_op_hop_mix;
extern const mo_op mo_op_implicit_solve;
extern const mo_op mo_op_l2_normalize;
extern const mo_op mo_op_layer_norm;
extern const mo_op mo_op_leaky_relu;
extern const mo_op mo_op_linear;
extern const mo_op mo_op_linear_gradient;
extern const mo_op mo_op_log;
extern const mo_op mo_op_log_abs_det;
extern const mo_op mo_op_log_softmax;
extern const mo_op mo_op_logdet;
extern const mo_op mo_op_logistic;
extern const mo_op mo_op_logistic_folds;
extern const mo_op mo_op_logistic_solve;
extern const mo_op mo_op_logsumexp;
extern const mo_op mo_op_masked_matmul;
extern const mo_op mo_op_matmul;
extern const mo_op mo_op_max;
extern const mo_op mo_op_maximum;
extern const mo_op mo_op_minimum;
extern const mo_op mo_op_mul;
extern const mo_op mo_op_neg;
extern const mo_op mo_op_norm;
extern const mo_op mo_op_one_hot;
extern const mo_op mo_op_pad;
extern const mo_op mo_op_perceptron;
extern const mo_op mo_op_permute;
extern const mo_op mo_op_pow;
extern const mo_op mo_op_power;
extern const mo_op mo_op_put_along;
extern const mo_op mo_op_qr;
extern const mo_op mo_op_quadratic_form;
extern const mo_op mo_op_recompute;
extern const mo_op mo_op_relu;
extern const mo_op mo_op_relu_mask;
extern const mo_op mo_op_reshape;
extern const mo_op mo_op_scale;
extern const mo_op mo_op_scatter_add_rows;
extern const mo_op mo_op_segment_mean;
extern const mo_op mo_op_segment_spread;
extern const mo_op mo_op_segment_sum;
extern const mo_op mo_op_sigmoid;
extern const mo_op mo_op_slice;
extern const mo_op mo_op_slope;
extern const mo_op mo_op_softmax;
extern const mo_op mo_op_softmax_adjoint;
extern const mo_op mo_op_softmax_cross_entropy;
extern const mo_op mo_op_softplus;
extern const mo_op mo_op_solve;
extern const mo_op mo_op_solve_spd;
extern const mo_op mo_op_solve_triangular;
extern const mo_op mo_op_spmm;
extern const mo_op mo_op_sqrt;
extern const mo_op mo_op_square;
extern const mo_op mo_op_sub;
extern const mo_op mo_op_sum;
extern const mo_op mo_op_svm_dual;
extern const mo_op mo_op_svm_folds;
extern const mo_op mo_op_take_along;
extern const mo_op mo_op_tanh;
extern const mo_op mo_op_top_k;
extern const mo_op mo_op_transpose;
extern const mo_op mo_op_tril;
extern const mo_op mo_op_triu;
extern const mo_op mo_op_where;

#endif
