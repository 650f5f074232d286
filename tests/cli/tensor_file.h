/* tests/cli/tensor_file.h - the metadata of a safetensors file of the test's folder, read, changed and written back. */
#ifndef TENSOR_FILE_H
#define TENSOR_FILE_H

#include "program.h"

#include "tensor/inside.h"

/* The metadata of a file of tensors, to be changed and written back. */
typedef struct tensor_file {
    mo_context *ctx;
    mo_arrays *arrays;
    json_t *metadata;
} tensor_file;

static inline tensor_file open_tensors(const program *p, const char *file) {
    tensor_file f = {.ctx = mo_context_create(NULL)};
    f.arrays = mo_safetensors_read(f.ctx, in_folder(p, file));
    assert_non_null(f.arrays);
    f.metadata = json_loads(f.arrays->metadata, 0, NULL);
    assert_non_null(f.metadata);
    return f;
}

static inline void close_tensors(tensor_file *f) {
    json_decref(f->metadata);
    mo_arrays_release(f->arrays);
    mo_context_release(f->ctx);
}

static inline void rewrite_tensors(const program *p, const char *file, const tensor_file *f) {
    char *text = json_dumps(f->metadata, JSON_COMPACT);
    assert_int_equal(mo_safetensors_write(f->arrays, text, in_folder(p, file)), MO_OK);
    free(text);
}

#endif
