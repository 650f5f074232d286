/* tests/embedding_files.h - rows and labels in NumPy's format, for the program. */
#ifndef EMBEDDING_FILES_H
#define EMBEDDING_FILES_H

#include "tests/cli/program.h"

enum { N = 90, D = 4, C = 3 };

static inline void write_npy(
    const program *p, const char *name, const char *descr, const char *shape, const void *data, size_t bytes) {
    char header[128];
    int used = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape);
    FILE *file = fopen(in_folder(p, name), "wb");
    assert_non_null(file);
    fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, file); /* 118 bytes of header */
    fprintf(file, "%-117s\n", header);
    assert_true(used < 118);
    fwrite(data, 1, bytes, file);
    fclose(file);
}

/* N rows about C centres, far enough apart that no head should err; with one-sided noise by a small generator. */
static inline void write_rows(const program *p, double separation) {
    float narrow[N * D];
    double wide[N * D];
    uint64_t state = 7;
    for (int i = 0; i < N * D; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        wide[i] = (i % D == i / D % C ? separation : 0) + (double)(state >> 40) / (1 << 24);
        narrow[i] = (float)wide[i];
    }
    write_npy(p, "Z.npy", "<f4", "(90, 4)", narrow, sizeof narrow);
    write_npy(p, "Z8.npy", "<f8", "(90, 4)", wide, sizeof wide);
    int64_t y[N];
    for (int i = 0; i < N; i++)
        y[i] = i % C;
    write_npy(p, "y.npy", "<i8", "(90,)", y, sizeof y);
}

#endif
