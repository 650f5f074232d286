/* tests/test_embeddings.c - rows and labels from tensors and files. */
#include "labelled_rows.h"

#include <math.h>

static void labels_of_any_integers_become_classes(void **state) {
    scratch *s = *state;
    mo_embeddings *E = make(s, MO_F32, 1);
    assert_int_equal(E->graph->classes, C);
    static const int64_t rising[C] = {-3, 7, 10}, class_of[C] = {2, 0, 1};
    for (int c = 0; c < C; c++) {
        assert_int_equal(E->value[c], rising[c]);
        assert_int_equal(E->count[c], N / C);
    }
    for (int i = 0; i < N; i++)
        assert_int_equal(E->graph->label[i], class_of[i % C]);
    mo_embeddings_release(E);
}

/* Rows and labels as members of one archive, and rows of two other dtypes. */
static void members_of_an_archive_are_taken_by_name(void **state) {
    scratch *s = *state;
    char rows[600], labels[600];
    mo_arrays *arrays = mo_arrays_create(s->ctx);
    float z[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    mo_tensor *narrow = mo_tensor_create(s->ctx, MO_F16, 2, (int64_t[]){4, 2});
    mo_tensor *Z = mo_tensor_from(s->ctx, MO_F32, 2, (int64_t[]){4, 2}, z);
    mo_tensor_copy(narrow, Z);
    mo_tensor_release(Z);
    mo_arrays_take(arrays, "half", narrow);
    mo_arrays_take(arrays, "y", mo_tensor_from(s->ctx, MO_I32, 1, (int64_t[]){4}, (int32_t[]){5, 5, -1, -1}));
    assert_int_equal(mo_npz_write(arrays, scratch_path(s, "a.npz")), MO_OK);
    mo_arrays_release(arrays);
    snprintf(rows, sizeof rows, "%s:half", s->path);
    snprintf(labels, sizeof labels, "%s:y", s->path);
    mo_embeddings *E = mo_embeddings_open(s->ctx, rows, labels);
    assert_non_null(E);
    assert_int_equal(mo_tensor_dtype(E->Z), MO_F32);
    float got[8];
    mo_tensor_read(E->Z, got, sizeof got);
    assert_memory_equal(got, z, sizeof z);
    mo_embeddings_release(E);
    assert_null(mo_embeddings_open(s->ctx, s->path, labels));
    assert_failed(s->ctx, MO_INVALID, PARTS("a.npz", "FILE:NAME", "half, y"));
    snprintf(rows, sizeof rows, "%s:other", s->path);
    assert_null(mo_embeddings_open(s->ctx, rows, labels));
    assert_failed(s->ctx, MO_INVALID, PARTS("named other", "half, y"));
    scratch_files(s, true);
}

static void bad_input_names_what_is_wrong(void **state) {
    scratch *s = *state;
    mo_tensor *Z = mo_tensor_from(s->ctx, MO_F32, 2, (int64_t[]){3, 2}, (float[]){0, 1, 2, 3, NAN, 5});
    mo_tensor *fine = mo_tensor_from(s->ctx, MO_F32, 2, (int64_t[]){3, 2}, (float[]){0, 1, 2, 3, 4, 5});
    mo_tensor *y = mo_tensor_from(s->ctx, MO_I64, 1, (int64_t[]){3}, (int64_t[]){0, 1, 1});
    mo_tensor *same = mo_tensor_from(s->ctx, MO_I64, 1, (int64_t[]){3}, (int64_t[]){4, 4, 4});
    mo_tensor *two = mo_tensor_from(s->ctx, MO_I64, 1, (int64_t[]){2}, (int64_t[]){0, 1});
    assert_null(mo_embeddings_create(Z, y, "Z"));
    assert_failed(s->ctx, MO_INVALID, PARTS("Z:", "nan", "row 2, column 0"));
    assert_null(mo_embeddings_create(fine, two, "Z"));
    assert_failed(s->ctx, MO_INVALID, PARTS("each of 3 rows", "[2]"));
    assert_null(mo_embeddings_create(fine, fine, "Z"));
    assert_failed(s->ctx, MO_INVALID, PARTS("integer", "float32"));
    assert_null(mo_embeddings_create(y, y, "Z"));
    assert_failed(s->ctx, MO_INVALID, PARTS("rows [n, d]", "int64 [3]"));
    assert_null(mo_embeddings_create(fine, same, "Z"));
    assert_failed(s->ctx, MO_INVALID, PARTS("two classes", "label 4"));
    mo_tensor *all[] = {Z, fine, y, same, two};
    for (int i = 0; i < 5; i++)
        mo_tensor_release(all[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_of_any_integers_become_classes),
        cmocka_unit_test(members_of_an_archive_are_taken_by_name),
        cmocka_unit_test(bad_input_names_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_release);
}
