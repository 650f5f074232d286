/* train/graphs/npz_members.c - checked host arrays from the members of an .npz; nothing in the file is trusted. */
#include "train/graphs/npz_members.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/files/foreign_text.h"
#include "train/graphs/graph_build.h"

bool mo_npz_has(const mo_npz_members *m, const char *key) {
    return mo_arrays_find(m->arrays, key) != NULL;
}

/* The member, one-dimensional and of the expected length; raises and returns NULL if it is not. */
static mo_tensor *find_vector(const mo_npz_members *m, const char *key, int64_t expected) {
    char shape[160];
    mo_tensor *T = mo_arrays_find(m->arrays, key);
    if (!T)
        mo_fail(m->ctx, MO_FORMAT, "%s: expected a member '%s', found none", m->path, key);
    else if (mo_ndim(T) != 1)
        mo_fail(m->ctx, MO_FORMAT, "%s: %s: expected one axis, found shape %s", m->path, key,
            mo_shape_string(T, shape, sizeof shape));
    else if (expected >= 0 && mo_dim(T, 0) != expected)
        mo_fail(m->ctx, MO_FORMAT, "%s: %s: expected %lld elements, found %lld", m->path, key, (long long)expected,
            (long long)mo_dim(T, 0));
    else
        return T;
    return NULL;
}

/* The bytes of a member, in its dtype. */
static void *read_member(const mo_npz_members *m, const mo_tensor *T) {
    int64_t n = mo_numel(T);
    size_t element = mo_dtype_size(mo_tensor_dtype(T));
    void *bytes = mo_host_array(m->ctx, n, element);
    if (bytes && mo_tensor_read(T, bytes, (size_t)n * element) != MO_OK) {
        free(bytes);
        return NULL;
    }
    return bytes;
}

/* The integers of a member of any shape. */
static int64_t *widen_member(const mo_npz_members *m, const char *key, const mo_tensor *T) {
    mo_dtype dtype = mo_tensor_dtype(T);
    int64_t n = mo_numel(T);
    if (dtype != MO_I64 && dtype != MO_I32 && dtype != MO_U8) {
        mo_fail(m->ctx, MO_FORMAT, "%s: %s: expected integers, found %s", m->path, key, mo_dtype_name(dtype));
        return NULL;
    }
    void *bytes = read_member(m, T);
    if (!bytes || dtype == MO_I64)
        return bytes;
    int64_t *value = mo_host_array(m->ctx, n, sizeof *value);
    for (int64_t i = 0; value && i < n; i++)
        value[i] = dtype == MO_I32 ? ((const int32_t *)bytes)[i] : ((const uint8_t *)bytes)[i];
    free(bytes);
    return value;
}

int64_t *mo_npz_integers(const mo_npz_members *m, const char *key, int64_t expected, int64_t *count) {
    mo_tensor *T = find_vector(m, key, expected);
    if (T)
        *count = mo_dim(T, 0);
    return T ? widen_member(m, key, T) : NULL;
}

int64_t *mo_npz_masks(const mo_npz_members *m, const char *key, int64_t rows, int64_t columns) {
    char shape[160];
    const mo_tensor *T = mo_arrays_find(m->arrays, key);
    if (!T || mo_ndim(T) != 2 || mo_dim(T, 0) != rows || mo_dim(T, 1) != columns) {
        mo_fail(m->ctx, MO_FORMAT, "%s: %s: expected masks [%lld divisions, %lld nodes], found %s", m->path, key,
            (long long)rows, (long long)columns, T ? mo_shape_string(T, shape, sizeof shape) : "none");
        return NULL;
    }
    int64_t *value = widen_member(m, key, T);
    for (int64_t i = 0; value && i < rows * columns; i++)
        if (value[i] != 0 && value[i] != 1) {
            mo_fail(m->ctx, MO_FORMAT, "%s: %s[%lld, %lld]: expected 0 or 1, found %lld", m->path, key,
                (long long)(i / columns), (long long)(i % columns), (long long)value[i]);
            free(value);
            return NULL;
        }
    return value;
}

bool mo_npz_texts(const mo_npz_members *m, const char *key, int64_t expected, mo_words *words) {
    mo_tensor *T = find_vector(m, key, -1);
    int64_t n = T ? mo_dim(T, 0) : 0, first = words->n;
    if (T && mo_tensor_dtype(T) != MO_U8)
        mo_fail(m->ctx, MO_FORMAT, "%s: %s: expected bytes (uint8) of texts, found %s", m->path, key,
            mo_dtype_name(mo_tensor_dtype(T)));
    char *bytes = mo_ok(m->ctx) ? read_member(m, T) : NULL;
    if (bytes && n && bytes[n - 1])
        mo_fail(
            m->ctx, MO_FORMAT, "%s: %s: expected a zero behind each text, found none behind the last", m->path, key);
    for (int64_t at = 0; bytes && at < n && mo_ok(m->ctx);) {
        int64_t length = (int64_t)strlen(bytes + at);
        if (!mo_is_utf8(bytes + at, (size_t)length))
            mo_fail(
                m->ctx, MO_FORMAT, "%s: %s: text %lld: expected UTF-8", m->path, key, (long long)(words->n - first));
        else
            mo_words_add(m->ctx, words, bytes + at);
        at += length + 1;
    }
    if (mo_ok(m->ctx) && words->n - first != expected)
        mo_fail(m->ctx, MO_FORMAT, "%s: %s: expected %lld texts, found %lld", m->path, key, (long long)expected,
            (long long)(words->n - first));
    free(bytes);
    return mo_ok(m->ctx);
}

static float real_at(const void *bytes, mo_dtype dtype, int64_t i) {
    switch (dtype) {
    case MO_F32:
        return ((const float *)bytes)[i];
    case MO_F64:
        return (float)((const double *)bytes)[i];
    case MO_I64:
        return (float)((const int64_t *)bytes)[i];
    case MO_I32:
        return (float)((const int32_t *)bytes)[i];
    default:
        return ((const uint8_t *)bytes)[i];
    }
}

/* The values of a CSR matrix, finite as float32. */
static float *read_values(const mo_npz_members *m, const char *key, const mo_npz_csr *csr) {
    mo_tensor *T = find_vector(m, key, csr->nnz);
    mo_dtype dtype = T ? mo_tensor_dtype(T) : MO_DTYPES;
    if (T && (dtype == MO_F16 || dtype == MO_BF16)) {
        mo_fail(m->ctx, MO_UNSUPPORTED, "%s: %s: expected float32, float64 or integers, found %s", m->path, key,
            mo_dtype_name(dtype));
        return NULL;
    }
    void *bytes = T ? read_member(m, T) : NULL;
    float *value = bytes ? mo_host_array(m->ctx, csr->nnz, sizeof *value) : NULL;
    for (int64_t i = 0, row = 0; value && i < csr->nnz; i++) {
        value[i] = real_at(bytes, dtype, i);
        while (csr->pointer[row + 1] <= i)
            row++;
        if (!isfinite(value[i])) {
            mo_fail(m->ctx, MO_INVALID, "%s: %s[%lld] (row %lld, column %lld): expected a finite float32, found %g",
                m->path, key, (long long)i, (long long)row, (long long)csr->column[i], (double)value[i]);
            free(value);
            value = NULL;
        }
    }
    free(bytes);
    return value;
}

static bool read_shape(const mo_npz_members *m, const char *key, mo_npz_csr *csr) {
    int64_t count;
    int64_t *shape = mo_npz_integers(m, key, 2, &count);
    if (!shape)
        return false;
    csr->rows = shape[0];
    csr->columns = shape[1];
    free(shape);
    if (csr->rows < 0 || csr->rows >= MO_GRAPH_LARGEST || csr->columns < 0 || csr->columns >= MO_GRAPH_LARGEST) {
        mo_fail(m->ctx, MO_FORMAT, "%s: %s: expected sizes in 0..%lld, found %lld x %lld", m->path, key,
            (long long)MO_GRAPH_LARGEST - 1, (long long)csr->rows, (long long)csr->columns);
        return false;
    }
    return true;
}

static bool check_pointers(const mo_npz_members *m, const char *key, const mo_npz_csr *csr) {
    const int64_t *p = csr->pointer;
    if (p[0] != 0) {
        mo_fail(m->ctx, MO_FORMAT, "%s: %s[0]: expected 0, found %lld", m->path, key, (long long)p[0]);
        return false;
    }
    for (int64_t i = 0; i < csr->rows; i++) {
        if (p[i + 1] < p[i]) {
            mo_fail(m->ctx, MO_FORMAT, "%s: %s[%lld]: expected at least the pointer before it, %lld, found %lld",
                m->path, key, (long long)i + 1, (long long)p[i], (long long)p[i + 1]);
            return false;
        }
    }
    if (p[csr->rows] != csr->nnz) {
        mo_fail(m->ctx, MO_FORMAT, "%s: %s[%lld]: expected the number of indices, %lld, found %lld", m->path, key,
            (long long)csr->rows, (long long)csr->nnz, (long long)p[csr->rows]);
        return false;
    }
    return true;
}

static bool check_columns(const mo_npz_members *m, const char *key, const mo_npz_csr *csr) {
    for (int64_t i = 0; i < csr->nnz; i++) {
        if (csr->column[i] < 0 || csr->column[i] >= csr->columns) {
            mo_fail(m->ctx, MO_FORMAT, "%s: %s[%lld]: expected a column in 0..%lld, found %lld", m->path, key,
                (long long)i, (long long)csr->columns - 1, (long long)csr->column[i]);
            return false;
        }
    }
    return true;
}

bool mo_npz_read_csr(const mo_npz_members *m, const char *prefix, mo_npz_csr *csr) {
    char key[64];
    int64_t count;
    *csr = (mo_npz_csr){0};
    snprintf(key, sizeof key, "%s_shape", prefix);
    if (!read_shape(m, key, csr))
        return false;
    snprintf(key, sizeof key, "%s_indices", prefix);
    csr->column = mo_npz_integers(m, key, -1, &csr->nnz);
    if (!csr->column || !check_columns(m, key, csr))
        return false;
    snprintf(key, sizeof key, "%s_indptr", prefix);
    csr->pointer = mo_npz_integers(m, key, csr->rows + 1, &count);
    if (!csr->pointer || !check_pointers(m, key, csr))
        return false;
    snprintf(key, sizeof key, "%s_data", prefix);
    if (mo_npz_has(m, key))
        csr->value = read_values(m, key, csr);
    return mo_ok(m->ctx);
}

void mo_npz_release_csr(mo_npz_csr *csr) {
    free(csr->pointer);
    free(csr->column);
    free(csr->value);
    *csr = (mo_npz_csr){0};
}

/* The number of classes is at most the number of examples. */
bool mo_npz_read_labels(const mo_npz_members *m, int64_t expected, mo_graph *graph) {
    graph->label = mo_npz_integers(m, "labels", expected, &graph->n_labels);
    for (int64_t i = 0; graph->label && i < graph->n_labels; i++) {
        int64_t label = graph->label[i];
        if (label >= graph->n_labels) {
            mo_fail(m->ctx, MO_FORMAT,
                "%s: labels[%lld]: expected a class in 0..%lld, or a negative number for none, found %lld", m->path,
                (long long)i, (long long)graph->n_labels - 1, (long long)label);
            return false;
        }
        graph->label[i] = label < 0 ? -1 : label;
        graph->classes = label >= graph->classes ? label + 1 : graph->classes;
    }
    return graph->label;
}
