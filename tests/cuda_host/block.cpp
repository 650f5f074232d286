/* tests/cuda_host/block.cpp - the scheduler of a block's threads, its barriers and its warps' exchanges. */
#include "tests/cuda_host/block.h"

#include "tests/cuda_host/fiber.h"
#include "tests/cuda_host/grid.h"
#include "tests/cuda_host/shared.h"
#include "tests/cuda_host/violation.h"

#include <cstdio>

namespace cuda_host {

index3 thread_index, block_index, block_shape, grid_shape;

enum class condition { running, at_barrier, in_warp, exited };

struct thread_record {
    condition now;
    fiber *on;
    place where; /* it waits */
    int predicate;
    unsigned mask; /* of its warp's exchange: what it gives, from which lane it takes, what it was given */
    std::uint64_t gives, takes;
    unsigned source;
};

/* Lanes of a warp, one bit each. */
struct warp_record {
    unsigned present, exited; /* lanes that the block has; that have returned */
    unsigned met;             /* wait for others of their exchange */
    unsigned ready;           /* may go on */
};

/* A block on the device. */
struct block_record {
    index3 index;
    unsigned threads, started, exited, current, counted;
    bool backwards;
    thread_record thread[max_threads];
    warp_record warp[max_threads / warp_size];
};

/* The grid that runs, and the fibers of all. */
static struct {
    const grid *g;
    void (*body)(void *arguments);
    void *arguments;
    fiber scheduler;
    fiber *idle[resident * max_threads];
    unsigned idles;
} all;

static block_record blocks[resident];
static block_record *run = blocks; /* the one that runs just now */

int name_length(const char *name) {
    int n = 0;
    for (int nested = 0; name[n] && (name[n] != ',' || nested); n++)
        nested += (name[n] == '<') - (name[n] == '>');
    return n;
}

void describe_thread(char *text, std::size_t bytes) {
    text[0] = 0;
    if (all.g)
        std::snprintf(text, bytes, ", in kernel %.*s, block (%u, %u, %u), thread (%u, %u, %u)",
            name_length(all.g->name), all.g->name, block_index.x, block_index.y, block_index.z, thread_index.x,
            thread_index.y, thread_index.z);
}

static void become(unsigned thread) {
    run->current = thread;
    thread_index = position_in(block_shape, thread);
}

/* The life of a fiber: threads that nobody has started yet, one after the other; then it rests. */
static void live() {
    fiber_entered(&all.scheduler);
    for (;;) {
        fiber *self = run->thread[run->current].on;
        all.body(all.arguments);
        run->thread[run->current].now = condition::exited;
        run->warp[run->current / warp_size].exited |= 1u << run->current % warp_size;
        run->exited++;
        if (run->started < run->threads) {
            unsigned next = run->started++;
            become(run->backwards ? run->threads - 1 - next : next);
            run->thread[run->current].on = self;
            continue;
        }
        all.idle[all.idles++] = self;
        fiber_switch(self, &all.scheduler);
    }
}

static void wait_as(condition how) {
    thread_record &me = run->thread[run->current];
    me.now = how;
    fiber_switch(me.on, &all.scheduler);
    me.now = condition::running;
}

static void resume(unsigned thread) {
    become(thread);
    fiber_switch(&all.scheduler, run->thread[thread].on);
}

static void start_all() {
    while (run->started < run->threads) {
        unsigned next = run->started++;
        unsigned thread = run->backwards ? run->threads - 1 - next : next;
        run->thread[thread].on = all.idles ? all.idle[--all.idles] : fiber_create(live);
        resume(thread);
    }
}

static unsigned warp_count() {
    return (run->threads + warp_size - 1) / warp_size;
}

/* Runs every warp as far as it gets without a barrier. */
static void run_ready() {
    unsigned warps = warp_count();
    for (unsigned i = 0; i < warps; i++) {
        unsigned which = run->backwards ? warps - 1 - i : i;
        warp_record &w = run->warp[which];
        while (w.ready) {
            unsigned next = (unsigned)(run->backwards ? 31 - __builtin_clz(w.ready) : __builtin_ctz(w.ready));
            w.ready &= ~(1u << next);
            resume(which * warp_size + next);
        }
    }
}

/* All threads wait or have exited: reports where they have not all reached the same barrier. */
static void check_barrier() {
    unsigned waiting = 0;
    while (run->thread[waiting].now == condition::exited)
        waiting++;
    const thread_record &first = run->thread[waiting];
    run->counted = 0;
    for (unsigned i = 0; i < run->threads; i++) {
        thread_record &t = run->thread[i];
        become(i);
        if (t.now == condition::in_warp)
            violation(
                "a lane waits at %s:%d for lanes 0x%x of its warp that never come", t.where.file, t.where.line, t.mask);
        if (t.now == condition::exited)
            violation("thread %u waits at the barrier of %s:%d, which thread %u has left out: it has exited", waiting,
                first.where.file, first.where.line, i);
        if (t.where.line != first.where.line || t.where.file != first.where.file || t.now != first.now)
            violation("thread %u waits at the barrier of %s:%d, thread %u at that of %s:%d", waiting, first.where.file,
                first.where.line, i, t.where.file, t.where.line);
        run->counted += t.predicate != 0;
    }
}

static void become_block(unsigned slot) {
    run = &blocks[slot];
    block_index = run->index;
}

void block_begin(unsigned slot, index3 index, bool backwards) {
    blocks[slot].index = index;
    become_block(slot);
    run->threads = block_shape.x * block_shape.y * block_shape.z;
    run->backwards = backwards;
    run->started = run->exited = 0;
    for (unsigned i = 0; i < warp_count(); i++) {
        unsigned left = run->threads - i * warp_size;
        run->warp[i] = {left >= warp_size ? 0xffffffff : (1u << left) - 1, 0, 0, 0};
    }
    shared_begin(all.g->shared_bytes);
    start_all();
    run_ready();
}

bool block_leave(unsigned slot) {
    bool over = run->exited == run->threads;
    if (over)
        shared_end(all.g->shared_bytes);
    else
        shared_save(slot, all.g->shared_bytes);
    return over;
}

void block_continue(unsigned slot) {
    become_block(slot);
    shared_load(slot, all.g->shared_bytes);
    check_barrier();
    for (unsigned i = 0; i < warp_count(); i++)
        run->warp[i].ready = run->warp[i].present;
    run_ready();
}

void blocks_of(const grid *g, void (*body)(void *arguments), void *arguments) {
    all.g = g;
    all.body = body;
    all.arguments = arguments;
}

int barrier(int predicate, place where) {
    thread_record &me = run->thread[run->current];
    me.where = where;
    me.predicate = predicate;
    wait_as(condition::at_barrier);
    return (int)run->counted;
}

unsigned lane() {
    return run->current % warp_size;
}

/* Waits until every lane of the mask has arrived here; the last one lets the others go on. */
static void meet(unsigned mask, place where, void (*settle)(thread_record *lanes, unsigned taking_part)) {
    unsigned self = lane(), base = run->current - self;
    warp_record &w = run->warp[run->current / warp_size];
    thread_record *lanes = run->thread + base;
    unsigned taking_part = mask & w.present;
    if (!(mask >> self & 1))
        violation("%s:%d: lane %u is not in its own mask 0x%x", where.file, where.line, self, mask);
    if (taking_part & w.exited)
        violation("%s:%d: lane %d of the mask 0x%x has exited", where.file, where.line,
            __builtin_ctz(taking_part & w.exited), mask);
    lanes[self].mask = mask;
    lanes[self].where = where;
    w.met |= 1u << self;
    if ((w.met & taking_part) != taking_part) {
        wait_as(condition::in_warp);
        return;
    }
    for (unsigned i = 0; i < warp_size; i++)
        if (taking_part >> i & 1 && (lanes[i].mask != mask || lanes[i].where.line != where.line))
            violation("%s:%d with mask 0x%x meets lane %u at %s:%d with mask 0x%x", where.file, where.line, mask, i,
                lanes[i].where.file, lanes[i].where.line, lanes[i].mask);
    settle(lanes, taking_part);
    w.met &= ~taking_part;
    w.ready |= taking_part & ~(1u << self);
}

static void settle_exchange(thread_record *lanes, unsigned taking_part) {
    for (unsigned i = 0; i < warp_size; i++) {
        if (!(taking_part >> i & 1))
            continue;
        unsigned from = lanes[i].source;
        if (from >= warp_size || !(taking_part >> from & 1))
            violation("%s:%d: lane %u reads from lane %u, which takes no part", lanes[i].where.file,
                lanes[i].where.line, i, from);
        lanes[i].takes = lanes[from].gives;
    }
}

std::uint64_t exchange(unsigned mask, std::uint64_t value, unsigned source, place where) {
    thread_record &me = run->thread[run->current];
    me.gives = value;
    me.source = source;
    meet(mask, where, settle_exchange);
    return me.takes;
}

static void settle_ballot(thread_record *lanes, unsigned taking_part) {
    unsigned votes = 0;
    for (unsigned i = 0; i < warp_size; i++)
        votes |= taking_part >> i & 1 && lanes[i].gives ? 1u << i : 0;
    for (unsigned i = 0; i < warp_size; i++)
        lanes[i].takes = taking_part >> i & 1 ? votes : lanes[i].takes;
}

unsigned ballot(unsigned mask, bool predicate, place where) {
    thread_record &me = run->thread[run->current];
    me.gives = predicate;
    meet(mask, where, settle_ballot);
    return (unsigned)me.takes;
}

} // namespace cuda_host
