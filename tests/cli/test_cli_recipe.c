/* tests/cli/test_cli_recipe.c - the settings of each recipe, their changes by options, their record in files, and that
 * a resumed run keeps them. */
#include "tensor_file.h"

static const fixtures around_all = {program_create, program_release};

/* A set of small graphs and few steps: only the recorded settings matter here. */
#define SHORT "train", "--pool", "mutag", "--dim", "8", "--k", "2:4", "--q", "2:5", "--steps", "2", "--quiet"

/* A member of a JSON file of the folder, by a path of two names; owned. */
static json_t *member_of(const program *p, const char *file, const char *object, const char *name) {
    json_error_t error;
    json_t *all = json_load_file(in_folder(p, file), 0, &error);
    json_t *member = json_incref(json_object_get(json_object_get(all, object), name));
    json_decref(all);
    if (!member)
        fail_msg("%s has no %s.%s", file, object, name);
    return member;
}

/* That a member is the value of this JSON text. */
static void assert_member(const program *p, const char *file, const char *object, const char *name, const char *text) {
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL), *member = member_of(p, file, object, name);
    char *found = json_dumps(member, JSON_ENCODE_ANY | JSON_COMPACT);
    bool equal =
        json_is_number(value) ? json_number_value(value) == json_number_value(member) : json_equal(value, member);
    if (!equal)
        fail_msg("%s: %s.%s is %s, expected %s", file, object, name, found, text);
    free(found);
    json_decref(value);
    json_decref(member);
}

/* That the metadata of weights holds these, "key=value key=value .." . */
static void assert_metadata(const program *p, const char *file, const char *pairs) {
    tensor_file f = open_tensors(p, file);
    char copy[256], *rest = copy, *pair;
    snprintf(copy, sizeof copy, "%s", pairs);
    while ((pair = strsep(&rest, " "))) {
        char *value = strchr(pair, '=');
        *value++ = '\0';
        const char *found = json_string_value(json_object_get(f.metadata, pair));
        if (!found || strcmp(found, value) != 0)
            fail_msg("%s: %s is %s, expected %s", file, pair, found ? found : "absent", value);
    }
    close_tensors(&f);
}

/* The article: hop layers are linear, the SVDs stand side by side, no LayerNorm. The released program: ReLU, sum and
 * LayerNorm. */
TEST(recipes_set_what_their_sources_say) {
    program *p = *state;
    static const struct {
        const char *name, *file, *combine, *activation, *norm, *metadata;
    } recipes[] = {
        {"paper", "paper/run.json", "\"concat\"", "\"none\"", "\"none\"",
            "relu_hops=0 combine=concat feature_norm=none"},
        {"paper++", "paper++/run.json", "\"concat\"", "\"none\"", "\"none\"",
            "relu_hops=0 combine=concat feature_norm=none"},
        {"released", "released/run.json", "\"sum\"", "\"relu\"", "\"layer\"",
            "relu_hops=1 combine=sum feature_norm=layer"},
    };
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        char weights[64];
        const char *file = recipes[i].file;
        RUN(p, SHORT, "--recipe", recipes[i].name, "--out", in_folder(p, recipes[i].name));
        assert_ended(p, 0, NULL);
        assert_member(p, file, "settings", "combine", recipes[i].combine);
        assert_member(p, file, "settings", "hop_activation", recipes[i].activation);
        assert_member(p, file, "settings", "feature_norm", recipes[i].norm);
        assert_member(p, file, "settings", "hops", "3");
        assert_member(p, file, "settings", "smoothing", "0.1");
        assert_member(p, file, "settings", "weight_decay", "0.0001");
        assert_member(p, file, "settings", "clip", "1");
        snprintf(weights, sizeof weights, "%s/weights.safetensors", recipes[i].name);
        assert_metadata(p, weights, recipes[i].metadata);
    }
}

TEST(every_setting_is_recorded_where_it_acts) {
    program *p = *state;
    static const struct {
        const char *recipe, *option, *value, *object, *member, *recorded;
    } settings[] = {
        {"paper", "--hop-activation", "relu", "model", "relu_hops", "1"},
        {"paper", "--feature-norm", "layer", "settings", "feature_norm", "\"layer\""},
        {"released", "--feature-norm", "none", "features", "norm", "\"none\""},
        {"released", "--hop-activation", "none", "model", "relu_hops", "0"},
        {"released", "--combine", "concat", "features", "combine", "\"concat\""},
        {"paper", "--hops", "1", "features", "hops", "1"},
        {"best", "--hops", "1", "model", "hops", "1"},
        {"paper", "--smoothing", "0.25", "model", "smoothing", "0.25"},
        {"best", "--smoothing", "0.25", "model", "smoothing", "0.25"},
        {"paper", "--weight-decay", "0.5", "settings", "weight_decay", "0.5"},
        {"paper", "--clip", "0.125", "settings", "clip", "0.125"},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        char name[32], file[64], weights[64];
        snprintf(name, sizeof name, "setting%zu", i);
        snprintf(file, sizeof file, "%s/run.json", name);
        snprintf(weights, sizeof weights, "%s/weights.safetensors", name);
        RUN(p, SHORT, "--recipe", settings[i].recipe, settings[i].option, settings[i].value, "--out",
            in_folder(p, name));
        assert_ended(p, 0, NULL);
        assert_member(p, file, settings[i].object, settings[i].member, settings[i].recorded);
        RUN(p, "embed", "--weights", in_folder(p, weights), "--data", "mutag", "--out", in_folder(p, "Z.npy"));
        assert_ended(p, 0, NULL);
    }
}

/* Weights that do not name the norm were trained behind LayerNorm. */
TEST(weights_without_a_norm_have_layer_norm) {
    program *p = *state;
    RUN(p, SHORT, "--recipe", "released", "--out", in_folder(p, "older"));
    assert_ended(p, 0, NULL);
    char weights[300];
    snprintf(weights, sizeof weights, "%s/older/weights.safetensors", p->folder);
    RUN(p, "embed", "--weights", weights, "--data", "mutag", "--out", in_folder(p, "named.npy"));
    assert_ended(p, 0, NULL);
    tensor_file f = open_tensors(p, "older/weights.safetensors");
    assert_int_equal(json_object_del(f.metadata, "feature_norm"), 0);
    rewrite_tensors(p, "older/weights.safetensors", &f);
    close_tensors(&f);
    RUN(p, "embed", "--weights", weights, "--data", "mutag", "--out", in_folder(p, "unnamed.npy"));
    assert_ended(p, 0, NULL);
    assert_same_file(p, "named.npy", "unnamed.npy");
}

/* Takes the settings that came later out of an object of run.json's form. */
static void strip_settings(json_t *run) {
    static const char *const later[] = {"hop_activation", "feature_norm", "hops", "weight_decay", "clip", "smoothing"};
    json_t *settings = json_object_get(run, "settings");
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        assert_int_equal(json_object_del(settings, later[i]), 0);
}

/* As a run of `paper` was left when that recipe had ReLU, the sum and LayerNorm, and run.json did not name them. */
TEST(a_run_without_later_settings_goes_on_as_it_began) {
    program *p = *state;
    RUN(p, SHORT, "--recipe", "paper", "--hop-activation", "relu", "--feature-norm", "layer", "--combine", "sum",
        "--out", in_folder(p, "began"));
    assert_ended(p, 0, NULL);
    json_t *run = json_load_file(in_folder(p, "began/run.json"), 0, NULL);
    strip_settings(run);
    assert_int_equal(json_dump_file(run, in_folder(p, "began/run.json"), JSON_REAL_PRECISION(17)), 0);
    json_decref(run);
    tensor_file f = open_tensors(p, "began/checkpoint.safetensors");
    json_t *kept = json_loads(json_string_value(json_object_get(f.metadata, "settings")), 0, NULL);
    strip_settings(kept);
    char *text = json_dumps(kept, JSON_COMPACT);
    json_object_set_new(f.metadata, "settings", json_string(text));
    rewrite_tensors(p, "began/checkpoint.safetensors", &f);
    free(text);
    json_decref(kept);
    close_tensors(&f);
    RUN(p, "train", "--out", in_folder(p, "began"), "--resume", "--quiet");
    assert_ended(p, 0, NULL);
    assert_metadata(p, "began/weights.safetensors", "relu_hops=1 combine=sum feature_norm=layer recipe=paper");
}

/* Prints one line that names the option, the run's value and the given one; computes nothing. */
TEST(a_resumed_run_refuses_what_contradicts_it) {
    program *p = *state;
    RUN(p, SHORT, "--recipe", "paper", "--out", in_folder(p, "resumed"));
    assert_ended(p, 0, NULL);
    static const char *const changes[][4] = {
        {"--recipe", "best", "has \"paper\"", "found \"best\""},
        {"--recipe", "paper++", "has \"paper\"", "found \"paper++\""},
        {"--steps", "20", "has 2", "found 20"},
        {"--k", "3", "has [2,4]", "found [3,3]"},
        {"--q", "3:5", "has [2,5]", "found [3,5]"},
        {"--lr", "0.5", "has 0.0003", "found 0.5"},
        {"--seed", "1", "has 0", "found 1"},
        {"--dim", "16", "has 8", "found 16"},
        {"--hops", "2", "has 3", "found 2"},
        {"--head", "svm", "has \"ridge\"", "found \"svm\""},
        {"--lambda", "3", "has 10", "found 3"},
        {"--layers", "2", "has 3", "found 2"},
        {"--combine", "sum", "has \"concat\"", "found \"sum\""},
        {"--feature-norm", "layer", "has \"none\"", "found \"layer\""},
        {"--hop-activation", "relu", "has \"none\"", "found \"relu\""},
        {"--temperature", "embed", "has \"logit\"", "found \"embed\""},
        {"--dropout", "0.5", "has 0", "found 0.5"},
        {"--smoothing", "0.5", "has 0.1", "found 0.5"},
        {"--weight-decay", "0.5", "has 0.0001", "found 0.5"},
        {"--clip", "0.5", "has 1", "found 0.5"},
        {"--link-share", "0.5", "has 0.2", "found 0.5"},
        {"--power-iterations", "1", "has 2", "found 1"},
        {"--max-classes", "3", "has 64", "found 3"},
        {"--max-rows", "9", "has none", "found 9"},
        {"--episodes-per-step", "3", "has 1", "found 3"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char option[64];
        snprintf(option, sizeof option, "%s:", changes[i][0]);
        RUN(p, "train", "--out", in_folder(p, "resumed"), "--resume", changes[i][0], changes[i][1]);
        assert_ended(p, 2, option);
        assert_ended(p, 2, changes[i][2]);
        assert_ended(p, 2, changes[i][3]);
    }
    RUN(p, "train", "--out", in_folder(p, "resumed"), "--resume", "--recipe", "paper", "--steps", "2", "--quiet");
    assert_ended(p, 0, NULL);
}

/* The families of the episodes of a step, one letter each, as the line of log.jsonl names their sources. */
static void read_families(const json_t *line, char *families) {
    const json_t *name;
    size_t i;
    json_array_foreach(json_object_get(line, "data"), i, name) {
        const char *colon = strrchr(json_string_value(name), ':');
        assert_non_null(colon);
        *families++ = colon[1];
    }
    *families = 0;
}

TEST(a_step_has_any_number_of_episodes) {
    static const char *const expected[] = {"lngln", "glngl"}; /* links, nodes, graphs in turn, from step to step */
    program *p = *state;
    char families[16], text[MAX_TEXT];
    const char *const threads[] = {"1", "2"}, *const runs[] = {"five", "five2"};
    for (int i = 0; i < 2; i++) {
        RUN(p, "train", "--out", in_folder(p, runs[i]), "--recipe", "paper++", "--pool", "cora:nc+lp,mutag", "--dim",
            "8", "--k", "2:4", "--q", "2:5", "--steps", "2", "--episodes-per-step", "5", "--quiet", "--threads",
            threads[i]);
        assert_ended(p, 0, NULL);
    }
    assert_same_file(p, "five/weights.safetensors", "five2/weights.safetensors");
    read_text(in_folder(p, "five/log.jsonl"), text);
    assert_int_equal(count_lines(text), 2);
    char *at = text;
    for (int step = 0; step < 2; step++, at = strchr(at, '\n') + 1) {
        json_t *line = json_loads(at, JSON_DISABLE_EOF_CHECK, NULL);
        read_families(line, families);
        assert_string_equal(families, expected[step]);
        json_decref(line);
    }
    RUN(p, "train", "--out", in_folder(p, "five"), "--resume", "--episodes-per-step", "4");
    assert_ended(p, 2, "has 5, found 4");
}

/* What mpirun, or a scheduler in its place, sets in the environment of the processes that it starts. */
TEST(one_of_several_processes_is_refused) {
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    program *p = *state;
    ignore_leaks();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        setenv(sizes[i], "2", 1);
        RUN(p, "train", "--out", in_folder(p, "several"), "--pool", "mutag", "--dim", "8", "--steps", "1", "--quiet");
        assert_ended(p, 1, "one of 2 processes");
        assert_int_equal(access(in_folder(p, "several"), F_OK), -1);
        setenv(sizes[i], "1", 1);
        RUN(p, "train", "--out", in_folder(p, sizes[i]), "--pool", "mutag", "--dim", "8", "--k", "2", "--q", "2",
            "--steps", "1", "--quiet");
        unsetenv(sizes[i]);
        assert_int_equal(p->code, 0);
    }
}
