/* tests/train/fit/test_embeddings.c - rows and labels from tensors and files. */
#include "tests/labelled_rows.h"

#include <math.h>

static const fixtures around_all = {scratch_create, scratch_release};

TEST(labels_of_any_integers_become_classes) {
    scratch *s = *state;
    mo_embeddings *E = make(s, MO_F32, 1);
    assert_int_equal(E->graph->classes, C);
    static const int64_t rising[C] = {3, 7, 10}, class_of[C] = {2, 0, 1};
    for (int c = 0; c < C; c++) {
        assert_int_equal(E->value[c], rising[c]);
        assert_int_equal(E->count[c], N / C);
    }
    for (int i = 0; i < N; i++)
        assert_int_equal(E->graph->label[i], class_of[i % C]);
    mo_embeddings_release(E);
}

/* Z [5, 2] with the row numbers in it, a NaN in row 1. */
static mo_tensor *numbered_rows(scratch *s) {
    return mo_tensor_create_from(s->ctx, MO_F32, 2, (int64_t[]){5, 2}, (float[]){0, 1, NAN, 1, 2, 1, 3, 1, 4, 1});
}

TEST(negative_labels_leave_their_rows_out) {
    scratch *s = *state;
    const int64_t y8[5] = {7, -1, 9, -5, 7};
    const int32_t y4[5] = {7, -1, 9, INT32_MIN, 7};
    const double real[5] = {7, -1, 9, -2, 7};
    const float kept[6] = {0, 1, 2, 1, 4, 1};
    mo_tensor *Z = numbered_rows(s), *labels[] = {mo_tensor_create_from(s->ctx, MO_I64, 1, (int64_t[]){5}, y8),
                                         mo_tensor_create_from(s->ctx, MO_I32, 1, (int64_t[]){5}, y4),
                                         mo_tensor_create_from(s->ctx, MO_I64, 2, (int64_t[]){5, 1}, y8),
                                         mo_tensor_create_from(s->ctx, MO_F64, 1, (int64_t[]){5}, real)};
    for (int i = 0; i < 4; i++) {
        mo_embeddings *E = mo_embeddings_create(Z, labels[i], "Z");
        float z[6];
        assert_non_null(E);
        assert_int_equal(E->unlabelled, 2);
        assert_int_equal(E->graph->classes, 2);
        assert_int_equal(mo_dim(E->Z, 0), 3);
        mo_tensor_read(E->Z, z, sizeof z);
        assert_memory_equal(z, kept, sizeof z);
        for (int r = 0; r < 3; r++)
            assert_int_equal(E->row[r], 2 * r);
        assert_int_equal(E->value[0], 7);
        assert_int_equal(E->count[0], 2);
        mo_embeddings_release(E);
        mo_tensor_release(labels[i]);
    }
    const int64_t signs[5] = {1, -1, 1, -1, 1}, none[5] = {-1, -1, -1, -1, -1};
    mo_tensor *y = mo_tensor_create_from(s->ctx, MO_I64, 1, (int64_t[]){5}, signs);
    assert_null(mo_embeddings_create(Z, y, "Z"));
    assert_failed(s->ctx, MO_INVALID, PARTS("the one label 1", "2 of 5 labels are negative", "number classes from 0"));
    mo_tensor_release(y);
    y = mo_tensor_create_from(s->ctx, MO_I64, 1, (int64_t[]){5}, none);
    assert_null(mo_embeddings_create(Z, y, "Z"));
    assert_failed(s->ctx, MO_INVALID, PARTS("found none", "5 of 5 labels are negative"));
    mo_tensor_release(y);
    mo_tensor_release(Z);
}

/* Of a dtype without a sign no value is negative. */
TEST(the_label_255_is_a_class) {
    scratch *s = *state;
    mo_tensor *Z = mo_tensor_create_from(s->ctx, MO_I64, 2, (int64_t[]){3, 1}, (int64_t[]){1, 2, (1 << 24) + 1});
    mo_tensor *y = mo_tensor_create_from(s->ctx, MO_U8, 1, (int64_t[]){3}, (uint8_t[]){255, 0, 255});
    mo_embeddings *E = mo_embeddings_create(Z, y, "Z");
    assert_non_null(E);
    assert_int_equal(E->unlabelled, 0);
    assert_int_equal(E->value[1], 255);
    double z[3];
    assert_int_equal(E->given, MO_I64); /* rows of integers: float64, as float32 has no 2^24 + 1 */
    assert_int_equal(mo_tensor_dtype(E->Z), MO_F64);
    mo_tensor_read(E->Z, z, sizeof z);
    assert_true(z[2] == (1 << 24) + 1);
    mo_embeddings_release(E);
    mo_tensor_release(Z);
    mo_tensor_release(y);
}

/* Rows and labels as members of one archive, and rows of two other dtypes. */
TEST(members_of_an_archive_are_taken_by_name) {
    scratch *s = *state;
    char rows[600], labels[600];
    mo_arrays *arrays = mo_arrays_create(s->ctx);
    float z[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    mo_tensor *narrow = mo_tensor_create(s->ctx, MO_F16, 2, (int64_t[]){4, 2});
    mo_tensor *Z = mo_tensor_create_from(s->ctx, MO_F32, 2, (int64_t[]){4, 2}, z);
    mo_tensor_copy(narrow, Z);
    mo_tensor_release(Z);
    mo_arrays_take(arrays, "half", narrow);
    mo_arrays_take(arrays, "y", mo_tensor_create_from(s->ctx, MO_I32, 1, (int64_t[]){4}, (int32_t[]){5, 5, 1, 1}));
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

TEST(bad_input_names_what_is_wrong) {
    scratch *s = *state;
    mo_tensor *Z = mo_tensor_create_from(s->ctx, MO_F32, 2, (int64_t[]){3, 2}, (float[]){0, 1, 2, 3, NAN, 5});
    mo_tensor *fine = mo_tensor_create_from(s->ctx, MO_F32, 2, (int64_t[]){3, 2}, (float[]){0, 1, 2, 3, 4, 5});
    mo_tensor *y = mo_tensor_create_from(s->ctx, MO_I64, 1, (int64_t[]){3}, (int64_t[]){0, 1, 1});
    mo_tensor *same = mo_tensor_create_from(s->ctx, MO_I64, 1, (int64_t[]){3}, (int64_t[]){4, 4, 4});
    mo_tensor *part = mo_tensor_create_from(s->ctx, MO_F32, 1, (int64_t[]){3}, (float[]){0, 0.5f, 1});
    mo_tensor *two = mo_tensor_create_from(s->ctx, MO_I64, 1, (int64_t[]){2}, (int64_t[]){0, 1});
    assert_null(mo_embeddings_create(Z, y, "Z"));
    assert_failed(s->ctx, MO_INVALID, PARTS("Z:", "nan", "row 2, column 0"));
    assert_null(mo_embeddings_create(fine, two, "Z"));
    assert_failed(s->ctx, MO_INVALID, PARTS("each of 3 rows", "[2]", "transposed? rows are [n, d]"));
    assert_null(mo_embeddings_create(fine, fine, "Z"));
    assert_failed(s->ctx, MO_INVALID, PARTS("one label for each row", "[3, 2]"));
    assert_null(mo_embeddings_create(fine, part, "Z"));
    assert_failed(s->ctx, MO_INVALID, PARTS("whole numbers", "0.5 in row 1 of float32 labels", "-1 means unlabelled"));
    assert_null(mo_embeddings_create(y, y, "Z"));
    assert_failed(s->ctx, MO_INVALID, PARTS("rows [n, d]", "int64 [3]"));
    assert_null(mo_embeddings_create(fine, same, "Z"));
    assert_failed(s->ctx, MO_INVALID, PARTS("two classes", "label 4"));
    mo_tensor *all[] = {Z, fine, y, same, two, part};
    for (int i = 0; i < 6; i++)
        mo_tensor_release(all[i]);
}
