/* tests/test_cli_released.c - weights of the released program: a state dict that PyTorch wrote, converted, embeds Cora
 * as a PyTorch encoder does (MOCHI_PYTHON, python3; skipped where it has no torch or there is no ../shared). */
#include "program.h"

/* Writes mochi.pt and mochi++.pt, two and three layers, under the released names. */
static const char writer[] = "import sys, torch\n"
                             "folder, peer = sys.argv[1:3]\n"
                             "sys.path.insert(0, peer)\n"
                             "from mochi_torch import Mochi\n"
                             "torch.manual_seed(3)\n"
                             "for variant in ('mochi', 'mochi++'):\n"
                             "    model = Mochi(variant)\n"
                             "    state = {**model.encoder.named(), 'log_temp': model.log_temp.detach() + 0.25}\n"
                             "    state = {k: v.detach().clone() for k, v in state.items()}\n"
                             "    torch.save(state, f'{folder}/{variant}.pt')\n";

/* Encodes the frozen hops H0.npy .. H3.npy by those weights and compares with Z.npy. */
static const char reader[] =
    "import sys, numpy as np, torch\n"
    "folder, peer, variant = sys.argv[1:4]\n"
    "sys.path.insert(0, peer)\n"
    "from mochi_torch import Mochi\n"
    "model = Mochi(variant)\n"
    "model.encoder.load_named(torch.load(f'{folder}/{variant}.pt'))\n"
    "H = torch.stack([torch.from_numpy(np.load(f'{folder}/H{k}.npy')) for k in range(4)])\n"
    "with torch.no_grad():\n"
    "    theirs = model.encoder(H).numpy()\n"
    "ours = np.load(f'{folder}/Z.npy')\n"
    "worst = np.abs(ours - theirs).max()\n"
    "print(variant, ours.shape, 'worst difference', worst, 'of', np.abs(theirs).max())\n"
    "sys.exit(not (ours.shape == (2708, 512) and worst <= 1e-5 and np.abs(theirs).max() > 0.1))\n";

static const char *python(void) {
    return getenv("MOCHI_PYTHON") ? getenv("MOCHI_PYTHON") : "python3";
}

static const char *peer_folder(void) {
    static char path[512];
    const char *shared = getenv("MOCHI_SHARED") ? getenv("MOCHI_SHARED") : "../shared";
    snprintf(path, sizeof path, "%s/peer", shared);
    return path;
}

static void write_script(const program *p, const char *name, const char *text) {
    FILE *file = fopen(in_folder(p, name), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* Runs a command of the shell that must succeed. */
static void assert_runs(const char *command) {
    if (system(command) != 0)
        fail_msg("failed: %s", command);
}

static void require_torch(void) {
    char command[700];
    snprintf(command, sizeof command, "%s -c 'import torch, numpy' 2>/dev/null", python());
    if (access(peer_folder(), R_OK) != 0 || system(command) != 0) {
        print_message("skipped: no torch for %s (set MOCHI_PYTHON), or no folder %s (set MOCHI_SHARED)\n", python(),
            peer_folder());
        skip();
    }
}

static void converted_weights_embed_as_pytorch_does(void **state) {
    program *p = *state;
    char command[1600];
    const char *const variants[] = {"mochi", "mochi++"};
    require_torch();
    write_script(p, "writer.py", writer);
    write_script(p, "reader.py", reader);
    snprintf(command, sizeof command, "%s %s/writer.py %s %s", python(), p->folder, p->folder, peer_folder());
    assert_runs(command);
    for (int hop = 0; hop < 4; hop++) {
        char number[8], name[16];
        snprintf(number, sizeof number, "%d", hop);
        snprintf(name, sizeof name, "H%d.npy", hop);
        RUN(p, "embed", "--weights", "none", "--hop", number, "--data", "cora", "--out", in_folder(p, name));
        assert_ended(p, 0, NULL);
    }
    for (int i = 0; i < 2; i++) {
        snprintf(command, sizeof command, "%s tools/convert.py weights %s/%s.pt %s/%s.safetensors", python(), p->folder,
            variants[i], p->folder, variants[i]);
        assert_runs(command);
        char weights[600];
        snprintf(weights, sizeof weights, "%s/%s.safetensors", p->folder, variants[i]);
        RUN(p, "embed", "--recipe", "released", "--weights", weights, "--data", "cora", "--out", in_folder(p, "Z.npy"));
        assert_ended(p, 0, NULL);
        snprintf(command, sizeof command, "%s %s/reader.py %s %s %s", python(), p->folder, p->folder, peer_folder(),
            variants[i]);
        assert_runs(command);
        RUN(p, "eval", "--recipe", "released", "--weights", weights, "--data", "mutag", "--shots", "4", "--seeds", "2",
            "--hop", "2", "--json", "--quiet");
        assert_ended(p, 0, NULL);
        assert_non_null(strstr(p->out, "\"recipe\":\"released\""));
    }
}

static void weights_of_another_recipe_are_refused(void **state) {
    program *p = *state;
    RUN(p, "embed", "--recipe", "released", "--data", "mutag", "--out", in_folder(p, "Z.npy"));
    assert_ended(p, 1, "best: expected weights of the recipe released, found best");
    RUN(p, "eval", "--recipe", "paper++", "--data", "mutag");
    assert_ended(p, 1, "best: expected weights of the recipe paper++, found best");
    assert_int_not_equal(access(in_folder(p, "Z.npy"), F_OK), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_of_another_recipe_are_refused),
        cmocka_unit_test(converted_weights_embed_as_pytorch_does),
    };
    return cmocka_run_group_tests_name("cli_released", tests, program_create, program_release);
}
