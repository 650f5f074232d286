/* tests/fuzz/fuzz_npy.c - reads any bytes as an .npy array; an accepted array can be written and read again
 * unchanged. */
#include "fuzz.h"

#include "tensor/files/arrays.h"
#include "tensor/files/npy.h"

static bool same(const mo_tensor *A, const mo_tensor *B) {
    size_t n = (size_t)mo_numel(A) * mo_dtype_size(mo_tensor_dtype(A));
    char *a = calloc(1, n + 1), *b = calloc(1, n + 1);
    bool equal = a && b && mo_tensor_dtype(A) == mo_tensor_dtype(B) && mo_ndim(A) == mo_ndim(B);
    for (int i = 0; i < mo_ndim(A); i++)
        equal = equal && mo_dim(A, i) == mo_dim(B, i);
    equal = equal && mo_tensor_read(A, a, n) == MO_OK && mo_tensor_read(B, b, n) == MO_OK && memcmp(a, b, n) == 0;
    free(a);
    free(b);
    return equal;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int64_t live;
    mo_context *ctx = fuzz_start(&live);
    mo_tensor *T = mo_npy_decode(ctx, "fuzz", data, size);
    bool read = !mo_is_null(T);
    if (read) {
        size_t n = mo_npy_encoded_size("fuzz", T);
        unsigned char *bytes = malloc(n);
        if (!bytes || mo_npy_encode(T, bytes, n) != MO_OK)
            abort();
        mo_tensor *again = mo_npy_decode(ctx, "fuzz", bytes, n);
        if (mo_is_null(again) || !same(T, again))
            abort();
        mo_tensor_release(again);
        free(bytes);
    }
    mo_tensor_release(T);
    fuzz_finish(ctx, live, read);
    return 0;
}
