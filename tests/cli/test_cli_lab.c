/* tests/cli/test_cli_lab.c - mochi lab: the table of each method's cost. */
#include "tests/cli/program.h"

static const fixtures around_all = {program_create, program_release};

static const char members[] = "problem,method,iterations,error,ms,peak_bytes";
static const char *const methods[] = {"analytic", "unrolled", "implicit", "neumann"};

/* Figures of one method at the smallest and the largest number of iterations. */
typedef struct ends {
    double first_error, last_error, first_bytes, last_bytes;
} ends;

static ends run_lab(program *p, const char *problem, const char *method) {
    RUN(p, "lab", "adjoint", "--problem", problem, "--method", method, "--iterations", "10,100,1000", "--runs", "1",
        "--json");
    assert_ended(p, 0, NULL);
    assert_int_equal(count_lines(p->out), 3);
    json_t *first = json_line(p, 0, members), *last = json_line(p, 2, members);
    assert_string_equal(json_text_of(first, "method"), method);
    assert_string_equal(json_text_of(last, "problem"), problem);
    assert_int_equal(json_real_of(last, "iterations"), 1000);
    ends e = {json_real_of(first, "error"), json_real_of(last, "error"), json_real_of(first, "peak_bytes"),
        json_real_of(last, "peak_bytes")};
    json_decref(first);
    json_decref(last);
    return e;
}

/* 1e-9: the error of the differences is about 1e-11. */
TEST(all_gradients_become_exact_and_only_unrolled_memory_grows) {
    const char *const problems[] = {"ridge", "logistic", "root"};
    for (int i = 0; i < 3; i++)
        for (int m = 0; m < 4; m++) {
            ends e = run_lab(*state, problems[i], methods[m]);
            bool unrolled = m == 1;
            if (!(e.last_error < 1e-9) || (m && !(e.first_error > 1e-4)))
                fail_msg("%s, %s: error %g, then %g", problems[i], methods[m], e.first_error, e.last_error);
            if (unrolled ? e.last_bytes < 30 * e.first_bytes : e.last_bytes != e.first_bytes)
                fail_msg("%s, %s: %g bytes, then %g", problems[i], methods[m], e.first_bytes, e.last_bytes);
        }
}

TEST(the_table_has_a_row_a_method_and_number) {
    program *p = *state;
    RUN(p, "lab", "adjoint", "--iterations", "5,50", "--runs", "1", "--seed", "3");
    assert_ended(p, 0, NULL);
    assert_int_equal(count_lines(p->out), 4 + 4 * 2);
    assert_non_null(strstr(p->out, "method    iterations      error    tape KiB         ms\n"));
    for (int m = 0; m < 4; m++)
        assert_non_null(strstr(p->out, methods[m]));
}

TEST(what_cannot_be_done_is_one_line) {
    program *p = *state;
    RUN(p, "lab");
    assert_ended(p, 2, "expected an experiment: mochi lab adjoint");
    RUN(p, "lab", "adjoint", "twice");
    assert_ended(p, 2, "'twice': expected one experiment");
    RUN(p, "lab", "primal");
    assert_ended(p, 2, "'primal'");
    RUN(p, "lab", "adjoint", "--problem", "svm");
    assert_ended(p, 2, "'svm'");
    RUN(p, "lab", "adjoint", "--method", "implicit,magic");
    assert_ended(p, 2, "'magic'");
    RUN(p, "lab", "adjoint", "--iterations", "10,5");
    assert_ended(p, 2, "rising numbers");
    RUN(p, "lab", "adjoint", "--iterations", "0");
    assert_ended(p, 2, "--iterations");
}
