/* train/fit/label_column.c - the labels of an array as numbers. */
#include "train/fit/label_column.h"
#include "tensor/hidden.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

void mo_label_column_release(mo_label_column *column) {
    for (int64_t i = 0; column->name && i < column->names; i++)
        free(column->name[i]);
    free(column->name);
    free(column->value);
    *column = (mo_label_column){0};
}

/* ---- numbers ---- */

/* Labels of a real dtype, which must be whole numbers: NumPy writes labels so if they came from a table of floats. */
static void read_whole_numbers(const mo_tensor *label, int64_t n, int64_t *value, const char *name) {
    mo_context *ctx = mo_tensor_context(label);
    mo_tensor *wide = mo_tensor_create(ctx, MO_F64, mo_ndim(label), (int64_t[]){n, 1});
    double *real = mo_host_array(ctx, n, sizeof *real);
    bool read =
        real && mo_tensor_copy(wide, label) == MO_OK && mo_tensor_read(wide, real, (size_t)n * sizeof *real) == MO_OK;
    for (int64_t i = 0; read && i < n && mo_ok(ctx); i++) {
        value[i] = fabs(real[i]) <= 0x1p53 ? (int64_t)real[i] : INT64_MIN;
        if ((double)value[i] != real[i])
            mo_fail(ctx, MO_INVALID,
                "%s: expected labels that are whole numbers, found %g in row %" PRId64
                " of %s labels (-1 means unlabelled)",
                name, real[i], i, mo_dtype_name(mo_tensor_dtype(label)));
    }
    free(real);
    mo_tensor_release(wide);
}

bool mo_label_column_of(const mo_tensor *label, const char *name, mo_label_column *column) {
    mo_context *ctx = mo_tensor_context(label);
    int64_t n = mo_numel(label);
    mo_dtype dtype = mo_tensor_dtype(label);
    char shape[64];
    *column = (mo_label_column){.n = n};
    if (mo_ndim(label) != 1 && (mo_ndim(label) != 2 || mo_dim(label, 1) != 1))
        mo_fail(ctx, MO_INVALID, "%s: expected one label for each row, [n] or [n, 1], found labels %s", name,
            mo_shape_string(label, shape, sizeof shape));
    column->value = mo_ok(ctx) ? mo_host_array(ctx, n, sizeof *column->value) : NULL;
    if (column->value && dtype != MO_I32 && dtype != MO_I64 && dtype != MO_U8) {
        read_whole_numbers(label, n, column->value, name);
    } else if (column->value) {
        mo_tensor *wide = mo_tensor_create(ctx, MO_I64, mo_ndim(label), (int64_t[]){n, 1});
        if (mo_tensor_copy(wide, label) == MO_OK)
            mo_tensor_read(wide, column->value, (size_t)n * sizeof *column->value);
        mo_tensor_release(wide);
    }
    return mo_ok(ctx);
}
