/* tests/cli/test_cli_predict.c - `mochi predict`: labels as tables and arrays, predictions by suffix, and every
 * complaint about labels with its line. */
#include "tests/cli/program.h"

#include <dirent.h>

static const fixtures around_all = {program_create, program_release};

/* Entries of a folder, but for . and .. */
static int folder_count(const char *path) {
    DIR *folder = opendir(path);
    int n = 0;
    assert_non_null(folder);
    while (readdir(folder))
        n++;
    closedir(folder);
    return n - 2;
}

/* Nodes of Cora, two of each class. */
static const char seeds[] = "node,label\n0,3\n1,4\n2,4\n3,0\n4,3\n5,2\n6,2\n9,3\n18,1\n19,6\n16,5\n34,1\n7,0\n";

TEST(predicts_every_node_without_a_label) {
    program *p = *state;
    static char csv[MAX_TEXT], again[MAX_TEXT];
    write_text(in_folder(p, "seeds.csv"), seeds);
    RUN(p, "predict", "--data", "cora", "--labels", in_folder(p, "seeds.csv"), "--out", in_folder(p, "a.csv"),
        "--threads", "1");
    assert_ended(p, 0, NULL);
    assert_string_equal(p->out, "");
    assert_non_null(strstr(p->err, "13 labels of 7 classes, 1 to 3 per class\n"));
    assert_non_null(strstr(p->err, "2 of the classes have one label"));
    assert_non_null(strstr(p->err, "from 11 labels left out in turn\n"));
    assert_non_null(strstr(p->err, "2695 predictions\n"));
    read_text(in_folder(p, "a.csv"), csv);
    assert_int_equal(count_lines(csv), 1 + 2708 - 13);
    assert_memory_equal(csv, "node,label,probability,margin\n8,", 32);
    /* Any number of threads, and names that are text: the same bytes. */
    RUN(p, "predict", "--data", "cora", "--labels", in_folder(p, "seeds.csv"), "--quiet", "--threads", "2");
    assert_ended(p, 0, NULL);
    assert_string_equal(p->err, "");
    assert_string_equal(p->out, csv);
    RUN(p, "predict", "--data", "cora", "--labels", in_folder(p, "seeds.csv"), "--out", in_folder(p, "b.csv"),
        "--quiet", "--min-confidence", "1");
    read_text(in_folder(p, "b.csv"), again);
    assert_non_null(strstr(again, "\n8,,0."));
}

/* Confidences are wrong below 4 labels of a class: the summary says so, and no more from there on. */
TEST(says_where_probabilities_are_rough) {
    program *p = *state;
    for (int k = 1; k < 6; k++)
        for (int fewer = 0; fewer < 2; fewer++) {
            char labels[400] = "graph,kind\n"; /* of class b one fewer */
            for (int i = 0; i < 2 * k - fewer; i++)
                sprintf(labels + strlen(labels), "%d,%c\n", i, i < k ? 'a' : 'b');
            if (k == 1 && fewer)
                continue;
            write_text(in_folder(p, "k.csv"), labels);
            RUN(p, "predict", "--data", "mutag", "--labels", in_folder(p, "k.csv"), "--out", in_folder(p, "k.out.csv"));
            assert_ended(p, 0, NULL);
            bool said = strstr(p->err, "\nprobabilities are rough below 4 labels of a class: over 25 graphs");
            assert_int_equal(said, k - fewer < 4);
            assert_null(strstr(p->err, "two hops away alone")); /* of nodes alone */
        }
    RUN(p, "predict", "--data", "mutag", "--labels", in_folder(p, "k.csv"), "--out", in_folder(p, "k.out.csv"),
        "--quiet");
    assert_string_equal(p->err, "");
}

TEST(writes_by_the_suffix) {
    program *p = *state;
    static char text[MAX_TEXT];
    write_text(in_folder(p, "seeds.tsv"), "graph\tkind\n0\t\"a, b\"\n1\tb\n2\tb\n3\t\"a, b\"\n0\t\"a, b\"\n");
    RUN(p, "predict", "--data", "mutag", "--labels", in_folder(p, "seeds.tsv"), "--out", in_folder(p, "p.tsv"),
        "--probabilities");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->err, "4 labels of 2 classes, 2 per class\n"));
    read_text(in_folder(p, "p.tsv"), text);
    assert_memory_equal(text, "graph\tlabel\tprobability\tmargin\t\"a, b\"\tb\n4\t", 42);
    RUN(p, "predict", "--data", "mutag", "--labels", in_folder(p, "seeds.tsv"), "--out", in_folder(p, "p.jsonl"),
        "--probabilities", "--head", "logistic", "--quiet");
    assert_ended(p, 0, NULL);
    read_text(in_folder(p, "p.jsonl"), text);
    assert_int_equal(count_lines(text), 188 - 4);
    *strchr(text, '\n') = '\0';
    json_t *line = json_loads(text, 0, NULL);
    assert_int_equal(json_integer_value(json_object_get(line, "graph")), 4);
    const json_t *all = json_object_get(line, "probabilities");
    double sum = json_number_value(json_object_get(all, "a, b")) + json_number_value(json_object_get(all, "b"));
    assert_true(sum > 1 - 1e-6 && sum < 1 + 1e-6);
    json_decref(line);
    /* An array in, an array out. */
    RUN(p, "embed", "--data", "mutag", "--weights", "none", "--out", in_folder(p, "Z.npy"), "--labels",
        in_folder(p, "y.npy"), "--quiet");
    RUN(p, "predict", "--data", "mutag", "--labels", in_folder(p, "y.npy"), "--out", in_folder(p, "all.npy"));
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->err, "188 labels of 2 classes"));
    RUN(p, "predict", "--data", "mutag", "--known", in_folder(p, "y.npy"), "--out", in_folder(p, "q.csv"));
    assert_ended(p, 1, "labels of 1 classes, expected 2 or more"); /* the mask is 0 where the label is 0 */
}

TEST(refuses_bad_labels_with_their_line) {
    program *p = *state;
    static const char *const bad[][2] = {
        {"", "found no label"},
        {"node,label\n", "found no label"},
        {"node,label\n0,a\n1,b,c\n", ":3: expected 2 columns, example and class, found 3"},
        {"node,label\n0,a\nx7,b\n", ":3: expected the number of one of 2708 nodes, from 0, found 'x7'"},
        {"node,label\n0,a\n2708,b\n", ":3: expected the number of one of 2708 nodes, from 0, found '2708'"},
        {"node,label\n0,\n1,\n", "bad.csv: expected lines of example and class, found no label"},
        {"node,label\n0,0.5\n1,0.25\n", ":2: expected a class, as real numbers are no classes, found '0.5'"},
        {"node,label\n0,a\n1,b\n0,b\n", ":4: example 0 is of class 'b', and of 'a' in line 2"},
        {"node,label\n0,a\n1,a\n", "labels of 1 classes, expected 2 or more"},
        {"node,label\n0,\"a\n", ""},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_text(in_folder(p, "bad.csv"), bad[i][0]);
        RUN(p, "predict", "--data", "cora", "--labels", in_folder(p, "bad.csv"), "--out", in_folder(p, "none.csv"));
        assert_ended(p, 1, bad[i][1]);
        assert_int_not_equal(access(in_folder(p, "none.csv"), F_OK), 0);
    }
    RUN(p, "predict", "--data", "cora", "--labels", "/nowhere/seeds.csv");
    assert_ended(p, 1, "/nowhere/seeds.csv: cannot open: No such file");
    RUN(p, "predict", "--data", "cora");
    assert_ended(p, 2, "expected one of --labels FILE, --known MASK.npy and --readout FILE");
    RUN(p, "predict", "--labels", "x.csv");
    assert_ended(p, 2, "--data NAME is missing");
    write_text(in_folder(p, "seeds.csv"), seeds);
    RUN(p, "predict", "--data", "cora", "--task", "lp", "--labels", in_folder(p, "seeds.csv"));
    assert_ended(p, 2, "--task lp needs --pairs FILE");
    RUN(p, "predict", "--data", "cora", "--task", "gc", "--labels", in_folder(p, "seeds.csv"));
    assert_ended(p, 1, "expected labels of nodes");
    run_program_to(p, "/dev/full",
        (const char *const[]){"predict", "--data", "cora", "--quiet", "--labels", in_folder(p, "seeds.csv"), NULL});
    assert_int_equal(p->code, 1);
}

TEST(a_kept_readout_gives_the_same_bytes) {
    program *p = *state;
    static char csv[MAX_TEXT];
    write_text(in_folder(p, "two.csv"), "graph,kind\n0,yes\n1,no\n2,no\n3,yes\n");
    RUN(p, "predict", "--data", "mutag", "--labels", in_folder(p, "two.csv"), "--lambda", "0.5");
    assert_ended(p, 1, "the readout of these weights has none"); /* a penalty is not ignored */
    RUN(p, "predict", "--data", "mutag", "--labels", in_folder(p, "two.csv"), "--head", "logistic", "--lambda", "0.5",
        "--save", in_folder(p, "r.safetensors"), "--quiet");
    assert_ended(p, 0, NULL);
    snprintf(csv, sizeof csv, "%s", p->out);
    RUN(p, "predict", "--data", "mutag", "--readout", in_folder(p, "r.safetensors"), "--quiet");
    assert_ended(p, 0, NULL);
    assert_string_equal(p->out, csv);
    RUN(p, "predict", "--data", "cora", "--readout", in_folder(p, "r.safetensors"));
    assert_ended(p, 1, "of other data than cora");
    RUN(p, "predict", "--data", "mutag", "--readout", in_folder(p, "r.safetensors"), "--head", "ridge");
    assert_ended(p, 2, "--head: a kept readout has its own");
    RUN(p, "predict", "--data", "mutag", "--readout", "train/data/best.safetensors");
    assert_ended(p, 1, "expected a file of `mochi predict --save`, found mochi weights");
    static const char header[] = "{\"__metadata__\":{\"format\":\"mochi readout\"}}     ";
    const uint64_t bytes = sizeof header - 1;
    FILE *old = fopen(in_folder(p, "old.safetensors"), "wb");
    assert_true(fwrite(&bytes, sizeof bytes, 1, old) == 1 && fwrite(header, bytes, 1, old) == 1);
    fclose(old);
    RUN(p, "predict", "--data", "mutag", "--readout", in_folder(p, "old.safetensors"));
    assert_ended(p, 1, "old.safetensors: kept by an older version");
    write_text(in_folder(p, "empty"), "");
    RUN(p, "predict", "--data", "mutag", "--readout", in_folder(p, "empty"));
    assert_ended(p, 1, "empty");
}

/* The number behind the first `key` of a text. */
static double number_after(const char *text, const char *key) {
    const char *at = strstr(text, key);
    assert_non_null(at);
    return strtod(at + strlen(key), NULL);
}

/* Support and test of an evaluation, as files: predictions from the one are as right on the other as the evaluation
 * says. */
TEST(predicts_what_an_evaluation_measures) {
    program *p = *state;
    static const char *const data[][2] = {{"cora", "node"}, {"mutag", "graph"}};
    static char test[MAX_TEXT], csv[MAX_TEXT];
    for (int i = 0; i < 4; i++) {
        const char *const *set = data[i % 2], *task = i % 2 ? "gc" : "nc";
        bool transductive = i > 1;
        char name[64];
        RUN(p, "eval", "--weights", "best", "--data", set[0], "--task", task, "--shots", "4", "--seeds", "2", "--draws",
            in_folder(p, "draws"), "--json", "--quiet", transductive ? "--transductive" : "--json");
        assert_ended(p, 0, NULL);
        const char *row = strstr(p->out, transductive ? "\"trained+T\"" : "\"trained\"");
        double measured = number_after(strstr(row, "\"values\":["), "\"values\":[");
        snprintf(name, sizeof name, "draws/%s-%s-4-0.support.csv", set[0], task);
        RUN(p, "predict", "--data", set[0], "--labels", in_folder(p, name), "--quiet",
            transductive ? "--transductive" : "--quiet");
        assert_ended(p, 0, NULL);
        snprintf(csv, sizeof csv, "%s", p->out);
        snprintf(name, sizeof name, "draws/%s-%s-4-0.test.csv", set[0], task);
        read_text(in_folder(p, name), test);
        int n = 0, right = 0;
        for (char *line = strchr(test, '\n'); line && line[1]; line = strchr(line + 1, '\n'), n++) {
            char begins[64];
            int id, label;
            assert_int_equal(sscanf(line, "\n%d,%d", &id, &label), 2);
            snprintf(begins, sizeof begins, "\n%d,%d,", id, label);
            right += strstr(csv, begins) != NULL;
        }
        assert_true(n > 10);
        assert_true(measured - 100.0 * right / n < 1e-6 && 100.0 * right / n - measured < 1e-6);
    }
}

/* The class of a node of Cora in the tables of one draw; -1 if it is in none. */
static int drawn_class(const program *p, int episode, int node) {
    static char text[MAX_TEXT];
    for (int part = 0; part < 2; part++) {
        char name[64], begins[32];
        snprintf(name, sizeof name, "own/cora-nc-4-%d.%s.csv", episode, part ? "test" : "support");
        read_text(in_folder(p, name), text);
        snprintf(begins, sizeof begins, "\n%d,", node);
        const char *line = strstr(text, begins);
        if (line)
            return atoi(line + strlen(begins));
    }
    return -1;
}

/* An episode numbers its classes anew; what it writes are the classes of the data: a node has one class in all
 * episodes, and the data's own classes are those predicted from it, more often than not. */
TEST(episodes_are_drawn_with_the_classes_of_the_data) {
    program *p = *state;
    RUN(p, "eval", "--weights", "none", "--dim", "8", "--hop", "1", "--data", "cora", "--task", "nc", "--protocol",
        "episode", "--episodes", "6", "--shots", "4", "--queries", "60", "--draws", in_folder(p, "own"), "--quiet");
    assert_ended(p, 0, NULL);
    int shared = 0;
    for (int node = 0; node < 2708; node += 7) {
        int first = -1;
        for (int episode = 0; episode < 6; episode++) {
            int class = drawn_class(p, episode, node);
            shared += first >= 0 && class >= 0;
            assert_true(first < 0 || class < 0 || class == first);
            first = first < 0 ? class : first;
        }
    }
    assert_true(shared > 100);
    RUN(p, "predict", "--data", "cora", "--labels", in_folder(p, "own/cora-nc-4-1.support.csv"));
    assert_int_equal(p->code, 0);
    const char *right = strstr(p->err, "are as predicted: ");
    assert_non_null(right);
    assert_true(atof(right + strlen("are as predicted: ")) > 50);
}

/* Share of the pairs of a link and a non-link whose link has the higher score, in percent; linked: from,to,linked. */
static double area_of(const char *linked, const char *scores) {
    static double score[2][MAX_TEXT / 16];
    int n[2] = {0, 0};
    double above = 0;
    const char *test = strchr(linked, '\n'), *line = strchr(scores, '\n');
    for (; test[1]; test = strchr(test + 1, '\n'), line = strchr(line + 1, '\n')) {
        int u, v, from, to;
        char yes[8];
        double x;
        assert_int_equal(sscanf(test, "\n%d,%d,%7[a-z]", &u, &v, yes), 3);
        assert_int_equal(sscanf(line, "\n%d,%d,%lf,no\n", &from, &to, &x), 3);
        assert_true(u == from && v == to);
        int side = !strcmp(yes, "yes");
        score[side][n[side]++] = x;
    }
    for (int i = 0; i < n[1]; i++)
        for (int j = 0; j < n[0]; j++)
            above += (score[1][i] > score[0][j]) + 0.5 * (score[1][i] == score[0][j]);
    return 100 * above / n[0] / n[1];
}

TEST(links_score_as_an_evaluation_measures) {
    program *p = *state;
    static char test[MAX_TEXT], csv[MAX_TEXT];
    RUN(p, "eval", "--weights", "best", "--data", "cora", "--task", "lp", "--shots", "16", "--seeds", "1", "--metric",
        "auc", "--draws", in_folder(p, "links"), "--json", "--quiet");
    assert_ended(p, 0, NULL);
    double measured = number_after(strstr(p->out, "\"trained\""), "\"values\":[");
    char graph[1024];
    snprintf(graph, sizeof graph, "%s", in_folder(p, "links/cora-lp-16-0.graph.npz"));
    RUN(p, "predict", "--data", graph, "--task", "lp", "--labels", in_folder(p, "links/cora-lp-16-0.support.csv"),
        "--pairs", in_folder(p, "links/cora-lp-16-0.test.csv"), "--save", in_folder(p, "links/r.safetensors"));
    assert_ended(p, 0, NULL);
    snprintf(csv, sizeof csv, "%s", p->out);
    read_text(in_folder(p, "links/cora-lp-16-0.test.csv"), test);
    double area = area_of(test, csv);
    assert_true(area - measured < 2e-4 && measured - area < 2e-4); /* one pair in the wrong order: 9e-5 */
    /* The kept readout: the same bytes, and no other graph. */
    RUN(p, "predict", "--data", graph, "--task", "lp", "--readout", in_folder(p, "links/r.safetensors"), "--pairs",
        in_folder(p, "links/cora-lp-16-0.test.csv"), "--threads", "1");
    assert_ended(p, 0, NULL);
    assert_string_equal(p->out, csv);
    RUN(p, "predict", "--data", "cora", "--task", "lp", "--readout", in_folder(p, "links/r.safetensors"), "--pairs",
        in_folder(p, "links/cora-lp-16-0.test.csv"));
    assert_ended(p, 1, "of other data than cora");
    RUN(p, "predict", "--data", graph, "--readout", in_folder(p, "links/r.safetensors"));
    assert_ended(p, 1, "expected a file of `mochi predict --save`, found mochi link readout");
    RUN(p, "predict", "--data", graph, "--task", "lp", "--pairs", "c", "--labels", "a", "--readout", "b");
    assert_ended(p, 2, "--labels: a kept readout has its own");
}

TEST(refuses_bad_pairs_with_their_line) {
    program *p = *state;
    static const char *const bad[][2] = {
        {"a,b,linked\n", "found no pair"},
        {"a,b\n0,1\n", ":1: expected 3 columns, both ends of a pair, and whether it is linked, found 2"},
        {"a,b,linked\n0,1,maybe\n", ":2: expected yes or no, whether the pair is linked, found 'maybe'"},
        {"a,b,linked\n0,1,yes\n0,3,yes\n", ":3: expected no, as the graph lacks this link, found 'yes'"},
        {"a,b,linked\n0,1,no\n", ":2: expected yes, as the graph has this link, found 'no'"},
        {"a,b,linked\n3,3,no\n", ":2: expected a pair of two nodes, found 'one node twice'"},
        {"a,b,linked,fit\n0,1,yes,x\n", ":2: expected how often the pair is fitted, 0 or more, found 'x'"},
        {"a,b,linked\n0,1,yes\n1,2,yes\n", "the support has 2 links and 0 pairs without one, expected 1 or more"},
        {"a,b,linked\n0,1,yes\n0,3,no\n3,0,no\n", "a pair of the support is there twice"},
    };
    char ring[400] = "";
    for (int i = 0; i < 20; i++)
        sprintf(ring + strlen(ring), "%d %d\n", i, (i + 1) % 20);
    write_text(in_folder(p, "ring.txt"), ring);
    write_text(in_folder(p, "asked.csv"), "a,b\n0,2\n3,11\n");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_text(in_folder(p, "bad.csv"), bad[i][0]);
        RUN(p, "predict", "--data", in_folder(p, "ring.txt"), "--task", "lp", "--labels", in_folder(p, "bad.csv"),
            "--pairs", in_folder(p, "asked.csv"), "--out", in_folder(p, "none.csv"));
        assert_ended(p, 1, bad[i][1]);
        assert_int_not_equal(access(in_folder(p, "none.csv"), F_OK), 0);
    }
    write_text(in_folder(p, "some.csv"), "a,b,linked\n0,1,yes\n8,7,yes\n0,3,no\n9,4,no\n");
    RUN(p, "predict", "--data", in_folder(p, "ring.txt"), "--task", "lp", "--labels", in_folder(p, "some.csv"),
        "--pairs", in_folder(p, "asked.csv"));
    assert_ended(p, 0, NULL);
    assert_int_equal(count_lines(p->out), 1 + 2);
}

/* Two clubs of ten members each, and a bridge; the classes are the clubs. */
TEST(names_go_in_and_out) {
    program *p = *state;
    char edges[4000] = "a,b\n", features[4000] = "who,x,y\n";
    for (int club = 0; club < 2; club++)
        for (int i = 0; i < 10; i++) {

            sprintf(features + strlen(features), club ? "\"R, S %d\",1,%d\n" : "Tom %d,0,%d\n", i, i % 3);
            for (int j = 0; j < i; j += 1 + i % 2)
                sprintf(edges + strlen(edges), club ? "\"R, S %d\",\"R, S %d\"\n" : "Tom %d,Tom %d\n", i, j);
        }
    strcat(edges, "Tom 0,\"R, S 0\"\n");
    mkdir(in_folder(p, "clubs"), 0777);
    write_text(in_folder(p, "clubs/edges.csv"), edges);
    write_text(in_folder(p, "clubs/features.csv"), features);
    write_text(in_folder(p, "clubs/seeds.csv"),
        "who,club\nTom 1,\"tea, \"\"cake\"\"\"\nTom 2,\"tea, \"\"cake\"\"\"\n\"R, S 1\",chess\n\"R, S 2\",chess\n");
    RUN(p, "predict", "--data", in_folder(p, "clubs"), "--labels", in_folder(p, "clubs/seeds.csv"), "--quiet");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "\nTom 7,\"tea, \"\"cake\"\"\","));
    assert_non_null(strstr(p->out, "\n\"R, S 7\",chess,"));
    assert_int_equal(count_lines(p->out), 1 + 16);
    RUN(p, "predict", "--data", in_folder(p, "clubs"), "--labels", in_folder(p, "clubs/seeds.csv"), "--quiet", "--out",
        in_folder(p, "clubs.jsonl"));
    static char text[1 << 18];
    read_text(in_folder(p, "clubs.jsonl"), text);
    assert_non_null(strstr(text, "{\"node\":\"R, S 7\",\"label\":\"chess\","));
    write_text(in_folder(p, "pairs.tsv"), "a\tb\nTom 3\tTom 8\nTom 3\t\"R, S 8\"\nTom 1\tTom 0\nTom 1\tTom 1\n");
    RUN(p, "predict", "--data", in_folder(p, "clubs"), "--task", "lp", "--pairs", in_folder(p, "pairs.tsv"));
    assert_ended(p, 0, NULL);
    double inside = number_after(p->out, "\nTom 3,Tom 8,"), across = number_after(p->out, "\nTom 3,\"R, S 8\",");
    assert_true(inside > across);
    assert_non_null(strstr(p->out, "\nTom 1,Tom 0,,yes\nTom 1,Tom 1,,same\n"));
    RUN(p, "predict", "--data", in_folder(p, "clubs"), "--task", "lp", "--pairs", in_folder(p, "pairs.tsv"), "--out",
        in_folder(p, "pairs.jsonl"));
    assert_ended(p, 0, NULL);
    read_text(in_folder(p, "pairs.jsonl"), text);
    assert_int_equal(strncmp(text, "{\"from\":\"Tom 3\",\"to\":\"Tom 8\",\"score\":", 37), 0);
    assert_non_null(strstr(text, "\"to\":\"Tom 0\",\"score\":null,\"linked\":\"yes\"}\n"));
    write_text(in_folder(p, "pairs.tsv"), "a\tb\nTom 3\tAnn\n");
    RUN(p, "predict", "--data", in_folder(p, "clubs"), "--task", "lp", "--pairs", in_folder(p, "pairs.tsv"));
    assert_ended(p, 1, "pairs.tsv:2: expected a node of clubs, found 'Ann'");
    write_text(in_folder(p, "pairs.tsv"), "a\tb\nTom 3\tTom 8\n");
    RUN(p, "predict", "--data", in_folder(p, "clubs"), "--task", "lp", "--pairs", in_folder(p, "pairs.tsv"), "--out",
        in_folder(p, "t.npy"));
    assert_ended(p, 2, "--out: expected a file .csv, .tsv or .jsonl of links, found");
    run_program_to(p, "/dev/full",
        (const char *const[]){
            "predict", "--data", in_folder(p, "clubs"), "--task", "lp", "--pairs", in_folder(p, "pairs.tsv"), NULL});
    assert_int_equal(p->code, 1);
    RUN(p, "predict", "--data", in_folder(p, "clubs"), "--task", "lp", "--pairs", in_folder(p, "pairs.tsv"), "--memory",
        "1M");
    assert_ended(p, 1, "the limit of memory is 1048576");
    RUN(p, "predict", "--data", "mutag", "--task", "lp", "--pairs", in_folder(p, "pairs.tsv"));
    assert_ended(p, 1, "expected 2 or more in one");
    RUN(p, "suggest", "--data", in_folder(p, "clubs"), "--n", "4", "--out", in_folder(p, "next.csv"));
    assert_ended(p, 0, NULL);
    read_text(in_folder(p, "next.csv"), text);
    assert_int_equal(count_lines(text), 1 + 4);
    assert_int_equal(strncmp(text, "node,label\n", 11), 0);
    RUN(p, "predict", "--data", in_folder(p, "clubs"), "--labels", in_folder(p, "next.csv"));
    assert_ended(
        p, 1, "next.csv: expected lines of example and class, found no label"); /* it is for a person to fill in */
}

/* Label, suggest, label: lists are filled in as far as a person comes, and several are one. */
TEST(lists_of_suggest_are_labels) {
    program *p = *state;
    static char first[MAX_TEXT], text[MAX_TEXT];
    char lists[1024];
    RUN(p, "suggest", "--data", "cora", "--n", "12", "--out", in_folder(p, "first.csv"));
    assert_ended(p, 0, NULL);
    read_text(in_folder(p, "first.csv"), first);
    assert_int_equal(count_lines(first), 1 + 12);
    size_t n = 0;
    int line = 0;
    for (char *at = first; *at; at++) { /* six of the twelve get a class */
        if (*at == '\n' && line++ % 2)
            n += (size_t)sprintf(text + n, "%c", line % 4 ? 'a' : 'b');
        text[n++] = *at;
    }
    write_text(in_folder(p, "first.csv"), text);
    RUN(p, "suggest", "--data", "cora", "--n", "6", "--labels", in_folder(p, "first.csv"), "--out",
        in_folder(p, "next.csv"));
    assert_ended(p, 0, NULL);
    read_text(in_folder(p, "next.csv"), first);
    assert_int_equal(count_lines(first), 1 + 6);
    snprintf(strrchr(first, ','), 4, ",c\n"); /* of the last */
    write_text(in_folder(p, "next.csv"), first);
    snprintf(lists, sizeof lists, "%s,%s", in_folder(p, "first.csv"), in_folder(p, "next.csv"));
    RUN(p, "predict", "--data", "cora", "--labels", lists, "--out", in_folder(p, "both.csv"));
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->err, "left out: header: node, label (first.csv); no class in 6 of 12 lines (first.csv); "
                                   "header: node, label (next.csv); no class in 5 of 6 lines (next.csv)\n7 labels of 3 "
                                   "classes, 1 to 3 per class\n"));
    read_text(in_folder(p, "both.csv"), text);
    assert_int_equal(count_lines(text), 1 + 2708 - 7);
    /* The first file is read under a name with a comma too. */
    assert_int_equal(rename(in_folder(p, "first.csv"), in_folder(p, "a,b.csv")), 0);
    RUN(p, "predict", "--data", "cora", "--labels", in_folder(p, "a,b.csv"), "--out", in_folder(p, "one.csv"));
    assert_non_null(strstr(p->err, "\n6 labels of 2 classes, 3 per class\n"));
    /* What goes wrong in one of two names its file. */
    write_text(in_folder(p, "a.csv"), "7,x\n8,y\n");
    write_text(in_folder(p, "b.csv"), "9,x\n7,y\n");
    snprintf(lists, sizeof lists, "%s,%s", in_folder(p, "a.csv"), in_folder(p, "b.csv"));
    RUN(p, "predict", "--data", "cora", "--labels", lists);
    assert_ended(p, 1, "b.csv:2: example 7 is of class 'y', and of 'x' in line 1 of ");
    snprintf(lists, sizeof lists, "%s,", in_folder(p, "a.csv"));
    RUN(p, "suggest", "--data", "cora", "--labels", lists);
    assert_ended(p, 1, "a.csv,: expected files with single commas between");
    snprintf(lists, sizeof lists, "%s,%s", in_folder(p, "a.csv"), in_folder(p, "nowhere.csv"));
    RUN(p, "predict", "--data", "cora", "--labels", lists);
    assert_ended(p, 1, "nowhere.csv: cannot open: No such file");
}

/* Runs a line of the shell, where $M is the program and $D the folder. */
static void run_shell(program *p, const char *line) {
    char command[2048];
    snprintf(command, sizeof command, "M=\"$MOCHI\"; D='%s'; { %s; } >\"$D/stdout\" 2>\"$D/stderr\"", p->folder, line);
    const char *const words[] = {"bash", "-c", command, NULL};
    pid_t child = fork();
    if (child == 0) {
        execvp(words[0], (char *const *)words);
        _exit(127);
    }
    wait_for_program(p, child, in_folder(p, "stdout"), in_folder(p, "stderr"));
}

TEST(labels_come_through_pipes) {
    program *p = *state;
    static const char *const ways[] = {"<(cat \"$D/seeds.csv\")", "- <\"$D/seeds.csv\"", "/dev/stdin <\"$D/seeds.csv\"",
        "<(gzip -c \"$D/seeds.csv\")", "<(tail -n +2 \"$D/seeds.csv\")"};
    static char csv[MAX_TEXT];
    char line[1024];
    write_text(in_folder(p, "seeds.csv"), seeds);
    RUN(p, "predict", "--data", "cora", "--labels", in_folder(p, "seeds.csv"), "--quiet");
    assert_ended(p, 0, NULL);
    snprintf(csv, sizeof csv, "%s", p->out);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        snprintf(line, sizeof line, "$M predict --data cora --quiet --labels %s", ways[i]);
        run_shell(p, line);
        assert_ended(p, 0, NULL);
        assert_string_equal(p->out, csv);
    }
    run_shell(p, "cat \"$D/seeds.csv\" | $M predict --data cora --quiet --labels -");
    assert_string_equal(p->out, csv);
    run_shell(p, "mkfifo \"$D/pipe\"; head -6 \"$D/seeds.csv\" >\"$D/pipe\" & "
                 "$M predict --data cora --labels \"$D/pipe\",<(tail -n +7 \"$D/seeds.csv\") --quiet");
    assert_string_equal(p->out, csv);
    run_shell(p, "printf 'node,label\\n0,a\\n9999,b\\n' | $M predict --data cora --labels -");
    assert_ended(p, 1, "mochi: standard input:3: expected the number of one of 2708 nodes, from 0, found '9999'");
    run_shell(p, "$M predict --data cora --labels - </dev/null");
    assert_ended(p, 1, "-: expected lines of example and class, found no label");
    run_shell(p, "$M predict --data cora --labels - <&-");
    assert_ended(p, 1, "standard input: cannot open: Bad file descriptor");
    run_shell(p, "yes 0,a | $M predict --data cora --labels -");
    assert_ended(p, 1, "standard input: expected at most 64 MiB of a pipe, found more");
    run_shell(p, "$M predict --data cora --labels /dev/zero");
    assert_ended(p, 1, "/dev/zero: expected a file, found something that is not a plain file");
    run_shell(p, "$M predict --data <(printf '0 1\\n') --labels \"$D/seeds.csv\""); /* of a graph still not */
    assert_ended(p, 1, "expected a file or a folder, found neither");
}

/* What a program of these words shows on a terminal. */
static void run_on_terminal(const program *p, const char *const *words, char text[4096]) {
    int terminal = posix_openpt(O_RDWR | O_NOCTTY), status;
    assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    int kept = open(ptsname(terminal), O_RDWR | O_NOCTTY); /* while the output is not read */
    pid_t child = start_program(words, ptsname(terminal), in_folder(p, "stderr"));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    ssize_t n = read(terminal, text, 4095);
    assert_true(n > 0);
    text[n] = '\0';
    close(kept);
    close(terminal);
}

/* Names that control a terminal are shown there with '?', and written to files and pipes as they are. */
TEST(a_terminal_is_not_controlled_by_names) {
    program *p = *state;
    char text[4096];
    mkdir(in_folder(p, "rude"), 0777);
    write_text(in_folder(p, "rude/edges.csv"), "a,b\nx\x1b[2J,y\x7f\ny\x7f,z\nz,w\nw,x\x1b[2J\n");
    write_text(in_folder(p, "rude/seeds.csv"), "node,label\nz,\"c\x1b]0;t\x07,\"\nw,d\n");
    RUN(p, "suggest", "--data", in_folder(p, "rude"), "--n", "4");
    assert_ended(p, 0, NULL);
    assert_true(strstr(p->out, "x\x1b[2J,\n") && strstr(p->out, "y\x7f,\n"));
    run_on_terminal(p, (const char *const[]){"suggest", "--data", in_folder(p, "rude"), "--n", "4", NULL}, text);
    assert_true(strstr(text, "x?[2J,\r\n") && strstr(text, "y?,\r\n") && !strpbrk(text, "\x1b\x7f"));
    const char *const predict[] = {
        "predict", "--data", in_folder(p, "rude"), "--labels", in_folder(p, "rude/seeds.csv"), "--probabilities", NULL};
    run_program_to(p, NULL, predict);
    assert_non_null(strstr(p->out, ",\"c\x1b]0;t\x07,\","));
    run_on_terminal(p, predict, text);
    assert_true(strstr(text, ",\"c?]0;t?,\",d\r\n") && !strpbrk(text, "\x1b\x07\x7f"));
}

/* Classes of the data's own, by their names, and places for a picture. */
TEST(a_picture_has_known_labels_truth_and_places) {
    program *p = *state;
    static char text[MAX_TEXT];
    char edges[4000] = "a,b\n", labels[2000] = "who,club\n";
    for (int i = 1; i < 20; i++) {
        sprintf(edges + strlen(edges), "m%d,m%d\n", i, i < 10 ? i / 2 : 10 + (i - 10) / 2);
        sprintf(labels + strlen(labels), "m%d,%s\n", i, i < 10 ? "chess" : "\"tea, cake\"");
    }
    strcat(edges, "m0,m10\n");
    mkdir(in_folder(p, "own"), 0777);
    write_text(in_folder(p, "own/edges.csv"), edges);
    write_text(in_folder(p, "own/labels.csv"), labels);
    RUN(p, "data", "info", in_folder(p, "own"));
    assert_non_null(strstr(p->out, "\n  names      chess, tea, cake\n"));
    write_text(in_folder(p, "some.csv"), "who,club\nm1,chess\nm2,chess\nm11,\"tea, cake\"\nm12,\"tea, cake\"\n");
    RUN(p, "predict", "--data", in_folder(p, "own"), "--labels", in_folder(p, "some.csv"), "--pca", "--probabilities");
    assert_ended(p, 0, NULL);
    assert_memory_equal(p->out, "node,label,probability,margin,known,truth,x,y,chess,\"tea, cake\"\nm0,", 67);
    assert_int_equal(count_lines(p->out), 1 + 20); /* those whose label is known too */
    assert_non_null(strstr(p->out, "\nm1,chess,,,yes,chess,"));
    assert_non_null(strstr(p->out, "\nm11,\"tea, cake\",,,yes,\"tea, cake\","));
    assert_non_null(strstr(p->out, ",no,chess,"));
    assert_non_null(strstr(p->err, "16 predictions\nof the data's own labels "));
    assert_non_null(strstr(p->err, " of 15 are as predicted: "));
    assert_non_null(
        strstr(p->err, "% of the rest lie farther from every label than nine of ten labels do from the others "
                       "(labels drawn at random: 20.0%, at most 53%)"));
    RUN(p, "predict", "--data", in_folder(p, "own"), "--labels", in_folder(p, "some.csv"), "--pca", "--out",
        in_folder(p, "own.jsonl"), "--quiet");
    read_text(in_folder(p, "own.jsonl"), text);
    assert_non_null(strstr(text, "{\"node\":\"m1\",\"label\":\"chess\",\"known\":true,\"truth\":\"chess\",\"x\":"));
    /* Classes that the data does not have cannot be right or wrong. */
    write_text(in_folder(p, "some.csv"), "who,club\nm1,chess\nm2,chess\nm11,go\nm12,go\n");
    RUN(p, "predict", "--data", in_folder(p, "own"), "--labels", in_folder(p, "some.csv"), "--pca");
    assert_non_null(strstr(p->out, "\nm1,chess,,,yes,,"));
    assert_null(strstr(p->err, "own labels"));
    RUN(p, "predict", "--data", in_folder(p, "own"), "--labels", in_folder(p, "some.csv"), "--pca", "--out",
        in_folder(p, "own.npy"));
    assert_ended(p, 2, "an array of classes has no places");
}

/* Ctrl-C while pairs are scored: the program ends by the signal, and what was there before stays. */
TEST(an_interrupted_list_leaves_no_part_of_it) {
    program *p = *state;
    enum { NODES = 3000 };
    char *edges = malloc(NODES * 3 * 16), *at = edges, out[512], err[512], list[512], cache[512], pairs[512];
    for (int i = 0; i < 3 * NODES; i++)
        at += sprintf(at, "%d %d\n", i % NODES, (i % NODES + 1 + 7 * (i / NODES)) % NODES);
    snprintf(out, sizeof out, "%s/stdout", p->folder);
    snprintf(err, sizeof err, "%s/stderr", p->folder);
    snprintf(list, sizeof list, "%s/lists/links.csv", p->folder);
    snprintf(cache, sizeof cache, "%s/cache-of-lists", p->folder);
    mkdir(in_folder(p, "lists"), 0777);
    mkdir(cache, 0777);
    write_text(in_folder(p, "knots.txt"), edges);
    free(edges);
    snprintf(pairs, sizeof pairs, "%s/pairs-of-knots.csv", p->folder);
    FILE *asked = fopen(pairs, "w");
    assert_non_null(asked);
    fputs("from,to\n", asked);
    for (int u = 0; u < 500; u++)
        for (int v = u + 1; v < NODES; v++)
            fprintf(asked, "%d,%d\n", u, v);
    assert_int_equal(fclose(asked), 0);
    for (int old = 0; old < 2; old++) {
        const char *graph = in_folder(p, "knots.txt");
        if (old)
            write_text(list, "what was there\n");
        pid_t child = start_program((const char *const[]){"predict", "--data", graph, "--task", "lp", "--pairs", pairs,
                                        "--out", list, "--cache", cache, NULL},
            out, err);
        for (int tries = 0; tries < 240000 && folder_count(cache) == 0; tries++)
            usleep(1000); /* the basis is there: scoring 1.4 million pairs begins */
        assert_int_not_equal(folder_count(cache), 0);
        usleep(200000);
        assert_int_equal(waitpid(child, &(int){0}, WNOHANG), 0);
        kill(child, SIGINT);
        wait_for_program(p, child, out, err);
        assert_int_equal(p->code, 128 + SIGINT);
        assert_string_equal(p->out, "");
        assert_int_equal(folder_count(in_folder(p, "lists")), old);
    }
    read_text(list, p->out);
    assert_string_equal(p->out, "what was there\n");
}
