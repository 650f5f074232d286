/* tensor/cuda/seams/seam_plans.h - how cuBLASLt computes each shape of product. */
#ifndef MO_CUDA_SEAM_PLANS_H
#define MO_CUDA_SEAM_PLANS_H

#include "tensor/cuda/seams/seam_device.h"

enum { BLAS_WORKSPACE = 32 << 20 };

/* The properties that decide the algorithm: sizes, strides, types, epilogue, alignment. */
typedef struct plan_key {
    int64_t word[14];
} plan_key;

struct seam_plan {
    plan_key key;
    bool known, fine; /* known and not fine: the library has no algorithm */
    uint64_t used;    /* time of the last use */
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t a, b, c, d; /* c: the addend, or the old C */
    cublasLtMatmulAlgo_t algorithm;
};

struct seam_plans *seam_plans_create(void); /* NULL: no memory */
void seam_plans_release(struct seam_plans *plans);
/* The plan of this shape, searched for at its first use; NULL if the library has none. If the plans of a table set are
 * all taken, the least recently used one is replaced. */
struct seam_plan *seam_find_plan(seam *s, const seam_gemm *g);
/* Sets the addresses that the epilogue reads and writes beside C. */
cublasStatus_t seam_set_addresses(cublasLtMatmulDesc_t operation, const seam_gemm *g);

/* The library's name of a type. */
cudaDataType seam_data_type(seam_type type);
cublasComputeType_t seam_compute_type(const seam_gemm *g);
cublasOperation_t seam_operation(bool transposed);

#endif
