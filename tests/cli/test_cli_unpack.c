/* tests/cli/test_cli_unpack.c - archives that `mochi data get` unpacks, and archives that it must refuse. */
#include "tests/cli/site.h"
#include "tests/data_at_hand.h"

static const char *archive(const char *name) {
    char how[100];
    snprintf(how, sizeof how, "plain/%s", name);
    return manifest_of(", \"member\": \"set/edges.txt\"", how, 2);
}

static void get_archive(const char *name) {
    RUN(the_site.p, "data", "get", "ring", "--manifest", archive(name), "--accept-unverified", "--limit", "0.01");
}

static void single_members_are_unpacked(void **state) {
    (void)state;
    program *p = fresh();
    for (const char *const *name = (const char *const[]){"good.zip", "good.tar.gz", NULL}; *name; name++) {
        fresh();
        get_archive(*name);
        assert_ended(p, 0, NULL);
        assert_non_null(strstr(p->out, "ring: 1 graphs, 3 nodes, 2 edges"));
        assert_int_equal(files_below("data"), 1);
        assert_int_equal(files_below("cache"), 0);
    }
}

static void archives_that_reach_out_or_swell_are_refused(void **state) {
    (void)state;
    fresh();
    static const struct {
        const char *name, *part;
    } cases[] = {
        {"up.zip", "expected members below one folder, found 'set/../../evil.txt'"},
        {"up_first.zip", "expected members below one folder, found '../edges.txt'"},
        {"up.tar.gz", "expected members below one folder, found 'set/../../evil.txt'"},
        {"absolute.zip", "expected members below one folder, found '/tmp/evil.txt'"},
        {"backslash.zip", "expected members below one folder"},
        {"symlink.tar.gz", "found 'set/other', a link or a device"},
        {"hardlink.tar.gz", "found 'set/other', a link or a device"},
        {"device.tar.gz", "found 'set/other', a link or a device"},
        {"pipe.tar.gz", "found 'set/other', a link or a device"},
        {"bomb.zip", "expected less to unpack than the limit, found more"},
        {"without.zip", "expected a member 'set/edges.txt', found none"},
        {"twice.zip", "expected one member 'set/edges.txt', found two"},
        {"text.zip", "text.zip: "},
        {"truncated.zip", "truncated.zip: "},
        {"damaged.zip", "damaged.zip: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        get_archive(cases[i].name);
        assert_refused(cases[i].part, false);
        assert_int_not_equal(access("/tmp/evil.txt", F_OK), 0);
        assert_int_not_equal(access(in_folder(the_site.p, "evil.txt"), F_OK), 0);
    }
}

/* A file that is already right is kept; the archive does not overwrite it. */
static void right_files_are_kept_and_others_replaced(void **state) {
    (void)state;
    program *p = fresh();
    char digits[65], more[200], whole[64];
    FILE *file = fopen(in_folder(p, "served/two.txt"), "w");
    fputs("0 1\n1 2\n", file);
    fclose(file);
    sha256_of(in_folder(p, "served/two.txt"), digits);
    snprintf(more, sizeof more,
        ", \"sha256\": \"%s\", \"member\": \"set/edges.txt\"}, {\"path\": \"p/README\", \"url\": \"", digits);
    snprintf(whole, sizeof whole, "http://127.0.0.1:%d/plain/good.zip", the_site.port);
    char both[400];
    snprintf(both, sizeof both, "%s%s\", \"member\": \"set/README\"", more, whole);
    const char *manifest = manifest_of(both, "plain/good.zip", 2);
    RUN(p, "data", "get", "ring", "--manifest", manifest, "--accept-unverified");
    assert_ended(p, 0, NULL);
    assert_int_equal(files_below("data"), 2);
    struct stat before, after;
    assert_int_equal(stat(in_folder(p, "data/p/edges.txt"), &before), 0);
    remove(in_folder(p, "data/p/README"));
    RUN(p, "data", "get", "ring", "--manifest", manifest, "--accept-unverified");
    assert_ended(p, 0, NULL);
    assert_int_equal(files_below("data"), 2);
    assert_int_equal(stat(in_folder(p, "data/p/edges.txt"), &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_int_equal(after.st_size, 8);
    assert_int_equal(requests("good.zip"), 2);
}

/* Planetoid's pickles become a graph, with the real manifest's checksums. */
static void pickles_are_converted_on_arrival(void **state) {
    (void)state;
    program *p = fresh();
    char command[1800];
    snprintf(command, sizeof command,
        "cp '%s/cora/planetoid'/* '%s' && sed 's|https://raw[^\"]*/data/ind|http://127.0.0.1:%d/plain/ind|' "
        "train/data/manifest.json "
        ">'%s'",
        data_at_hand(), in_folder(p, "served"), the_site.port, in_folder(p, "real.json"));
    assert_int_equal(system(command), 0);
    RUN(p, "data", "get", "cora", "--manifest", in_folder(p, "real.json"), "--json");
    assert_ended(p, 0, NULL);
    json_t *o = json_line(p, 0, "name,folder,graphs,nodes,edges,features,classes");
    assert_int_equal(json_real_of(o, "features"), 1433);
    json_decref(o);
    assert_int_equal(files_below("data"), 9);
    RUN(p, "data", "verify", "cora");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "cora: 1 graphs, 2708 nodes, 5278 edges, 1433 features, 7 classes"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_members_are_unpacked),
        cmocka_unit_test(right_files_are_kept_and_others_replaced),
        cmocka_unit_test(pickles_are_converted_on_arrival),
        cmocka_unit_test(archives_that_reach_out_or_swell_are_refused),
    };
    return cmocka_run_group_tests(tests, open_site, close_site);
}
