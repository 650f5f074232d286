/* tests/fuzz/fuzz_run.c - reads any bytes as the files of a run, run.json and log.jsonl, each ended by '|', then the
 * checkpoint, with right digests (fuzz_files.h): the run is resumed, or refused in one line. */
#include "fuzz_run.h"
#include "fuzz_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"run.json", "log.jsonl", "checkpoint.safetensors"};
    static mo_context *ctx; /* one pool for all inputs, as its features take long */
    static mo_pool *pool;
    static mo_model *model;
    static int64_t live;
    fuzz_folder folder;
    char path[160];
    if (!ctx) {
        ctx = mo_context_create(&(mo_context_options){.threads = 1});
        pool = fuzz_pool(ctx);
        model = mo_invariant_create(ctx, MO_F32, NULL);
        mo_trainer_release(fuzz_trainer(ctx, model, pool, "/nowhere"));
        live = mo_context_counters(ctx).bytes_live;
    }
    fuzz_open(&folder, names, 3, data, size);
    fuzz_sign(fuzz_path(&folder, names[2], path));
    int64_t accepted = fuzz_accepted;
    fuzz_check_status(ctx, mo_run_check(ctx, folder.path) == MO_OK);
    mo_clear_error(ctx);
    fuzz_accepted = accepted; /* accepted only if the next check passes too */
    mo_trainer *trainer = fuzz_trainer(ctx, model, pool, folder.path);
    bool resumed = mo_trainer_resume(trainer) == MO_OK;
    if (resumed && (trainer->step < 0 || trainer->step > FUZZ_STEPS || trainer->optimizer->step != trainer->step))
        abort();
    fuzz_check_status(ctx, resumed);
    mo_clear_error(ctx);
    mo_trainer_release(trainer);
    if (mo_context_counters(ctx).bytes_live != live)
        abort();
    fuzz_remove(&folder);
    return 0;
}
