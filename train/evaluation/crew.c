/* train/evaluation/crew.c - threads, each with its own context, take the problems of a candidate in turn.
 *
 * The products of one problem are small: threads that share one op would mostly wait at barriers. A thread that
 * computes whole problems meets no barrier, and its data stay in its core's cache. Problems too large for each thread
 * to hold one, those on a device, and those of a model go one after another with all threads inside an op. */
#include "train/evaluation/evaluation.h"

#include "tensor/cpu/tasks.h"
#include "tensor/objects.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { CREW_NUMBERS = 1 << 27 }; /* bound on the doubles in the rows and matrices of all members */

/* Gives a member its context and the rows of crew->own. */
static bool open_member(mo_reader *m, const mo_reader *own) {
    if (!m->ctx)
        m->ctx = mo_context_create(&(mo_context_options){.threads = 1, .math = own->ctx->math});
    if (m->ctx && !m->t)
        m->t = mo_tape_create(m->ctx, MO_EVAL);
    if (!m->ctx || !mo_ok(m->ctx))
        return false;
    mo_tensor_release(m->rows);
    m->rows = mo_tensor_borrow(m->ctx, own->rows);
    m->source = own->source;
    m->candidate = own->candidate;
    bool fine = mo_ok(m->ctx);
    mo_clear_error(m->ctx); /* another thread's try may have memory */
    return fine;
}

bool mo_crew_create(mo_context *ctx, mo_crew *crew) {
    int threads = mo_context_device(ctx) == MO_CPU && mo_context_blas_is_safe(ctx) ? mo_context_threads(ctx) : 1;
    *crew = (mo_crew){.own = {.ctx = ctx, .t = mo_ok(ctx) ? mo_tape_create(ctx, MO_EVAL) : NULL}};
    if (threads > 1)
        crew->member = mo_host_array(ctx, threads, sizeof *crew->member);
    crew->n = crew->member ? threads : 0;
    return mo_ok(ctx);
}

void mo_crew_release(mo_crew *crew) {
    for (int i = 0; i < crew->n; i++) {
        mo_tape_release(crew->member[i].t);
        mo_tensor_release(crew->member[i].rows);
        mo_context_release(crew->member[i].ctx);
    }
    free(crew->member);
    mo_tape_release(crew->own.t);
    *crew = (mo_crew){0};
}

static void crew_tell(const mo_job *job, int64_t done) {
    if (job->progress)
        job->progress(job->title, done, job->n, job->state);
}

static bool run_in_turn(const mo_reader *r, mo_job *job) {
    mo_job_space space;
    bool fine = mo_job_space_create(r->ctx, job, &space);
    for (int64_t i = 0; fine && i < job->n; i++) {
        fine = mo_job_run(r, job, i, &space);
        crew_tell(job, i + 1);
    }
    mo_job_space_release(&space);
    mo_tape_reset(r->t);
    return fine && mo_ok(r->ctx);
}

/* State shared by the threads: next problem to take, number of problems done, first problem that failed; number of
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
#pragma omp critical(mo_crew_settle)
    if (number < p->failed) {
        p->failed = number;
        p->status = *mo_context_status(ctx);
    }
    mo_clear_error(ctx);
}

/* A member's share of the work, on a thread of that number; thread 0, the caller's, tells the progress. Returns false
 * if it could not start. */
static bool crew_work(const mo_reader *r, mo_job *job, int thread, progress *p) {
    mo_job_space space = {0};
    bool ready = mo_job_space_create(r->ctx, job, &space);
    for (int64_t i; ready && (i = crew_take(p)) < job->n;) {
        if (!mo_job_run(r, job, i, &space))
            crew_settle(p, r->ctx, i);
        int64_t done = ++p->done;
        if (thread == 0)
            crew_tell(job, done);
    }
    mo_job_space_release(&space);
    mo_tape_reset(r->t);
    mo_clear_error(r->ctx);
    return ready;
}

typedef struct joint_run {
    mo_crew *crew;
    mo_job *job;
    int members; /* that work */
    progress *p;
} joint_run;

static void join_one(const void *of, task_range member) {
    const joint_run *r = of;
    mo_reader *own = &r->crew->member[member.first];
    bool needed = member.first < r->members && r->p->next < r->job->n;
    if (needed && open_member(own, &r->crew->own) && crew_work(own, r->job, member.thread, r->p))
        r->p->joined++;
}

static bool run_at_once(mo_crew *crew, mo_job *job, int members) {
    mo_context *ctx = crew->own.ctx;
    progress p = {.failed = INT64_MAX};
    const joint_run r = {.crew = crew, .job = job, .members = members, .p = &p};
    run_tasks(crew->n, crew->n, 1, join_one, &r);
    join_one(&r, (task_range){0}); /* what is left where a thread that had no memory took the caller's task too */
    if (p.failed < INT64_MAX)
        mo_fail(ctx, p.status.code, "%s", p.status.message);
    else if (p.joined == 0)
        mo_fail(ctx, MO_MEMORY, "evaluate: out of memory for a thread's context");
    return mo_ok(ctx);
}

/* The doubles in the rows and the matrix of a job's largest problem. */
static int64_t count_numbers(const mo_reader *r, const mo_job *job) {
    int64_t d = mo_dim(r->rows, 1), most = 0;
    for (int64_t i = 0; i < job->n; i++) {
        int64_t n = job->plan[i].n_support, numbers = n * (n > d ? n : d) + job->plan[i].n_query * d;
        most = numbers > most ? numbers : most;
    }
    return most;
}

bool mo_crew_run(mo_crew *crew, mo_job *job) {
    const mo_reader *own = &crew->own;
    int threads = crew->n < job->n ? crew->n : (int)job->n;
    bool apart = own->rows && !own->candidate.model && threads > 1 && mo_is_contiguous(own->rows);
    bool small = apart && count_numbers(own, job) <= CREW_NUMBERS / threads;
    return small ? run_at_once(crew, job, threads) : run_in_turn(own, job);
}
