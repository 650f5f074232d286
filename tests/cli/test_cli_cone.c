/* tests/cli/test_cli_cone.c - `mochi pitfalls cone Z GRAPH`: figures of embeddings whose geometry is known. */
#include "tests/embedding_files.h"

#include <math.h>

static const fixtures around_all = {program_create, program_release};

/* A path 0 - 1 - 2 - 3, degrees 1, 2, 2, 1. */
static void write_path(const program *p) {
    write_text(in_folder(p, "path.txt"), "0 1\n1 2\n2 3\n");
}

static json_t *figures_of(program *p, const double Z[4][2]) {
    write_npy(p, "Z.npy", "<f8", "(4, 2)", Z, 4 * 2 * sizeof(double));
    RUN(p, "pitfalls", "cone", in_folder(p, "Z.npy"), in_folder(p, "path.txt"), "--json");
    assert_ended(p, 0, NULL);
    return json_line(p, 1,
        "kind,rows,columns,edges,zero_rows,isolated,norm_correlation,norm_ratio,neighbour_cosine,pair_cosine,"
        "mean_cosine,half_space,mean_share");
}

/* Norms are 3 sqrt(degree), all rows on one ray: correlation 1, ratio 3, every cosine 1. */
TEST(rows_on_a_ray_with_norms_of_roots_of_degrees) {
    program *p = *state;
    double a = 3, b = 3 * sqrt(2);
    write_path(p);
    json_t *o = figures_of(p, (const double[4][2]){{0, a}, {0, b}, {0, b}, {0, a}});
    static const char *const ones[] = {
        "norm_correlation", "neighbour_cosine", "pair_cosine", "mean_cosine", "half_space"};
    for (int i = 0; i < 5; i++)
        assert_float_equal(json_real_of(o, ones[i]), 1, 1e-12);
    for (int q = 0; q < 3; q++)
        assert_float_equal(json_number_value(json_array_get(json_object_get(o, "norm_ratio"), (size_t)q)), 3, 1e-12);
    assert_float_equal(json_real_of(o, "mean_share"), (a + b) / 2 / sqrt((a * a + b * b) / 2), 1e-12);
    assert_int_equal(json_real_of(o, "edges"), 3);
    json_decref(o);
}

/* Neighbours are at right angles, rows two apart opposite: cosines of pairs are 0 but of two, which are -1; a mean row
 * of (0.25, 0) has one row on its side, and one on the other. */
TEST(rows_about_the_origin_are_in_no_cone) {
    program *p = *state;
    write_path(p);
    json_t *o = figures_of(p, (const double[4][2]){{2, 0}, {0, 1}, {-1, 0}, {0, -1}});
    assert_float_equal(json_real_of(o, "neighbour_cosine"), 0, 1e-12);
    assert_float_equal(json_real_of(o, "pair_cosine"), -2.0 / 6, 1e-12);
    assert_float_equal(json_real_of(o, "mean_cosine"), 0, 1e-12);
    assert_float_equal(json_real_of(o, "half_space"), 0.25, 1e-12);
    assert_float_equal(json_real_of(o, "mean_share"), 0.25 / sqrt(7.0 / 4), 1e-12);
    assert_float_equal(json_real_of(o, "norm_correlation"), -1 / sqrt(3), 1e-12);
    json_decref(o);
    o = figures_of(p, (const double[4][2]){{0, 0}, {1, 0}, {1, 0}, {0, 0}}); /* one edge is left of the three */
    assert_int_equal(json_real_of(o, "zero_rows"), 2);
    assert_float_equal(json_real_of(o, "neighbour_cosine"), 1, 1e-12);
    json_decref(o);
}

TEST(rows_that_are_not_the_graphs_are_refused) {
    program *p = *state;
    static const double Z[10] = {1, 2, NAN, 4, 5, 6, 7, 8};
    write_path(p);
    write_npy(p, "five.npy", "<f8", "(5, 2)", Z, sizeof Z);
    RUN(p, "pitfalls", "cone", in_folder(p, "five.npy"), in_folder(p, "path.txt"));
    assert_ended(p, 1, "a row for each node of");
    write_npy(p, "nan.npy", "<f8", "(4, 2)", Z, 8 * sizeof *Z);
    RUN(p, "pitfalls", "cone", in_folder(p, "nan.npy"), in_folder(p, "path.txt"));
    assert_ended(p, 1, "row 1 of the embeddings is not finite");
    RUN(p, "pitfalls", "cone", in_folder(p, "nan.npy"));
    assert_ended(p, 2, "Z and GRAPH");
    RUN(p, "pitfalls", "cone");
    assert_ended(p, 2, "Z and GRAPH");
    RUN(p, "pitfalls", "cone", in_folder(p, "nan.npy"), in_folder(p, "path.txt"), "--epsilon", "1");
    assert_ended(p, 2, "epsilon");
}
