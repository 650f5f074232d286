/* tensor/cuda/kernels.h - the functions of the kernel table as templates over the float type; tensor/backend.h says
 * what each computes. */
#ifndef MO_CUDA_KERNELS_H
#define MO_CUDA_KERNELS_H

#include "tensor/cuda/device.h"

extern const mo_kernels kernels_cuda_f32, kernels_cuda_f64;

void copy_cuda(mo_context *ctx, const mo_view *x, const mo_view *y);
void fill_cuda(mo_context *ctx, double value, const mo_view *y);

template <typename real> void gemm_cuda(mo_context *ctx, const mo_gemm *g);
template <typename real> void gemms_cuda(mo_context *ctx, const mo_gemm *g, int n);

template <typename real> void potrf_cuda(mo_context *ctx, const mo_view *A, const mo_view *info);
bool solve_spd_cuda(mo_context *ctx, const mo_spd_system *g);
template <typename real> void trsm_cuda(mo_context *ctx, mo_triangle triangle, const mo_view *T, const mo_view *B);
template <typename real> void getrf_cuda(mo_context *ctx, const mo_view *A, const mo_view *pivot, const mo_view *info);
template <typename real>
void getrs_cuda(mo_context *ctx, bool transposed, const mo_view *LU, const mo_view *pivot, const mo_view *B);
template <typename real> void syevd_cuda(mo_context *ctx, const mo_view *A, const mo_view *w, const mo_view *info);
template <typename real> void qr_cuda(mo_context *ctx, const mo_view *A, const mo_view *R, const mo_view *info);
template <typename real>
void svd_cuda(mo_context *ctx, const mo_view *A, const mo_view *U, const mo_view *s, const mo_view *info);

template <typename real>
void map1_cuda(mo_context *ctx, mo_map1 f, double a, double b, const mo_view *x, const mo_view *y);
template <typename real>
void map2_cuda(mo_context *ctx, mo_map2 f, const mo_view *x1, const mo_view *x2, const mo_view *y);
template <typename real>
void where_cuda(mo_context *ctx, const mo_view *c, const mo_view *x1, const mo_view *x2, const mo_view *y);
template <typename real> void reduce_cuda(mo_context *ctx, mo_reduction kind, const mo_view *x, const mo_view *y);
template <typename real> void argmax_cuda(mo_context *ctx, const mo_view *x, const mo_view *index);
template <typename real> void cumsum_cuda(mo_context *ctx, bool reversed, const mo_view *x, const mo_view *y);
template <typename real> void argsort_cuda(mo_context *ctx, const mo_view *x, const mo_view *order);

template <typename real> void softmax_cuda(mo_context *ctx, bool log, const mo_view *x, const mo_view *y);
template <typename real>
void softmax_adjoint_cuda(mo_context *ctx, bool log, const mo_view *y, const mo_view *y_bar, const mo_view *x_bar);
template <typename real> void logsumexp_cuda(mo_context *ctx, const mo_view *x, const mo_view *y);
template <typename real> void layer_norm_cuda(mo_context *ctx, double epsilon, const mo_view *x, const mo_view *y);
template <typename real> void l2_normalize_cuda(mo_context *ctx, double epsilon, const mo_view *x, const mo_view *y);
template <typename real>
void scale_unit_cuda(mo_context *ctx, double epsilon, const mo_view *x, const mo_view *scale, const mo_view *y);
template <typename real>
void scale_unit_adjoint_cuda(mo_context *ctx, double epsilon, const mo_view *x, const mo_view *scale,
    const mo_view *y_bar, const mo_view *x_bar, const mo_view *scale_bar);
template <typename real>
void cross_entropy_cuda(
    mo_context *ctx, double smoothing, const mo_view *x, const mo_view *target, const mo_view *loss);
template <typename real>
void cross_entropy_adjoint_cuda(mo_context *ctx, double smoothing, const mo_view *x, const mo_view *target,
    const mo_view *mean_bar, const mo_view *x_bar);

template <typename real>
void gather_rows_cuda(mo_context *ctx, const mo_view *x, const mo_view *index, const mo_view *y);
template <typename real>
void scatter_add_rows_cuda(mo_context *ctx, const mo_view *x, const mo_view *index, const mo_view *y);
template <typename real>
void segment_sum_cuda(mo_context *ctx, bool mean, const mo_view *x, const mo_view *offset, const mo_view *y);
template <typename real>
void segment_spread_cuda(mo_context *ctx, bool mean, const mo_view *x, const mo_view *offset, const mo_view *y);
template <typename real>
void take_along_cuda(mo_context *ctx, const mo_view *x, const mo_view *index, const mo_view *y);
template <typename real> void put_along_cuda(mo_context *ctx, const mo_view *x, const mo_view *index, const mo_view *y);
template <typename real> void spmm_cuda(mo_context *ctx, const mo_csr_view *A, const mo_view *X, const mo_view *Y);
template <typename real> void hop_attention_cuda(mo_context *ctx, const mo_attention *g);
template <typename real> void hop_attention_adjoint_cuda(mo_context *ctx, const mo_attention *g);

template <typename real> void dropout_mask_cuda(mo_context *ctx, double rate, const mo_random *r, const mo_view *mask);
template <typename real>
void random_cuda(mo_context *ctx, bool normal, double a, double b, const mo_random *r, const mo_view *y);
template <typename real>
void gradient_norm_cuda(
    mo_context *ctx, double bound, int n, const mo_view *g, const mo_view *squares, const mo_view *scale);
template <typename real>
void adamw_cuda(mo_context *ctx, const mo_view *factors, const mo_view *scale, int n, const mo_view *g,
    const mo_view *m, const mo_view *v, const mo_view *p);

#endif
