/* train/graphs/npz_members.h - the arrays of a graph's .npz as plain host arrays, checked (library internal). */
#ifndef MO_NPZ_MEMBERS_H
#define MO_NPZ_MEMBERS_H

#include "train/graph.h"
#include "train/graphs/words.h"

typedef struct mo_npz_members {
    mo_context *ctx;
    const char *path; /* starts every message */
    const mo_arrays *arrays;
} mo_npz_members;

/* A CSR matrix: column and value arrays of nnz elements; value is NULL if the file has none (all ones). */
typedef struct mo_npz_csr {
    int64_t rows, columns, nnz;
    int64_t *pointer;
    int64_t *column;
    float *value;
} mo_npz_csr;

bool mo_npz_has(const mo_npz_members *m, const char *key);
/* The integers of a one-dimensional member; `expected` fixes their number (-1: any). Returns NULL on failure; free()
 * it. */
int64_t *mo_npz_integers(const mo_npz_members *m, const char *key, int64_t expected, int64_t *count);
/* The 0s and 1s of a member [rows, columns], as integers. Returns NULL on failure; free() it. */
int64_t *mo_npz_masks(const mo_npz_members *m, const char *key, int64_t rows, int64_t columns);
/* Adds the texts of a member of bytes, UTF-8 and each ended by a zero; `expected`: how many. False on failure. */
bool mo_npz_texts(const mo_npz_members *m, const char *key, int64_t expected, mo_words *words);
/* Reads PREFIX_shape, PREFIX_indptr, PREFIX_indices and, if it exists, PREFIX_data, and checks that pointers
 * start at 0, never fall and end at nnz, that columns lie in range and values are finite. Release in any case. */
bool mo_npz_read_csr(const mo_npz_members *m, const char *prefix, mo_npz_csr *csr);
void mo_npz_release_csr(mo_npz_csr *csr);
/* Gives the graph the member "labels": `expected` classes numbered from 0; a negative number, which means unlabelled,
 * becomes -1. */
bool mo_npz_read_labels(const mo_npz_members *m, int64_t expected, mo_graph *graph);

#endif
