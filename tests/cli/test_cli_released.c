/* tests/cli/test_cli_released.c - weights of the released program: a state dict as PyTorch writes it, converted, embeds
 * Cora as the encoder written out in NumPy does (released_encoder.py; skipped where no Python has NumPy). */
#include "tests/cli/program.h"
#include "tests/oracle.h"

static const fixtures around_all = {program_create, program_release};

/* Runs a command of the shell that must succeed. */
static void assert_runs(const char *command) {
    if (system(command) != 0)
        fail_msg("failed: %s", command);
}

TEST(converted_weights_embed_as_the_formulas_do) {
    program *p = *state;
    char command[1600];
    const char *const variants[] = {"mochi", "mochi++"}, *python = python_with("numpy");
    snprintf(command, sizeof command, "%s tests/cli/released_encoder.py write %s", python, p->folder);
    assert_runs(command);
    for (int hop = 0; hop < 4; hop++) {
        char number[8], name[16];
        snprintf(number, sizeof number, "%d", hop);
        snprintf(name, sizeof name, "H%d.npy", hop);
        RUN(p, "embed", "--weights", "none", "--hop", number, "--data", "cora", "--out", in_folder(p, name));
        assert_ended(p, 0, NULL);
    }
    for (int i = 0; i < 2; i++) {
        snprintf(command, sizeof command, "%s tools/data/convert.py weights %s/%s.pt %s/%s.safetensors", python,
            p->folder, variants[i], p->folder, variants[i]);
        assert_runs(command);
        char weights[600];
        snprintf(weights, sizeof weights, "%s/%s.safetensors", p->folder, variants[i]);
        RUN(p, "embed", "--recipe", "released", "--weights", weights, "--data", "cora", "--out", in_folder(p, "Z.npy"));
        assert_ended(p, 0, NULL);
        snprintf(
            command, sizeof command, "%s tests/cli/released_encoder.py compare %s %s", python, p->folder, variants[i]);
        assert_runs(command);
        RUN(p, "eval", "--recipe", "released", "--weights", weights, "--data", "mutag", "--shots", "4", "--seeds", "2",
            "--hop", "2", "--json", "--quiet");
        assert_ended(p, 0, NULL);
        assert_non_null(strstr(p->out, "\"recipe\":\"released\""));
    }
}

TEST(weights_of_another_recipe_are_refused) {
    program *p = *state;
    RUN(p, "embed", "--recipe", "released", "--data", "mutag", "--out", in_folder(p, "Z.npy"));
    assert_ended(p, 1, "best: expected weights of the recipe released, found best");
    RUN(p, "eval", "--recipe", "paper++", "--data", "mutag");
    assert_ended(p, 1, "best: expected weights of the recipe paper++, found best");
    assert_int_not_equal(access(in_folder(p, "Z.npy"), F_OK), 0);
}
