/* tests/train/test_fields.c - options by their tables: written and read, as values and as texts; a wrong value is
 * refused by its name; and a run that differs in any one member is told from another. */
#include "tests/training_run.h"

#include <jansson.h>

static mo_trainer_options some_options(void) {
    return (mo_trainer_options){.steps = 7,
        .episodes_per_step = 3,
        .adamw = {0.25, 0.125, 0.5, 0.75, 1e-8, 0.1, 1},
        .plan = {2, 5, 3, 3, 4, UINT64_MAX, true, {1, 2, 3}, {0, 1, 1}, true},
        .max_rows = 9};
}

static const mo_feature_options some_features = {.dim = 8,
    .hops = 2,
    .power_iterations = -1,
    .combine = MO_COMBINE_CONCAT,
    .norm = MO_FEATURE_NORM_NONE,
    .attributes = MO_ATTRIBUTES_RAW,
    .seed = 5};

TEST_OF(options_are_read_as_they_were_written, scratch *s) {
    mo_trainer_options o = some_options(), back = {0};
    json_t *object = json_object();
    assert_true(mo_fields_write(mo_trainer_fields, &o, object, false));
    assert_int_equal(mo_fields_read(s->ctx, "run", mo_trainer_fields, object, &back), MO_OK);
    assert_memory_equal(&o.adamw, &back.adamw, sizeof o.adamw);
    assert_true(back.steps == 7 && back.episodes_per_step == 3 && back.max_rows == 9);
    assert_true(back.plan.k_max == 5 && back.plan.q_max == 3 && back.plan.seed == UINT64_MAX);
    assert_true(back.plan.log_uniform && back.plan.support_first && back.plan.k_times[2] == 3);
    json_decref(object);
    for (int as_text = 0; as_text < 2; as_text++) {
        mo_feature_options read = {0};
        object = json_object();
        assert_true(mo_fields_write(mo_feature_fields, &some_features, object, as_text));
        assert_int_equal(mo_fields_read(s->ctx, "weights", mo_feature_fields, object, &read), MO_OK);
        assert_memory_equal(&read, &some_features, sizeof read);
        json_decref(object);
    }
}

/* Each text is no value of its member, which then keeps what it had. */
TEST_OF(a_wrong_value_names_its_member, scratch *s) {
    static const struct {
        const char *text, *told;
    } wrong[] = {
        {"{\"dim\": 0}", "run: expected dim as an integer from 1 to 65536, found 0"},
        {"{\"dim\": 8.5}", "expected dim as an integer"},
        {"{\"dim\": \"8x\"}", "found \"8x\""},
        {"{\"dim\": \"\"}", "found \"\""},
        {"{\"dim\": 99999999999}", "found 99999999999"},
        {"{\"combine\": \"product\"}", "expected combine as sum or concat, found \"product\""},
        {"{\"combine\": 1}", "found 1"},
        {"{\"feature_norm\": null}", "expected feature_norm as layer or none"},
        {"{\"power_iterations\": -2}", "an integer from -1 to 10000"},
        {"{\"feature_seed\": \"-1\"}", "expected feature_seed as an integer from 0"},
        {"{\"feature_seed\": \"18446744073709551616\"}", "found \"18446744073709551616\""},
        {"{}", "run: expected dim, found none"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        mo_feature_options o = some_features;
        json_t *object = json_object(), *given = json_loads(wrong[i].text, 0, NULL);
        if (json_object_size(given))
            mo_fields_write(mo_feature_fields, &some_features, object, false);
        json_object_update(object, given);
        mo_fields_read(s->ctx, "run", mo_feature_fields, object, &o);
        assert_failed(s->ctx, MO_FORMAT, PARTS(wrong[i].told));
        assert_memory_equal(&o, &some_features, sizeof o);
        json_decref(object);
        json_decref(given);
    }
}

TEST_OF(options_out_of_range_are_named, scratch *s) {
    mo_trainer_options o = some_options();
    assert_true(mo_fields_check(s->ctx, "train", mo_trainer_fields, &o));
    o.plan.k_max = 1;
    assert_false(mo_fields_check(s->ctx, "train", mo_trainer_fields, &o));
    assert_failed(s->ctx, MO_INVALID, PARTS("train: k is 2:1, expected A:B with 1 <= A <= B"));
    o = some_options();
    o.adamw.lr = NAN;
    assert_false(mo_fields_check(s->ctx, "train", mo_trainer_fields, &o));
    assert_failed(s->ctx, MO_INVALID, PARTS("train: lr is nan, expected a number above 0"));
    mo_feature_options f = some_features;
    f.combine = (mo_combine)7;
    assert_false(mo_fields_check(s->ctx, "pool", mo_feature_fields, &f));
    assert_failed(s->ctx, MO_INVALID, PARTS("pool: combine is 7, expected sum or concat"));
}

/* Another value than the member's own. */
static json_t *another(const mo_field *f, const json_t *own) {
    static const char *const tried[] = {
        "\"no\"", "\"none\"", "\"layer\"", "\"sum\"", "\"scaled\"", "[2, 2, 2]", "3", "4", "0.5", "0.375", "[1, 1]"};
    char options[sizeof(mo_trainer_options) + sizeof(mo_feature_options)];
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        json_t *value = json_loads(tried[i], JSON_DECODE_ANY, NULL);
        if (mo_field_read(f, value, options) && !json_equal(value, own))
            return value;
        json_decref(value);
    }
    return NULL;
}

static void expect_every_difference(const mo_field *table, json_t *object) {
    for (const mo_field *f = table; f->kind; f++) {
        json_t *own = json_object_get(object, f->key);
        if (f->kind == MO_FIELD_STRUCT) {
            expect_every_difference(f->table, own);
            continue;
        }
        json_t *value = another(f, own), *changed = json_deep_copy(object);
        assert_non_null(value);
        json_object_set_new(changed, f->key, value);
        mo_difference d = {0};
        assert_true(mo_settings_differ(&d, object, changed));
        assert_true(!strncmp(d.path, f->key, strlen(f->key)));
        json_decref(changed);
    }
}

TEST_OF(a_difference_in_any_member_is_found, scratch *s) {
    mo_trainer_options o = some_options();
    json_t *object = json_object(), *features = json_object();
    assert_true(mo_fields_write(mo_trainer_fields, &o, object, false));
    assert_true(mo_fields_write(mo_feature_fields, &some_features, features, false));
    expect_every_difference(mo_trainer_fields, object);
    expect_every_difference(mo_feature_fields, features);
    json_decref(object);
    json_decref(features);
    expect_ok(s->ctx);
}
