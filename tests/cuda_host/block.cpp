/* tests/cuda_host/block.cpp - schedules the blocks of a grid and their threads, with barriers and exchanges in a warp.
 * */
#include "tests/cuda_host/block.h"

#include "tests/cuda_host/fiber.h"
#include "tests/cuda_host/shared.h"
#include "tests/cuda_host/violation.h"

#include <cstdio>

namespace cuda_host {

index3 thread_index, block_index, block_shape, grid_shape;

enum class condition { running, at_barrier, in_warp, exited };

struct thread_record {
    condition now;
    fiber *on;
    place where;                /* it waits */
    std::uint64_t gives, takes; /* gives: the thread's value in an exchange; takes: the value that it received */
    unsigned source;
};

/* Sets of a warp's lanes, one bit each. */
struct warp_record {
    unsigned present, exited; /* lanes that have a thread; lanes whose thread has returned */
    unsigned met;             /* lanes that wait in an exchange */
    unsigned ready;           /* lanes that can go on */
};

/* A block that is on the device. */
struct block_record {
    index3 index;
    unsigned threads, started, exited, current;
    bool backwards;
    thread_record thread[max_threads];
    warp_record warp[max_threads / warp_size];
};

/* The running grid, and the fibers of all blocks. */
static struct {
    const grid *g;
    void (*body)(void *arguments);
    void *arguments;
    fiber scheduler;
    fiber *idle[resident * max_threads];
    unsigned idles;
} all;

static block_record blocks[resident];
static block_record *run = blocks; /* the running block */

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

/* Returns the position of element `linear` in a shape; x runs fastest. */
static index3 position_in(index3 shape, std::uint64_t linear) {
    return {
        (unsigned)(linear % shape.x), (unsigned)(linear / shape.x % shape.y), (unsigned)(linear / shape.x / shape.y)};
}

static void become(unsigned thread) {
    run->current = thread;
    thread_index = position_in(block_shape, thread);
}

/* Body of a fiber: runs threads that no fiber has started yet, one after another, then waits in all.idle. */
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

/* Runs every warp until its threads wait at a barrier or end. */
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

/* All threads wait or have exited: reports a violation unless all wait at the same barrier. */
static void check_barrier() {
    unsigned waiting = 0;
    while (run->thread[waiting].now == condition::exited)
        waiting++;
    const thread_record &first = run->thread[waiting];
    for (unsigned i = 0; i < run->threads; i++) {
        thread_record &t = run->thread[i];
        become(i);
        if (t.now == condition::in_warp)
            violation("a lane waits at %s:%d for lanes of its warp that never come", t.where.file, t.where.line);
        if (t.now == condition::exited)
            violation("thread %u waits at the barrier of %s:%d, which thread %u has left out: it has exited", waiting,
                first.where.file, first.where.line, i);
        if (t.where.line != first.where.line || t.where.file != first.where.file || t.now != first.now)
            violation("thread %u waits at the barrier of %s:%d, thread %u at that of %s:%d", waiting, first.where.file,
                first.where.line, i, t.where.file, t.where.line);
    }
}

static void become_block(unsigned slot) {
    run = &blocks[slot];
    block_index = run->index;
}

/* Puts a block into a slot of the device and runs it to its first barrier. */
static void block_begin(unsigned slot, index3 index, bool backwards) {
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

/* Called after a block has run. Returns true if the block has ended; else saves its shared memory. */
static bool block_leave(unsigned slot) {
    bool over = run->exited == run->threads;
    if (over)
        shared_end(all.g->shared_bytes);
    else
        shared_save(slot, all.g->shared_bytes);
    return over;
}

/* Runs a block from one barrier, at which all of its threads must wait, to the next. */
static void block_continue(unsigned slot) {
    become_block(slot);
    shared_load(slot, all.g->shared_bytes);
    check_barrier();
    for (unsigned i = 0; i < warp_count(); i++)
        run->warp[i].ready = run->warp[i].present;
    run_ready();
}

void barrier(place where) {
    run->thread[run->current].where = where;
    wait_as(condition::at_barrier);
}

unsigned lane() {
    return run->current % warp_size;
}

/* Waits until every lane of the warp has called; the last one exchanges the values and lets the others go on. */
static void meet(unsigned mask, place where, void (*settle)(thread_record *lanes, unsigned present)) {
    unsigned self = lane(), base = run->current - self;
    warp_record &w = run->warp[run->current / warp_size];
    thread_record *lanes = run->thread + base;
    if (mask != whole_warp)
        violation("%s:%d: the mask 0x%x, expected all lanes", where.file, where.line, mask);
    if (w.exited)
        violation("%s:%d: lane %d of the warp has exited", where.file, where.line, __builtin_ctz(w.exited));
    lanes[self].where = where;
    w.met |= 1u << self;
    if (w.met != w.present) {
        wait_as(condition::in_warp);
        return;
    }
    for (unsigned i = 0; i < warp_size; i++)
        if (w.present >> i & 1 && lanes[i].where.line != where.line)
            violation(
                "%s:%d meets lane %u at %s:%d", where.file, where.line, i, lanes[i].where.file, lanes[i].where.line);
    settle(lanes, w.present);
    w.met = 0;
    w.ready |= w.present & ~(1u << self);
}

static void settle_exchange(thread_record *lanes, unsigned present) {
    for (unsigned i = 0; i < warp_size; i++) {
        if (!(present >> i & 1))
            continue;
        unsigned from = lanes[i].source;
        if (from >= warp_size || !(present >> from & 1))
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

static void settle_ballot(thread_record *lanes, unsigned present) {
    unsigned votes = 0;
    for (unsigned i = 0; i < warp_size; i++)
        votes |= present >> i & 1 && lanes[i].gives ? 1u << i : 0;
    for (unsigned i = 0; i < warp_size; i++)
        lanes[i].takes = votes;
}

unsigned ballot(unsigned mask, bool predicate, place where) {
    thread_record &me = run->thread[run->current];
    me.gives = predicate;
    meet(mask, where, settle_ballot);
    return (unsigned)me.takes;
}

/* ---- grids: which blocks are on the device together, and when each runs ---- */

static std::uint64_t grids; /* so far */

static std::uint64_t count_of(index3 n) {
    return (std::uint64_t)n.x * n.y * n.z;
}

/* Runs `count` blocks from `first` on, which are on the device together. In each turn a block passes one barrier more
 * than the block before it, so that no two are in step. */
static void run_together(std::uint64_t first, unsigned count, bool falling) {
    std::uint64_t total = count_of(grid_shape);
    unsigned left = 0;
    bool over[resident] = {};
    for (unsigned k = 0; k < count; k++) {
        std::uint64_t i = falling ? total - 1 - (first + k) : first + k;
        block_begin(k, position_in(grid_shape, i), i & 1);
        over[k] = block_leave(k);
        left += !over[k];
    }
    while (left > 0)
        for (unsigned k = 0; k < count; k++)
            for (unsigned turn = 0; turn <= k && !over[k]; turn++) {
                block_continue(k);
                over[k] = block_leave(k);
                left -= over[k];
            }
}

void grid_check(const grid &g) {
    std::uint64_t threads = count_of(g.threads);
    if (threads < 1 || threads > max_threads || g.threads.z > 64)
        violation("kernel %.*s: %u x %u x %u threads in a block", name_length(g.name), g.name, g.threads.x, g.threads.y,
            g.threads.z);
    if (!g.blocks.x || !g.blocks.y || !g.blocks.z || g.blocks.x > INT32_MAX || g.blocks.y > max_grid_yz ||
        g.blocks.z > max_grid_yz)
        violation("kernel %.*s: a grid of %u x %u x %u blocks", name_length(g.name), g.name, g.blocks.x, g.blocks.y,
            g.blocks.z);
    if (g.shared_bytes > max_shared_bytes)
        violation("kernel %.*s: %zu bytes of shared memory", name_length(g.name), g.name, g.shared_bytes);
}

void grid_run(const grid &g, void (*body)(void *arguments), void *arguments) {
    all.g = &g;
    all.body = body;
    all.arguments = arguments;
    block_shape = g.threads;
    grid_shape = g.blocks;
    std::uint64_t total = count_of(g.blocks);
    bool falling = grids++ & 1; /* blocks have no promised order, so every second grid runs them backwards */
    for (std::uint64_t first = 0; first < total; first += resident)
        run_together(first, (unsigned)(total - first < resident ? total - first : resident), falling);
    all.g = nullptr;
}

} // namespace cuda_host
