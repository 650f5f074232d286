/* tests/cli/test_cli_get.c - `mochi data get` against a server that misbehaves: each failure is one line and leaves
 * nothing behind, neither in the data folder nor for the next attempt. */
#include "tests/cli/site.h"

/* The manifest with the SHA-256 of the ring. */
static const char *verified(const char *how) {
    char more[100];
    snprintf(more, sizeof more, ", \"sha256\": \"%s\"", the_site.digits);
    return manifest_of(more, how, EDGES);
}

static void get(const char *manifest) {
    RUN(the_site.p, "data", "get", "ring", "--manifest", manifest, "--timeout", "1", "--limit", "0.01");
}

static void assert_got(void) {
    char digits[65];
    assert_ended(the_site.p, 0, NULL);
    assert_string_equal(the_site.p->err, "");
    assert_non_null(strstr(the_site.p->out, "ring: 1 graphs, 3000 nodes, 3000 edges"));
    sha256_of(in_folder(the_site.p, "data/p/edges.txt"), digits);
    assert_string_equal(digits, the_site.digits);
    assert_int_equal(files_below("data"), 1);
    assert_int_equal(files_below("cache"), 0);
}

static void get_downloads_once(void **state) {
    (void)state;
    program *p = fresh();
    const char *manifest = verified("plain/edges.txt");
    get(manifest);
    assert_got();
    get(manifest);
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "ring: complete below "));
    assert_int_equal(requests("/plain/"), 1);
    RUN(p, "data", "info", in_folder(p, "data/p/edges.txt"));
    assert_ended(p, 0, NULL);
}

static void an_interrupted_download_goes_on_where_it_stopped(void **state) {
    (void)state;
    fresh();
    const char *manifest = verified("cut/edges.txt");
    get(manifest);
    assert_refused("the connection ended after ", true);
    assert_int_equal(files_below("cache"), 2); /* the partial file and its tag */
    get(manifest);
    assert_got();
    assert_int_equal(requests("/cut/edges.txt bytes="), 1);
}

static void a_file_that_changed_meanwhile_starts_anew(void **state) {
    (void)state;
    fresh();
    const char *manifest = verified("changed/edges.txt");
    get(manifest);
    assert_refused("the connection ended after 200 bytes", true);
    get(manifest);
    assert_got();
    assert_int_equal(requests("/changed/edges.txt bytes=200-"), 1);
}

static void a_part_that_was_not_asked_for_is_refused(void **state) {
    (void)state;
    fresh();
    const char *manifest = verified("other-part/edges.txt");
    get(manifest);
    assert_refused("the connection ended after ", true);
    get(manifest);
    assert_refused("expected bytes from ", false);
}

static void truncated_files_are_refused_each_time(void **state) {
    (void)state;
    fresh();
    const char *manifest = verified("half/edges.txt");
    for (int i = 0; i < 3; i++) {
        get(manifest);
        assert_refused("the connection ended after ", true);
    }
}

static void corrupted_files_are_deleted(void **state) {
    (void)state;
    fresh();
    const char *manifest = verified("corrupt/edges.txt");
    get(manifest);
    assert_refused("edges.txt: expected SHA-256 ", false);
    manifest = verified("corrupt-once/edges.txt");
    get(manifest);
    assert_refused("edges.txt: expected SHA-256 ", false);
    get(manifest); /* the cache holds nothing of the first answer */
    assert_got();
}

static void what_is_there_stays_when_its_replacement_fails(void **state) {
    (void)state;
    program *p = fresh();
    mkdir(in_folder(p, "data"), 0700);
    mkdir(in_folder(p, "data/p"), 0700);
    FILE *file = fopen(in_folder(p, "data/p/edges.txt"), "w");
    fputs("0 1\n", file);
    fclose(file);
    get(verified("corrupt/edges.txt"));
    assert_ended(p, 1, "expected SHA-256 ");
    assert_int_equal(files_below("data"), 1);
    struct stat status;
    assert_int_equal(stat(in_folder(p, "data/p/edges.txt"), &status), 0);
    assert_int_equal(status.st_size, 4);
    get(verified("plain/edges.txt"));
    assert_got();
}

static void a_stalled_server_is_given_up(void **state) {
    (void)state;
    fresh();
    time_t start = time(NULL);
    get(verified("stall/edges.txt"));
    assert_refused("nothing came for 1 s", true);
    assert_true(time(NULL) - start < 15);
}

static void redirects_stay_on_the_web(void **state) {
    (void)state;
    fresh();
    get(verified("to/edges.txt"));
    assert_got();
    fresh();
    get(verified("away/edges.txt"));
    assert_refused("file", false);
    get(verified("loop/edges.txt"));
    assert_refused("redirects", false);
}

static void missing_files_and_servers_are_named(void **state) {
    (void)state;
    program *p = fresh();
    get(verified("plain/no_such.txt"));
    assert_refused("/plain/no_such.txt: expected a file, found the answer 404", false);
    int port = the_site.port;
    the_site.port = 1;
    const char *manifest = verified("plain/edges.txt");
    the_site.port = port;
    get(manifest);
    assert_refused("http://127.0.0.1:1/plain/edges.txt: ", false);
    RUN(p, "data", "get", "rign", "--manifest", manifest);
    assert_refused("'rign': expected a name of the manifest", false);
}

static void downloads_have_a_limit(void **state) {
    (void)state;
    program *p = fresh();
    get(verified("endless/edges.txt"));
    assert_refused("expected at most 10737418 bytes, found more", false);
    char more[120];
    snprintf(more, sizeof more, ", \"sha256\": \"%s\", \"bytes\": 100", the_site.digits);
    get(manifest_of(more, "plain/edges.txt", EDGES));
    assert_refused("expected at most 100 bytes, found more", false);
    RUN(p, "data", "get", "ring", "--limit", "0");
    assert_ended(p, 2, "--limit");
}

static void unverified_downloads_ask(void **state) {
    (void)state;
    program *p = fresh();
    const char *manifest = manifest_of("", "plain/edges.txt", EDGES);
    get(manifest);
    assert_refused("give --sha256 HEX, or --accept-unverified", false);
    assert_int_equal(requests("/"), 0);
    RUN(p, "data", "get", "ring", "--manifest", manifest, "--sha256",
        "0000000000000000000000000000000000000000000000000000000000000000");
    assert_refused("expected SHA-256 00000000", false);
    RUN(p, "data", "get", "ring", "--manifest", manifest, "--sha256", the_site.digits);
    assert_got();
    fresh();
    RUN(p, "data", "get", "ring", "--manifest", manifest, "--accept-unverified", "--json");
    assert_ended(p, 0, NULL);
    json_decref(json_line(p, 0, "name,folder,graphs,nodes,edges,features,classes"));
    fresh();
    RUN(p, "data", "get", "ring", "--manifest", manifest, "--accept-unverified");
    assert_non_null(strstr(p->out, the_site.digits));
    assert_got();
    fresh();
    RUN(p, "data", "get", "ring", "--manifest", verified("plain/edges.txt"), "--sha256", the_site.digits);
    assert_refused("expected one download without a SHA-256 for --sha256, found 0", false);
    RUN(p, "data", "get", "ring", "--sha256", "xyz");
    assert_ended(p, 2, "--sha256");
}

static void wrong_counts_are_refused(void **state) {
    (void)state;
    program *p = fresh();
    RUN(p, "data", "get", "ring", "--manifest", manifest_of("", "plain/edges.txt", 7), "--accept-unverified");
    assert_refused("ring: expected 7 edges, found 3000", false);
}

static void offline_says_what_is_missing(void **state) {
    (void)state;
    program *p = fresh();
    const char *manifest = verified("plain/edges.txt");
    RUN(p, "data", "get", "ring", "--manifest", manifest, "--offline", "--max-expand", "64");
    assert_refused("ring: not complete below ", false);
    assert_non_null(strstr(p->out, "ring: p/edges.txt is missing, from http://127.0.0.1"));
    assert_int_equal(requests("/"), 0);
    get(manifest);
    RUN(p, "data", "get", "ring", "--manifest", manifest, "--offline");
    assert_ended(p, 0, NULL);
}

static void an_interruption_leaves_the_part_alone(void **state) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    (void)state;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        program *p = fresh();
        char out[300], err[300];
        snprintf(out, sizeof out, "%s/stdout", p->folder);
        snprintf(err, sizeof err, "%s/stderr", p->folder);
        pid_t child = start_program(
            (const char *const[]){"data", "get", "ring", "--manifest", verified("stall/edges.txt"), NULL}, out, err);
        for (int tries = 0; tries < 100 && files_below("cache") < 2; tries++)
            nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
        kill(child, signals[i]);
        wait_for_program(p, child, out, err);
        assert_ended(p, 128 + signals[i], "interrupted after ");
        assert_int_equal(files_below("data"), 0);
        assert_int_equal(files_below("cache"), 2);
    }
}

/* A limit on file sizes simulates a full disk: writing fails inside a file. */
static void a_full_disk_leaves_nothing(void **state) {
    (void)state;
    program *p = fresh();
    char command[1200];
    snprintf(command, sizeof command, "trap '' XFSZ; ulimit -f 8; '%s' data get ring --manifest '%s' >'%s' 2>'%s'",
        getenv("MOCHI"), verified("plain/edges.txt"), in_folder(p, "stdout"), in_folder(p, "stderr"));
    int status = system(command);
    p->code = WEXITSTATUS(status);
    read_text(in_folder(p, "stderr"), p->err);
    assert_refused("cannot write: File too large", false);
    RUN(p, "data", "get", "ring", "--manifest", verified("plain/edges.txt"));
    assert_got();
    fresh();
    FILE *file = fopen(in_folder(p, "data"), "w"); /* a file in place of the folder */
    fclose(file);
    get(verified("plain/edges.txt"));
    assert_ended(p, 1, "data");
    remove(in_folder(p, "data"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(get_downloads_once),
        cmocka_unit_test(an_interrupted_download_goes_on_where_it_stopped),
        cmocka_unit_test(a_file_that_changed_meanwhile_starts_anew),
        cmocka_unit_test(a_part_that_was_not_asked_for_is_refused),
        cmocka_unit_test(truncated_files_are_refused_each_time),
        cmocka_unit_test(corrupted_files_are_deleted),
        cmocka_unit_test(what_is_there_stays_when_its_replacement_fails),
        cmocka_unit_test(a_stalled_server_is_given_up),
        cmocka_unit_test(redirects_stay_on_the_web),
        cmocka_unit_test(missing_files_and_servers_are_named),
        cmocka_unit_test(downloads_have_a_limit),
        cmocka_unit_test(unverified_downloads_ask),
        cmocka_unit_test(wrong_counts_are_refused),
        cmocka_unit_test(offline_says_what_is_missing),
        cmocka_unit_test(an_interruption_leaves_the_part_alone),
        cmocka_unit_test(a_full_disk_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, open_site, close_site);
}
