/* tools/train/train.c - `mochi train`: meta-trains on a pool of graphs. */
#include "tools/cli/interrupt.h"
#include "tools/cli/progress.h"
#include "tools/ranks/ranks.h"
#include "tools/train/train_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct run {
    const train_options *options;
    progress progress;
    ranks_group ranks;
    bool lost_output;
    int64_t done, episodes, replayed; /* steps done, and episodes and replays of this process */
} run;

static bool on_step(const mo_step_report *r, void *state) {
    run *now = state;
    now->done = r->step + 1;
    now->episodes += now->options->recipe.training.episodes_per_step;
    now->replayed += r->replayed;
    now->lost_output = !progress_step(&now->progress, r);
    return !now->lost_output && !*interruption();
}

static void print_train_notice(const char *line, void *state) {
    const run *now = state;
    if (now->progress.form != PROGRESS_QUIET && now->progress.form != PROGRESS_JSON) {
        puts(line);
        fflush(stdout);
    }
}

static progress_form choose_form(const train_options *o) {
    if (o->json)
        return PROGRESS_JSON;
    return o->quiet ? PROGRESS_QUIET : can_redraw(stdout) ? PROGRESS_TERMINAL : PROGRESS_LINES;
}

static bool run_leads(const run *now) {
    return now->ranks.rank == 0;
}

/* Reports a failure. All processes of a run have the same failure: only the first one reports it. */
static int report_run(const mo_context *ctx, const run *now) {
    return run_leads(now) ? report_failure(ctx) : EXIT_FAILED;
}

/* Reports why a step failed, what is saved, and how to continue. Continuing takes another learning rate: with the same
 * one, the run would fail at the same step again. */
static int report_step(const mo_context *ctx, const run *now) {
    const train_options *o = now->options;
    bool numerical = mo_context_status(ctx)->code == MO_NUMERICAL;
    int code = report_run(ctx, now);
    if (numerical && run_leads(now))
        fprintf(stderr,
            "mochi: %s/checkpoint.safetensors is of the last good step; continue at a lower rate with: mochi train "
            "--out %s --resume --new-lr %g\n",
            o->out, o->out, o->recipe.training.adamw.lr / 2);
    return code;
}

enum { HELD_OUT_EPISODES = 20 };

/* Returns an episode number above those of the training run, for episodes that training has not seen. */
static uint64_t first_held_out(const mo_recipe *r) {
    uint64_t trained = (uint64_t)r->training.steps * (uint64_t)r->training.episodes_per_step, usual = (uint64_t)1 << 40;
    return trained > usual ? trained : usual;
}

/* Reports the tasks on which the trained model is worse than the untrained one by more than the 95% interval, on
 * episodes of the pool that training has not seen. */
static mo_code report_below_untrained(mo_context *ctx, const run *now, const mo_pool *pool, mo_model *model) {
    const mo_recipe *r = &now->options->recipe;
    mo_model *models[2] = {model, mo_recipe_model(ctx, r, pool)};
    mo_paired figures[MO_TASKS];
    mo_code code = mo_compare_models(pool, models, &r->training.plan, first_held_out(r), HELD_OUT_EPISODES, figures);
    for (int task = 0; task < MO_TASKS && code == MO_OK; task++)
        if (figures[task].difference + figures[task].ci95 < 0)
            fprintf(stderr,
                "mochi: worse than the untrained encoder: %s, %.1f%% against %.1f%% on %d episodes of the pool that "
                "were not trained on (difference %.1f ± %.1f)\n",
                mo_task_name((mo_task)task), figures[task].mean[0], figures[task].mean[1], HELD_OUT_EPISODES,
                figures[task].difference, figures[task].ci95);
    mo_model_release(models[1]);
    return mo_context_status(ctx)->code;
}

/* Reports how to continue after an interruption of this or another process. Returns the exit code. */
static int report_interruption(const run *now) {
    if (run_leads(now))
        fprintf(stderr, "mochi: interrupted after step %lld; continue with: mochi train --out %s --resume\n",
            (long long)now->done, now->options->out);
    return *interruption() ? interrupted_code() : 128 + SIGTERM;
}

/* Trains to the end or until interrupted. Returns the exit code. */
static int run_trainer(mo_context *ctx, const mo_pool *pool, mo_model *model, mo_trainer *trainer, run *now) {
    const train_options *o = now->options;
    now->progress = progress_start(now->progress.form, o->recipe.training.steps);
    catch_interrupts(SA_RESTART);
    mo_trainer_run(trainer, on_step, now);
    progress_end(&now->progress);
    if (!mo_ok(ctx))
        return report_step(ctx, now);
    if (now->lost_output)
        return EXIT_FAILED; /* the exit handler of watch_output reports it */
    bool by_another = now->ranks.size > 1 && now->episodes > 0;
    if (now->done < o->recipe.training.steps && (*interruption() || by_another))
        return report_interruption(now);
    if (mo_trainer_finish(trainer) != MO_OK)
        return report_run(ctx, now);
    if (!run_leads(now))
        return EXIT_FINE;
    if (now->progress.form == PROGRESS_LINES || now->progress.form == PROGRESS_TERMINAL) {
        if (replays(o))
            printf("%lld of %lld episodes replayed\n", (long long)now->replayed, (long long)now->episodes);
        printf("%s/weights.safetensors written\n", o->out);
        fflush(stdout);
    }
    if (report_below_untrained(ctx, now, pool, model) != MO_OK)
        return report_failure(ctx);
    return EXIT_FINE;
}

static int train_on_pool(mo_context *ctx, mo_pool *pool, run *now) {
    const train_options *o = now->options;
    const mo_recipe *r = &o->recipe;
    char *text = o->kept_text ? NULL : settings_text(o);
    mo_model *model = mo_recipe_model(ctx, r, pool);
    mo_trainer_options options = r->training;
    options.checkpoint_every = o->checkpoint_every;
    options.replay = replays(o);
    options.out = o->out;
    options.settings = o->kept_text ? o->kept_text : text;
    options.other_rate = o->new_lr > 0;
    mo_trainer *trainer = model ? mo_trainer_create(model, pool, &options) : NULL;
    int code = EXIT_FAILED;
    bool made = now->ranks.size > 1 ? ranks_agree(ctx, &now->ranks, true) : trainer != NULL;
    ranks_share *share = NULL;
    if (made && now->ranks.size > 1)
        ranks_join(trainer, &now->ranks, o->resume, &share);
    else if (made && o->resume)
        mo_trainer_resume(trainer);
    if (made && mo_ok(ctx))
        code = run_trainer(ctx, pool, model, trainer, now);
    else
        report_run(ctx, now);
    mo_trainer_release(trainer);
    ranks_leave(share);
    mo_model_release(model);
    free(text);
    return code;
}

/* Opens the pool. The first process also makes or checks the run's folder. Returns NULL on failure. */
static mo_pool *open_run_pool(mo_context *ctx, run *now) {
    const train_options *o = now->options;
    mo_feature_options features = o->recipe.features;
    features.place = o->place;
    features.cache = o->cache ? o->cache : getenv("MOCHI_CACHE");
    bool new_folder = run_leads(now) && !o->resume && access(o->out, F_OK) != 0;
    if (run_leads(now))
        say_interrupted("mochi: interrupted before the first step; --cache FOLDER keeps features for the next run\n");
    if (run_leads(now) && !o->resume)
        mo_run_folder(ctx, o->out); /* fails now, not after minutes of computing features */
    else if (run_leads(now))
        mo_run_check(ctx, o->out);
    mo_pool *pool = mo_pool_open(ctx, (const char *const *)o->pool.items, o->pool.count, &features,
        o->recipe.link_share, print_train_notice, now);
    if (new_folder && (!pool || !share_is_used(o, pool)))
        rmdir(o->out); /* the folder is still empty */
    if (pool) {
        if (run_leads(now))
            refuse_given(
                &o->given, "link-share", !share_is_used(o, pool), "no graph of the pool takes it for its links");
        mo_pool_set_families(pool, o->recipe.family);
    }
    return pool;
}

static int train_in_context(mo_context *ctx, run *now) {
    mo_pool *pool = open_run_pool(ctx, now);
    bool opened = now->ranks.size > 1 ? ranks_agree(ctx, &now->ranks, true) : pool != NULL;
    int code = opened ? train_on_pool(ctx, pool, now) : report_run(ctx, now);
    mo_pool_release(pool);
    return code;
}

/* Chooses the device if --device has no number: the processes of a host use its devices in turn. */
static void choose_device(train_options *o, const ranks_group *ranks) {
    bool free_choice = ranks->size > 1 && o->device.device == MO_CUDA && !o->numbered;
    int devices = free_choice ? mo_device_count(MO_CUDA) : 0;
    if (devices > 1)
        o->device.index = ranks_local() % devices;
}

int train_command(int argc, char **argv) {
    train_options o;
    run now = {.options = &o};
    if (!parse_train_options(&o, argc, argv) || !ranks_open(&now.ranks, argv[0])) {
        free_train_options(&o);
        return EXIT_FAILED;
    }
    o.quiet |= !run_leads(&now);
    o.json &= run_leads(&now);
    now.progress.form = choose_form(&o);
    if (now.ranks.size > 1 && !o.device.threads)
        o.device.threads = 1;
    choose_device(&o, &now.ranks);
    mo_context *ctx = open_context_on(o.device);
    int code = EXIT_FAILED;
    if (ctx) {
        code = train_in_context(ctx, &now);
        mo_context_release(ctx);
        ranks_close(&now.ranks);
    }
    free_train_options(&o);
    return code;
}
