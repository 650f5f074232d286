/* tests/models/test_invariance.c - no logit of the invariant encoder depends on which of several valid SVDs is used. */
#include "tests/models/drawn_episode.h"

/* ---- another valid SVD: the cached basis times an orthogonal matrix for each group of equal singular values ---- */

/* Multiplies columns first .. first + g - 1 of B [n, d] by a random orthogonal matrix. */
static void rotate_columns(mo_tape *t, float *B, int64_t n, int64_t d, int64_t first, int64_t g, mo_random *r) {
    HELD_MEMORY double *x = calloc((size_t)(g * g), sizeof *x), *q = calloc((size_t)(g * g), sizeof *q);
    mo_tensor *Q, *R;
    for (int64_t i = 0; i < g * g; i++)
        x[i] = mo_random_normal(r);
    mo_qr(t, mo_from(t, MO_F64, 2, (int64_t[]){g, g}, x), &Q, &R);
    assert_int_equal(mo_tensor_read(Q, q, (size_t)(g * g) * sizeof *q), MO_OK);
    double sign = mo_random_uniform(r) < 0.5 ? -1 : 1;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < g; j++) {
            x[j] = 0;
            for (int64_t k = 0; k < g; k++)
                x[j] += B[i * d + first + k] * q[k * g + j];
        }
        for (int64_t j = 0; j < g; j++)
            B[i * d + first + j] = (float)(sign * x[j]);
    }
    mo_tape_reset(t);
}

/* Rotates the columns of each group in a cached file. Singular values whose logarithms differ by less than `equal` form
 * a group. Returns the number of columns in groups of two or more. */
static int64_t rotate_file(mo_context *ctx, const char *path, double equal) {
    HELD(mo_arrays) *kept = mo_safetensors_read(ctx, path);
    assert_non_null(kept);
    mo_tensor *basis = mo_arrays_find(kept, "basis"), *spectrum = mo_arrays_find(kept, "spectrum");
    int64_t n = mo_dim(basis, 1), d = mo_dim(basis, 2), shared = 0;
    float *B = mo_tensor_view(basis).data, *l = mo_tensor_view(spectrum).data;
    mo_random r = mo_random_at(5, MO_PURPOSE_CHECK, 9);
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    for (int b = 0; b < 2; b++)
        for (int64_t first = 0, stop; first < d; first = stop) {
            for (stop = first + 1; stop < d && fabs(l[b * d + stop] - l[b * d + stop - 1]) < equal; stop++)
                ;
            rotate_columns(t, B + b * n * d, n, d, first, stop - first, &r);
            shared += stop - first > 1 && l[b * d + first] > -10 ? stop - first : 0;
        }
    assert_int_equal(mo_safetensors_write(kept, kept->metadata, path), MO_OK);
    return shared;
}

/* Returns the largest change of a logit when the cached bases are rotated within the groups of rotate_file. */
static double largest_change(scratch *s, double equal) {
    static double before[MOST], after[MOST];
    char path[600];
    const char *folder = scratch_folder(s, "bases");
    HELD(mo_model) *model = moved_model(s->ctx, MO_F64);
    HELD(mo_pool) *pool = pool_of_copies(s->ctx, folder);
    int64_t n = logits_of(pool, model, before), most = 0;
    mo_pool_release(pool);
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    for (struct dirent *entry; (entry = readdir(listing));)
        if (strstr(entry->d_name, ".safetensors")) {
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            int64_t shared = rotate_file(s->ctx, path, equal);
            assert_true(shared >= 5); /* holding out links breaks the symmetry of the copies, but not the five equal
                                       * values of the attributes */
            most = shared > most ? shared : most;
        }
    closedir(listing);
    assert_true(most > 40);
    pool = pool_of_copies(s->ctx, folder);
    for (int i = 0; i < mo_pool_size(pool); i++)
        assert_true(mo_pool_source(pool, i)->features->from_cache);
    assert_int_equal(logits_of(pool, model, after), n);
    return change_of(before, after, n);
}

TEST_OF(another_valid_svd_changes_no_logit, scratch *s) {
    double change = largest_change(s, 1e-5);
    if (change > 1e-5)
        fail_msg("a logit moved by %g", change);
}

/* Shows that the test above can fail: rotations that mix unequal singular values do change logits. */
TEST_OF(a_rotation_between_unequal_singular_values_changes_logits, scratch *s) {
    assert_true(largest_change(s, 0.5) > 1e-3);
}
