/* train/fit/fit_crew.c - threads, each with its own context, take episodes in turn.
 *
 * The products of one episode are small: threads that share one op would mostly wait at barriers. A thread that
 * computes whole episodes meets no barrier, and its data stay in its core's cache. Episodes too large for each thread
 * to hold one, and those on a device, go one after another with all threads inside an op. */
#include "train/fit/fit_parts.h"

#include "tensor/cpu/tasks.h"
#include "tensor/objects.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { CREW_NUMBERS = 1 << 27 }; /* bound on the doubles in the rows and matrices of all members */

static bool open_member(mo_fitting *f, mo_tensor *Z) {
    if (!f->ctx)
        f->ctx = mo_context_create(&(mo_context_options){.threads = 1, .math = mo_tensor_context(Z)->math});
    if (f->ctx && !f->t) {
        f->Z = mo_tensor_borrow(f->ctx, Z);
        f->t = mo_tape_create(f->ctx, MO_EVAL);
    }
    return f->ctx && mo_ok(f->ctx);
}

bool mo_fit_crew_create(mo_tensor *Z, mo_fit_crew *crew) {
    mo_context *ctx = mo_tensor_context(Z);
    int threads = mo_context_device(ctx) == MO_CPU && mo_context_blas_is_safe(ctx) ? mo_context_threads(ctx) : 1;
    *crew = (mo_fit_crew){.own = {.ctx = ctx, .Z = Z, .t = mo_tape_create(ctx, MO_EVAL)}};
    if (threads > 1)
        crew->member = mo_host_array(ctx, threads, sizeof *crew->member);
    crew->n = crew->member ? threads : 0;
    return mo_ok(ctx);
}

static void close_member(mo_fitting *f) {
    mo_tape_release(f->t);
    mo_tensor_release(f->Z);
    mo_context_release(f->ctx);
}

void mo_fit_crew_release(mo_fit_crew *crew) {
    for (int i = 0; i < crew->n; i++)
        close_member(&crew->member[i]);
    free(crew->member);
    mo_tape_release(crew->own.t);
    *crew = (mo_fit_crew){0};
}

static void crew_tell(const mo_fit_job *job, int64_t done) {
    if (job->progress)
        job->progress(job->title, done, job->draws->episodes, job->state);
}

static bool run_in_turn(const mo_fitting *f, const mo_fit_job *job) {
    mo_fit_space space;
    bool fine = mo_fit_space_create(f->ctx, job, &space);
    for (int64_t i = 0; fine && i < job->draws->episodes; i++) {
        fine = mo_fit_episode(f, job, i, &space);
        crew_tell(job, i + 1);
    }
    mo_fit_space_release(&space);
    mo_tape_reset(f->t);
    return fine;
}

/* State shared by the threads: next episode to take, number of episodes done, first episode that failed; number of
 * members that could start. */
typedef struct progress {
    atomic_llong next, done, failed;
    atomic_int joined;
    mo_status status;
} progress;

static int64_t crew_take(progress *p) {
    int64_t number = p->next++;
    return number < p->failed ? number : INT64_MAX;
}

static void crew_settle(progress *p, mo_context *ctx, int64_t number) {
#pragma omp critical(mo_fit_crew_settle)
    if (number < p->failed) {
        p->failed = number;
        p->status = *mo_context_status(ctx);
    }
    mo_clear_error(ctx);
}

/* A member's share of the work, on a thread of that number; thread 0, the caller's, tells the progress. Returns false
 * if it could not start. */
static bool crew_work(mo_fitting *f, const mo_fit_job *job, int thread, progress *p) {
    mo_fit_space space = {0};
    bool ready = mo_fit_space_create(f->ctx, job, &space);
    for (int64_t i; ready && (i = crew_take(p)) < job->draws->episodes;) {
        if (!mo_fit_episode(f, job, i, &space))
            crew_settle(p, f->ctx, i);
        int64_t done = ++p->done;
        if (thread == 0)
            crew_tell(job, done);
    }
    mo_fit_space_release(&space);
    mo_tape_reset(f->t);
    mo_clear_error(f->ctx);
    return ready;
}

/* Works in the context of a member, with the caller's settings. */
static bool crew_join(mo_fit_crew *crew, const mo_fit_job *job, task_range member, progress *p) {
    mo_fitting *own = &crew->member[member.first], f = crew->own;
    if (!open_member(own, crew->own.Z))
        return false;
    f.ctx = own->ctx;
    f.t = own->t;
    f.Z = own->Z;
    return crew_work(&f, job, member.thread, p);
}

typedef struct joint_run {
    mo_fit_crew *crew;
    const mo_fit_job *job;
    int members; /* that work */
    progress *p;
} joint_run;

static void join_one(const void *of, task_range member) {
    const joint_run *r = of;
    bool needed = member.first < r->members && r->p->next < r->job->draws->episodes;
    if (needed && crew_join(r->crew, r->job, member, r->p))
        r->p->joined++;
}

static bool run_at_once(mo_fit_crew *crew, const mo_fit_job *job, int members) {
    mo_context *ctx = crew->own.ctx;
    progress p = {.failed = INT64_MAX};
    const joint_run r = {.crew = crew, .job = job, .members = members, .p = &p};
    run_tasks(crew->n, crew->n, 1, join_one, &r);
    join_one(&r, (task_range){0}); /* what is left where a thread that had no memory took the caller's task too */
    if (p.failed < INT64_MAX)
        mo_fail(ctx, p.status.code, "%s", p.status.message);
    else if (p.joined == 0)
        mo_fail(ctx, MO_MEMORY, "fit: out of memory for a thread's context");
    return mo_ok(ctx);
}

bool mo_fit_crew_run(mo_fit_crew *crew, const mo_fit_job *job) {
    int64_t episodes = job->draws->episodes;
    int threads = crew->n < episodes ? crew->n : (int)episodes;
    bool small = job->numbers <= CREW_NUMBERS / (threads > 0 ? threads : 1);
    return threads > 1 && small ? run_at_once(crew, job, threads) : run_in_turn(&crew->own, job);
}
