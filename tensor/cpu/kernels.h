/* tensor/cpu/kernels.h - the functions of the kernel table for one float type; tensor/backend.h says what they
 * compute. */
#ifndef MO_CPU_KERNELS_H
#define MO_CPU_KERNELS_H

#include "tensor/cpu/real.h"
#include "tensor/cpu/tasks.h"
#include "tensor/fits.h"

void REAL(gemm_cpu)(mo_context *ctx, const mo_gemm *g);
void REAL(gram_cpu)(mo_context *ctx, const mo_view *X, const mo_view *Y);

void REAL(potrf_cpu)(mo_context *ctx, const mo_view *A, const mo_view *info);
void REAL(trsm_cpu)(mo_context *ctx, mo_triangle triangle, const mo_view *T, const mo_view *B);
void REAL(getrf_cpu)(mo_context *ctx, const mo_view *A, const mo_view *pivot, const mo_view *info);
void REAL(getrs_cpu)(mo_context *ctx, bool transposed, const mo_view *LU, const mo_view *pivot, const mo_view *B);
void REAL(syevd_cpu)(mo_context *ctx, const mo_view *A, const mo_view *w, const mo_view *info);
void REAL(qr_cpu)(mo_context *ctx, const mo_view *A, const mo_view *R, const mo_view *info);
void REAL(svd_cpu)(mo_context *ctx, const mo_view *A, const mo_view *U, const mo_view *s, const mo_view *info);

void REAL(map1_cpu)(mo_context *ctx, mo_map1 f, double a, double b, const mo_view *x, const mo_view *y);
void REAL(map2_cpu)(mo_context *ctx, mo_map2 f, const mo_view *x1, const mo_view *x2, const mo_view *y);
void REAL(where_cpu)(mo_context *ctx, const mo_view *c, const mo_view *x1, const mo_view *x2, const mo_view *y);
void REAL(reduce_cpu)(mo_context *ctx, mo_reduction kind, const mo_view *x, const mo_view *y);
void REAL(argmax_cpu)(mo_context *ctx, const mo_view *x, const mo_view *index);
void REAL(cumsum_cpu)(mo_context *ctx, bool reversed, const mo_view *x, const mo_view *y);
void REAL(argsort_cpu)(mo_context *ctx, const mo_view *x, const mo_view *order);

void REAL(softmax_cpu)(mo_context *ctx, bool log, const mo_view *x, const mo_view *y);
void REAL(softmax_adjoint_cpu)(mo_context *ctx, bool log, const mo_view *y, const mo_view *y_bar, const mo_view *x_bar);
void REAL(logsumexp_cpu)(mo_context *ctx, const mo_view *x, const mo_view *y);
void REAL(layer_norm_cpu)(mo_context *ctx, double epsilon, const mo_view *x, const mo_view *y);
void REAL(l2_normalize_cpu)(mo_context *ctx, double epsilon, const mo_view *x, const mo_view *y);
void REAL(cross_entropy_cpu)(
    mo_context *ctx, double smoothing, const mo_view *x, const mo_view *target, const mo_view *loss);

void REAL(gather_rows_cpu)(mo_context *ctx, const mo_view *x, const mo_view *index, const mo_view *y);
void REAL(scatter_add_rows_cpu)(mo_context *ctx, const mo_view *x, const mo_view *index, const mo_view *y);
void REAL(segment_sum_cpu)(mo_context *ctx, bool mean, const mo_view *x, const mo_view *offset, const mo_view *y);
void REAL(segment_spread_cpu)(mo_context *ctx, bool mean, const mo_view *x, const mo_view *offset, const mo_view *y);
void REAL(take_along_cpu)(mo_context *ctx, const mo_view *x, const mo_view *index, const mo_view *y);
void REAL(put_along_cpu)(mo_context *ctx, const mo_view *x, const mo_view *index, const mo_view *y);
void REAL(spmm_cpu)(mo_context *ctx, const mo_csr_view *A, const mo_view *X, const mo_view *Y);
void REAL(hop_attention_cpu)(mo_context *ctx, const mo_attention *g);
void REAL(hop_attention_adjoint_cpu)(mo_context *ctx, const mo_attention *g);

void REAL(logistic_cpu)(mo_context *ctx, const mo_logistic_call *g);
void REAL(svm_cpu)(mo_context *ctx, const mo_svm_call *g);
bool REAL(readout_cpu)(mo_context *ctx, const mo_readout *r);

void REAL(dropout_mask_cpu)(mo_context *ctx, double rate, const mo_random *r, const mo_view *mask);
void REAL(random_cpu)(mo_context *ctx, bool normal, double a, double b, const mo_random *r, const mo_view *y);
void REAL(gradient_norm_cpu)(
    mo_context *ctx, double bound, int n, const mo_view *g, const mo_view *squares, const mo_view *scale);
void REAL(adamw_cpu)(mo_context *ctx, const mo_view *factors, const mo_view *scale, int n, const mo_view *g,
    const mo_view *m, const mo_view *v, const mo_view *p);

#endif
