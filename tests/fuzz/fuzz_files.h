/* tests/fuzz/fuzz_files.h - makes files of a folder from bytes, and gives our own formats valid digests. */
#ifndef FUZZ_FILES_H
#define FUZZ_FILES_H

#include "fuzz.h"
#include "tests/folder.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A temporary folder of files; fuzz_remove removes it. */
typedef struct fuzz_folder {
    char path[64];
} fuzz_folder;

static inline const char *fuzz_path(const fuzz_folder *f, const char *name, char path[160]) {
    snprintf(path, 160, "%s/%s", f->path, name);
    return path;
}

static inline void fuzz_put(const fuzz_folder *f, const char *name, const uint8_t *data, size_t size) {
    char path[160];
    FILE *file = fopen(fuzz_path(f, name, path), "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
        abort();
}

/* Writes the bytes to these files: each file but the last gets the bytes up to the next '|'. Files after the end of the
 * bytes are not made. Returns the number of files. */
static inline int fuzz_open(fuzz_folder *f, const char *const *names, int n, const uint8_t *data, size_t size) {
    int written = 0;
    snprintf(f->path, sizeof f->path, "%s/fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(f->path))
        abort();
    for (; written < n && size; written++) {
        const uint8_t *bar = written < n - 1 ? memchr(data, '|', size) : NULL;
        size_t length = bar ? (size_t)(bar - data) : size;
        fuzz_put(f, names[written], data, length);
        size -= length + (bar ? 1 : 0);
        data += length + (bar ? 1 : 0);
    }
    return written;
}

static inline void fuzz_remove(const fuzz_folder *f) {
    folder_remove(f->path);
}

/* Adds right digests to a safetensors file that has none: otherwise a reader would look at no mutated byte. Other files
 * stay. */
static inline void fuzz_sign(const char *path) {
    mo_context *ctx = mo_context_create(&(mo_context_options){.threads = 1});
    mo_arrays *arrays = mo_safetensors_read(ctx, path);
    if (arrays)
        mo_safetensors_write(arrays, arrays->metadata, path);
    mo_arrays_release(arrays);
    mo_context_release(ctx);
}

#endif
