/* tests/cli/test_cli_gin.c - `mochi gin`: trains, writes weights that embed and eval read, and prints the geometry that
 * `mochi pitfalls cone` measures on those embeddings. */
#include "program.h"

static const fixtures around_all = {program_create, program_release};

/* Trains a few steps on two small graphs. */
static void train_gin(program *p) {
    static char pool[1100], out[512];
    write_text(in_folder(p, "six.txt"), "0 1\n1 2\n0 2\n2 3\n3 4\n4 5\n");
    write_text(in_folder(p, "ring.txt"), "0 1\n1 2\n2 3\n3 4\n4 5\n5 6\n6 0\n");
    snprintf(pool, sizeof pool, "%s,%s", in_folder(p, "six.txt"), in_folder(p, "ring.txt"));
    snprintf(out, sizeof out, "%s", in_folder(p, "gin.safetensors"));
    RUN(p, "gin", "--pool", pool, "--dim", "3", "--steps", "6", "--json", "--out", out);
    assert_ended(p, 0, NULL);
    assert_int_equal(count_lines(p->out), 1 + 2 * 2);
    assert_string_equal(p->err, "");
}

TEST(the_geometry_is_that_of_the_embeddings) {
    program *p = *state;
    static const char *const figures[] = {
        "norm_correlation", "neighbour_cosine", "pair_cosine", "mean_cosine", "half_space", "mean_share"};
    static const char members[] =
        "kind,rows,columns,edges,zero_rows,isolated,norm_correlation,norm_ratio,neighbour_cosine,pair_cosine,"
        "mean_cosine,half_space,mean_share";
    train_gin(p);
    json_t *line = json_line(p, 1, "kind,data,nodes,edges,loss"), *told = json_line(p, 2, members);
    assert_int_equal(json_real_of(line, "nodes"), 6);
    assert_int_equal(json_real_of(line, "edges"), 6);
    assert_true(json_real_of(line, "loss") > 0);
    RUN(p, "embed", "--weights", in_folder(p, "gin.safetensors"), "--data", in_folder(p, "six.txt"), "--out",
        in_folder(p, "Z.npy"));
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "float32 [6, 3]"));
    RUN(p, "pitfalls", "cone", in_folder(p, "Z.npy"), in_folder(p, "six.txt"), "--json");
    assert_ended(p, 0, NULL);
    json_t *measured = json_line(p, 1, members);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        assert_float_equal(json_real_of(told, figures[i]), json_real_of(measured, figures[i]), 1e-12);
    json_decref(line);
    json_decref(told);
    json_decref(measured);
}

/* A column for the network, one for the same untrained, and the single hops, under each head; graphs as means. */
TEST(eval_has_a_column) {
    program *p = *state;
    static const char *const expected[] = {"gin", "random", "x0", "hop"};
    train_gin(p);
    RUN(p, "eval", "--weights", in_folder(p, "gin.safetensors"), "--data", "mutag", "--hop", "1", "--shots", "4",
        "--seeds", "2", "--head", "ridge,prototype_inner", "--json", "--quiet");
    assert_ended(p, 0, NULL);
    double mean[8];
    for (int i = 0; i < 8; i++) {
        json_t *cell = json_line(p, 2 + i,
            i % 4 == 3 ? "kind,data,task,protocol,features,head,hop,k,metric,mean,sd,ci95,n_test,values,seen,seeds"
                       : "kind,data,task,protocol,features,head,k,metric,mean,sd,ci95,n_test,values,seen,seeds");
        assert_string_equal(json_text_of(cell, "features"), expected[i % 4]);
        assert_string_equal(json_text_of(cell, "head"), i < 4 ? "ridge" : "prototype_inner");
        mean[i] = json_real_of(cell, "mean");
        json_decref(cell);
    }
    assert_true(mean[0] != mean[1] || mean[4] != mean[5]);
    RUN(p, "eval", "--weights", in_folder(p, "gin.safetensors"), "--data", "mutag", "--hop", "1", "--shots", "4",
        "--seeds", "2", "--quiet");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "gin - random, of pairs"));
    RUN(p, "embed", "--weights", in_folder(p, "gin.safetensors"), "--data", "mutag", "--out", in_folder(p, "M.npy"));
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "float32 [188, 3]"));
}

/* Beside other weights the column has no baselines of its own; links are also scored by inner products. */
TEST(eval_beside_others) {
    program *p = *state;
    static char list[600];
    train_gin(p);
    snprintf(list, sizeof list, "none,%s", in_folder(p, "gin.safetensors"));
    RUN(p, "eval", "--weights", list, "--dim", "8", "--data", "cora", "--task", "lp", "--head", "dot", "--hop", "1",
        "--seeds", "1", "--metric", "auc", "--json", "--quiet");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "\"features\":\"gin\",\"head\":\"dot\""));
    assert_null(strstr(p->out, "\"features\":\"random\""));
}

TEST(wrong_use_is_named) {
    program *p = *state;
    train_gin(p);
    const char *out = "/tmp/no-such-folder/gin.safetensors";
    RUN(p, "gin", "--pool", "cora:lp");
    assert_ended(p, 2, "--out FILE is missing");
    RUN(p, "gin", "--pool", "cora:nc", "--out", out);
    assert_ended(p, 2, "a graph whose links are learned");
    RUN(p, "gin", "--pool", "mutag", "--out", in_folder(p, "sets.safetensors"));
    assert_ended(p, 1, "mutag is a set of graphs");
    RUN(p, "gin", "--pool", in_folder(p, "six.txt"), "--dim", "3", "--steps", "1", "--quiet", "--out", out);
    assert_ended(p, 1, "no-such-folder");
    RUN(p, "eval", "--weights", in_folder(p, "gin.safetensors"), "--data", "mutag", "--features", "host", "--quiet");
    assert_ended(p, 1, "expected no --features or --memory");
    RUN(p, "embed", "--weights", in_folder(p, "gin.safetensors"), "--data", "mutag", "--memory", "1G", "--out",
        in_folder(p, "Z.npy"));
    assert_ended(p, 1, "expected no --memory");
    RUN(p, "predict", "--weights", in_folder(p, "gin.safetensors"), "--data", "mutag", "--labels", "/dev/null");
    assert_int_equal(p->code, 1);
}
