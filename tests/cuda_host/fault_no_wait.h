/* tests/cuda_host/fault_no_wait.h - the planted fault: results are read without waiting for the stream. */
#include "tensor/cuda/seam.h"

static inline const char *wait_with_fault(seam *) {
    return nullptr;
}
#define seam_wait wait_with_fault
