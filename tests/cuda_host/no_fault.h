/* tests/cuda_host/no_fault.h - the backend as it is; fault_*.h plant one fault each. */
