/* tests/train/test_locale.c - a host program can set any locale: files, settings and messages are as in the locale C.
 *
 * The test makes its locales: de_DE has a decimal comma, ps_AF a separator of two bytes. Skipped without localedef or
 * its sources. */
#include "tensor/files/number_text.h"
#include "tests/training_run.h"

#include <locale.h>
#include <sys/wait.h>

static const char *const locales[] = {"de_DE", "ps_AF"};
enum { LOCALES = sizeof locales / sizeof *locales };

static bool made[LOCALES];
static char locale_folder[256];

/* Makes the locales in a folder, in which the C library then looks for them. */
static int make_locales(void **state) {
    char command[700];
    snprintf(
        locale_folder, sizeof locale_folder, "%s/mochi-locale-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    if (!mkdtemp(locale_folder) || setenv("LOCPATH", locale_folder, 1) != 0)
        return -1;
    for (int i = 0; i < LOCALES; i++) {
        snprintf(command, sizeof command, "localedef -i %s -f UTF-8 %s/%s.UTF-8 >%s/said 2>&1", locales[i],
            locale_folder, locales[i], locale_folder);
        int status = system(command);
        made[i] = WIFEXITED(status) && WEXITSTATUS(status) <= 1; /* status 1: made with warnings */
    }
    return scratch_create(state);
}

static int remove_locales(void **state) {
    char command[300];
    snprintf(command, sizeof command, "rm -r '%s'", locale_folder);
    return system(command) == 0 ? scratch_release(state) : -1;
}

static const fixtures around_all = {make_locales, remove_locales};

/* Sets a locale whose decimal separator is not a point; skips the test if it could not be made. */
static void enter_locale(int i) {
    char name[64], text[16];
    snprintf(name, sizeof name, "%s.UTF-8", locales[i]);
    if (!made[i] || !setlocale(LC_ALL, name)) {
        skip("localedef did not make %s: is it installed, with /usr/share/i18n (Debian: locales)?", name);
    }
    snprintf(text, sizeof text, "%.2f", 0.25);
    assert_string_not_equal(text, "0.25");
}

static void leave_locale(void) {
    setlocale(LC_ALL, "C");
}

TEST(numbers_have_a_point) {
    for (int i = 0; i < LOCALES; i++) {
        char text[64], *end;
        enter_locale(i);
        locale_t before = uselocale((locale_t)0);
        assert_int_equal(mo_format(text, sizeof text, "%.17g and %.2f", 0.5, -1e6), 19);
        assert_string_equal(text, "0.5 and -1000000.00");
        assert_true(mo_read_number("0.25x", &end) == 0.25);
        assert_string_equal(end, "x");
        assert_true(mo_read_number("0x10", &end) == 0); /* decimal numbers alone */
        assert_string_equal(end, "x10");
        json_t *value = mo_json_decode("[0.5, 1e-3]", 11, 0, NULL);
        assert_true(json_real_value(json_array_get(value, 0)) == 0.5);
        HELD_MEMORY char *encoded = mo_json_encode(value, JSON_COMPACT);
        assert_string_equal(encoded, "[0.5,0.001]");
        json_decref(value);
        assert_ptr_equal(uselocale((locale_t)0), before);
        leave_locale();
    }
}

/* A thread of the host can have its own locale. */
TEST(the_locale_of_a_thread_is_put_back) {
    char text[64];
    enter_locale(0);
    locale_t own = newlocale(LC_ALL_MASK, "de_DE.UTF-8", (locale_t)0);
    leave_locale();
    uselocale(own);
    mo_format(text, sizeof text, "%g", 0.5);
    assert_string_equal(text, "0.5");
    assert_ptr_equal(uselocale((locale_t)0), own);
    snprintf(text, sizeof text, "%g", 0.5);
    assert_string_equal(text, "0,5");
    uselocale(LC_GLOBAL_LOCALE);
    freelocale(own);
}

TEST_OF(messages_have_a_point, scratch *s) {
    for (int i = 0; i < LOCALES; i++) {
        enter_locale(i);
        HELD(mo_tape) *t = mo_tape_create(s->ctx, MO_RECORD);
        mo_dropout(t, mo_full(t, MO_F32, 1, (int64_t[]){3}, 1), 1.5, &(mo_random){0});
        assert_failed(s->ctx, MO_INVALID, PARTS("rate 1.5"));
        leave_locale();
    }
}

/* Runs eight steps, with an interruption after four: the files equal those of a run under C, and the
 * weights are read as they are there. */
TEST_OF(runs_write_and_resume_the_same_files, scratch *s) {
    run_options o = usual_run;
    o.settings = "{\"recipe\": \"mine\", \"rate\": 0.125}";
    const char *plain = scratch_folder(s, "plain");
    run_until(&o, plain, false, 8);
    HELD(mo_weights) *right = mo_weights_read(s->ctx, scratch_path(s, "plain/weights.safetensors"));
    assert_true(right && right->readout.smoothing > 0 && right->readout.smoothing < 1);
    for (int i = 0; i < LOCALES; i++) {
        enter_locale(i);
        const char *other = scratch_folder(s, "other");
        run_until(&o, other, false, 4);
        run_until(&o, other, true, 8);
        HELD(mo_weights) *w = mo_weights_read(s->ctx, scratch_path(s, "other/weights.safetensors"));
        leave_locale();
        assert_non_null(w);
        assert_memory_equal(&w->readout, &right->readout, sizeof w->readout);
        assert_true(w->lambda == right->lambda);
        assert_same_run(plain, other); /* parses the logs in the locale C */
        assert_same_bytes(run_file(plain, "run.json"), run_file(other, "run.json"));
    }
}

/* The reader of pool files writes the share of links as text, which the pool reads. */
TEST_OF(shares_of_links_are_read, scratch *s) {
    char ring[1024] = "", item[700];
    for (int i = 0; i < 40; i++)
        snprintf(ring + strlen(ring), sizeof ring - strlen(ring), "%d %d\n%d %d\n", i, (i + 1) % 40, i, (i + 7) % 40);
    scratch_write(s, "ring.txt", ring, strlen(ring));
    snprintf(item, sizeof item, "%s:lp@0.25", s->path);
    const char *name = item, *list = scratch_write(s, "p.pool", "link_share 0.125\ncora\n", 22);
    for (int i = 0; i < LOCALES; i++) {
        mo_feature_options features = planted_features();
        enter_locale(i);
        HELD(mo_pool) *pool = mo_pool_open(s->ctx, &name, 1, &features, 0.2, NULL, NULL);
        mo_pool_file *file = mo_pool_file_read(s->ctx, list);
        leave_locale();
        expect_ok(s->ctx);
        assert_true(file->link_share == 0.125);
        mo_pool_file_release(file);
    }
}
