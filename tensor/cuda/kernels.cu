/* tensor/cuda/kernels.cu - the kernel tables of the two float types. */
#include "tensor/cuda/kernels.h"

template <typename real> static constexpr mo_kernels table() {
    mo_kernels k = {};
    k.gemm = gemm_cuda<real>;
    k.gemms = gemms_cuda<real>;
    k.potrf = potrf_cuda<real>;
    k.trsm = trsm_cuda<real>;
    k.solve_spd = sizeof(real) == 4 ? solve_spd_cuda : nullptr; /* in float64 a thread would need twice the registers */
    k.getrf = getrf_cuda<real>;
    k.getrs = getrs_cuda<real>;
    k.syevd = syevd_cuda<real>;
    k.qr = qr_cuda<real>;
    k.svd = svd_cuda<real>;
    k.map1 = map1_cuda<real>;
    k.map2 = map2_cuda<real>;
    k.where = where_cuda<real>;
    k.reduce = reduce_cuda<real>;
    k.argmax = argmax_cuda<real>;
    k.cumsum = cumsum_cuda<real>;
    k.argsort = argsort_cuda<real>;
    k.softmax = softmax_cuda<real>;
    k.softmax_adjoint = softmax_adjoint_cuda<real>;
    k.logsumexp = logsumexp_cuda<real>;
    k.layer_norm = layer_norm_cuda<real>;
    k.l2_normalize = l2_normalize_cuda<real>;
    k.scale_unit = scale_unit_cuda<real>;
    k.scale_unit_adjoint = scale_unit_adjoint_cuda<real>;
    k.cross_entropy = cross_entropy_cuda<real>;
    k.cross_entropy_adjoint = cross_entropy_adjoint_cuda<real>;
    k.gather_rows = gather_rows_cuda<real>;
    k.scatter_add_rows = scatter_add_rows_cuda<real>;
    k.segment_sum = segment_sum_cuda<real>;
    k.segment_spread = segment_spread_cuda<real>;
    k.take_along = take_along_cuda<real>;
    k.put_along = put_along_cuda<real>;
    k.spmm = spmm_cuda<real>;
    k.hop_attention = hop_attention_cuda<real>;
    k.hop_attention_adjoint = hop_attention_adjoint_cuda<real>;
    k.dropout_mask = dropout_mask_cuda<real>;
    k.random = random_cuda<real>;
    k.gradient_norm = gradient_norm_cuda<real>;
    k.adamw = adamw_cuda<real>;
    return k;
}

const mo_kernels kernels_cuda_f32 = table<float>(), kernels_cuda_f64 = table<double>();
