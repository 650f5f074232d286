/* tensor/cuda/seams/seam_plans.h - how cuBLASLt computes each shape of product. */
#ifndef MO_CUDA_SEAM_PLANS_H
#define MO_CUDA_SEAM_PLANS_H

#include "tensor/cuda/seams/seam_device.h"

enum { BLAS_WORKSPACE = 32 << 20 };

/* What decides about an algorithm: sizes, strides, types, what follows the product, alignment. */
typedef struct plan_key {
    int64_t word[14];
} plan_key;

struct seam_plan {
    plan_key key;
    bool known, fine; /* known and not fine: the library has no algorithm */
    uint64_t used;    /* when it was last asked for */
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t a, b, c, d; /* c: the addend, or what C holds */
    cublasLtMatmulAlgo_t algorithm;
};

struct seam_plans *seam_plans_create(void); /* NULL: no memory */
void seam_plans_release(struct seam_plans *plans);
/* The plan of that shape, searched for the first time; NULL where the library has none. Of plans that fall into one
 * place the one longest unused makes room. */
struct seam_plan *seam_find_plan(seam *s, const seam_gemm *g);
/* Gives the plan's operation the addresses of what the epilogue reads and writes beside C. */
cublasStatus_t seam_set_addresses(cublasLtMatmulDesc_t operation, const seam_gemm *g);

/* Of A and B, or of C. */
cudaDataType seam_data_type(seam_type type);
cublasComputeType_t seam_compute_type(const seam_gemm *g);
cublasOperation_t seam_operation(bool transposed);

#endif
