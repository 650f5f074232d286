/* tests/fuzz/fuzz_graph_npz.c - reads any arrays as the members of a graph's .npz (fuzz_arrays.c tests the archive).
 *
 * For each key in order the input has: a byte that chooses dtype and number of axes (0: no such member), a byte for the
 * number of elements, and a signed byte per element; its extremes stand for the extremes of wider types. */
#include "fuzz_graph.h"

#include <math.h>

static const char *const keys[] = {"adj_shape", "adj_indptr", "adj_indices", "adj_data", "attr_shape", "attr_indptr",
    "attr_indices", "attr_data", "labels", "idx_unlabelled", "graph_offset", "idx_train", "idx_val", "idx_test",
    "splits_train", "splits_val", "splits_test"};

static double element(int8_t byte) {
    switch (byte) {
    case 125:
        return INT32_MAX;
    case 126:
        return (double)INT32_MAX + 1;
    case 127:
        return 9e18;
    case -126:
        return NAN;
    case -127:
        return -9e18;
    case -128:
        return INFINITY;
    default:
        return byte;
    }
}

static mo_tensor *vector(mo_context *ctx, uint8_t choice, int64_t n, const uint8_t *data) {
    static const mo_dtype dtypes[] = {MO_I64, MO_I32, MO_U8, MO_I64, MO_F32, MO_F64, MO_F16};
    mo_dtype dtype = dtypes[(choice - 1) % 7];
    int64_t shape[2] = {n, 1}, integers[256];
    int ndim = choice < 250 ? 1 : 2;
    if (choice > 252 && n % 2 == 0) {
        shape[0] = 2;
        shape[1] = n / 2;
    }
    float floats[256];
    double doubles[256];
    for (int64_t i = 0; i < n; i++) {
        doubles[i] = element((int8_t)data[i]);
        floats[i] = (float)doubles[i];
        integers[i] = isfinite(doubles[i]) ? (int64_t)doubles[i] : 0;
    }
    if (dtype == MO_F32 || dtype == MO_F64)
        return mo_tensor_create_from(ctx, dtype, ndim, shape, dtype == MO_F32 ? (void *)floats : doubles);
    mo_tensor *T = mo_tensor_create(ctx, dtype, ndim, shape);
    int32_t *narrow = mo_is_null(T) ? NULL : mo_tensor_view(T).data;
    for (int64_t i = 0; narrow && i < n; i++) {
        if (dtype == MO_I64)
            memcpy((char *)narrow + 8 * i, &integers[i], 8);
        else if (dtype == MO_I32)
            narrow[i] = (int32_t)integers[i];
        else if (dtype == MO_U8)
            ((uint8_t *)narrow)[i] = (uint8_t)integers[i];
    }
    return T;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int64_t live;
    mo_context *ctx = fuzz_start(&live);
    mo_arrays *arrays = mo_arrays_create(ctx);
    for (size_t k = 0; k < sizeof keys / sizeof *keys && size >= 2; k++) {
        uint8_t choice = data[0];
        size_t n = data[1] < size - 2 ? data[1] : size - 2;
        if (choice && mo_arrays_take(arrays, keys[k], vector(ctx, choice, (int64_t)n, data + 2)) != MO_OK)
            abort();
        data += 2 + n;
        size -= 2 + n;
    }
    mo_graph *graph = mo_graph_from_arrays(arrays, "fuzz", "fuzz.npz");
    mo_arrays_release(arrays);
    fuzz_finish_graph(ctx, live, graph);
    return 0;
}
