/* tests/cli/test_cli_hull.c - `mochi pitfalls hull Z y`: the hull of the prototypes of a user's embeddings. */
#include "tests/cli/program.h"

#include <math.h>

static const fixtures around_all = {program_create, program_release};

static void write_file(const program *p, const char *name, const void *data, size_t bytes, const char *header) {
    FILE *file = fopen(in_folder(p, name), "wb");
    assert_non_null(file);
    fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, file); /* 118 bytes of header */
    fprintf(file, "%-117s\n", header);
    fwrite(data, 1, bytes, file);
    fclose(file);
}

/* Four classes at the corners of a square, a fifth in its middle: inside, and flagged. */
TEST(a_prototype_in_the_middle_of_others_is_inside_and_flagged) {
    program *p = *state;
    static const double place[5][2] = {{1, 1}, {-1, 1}, {-1, -1}, {1, -1}, {0.1, 0.2}};
    double Z[20][2];
    int64_t y[20];
    for (int i = 0; i < 20; i++) {
        y[i] = i % 5;
        for (int k = 0; k < 2; k++)
            Z[i][k] = place[i % 5][k] + (i / 5 - 1.5) * 0.01;
    }
    write_file(p, "Z.npy", Z, sizeof Z, "{'descr': '<f8', 'fortran_order': False, 'shape': (20, 2), }");
    write_file(p, "y.npy", y, sizeof y, "{'descr': '<i8', 'fortran_order': False, 'shape': (20,), }");
    RUN(p, "pitfalls", "hull", in_folder(p, "Z.npy"), in_folder(p, "y.npy"), "--json");
    assert_ended(p, 0, NULL);
    assert_int_equal(count_lines(p->out), 1 + 1 + 5);
    for (int c = 0; c < 5; c++) {
        json_t *o = json_line(p, 2 + c,
            "diagnosis,class,rows,norm,hull_distance,hull_distance_normalised,inside,epsilon_included,outer,flagged,"
            "plane");
        assert_int_equal(json_is_true(json_object_get(o, "inside")), c == 4);
        assert_int_equal(json_is_true(json_object_get(o, "flagged")), c == 4);
        assert_int_equal(json_is_true(json_object_get(o, "outer")), c != 4);
        const json_t *plane = json_object_get(o, "plane");
        double x = json_number_value(json_array_get(plane, 0)), v = json_number_value(json_array_get(plane, 1));
        /* the plane is the data's, about the mean of the prototypes */
        double expected = hypot(place[c][0] - 0.02, place[c][1] - 0.04);
        assert_true(fabs(hypot(x, v) - expected) < 1e-6);
        json_decref(o);
    }
    RUN(p, "pitfalls", "hull", in_folder(p, "Z.npy"), in_folder(p, "y.npy"));
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "INSIDE flagged"));
    /* Without its labels the class in the middle does not exist. */
    for (int i = 4; i < 20; i += 5)
        y[i] = -1;
    write_file(p, "four.npy", y, sizeof y, "{'descr': '<i8', 'fortran_order': False, 'shape': (20,), }");
    RUN(p, "pitfalls", "hull", in_folder(p, "Z.npy"), in_folder(p, "four.npy"), "--json");
    assert_ended(p, 0, NULL);
    assert_int_equal(count_lines(p->out), 1 + 1 + 4);
    json_t *run = json_line(p, 0, "kind,format,command,versions,blas_core,unlabelled");
    assert_int_equal(json_real_of(run, "unlabelled"), 4);
    json_decref(run);
    RUN(p, "pitfalls", "hull", in_folder(p, "Z.npy"), in_folder(p, "four.npy"));
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "4 of 20 rows are unlabelled and left out\n"));
    assert_null(strstr(p->out, "INSIDE"));
}
