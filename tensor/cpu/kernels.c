/* tensor/cpu/kernels.c - the kernel table of one float type. */
#include "tensor/cpu/kernels.h"

extern const mo_kernels REAL(kernels_cpu);

const mo_kernels REAL(kernels_cpu) = {
    .gemm = REAL(gemm_cpu),
    .potrf = REAL(potrf_cpu),
    .trsm = REAL(trsm_cpu),
    .map1 = REAL(map1_cpu),
    .map2 = REAL(map2_cpu),
    .where = REAL(where_cpu),
    .reduce = REAL(reduce_cpu),
    .softmax = REAL(softmax_cpu),
    .logsumexp = REAL(logsumexp_cpu),
};
