/* tests/cli/test_cli_data.c - `mochi data list`, `verify` and `convert`. */
#include "tests/cli/program.h"
#include "tests/data_at_hand.h"

#include <zlib.h>

static void the_manifest_names_every_data_set_of_the_paper(void **state) {
    program *p = *state;
    int evaluation = 0, training = 0;
    setenv("MOCHI_DATA", p->folder, 1);
    RUN(p, "data", "list", "--all", "--json");
    assert_ended(p, 0, NULL);
    for (int i = 0; i < count_lines(p->out); i++) {
        json_t *o = json_line(p, i, "name,state,download,paper,licence,cite,page,note"),
               *paper = json_object_get(o, "paper");
        assert_true(json_array_size(json_object_get(o, "cite")) > 0);
        assert_true(!strncmp(json_text_of(o, "page"), "https://", 8));
        for (size_t k = 0; k < json_array_size(paper); k++) {
            const char *use = json_string_value(json_array_get(paper, k));
            evaluation += !strncmp(use, "evaluation ", 11);
            training += !strncmp(use, "training ", 9);
        }
        json_decref(o);
    }
    assert_int_equal(evaluation, 20);
    assert_int_equal(training, 23);
    RUN(p, "data", "list", "--all");
    assert_non_null(strstr(p->out, "enron            -         verified    training lp"));
    assert_non_null(strstr(p->out, "gowalla          -         unverified  evaluation lp"));
    assert_non_null(strstr(p->out, "goodreads        -         by hand     evaluation lp"));
}

/* Data sets lie at the paths of the manifest; without the folder of all data sets, only the two that come with the
 * tests. */
static void data_at_hand_are_what_the_manifest_says(void **state) {
    program *p = *state;
    bool all = strcmp(data_at_hand(), "tests/sources") != 0;
    setenv("MOCHI_DATA", data_at_hand(), 1);
    setenv("MOCHI_EMBEDDED", "train/data", 1);
    RUN(p, "data", "verify", all ? NULL : "mutag", "karate");
    assert_ended(p, 0, NULL);
    assert_string_equal(p->err, "");
    assert_null(strstr(p->out, "\nunverified"));
    assert_null(strstr(p->out, "\nabsent"));
    char *verified = strdup(p->out), name[64], line[96];
    unsetenv("MOCHI_EMBEDDED");
    RUN(p, "data", "list");
    int known = 0, names = 0;
    for (const char *row = p->out; sscanf(row, "%63s", name) == 1; row = strchr(row, '\n') + 1, names++) {
        snprintf(line, sizeof line, "ok         %s: ", name);
        known += strstr(verified, line) != NULL;
        if (all && !strstr(verified, line))
            fail_msg("the manifest has no entry whose file is that of %s", name);
    }
    assert_true(names >= (all ? 25 : 10) && known >= 2);
    free(verified);
}

static const char one_list[] =
    "{\"datasets\": [{\"name\": \"path\", \"licence\": \"none\", \"page\": \"https://x.org/\", "
    "\"path\": \"p/edges.txt\", \"counts\": {\"nodes\": 3, \"edges\": 2}, \"files\": [{\"path\": "
    "\"p/edges.txt\", \"sha256\": \"%s\", \"bytes\": 8}]}]}";

/* A data folder with a graph of two edges, and a manifest, among the program's own files, that has it with this
 * SHA-256. */
static void make_data(program *p, const char *sha256, const char *edges) {
    char text[1024];
    mkdir(in_folder(p, "data"), 0700);
    mkdir(in_folder(p, "data/p"), 0700);
    remove(in_folder(p, "data/p/edges.txt"));
    remove(in_folder(p, "data/p/edges.txt.gz"));
    if (edges)
        write_text(in_folder(p, "data/p/edges.txt"), edges);
    snprintf(text, sizeof text, one_list, sha256);
    write_text(in_folder(p, "manifest.json"), text);
    setenv("MOCHI_EMBEDDED", p->folder, 1);
    setenv("MOCHI_DATA", in_folder(p, "data"), 1);
}

static void sha256_of(const char *path, char digits[65]) {
    char command[600];
    snprintf(command, sizeof command, "sha256sum '%s'", path);
    FILE *pipe = popen(command, "r");
    assert_int_equal(fscanf(pipe, "%64s", digits), 1);
    pclose(pipe);
}

static void verify_tells_right_wrong_and_missing_files_apart(void **state) {
    program *p = *state;
    char digits[65];
    write_text(in_folder(p, "edges"), "0 1\n1 2\n");
    sha256_of(in_folder(p, "edges"), digits);
    make_data(p, digits, "0 1\n1 2\n");
    RUN(p, "data", "verify");
    assert_ended(p, 0, NULL);
    assert_string_equal(
        p->out, "ok         p/edges.txt\nok         path: 1 graphs, 3 nodes, 2 edges, 0 features, 0 classes\n");
    make_data(p, digits, "0 1\n1 3\n"); /* the counts are right, the bytes are not */
    RUN(p, "data", "verify", "PATH", "--json");
    assert_int_equal(p->code, 1);
    json_t *o = json_line(p, 0, "name,path,state,expected,found");
    assert_string_equal(json_text_of(o, "state"), "differs");
    assert_string_equal(json_text_of(o, "expected"), digits);
    json_decref(o);
    make_data(p, digits, NULL);
    RUN(p, "data", "verify", "path");
    assert_int_equal(p->code, 1);
    assert_string_equal(p->out, "absent     p/edges.txt\n");
    RUN(p, "data", "verify");
    assert_ended(p, 1, "expected files of the manifest, found none");
    RUN(p, "data", "verify", "paht");
    assert_ended(p, 1, "'paht': expected a name of the manifest");
    unsetenv("MOCHI_EMBEDDED");
}

static void verify_counts_what_a_loader_finds(void **state) {
    program *p = *state;
    char digits[65];
    write_text(in_folder(p, "edges"), "0 1\n1 2\n2 3\n");
    sha256_of(in_folder(p, "edges"), digits);
    make_data(p, digits, "0 1\n1 2\n2 3\n");
    RUN(p, "data", "verify");
    assert_ended(p, 1, "path: expected 3 nodes, found 4 in ");
    assert_string_equal(p->out, "ok         p/edges.txt\n");
    unsetenv("MOCHI_EMBEDDED");
}

/* A manifest's set has the features that its name has: no attributes, whether or not the folder has them. */
static void attributes_are_read_by_path_and_told_and_no_count_of_a_manifest(void **state) {
    program *p = *state;
    write_text(in_folder(p, "manifest.json"),
        "{\"datasets\": [{\"name\": \"tiny\", \"licence\": \"none\", \"page\": \"https://x.org/\", \"path\": "
        "\"graphs/TINY\", "
        "\"counts\": {\"graphs\": 2, \"features\": 3}, \"files\": [{\"path\": \"graphs/TINY/TINY_A.txt\"}]}]}");
    setenv("MOCHI_DATA", "tests", 1);
    setenv("MOCHI_EMBEDDED", p->folder, 1);
    RUN(p, "data", "verify");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "ok         tiny: 2 graphs, 5 nodes, 3 edges, 3 features, 2 classes\n"));
    unsetenv("MOCHI_EMBEDDED");
    RUN(p, "data", "info", "tests/graphs/TINY");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "\n  features   5 columns, 13 non-zeros: 2 attributes, 3 of node labels\n"));
    RUN(p, "data", "info", "enzymes");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "\n  features   3 columns, 19580 non-zeros\n"));
    assert_non_null(strstr(p->out, "\n  note       without its 18 node attributes"));
}

static void features_that_number_the_nodes_are_told_wherever_a_graph_is_opened(void **state) {
    program *p = *state;
    static const char said[] = "left out: 6 feature columns that number the nodes (an identity matrix)\n";
    char folder[300];
    snprintf(folder, sizeof folder, "%s", in_folder(p, "numbered"));
    mkdir(folder, 0700);
    write_text(in_folder(p, "numbered/edges.txt"), "0 1\n1 2\n2 0\n3 4\n4 5\n5 3\n");
    write_text(in_folder(p, "numbered/labels.txt"), "0\n0\n0\n1\n1\n1\n");
    write_text(in_folder(p, "numbered/features.csv"),
        "0,0,0,1,0,0,0\n1,1,0,0,0,0,0\n2,0,1,0,0,0,0\n3,0,0,0,1,0,0\n4,0,0,0,0,0,1\n5,0,0,0,0,1,0\n");
    RUN(p, "data", "info", folder);
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "\n  left out   6 feature columns that number the nodes"));
    assert_non_null(strstr(p->out, "\n  features   0 columns, 0 non-zeros\n"));
    RUN(p, "data", "info", folder, "--json");
    assert_non_null(strstr(p->out, "\"left_out\":\"6 feature columns that number the nodes (an identity matrix)\""));
    RUN(p, "data", "convert", folder, in_folder(p, "numbered.npz"));
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->err, said));
    RUN(p, "eval", "--weights", "none", "--hop", "1", "--data", folder, "--task", "nc", "--protocol", "episode",
        "--shots", "1", "--episodes", "2");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->err, said));
    RUN(p, "embed", "--weights", "none", "--hop", "1", "--data", folder, "--out", in_folder(p, "numbered.npy"));
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->err, said));
    write_text(in_folder(p, "numbered.csv"), "node,label\n0,a\n1,a\n3,b\n4,b\n");
    RUN(p, "predict", "--data", folder, "--labels", in_folder(p, "numbered.csv"), "--out",
        in_folder(p, "numbered_out.csv"));
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->err, said));
    write_text(in_folder(p, "numbered_pairs.csv"), "from,to\n0,4\n1,2\n");
    RUN(p, "predict", "--data", folder, "--task", "lp", "--pairs", in_folder(p, "numbered_pairs.csv"));
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->err, said));
}

static void texts_may_lie_gzipped(void **state) {
    program *p = *state;
    char digits[65];
    write_text(in_folder(p, "edges"), "0 1\n1 2\n");
    sha256_of(in_folder(p, "edges"), digits);
    make_data(p, digits, NULL);
    gzFile packed = gzopen(in_folder(p, "data/p/edges.txt.gz"), "wb");
    gzputs(packed, "0 1\n1 2\n");
    gzclose(packed);
    RUN(p, "data", "verify");
    assert_ended(p, 0, NULL);
    assert_int_equal(truncate(in_folder(p, "data/p/edges.txt.gz"), 20), 0);
    RUN(p, "data", "verify");
    assert_int_equal(p->code, 1);
    assert_non_null(strstr(p->err, "edges.txt.gz: cannot read"));
    unsetenv("MOCHI_EMBEDDED");
}

/* info describes a name of the manifest with its licence, installed or not, and its counts beside the counts found. */
static void info_sets_the_manifest_beside_what_is_found(void **state) {
    program *p = *state;
    static const char text[] =
        "{\"datasets\":[{\"name\":\"ring\",\"paper\":[],\"licence\":\"CC0\",\"cite\":[\"Nobody, 1999\",\"Ada, "
        "2001\"],\"page\":\"https://ring.example/\",\"path\":\"r/ring.txt\",\"counts\":{\"nodes\":4,\"edges\":5},"
        "\"files\":[{\"path\":\"r/ring.txt\",\"url\":\"https://ring.example/ring.txt\"}]}]}";
    char folder[300];
    snprintf(folder, sizeof folder, "%s/about", p->folder);
    write_text(in_folder(p, "manifest.json"), text);
    setenv("MOCHI_EMBEDDED", p->folder, 1);
    setenv("MOCHI_DATA", folder, 1);
    RUN(p, "data", "info", "ring");
    assert_ended(p, 0, NULL);
    assert_non_null(
        strstr(p->out, "ring: not here; mochi data get ring\n  expected   4 nodes, 5 edges\n  licence    CC0\n"
                       "  cite       Nobody, 1999\n             Ada, 2001\n  source     https://ring"));
    assert_int_equal(mkdir(folder, 0777) | mkdir(in_folder(p, "about/r"), 0777), 0);
    write_text(in_folder(p, "about/r/ring.txt"), "# SNAP\n0\t1\n1\t2\n2\t3\n3\t0\n");
    RUN(p, "data", "info", "ring");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "\n  expected   4 nodes, 5 edges (found 4); NOT all found\n"));
    RUN(p, "data", "info", "ring", "--json");
    json_t *line = json_line(p, 0,
        "path,kind,name,graphs,nodes,edges,isolated,largest_degree,mean_degree,dropped_loops,dropped_duplicates,"
        "features,attributes,feature_nnz,classes,unlabelled,tasks,hash,manifest,left_out");
    const json_t *about = json_object_get(line, "manifest");
    assert_true(json_is_false(json_object_get(about, "agrees")) && json_is_null(json_object_get(about, "note")));
    json_decref(line);
    RUN(p, "data", "info", in_folder(p, "about/r/ring.txt"));
    assert_null(strstr(p->out, "expected")); /* a path has no entry */
    unsetenv("MOCHI_EMBEDDED");
}

static void convert_writes_what_info_describes_or_nothing(void **state) {
    program *p = *state;
    const char *out = in_folder(p, "club.npz");
    RUN(p, "data", "convert", "tests/graphs/club.gml", out);
    assert_ended(p, 0, NULL);
    RUN(p, "data", "info", "tests/graphs/club.gml", out, "tests/graphs/train.txt");
    assert_ended(p, 0, NULL);
    const char *hash = strstr(p->out, "hash "), *copy = hash ? strstr(hash + 1, "hash ") : NULL;
    assert_non_null(copy);
    assert_memory_equal(hash, copy, 43);
    RUN(p, "data", "convert", "tests/arrays/f4.npy", in_folder(p, "none.npz"));
    assert_ended(p, 1, "tests/arrays/f4.npy");
    assert_int_not_equal(access(in_folder(p, "none.npz"), F_OK), 0);
    RUN(p, "data", "convert", "cora", "/dev/full/out.npz");
    assert_ended(p, 1, "/dev/full/out.npz");
    RUN(p, "data", "convert", "cora");
    assert_ended(p, 2, NULL);
}

/* The program's own weights with their digests renamed, as if they had none. */
static void weights_of_an_older_version_are_converted(void **state) {
    program *p = *state;
    char *data, old[300], new[300], rows[300], right[300];
    size_t n;
    read_file("train/data/best.safetensors", &data, &n);
    for (char *at = data; (at = memmem(at, (size_t)(data + n - at), "\"xxh3_", 6));)
        memcpy(at, "\"note_", 6);
    snprintf(old, sizeof old, "%s", in_folder(p, "old.safetensors"));
    snprintf(new, sizeof new, "%s", in_folder(p, "new.safetensors"));
    snprintf(rows, sizeof rows, "%s", in_folder(p, "rows.npy"));
    snprintf(right, sizeof right, "%s", in_folder(p, "right.npy"));
    FILE *file = fopen(old, "wb");
    assert_true(file && fwrite(data, 1, n, file) == n && fclose(file) == 0);
    free(data);
    RUN(p, "embed", "--weights", old, "--data", "mutag", "--out", rows);
    assert_ended(p, 1, "expected digests of its header and tensors, found none");
    assert_non_null(strstr(p->err, "`mochi data convert "));
    RUN(p, "data", "convert", old, new);
    assert_ended(p, 0, NULL);
    RUN(p, "embed", "--weights", new, "--data", "mutag", "--out", rows);
    assert_ended(p, 0, NULL);
    RUN(p, "embed", "--weights", "best", "--data", "mutag", "--out", right);
    assert_ended(p, 0, NULL);
    assert_same_file(p, "rows.npy", "right.npy");
    RUN(p, "data", "convert", "tests/arrays/f4.npy", in_folder(p, "no.safetensors"));
    assert_ended(p, 1, "tests/arrays/f4.npy");
}

/* 70 MiB of comments around one edge, in 70 KB: refused, unless asked for. */
static void a_text_that_unfolds_too_far_is_read_on_demand(void **state) {
    program *p = *state;
    char line[10001], path[300], out[300];
    memset(line, '#', sizeof line - 2);
    memcpy(line + sizeof line - 2, "\n", 2);
    snprintf(path, sizeof path, "%s", in_folder(p, "far.txt.gz"));
    snprintf(out, sizeof out, "%s", in_folder(p, "far.npz"));
    gzFile file = gzopen(path, "wb9");
    for (int i = 0; i < 7400; i++)
        gzputs(file, line);
    gzputs(file, "0 1\n");
    assert_int_equal(gzclose(file), Z_OK);
    RUN(p, "data", "info", path);
    assert_ended(p, 1, "expected to unfold to at most");
    assert_non_null(strstr(p->err, "--max-expand"));
    RUN(p, "data", "info", "--max-expand", "2000", path);
    assert_ended(p, 0, NULL);
    RUN(p, "data", "convert", path, out);
    assert_ended(p, 1, "expected to unfold to at most");
    RUN(p, "data", "convert", "--max-expand", "2000", path, out);
    assert_ended(p, 0, NULL);
    RUN(p, "data", "verify", "--max-expand", "2000", "enron");
    assert_int_not_equal(p->code, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_manifest_names_every_data_set_of_the_paper),
        cmocka_unit_test(data_at_hand_are_what_the_manifest_says),
        cmocka_unit_test(verify_tells_right_wrong_and_missing_files_apart),
        cmocka_unit_test(verify_counts_what_a_loader_finds),
        cmocka_unit_test(features_that_number_the_nodes_are_told_wherever_a_graph_is_opened),
        cmocka_unit_test(attributes_are_read_by_path_and_told_and_no_count_of_a_manifest),
        cmocka_unit_test(texts_may_lie_gzipped),
        cmocka_unit_test(info_sets_the_manifest_beside_what_is_found),
        cmocka_unit_test(convert_writes_what_info_describes_or_nothing),
        cmocka_unit_test(a_text_that_unfolds_too_far_is_read_on_demand),
        cmocka_unit_test(weights_of_an_older_version_are_converted),
    };
    return cmocka_run_group_tests(tests, program_create, program_release);
}
