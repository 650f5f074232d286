/* tests/fuzz/fuzz_arrays.c - reads any bytes by DECODE as an archive of arrays. */
#include "fuzz.h"

#include "tensor/files/arrays.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int64_t live;
    mo_context *ctx = fuzz_start(&live);
    mo_arrays *arrays = DECODE(ctx, "fuzz", data, size);
    bool read = arrays;
    mo_arrays_release(arrays);
    fuzz_finish(ctx, live, read);
    return 0;
}
