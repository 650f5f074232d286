/* tests/cli/test_cli_average.c - several weights of one recipe as one column. */
#include "program.h"

#include <math.h>

static const fixtures around_all = {program_create, program_release};

/* Trains a few steps on mutag; returns the weights' path, kept by the caller. */
static void train(program *p, const char *name, const char *option, const char *value, char weights[512]) {
    char folder[512];
    snprintf(folder, sizeof folder, "%s", in_folder(p, name));
    RUN(p, "train", "--pool", "mutag", "--k", "2:4", "--q", "2:5", "--steps", "8", "--quiet", "--out", folder, option,
        value);
    assert_ended(p, 0, NULL);
    snprintf(weights, 512, "%.480s/weights.safetensors", folder);
}

TEST(the_average_is_that_of_each_episode) {
    program *p = *state;
    char a[512], b[512], list[1100];
    train(p, "a", "--seed", "0", a);
    train(p, "b", "--seed", "1", b);
    snprintf(list, sizeof list, "%s,%s", a, b);
    RUN(p, "eval", "--weights", list, "--average", "--data", "mutag", "--shots", "4", "--protocol", "episode",
        "--episodes", "6", "--transductive", "--json", "--quiet");
    assert_ended(p, 0, NULL);
    /* run, data; of the first weights trained, +T and three baselines; of the second two; the averages; pairs of the
     * nine columns */
    assert_int_equal(count_lines(p->out), 2 + 5 + 2 + 2 + 9 * 8 / 2);
    json_t *cell[3];
    const int line[] = {2, 7, 9};
    double means[2];
    for (int i = 0; i < 3; i++)
        cell[i] = json_line(p, line[i],
            i < 2
                ? "kind,data,task,protocol,features,head,k,metric,mean,sd,ci95,n_test,values,seen,experts,episodes"
                : "kind,data,task,protocol,features,head,k,metric,mean,sd,ci95,n_test,values,seen,episodes,weights,sd_"
                  "weights,means");
    assert_string_equal(json_text_of(cell[0], "features"), "best");
    assert_string_equal(json_text_of(cell[1], "features"), "best 2");
    assert_string_equal(json_text_of(cell[2], "features"), "average");
    assert_int_equal(json_real_of(cell[2], "weights"), 2);
    bool apart = false; /* printed to nine digits */
    for (size_t e = 0; e < 6; e++) {
        double x[3];
        for (int i = 0; i < 3; i++)
            x[i] = json_number_value(json_array_get(json_object_get(cell[i], "values"), e));
        assert_true(fabs((x[0] + x[1]) / 2 - x[2]) < 1e-6);
        apart |= x[0] != x[1];
    }
    assert_true(apart);
    for (int i = 0; i < 2; i++) {
        means[i] = json_real_of(cell[i], "mean");
        assert_true(json_number_value(json_array_get(json_object_get(cell[2], "means"), (size_t)i)) == means[i]);
    }
    assert_true(fabs(json_real_of(cell[2], "mean") - (means[0] + means[1]) / 2) < 1e-6);
    assert_true(fabs(json_real_of(cell[2], "sd_weights") - fabs(means[0] - means[1]) / sqrt(2)) < 1e-6);
    for (int i = 0; i < 3; i++)
        json_decref(cell[i]);
    assert_non_null(strstr(p->out, "\"features\":\"average+T\""));
    RUN(p, "eval", "--weights", list, "--average", "--data", "mutag", "--shots", "4", "--seeds", "2", "--quiet");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "     k      average†        random            x0           hop "));
    assert_non_null(strstr(p->out, "average† - random, of pairs: k = 4 "));
    assert_non_null(strstr(p->out, "average: the mean over 2 weights; ± is the standard deviation between them"));
}

/* Needs the weights of the test before. */
TEST(weights_of_several_recipes_have_no_average) {
    program *p = *state;
    char a[512], other[512], list[1100];
    snprintf(a, sizeof a, "%.480s/weights.safetensors", in_folder(p, "a"));
    train(p, "c", "--without", "waves", other);
    snprintf(list, sizeof list, "%s,%s", a, other);
    RUN(p, "eval", "--weights", list, "--average", "--data", "mutag", "--quiet");
    assert_ended(p, 1, "--average: expected weights of one recipe with equal settings, found others in ");
    train(p, "d", "--recipe", "paper", other);
    snprintf(list, sizeof list, "%s,%s", a, other);
    RUN(p, "eval", "--weights", list, "--average", "--data", "mutag", "--quiet");
    assert_ended(p, 1, "weights.safetensors of paper");
}
