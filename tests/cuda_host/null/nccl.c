/* tests/cuda_host/null/nccl.c - an NCCL that adds nothing up, as the shared object that seam_collective.c opens. It
 * counts, and fails as its test asks. */
#include <nccl.h>
#include <stdlib.h>
#include <string.h>

/* State of test_null_nccl.c: live communicators, sums, communicators that were abandoned; the result of the next call,
 * and of the communicator later. */
int null_nccl_held, null_nccl_sums, null_nccl_abandoned;
ncclResult_t null_nccl_now, null_nccl_later;
size_t null_nccl_count;

ncclResult_t ncclGetVersion(int *version) {
    *version = 22809;
    return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
    memset(id->internal, 7, sizeof id->internal);
    return null_nccl_now;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int size, ncclUniqueId id, int rank, ncclConfig_t *config) {
    if (null_nccl_now || rank >= size || id.internal[NCCL_UNIQUE_ID_BYTES - 1] != 7 || config->blocking)
        return null_nccl_now ? null_nccl_now : ncclInvalidArgument;
    *comm = malloc(1);
    null_nccl_held++;
    return ncclInProgress;
}

ncclResult_t ncclAllReduce(
    const void *x, void *y, size_t n, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
    if (x != y || type != ncclFloat32 || op != ncclSum || !comm || !stream)
        return ncclInvalidArgument;
    null_nccl_sums++;
    null_nccl_count = n;
    return null_nccl_now;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
    free(comm);
    null_nccl_held--;
    return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
    null_nccl_abandoned++;
    return ncclCommDestroy(comm);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *code) {
    *code = comm ? null_nccl_later : ncclInvalidArgument;
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t code) {
    return code == ncclRemoteError ? "remote process exited or there was a network error" : "unhandled system error";
}

const char *ncclGetLastError(ncclComm_t comm) {
    return comm ? "connection closed by rank 1\n(and more)" : "";
}
