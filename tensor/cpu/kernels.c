/* tensor/cpu/kernels.c - the kernel tables of one float type. */
#include "tensor/cpu/kernels.h"

extern const mo_kernels REAL(kernels_cpu);
extern const mo_fits REAL(fits_cpu);

const mo_kernels REAL(kernels_cpu) = {
    .gemm = REAL(gemm_cpu),
    .gram = REAL(gram_cpu),
    .potrf = REAL(potrf_cpu),
    .trsm = REAL(trsm_cpu),
    .getrf = REAL(getrf_cpu),
    .getrs = REAL(getrs_cpu),
    .syevd = REAL(syevd_cpu),
    .qr = REAL(qr_cpu),
    .svd = REAL(svd_cpu),
    .map1 = REAL(map1_cpu),
    .map2 = REAL(map2_cpu),
    .where = REAL(where_cpu),
    .reduce = REAL(reduce_cpu),
    .argmax = REAL(argmax_cpu),
    .cumsum = REAL(cumsum_cpu),
    .argsort = REAL(argsort_cpu),
    .softmax = REAL(softmax_cpu),
    .softmax_adjoint = REAL(softmax_adjoint_cpu),
    .logsumexp = REAL(logsumexp_cpu),
    .layer_norm = REAL(layer_norm_cpu),
    .l2_normalize = REAL(l2_normalize_cpu),
    .cross_entropy = REAL(cross_entropy_cpu),
    .gather_rows = REAL(gather_rows_cpu),
    .scatter_add_rows = REAL(scatter_add_rows_cpu),
    .segment_sum = REAL(segment_sum_cpu),
    .segment_spread = REAL(segment_spread_cpu),
    .take_along = REAL(take_along_cpu),
    .put_along = REAL(put_along_cpu),
    .spmm = REAL(spmm_cpu),
    .hop_attention = REAL(hop_attention_cpu),
    .hop_attention_adjoint = REAL(hop_attention_adjoint_cpu),
    .dropout_mask = REAL(dropout_mask_cpu),
    .random = REAL(random_cpu),
    .gradient_norm = REAL(gradient_norm_cpu),
    .adamw = REAL(adamw_cpu),
};

const mo_fits REAL(fits_cpu) = {
    .logistic = REAL(logistic_cpu),
    .svm = REAL(svm_cpu),
    .readout = REAL(readout_cpu),
};
