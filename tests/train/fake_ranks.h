/* tests/train/fake_ranks.h - the ranks of a run as threads of this process: messages wait in lists, one for each pair
 * of ranks. */
#ifndef FAKE_RANKS_H
#define FAKE_RANKS_H

#include "train/inside.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_RANKS = 40, MOST_STARTED = 64, NO_CHANNEL = -1 };

typedef struct fake_message {
    struct fake_message *next;
    size_t bytes;
    int channel;
    bool *taken;    /* of a sender that waits for it, or asks */
    const void *at; /* the sender's data, of a message that travels: read when it is taken, so that a change shows */
    char data[];
} fake_message;

/* A message that travels while its rank computes. */
typedef struct fake_started {
    bool lives, taken; /* taken: of one that is sent */
    int from, channel; /* from: -1, it is sent */
    void *data;        /* of one that is received */
    size_t bytes;
    unsigned vain; /* questions that are to be answered with no */
} fake_started;

typedef struct fake_world {
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    fake_message *first[MOST_RANKS][MOST_RANKS]; /* from, to */
    bool patient;  /* a send waits until its message is received, as MPI's large ones do */
    unsigned slow; /* above 0: fewer questions than this whether a message has arrived are answered with no, and what
                    * travels is taken from the sender's memory when it arrives */
    size_t waiting, messages, bytes; /* messages not yet received; all that were sent, and their bytes */
    size_t travelled;                /* those of the latter that travelled */
    struct fake_place {
        struct fake_world *world;
        int rank;
        bool parted;
        unsigned asked, in_vain;
        fake_started started[MOST_STARTED];
    } place[MOST_RANKS];
} fake_world;

/* Adds a message to its list; the lock is held. */
static inline void fake_put(
    struct fake_place *place, int to, int channel, const void *data, size_t bytes, bool *taken) {
    fake_world *w = place->world;
    bool lent = channel != NO_CHANNEL && taken;
    fake_message *m = calloc(1, sizeof *m + (lent ? 0 : bytes)), **last;
    m->bytes = bytes;
    m->channel = channel;
    m->taken = taken;
    m->at = lent ? data : NULL;
    if (bytes && !lent)
        memcpy(m->data, data, bytes);
    for (last = &w->first[place->rank][to]; *last; last = &(*last)->next)
        ;
    *last = m;
    w->waiting++;
    w->messages++;
    w->bytes += bytes;
    pthread_cond_broadcast(&w->arrived);
}

/* Takes the first message of a channel, if there is one; the lock is held. */
static inline bool fake_take(struct fake_place *place, int from, int channel, void *data, size_t bytes) {
    fake_world *w = place->world;
    fake_message **at = &w->first[from][place->rank];
    while (*at && (*at)->channel != channel)
        at = &(*at)->next;
    fake_message *m = *at;
    if (!m)
        return false;
    *at = m->next;
    w->waiting--;
    if (m->taken) {
        *m->taken = true;
        pthread_cond_broadcast(&w->arrived);
    }
    if (m->bytes != bytes)
        abort(); /* the ranks do not follow the same order of messages */
    if (bytes)
        memcpy(data, m->at ? m->at : m->data, bytes);
    free(m);
    return true;
}

static inline void fake_send(void *state, int to, const void *data, size_t bytes) {
    struct fake_place *place = state;
    fake_world *w = place->world;
    bool taken = false;
    pthread_mutex_lock(&w->lock);
    fake_put(place, to, NO_CHANNEL, data, bytes, w->patient ? &taken : NULL);
    while (w->patient && !taken)
        pthread_cond_wait(&w->arrived, &w->lock);
    pthread_mutex_unlock(&w->lock);
}

static inline void fake_receive(void *state, int from, void *data, size_t bytes) {
    struct fake_place *place = state;
    fake_world *w = place->world;
    pthread_mutex_lock(&w->lock);
    while (!fake_take(place, from, NO_CHANNEL, data, bytes))
        pthread_cond_wait(&w->arrived, &w->lock);
    pthread_mutex_unlock(&w->lock);
}

/* The number of a new message; the lock is held. */
static inline int fake_start(struct fake_place *place, fake_started message) {
    int i = 0;
    while (i < MOST_STARTED && place->started[i].lives)
        i++;
    if (i == MOST_STARTED)
        abort();
    message.lives = true;
    message.vain = place->world->slow ? (++place->asked * 2654435761u >> 16) % place->world->slow : 0;
    place->started[i] = message;
    return i;
}

static inline int fake_start_send(void *state, int to, int channel, const void *data, size_t bytes) {
    struct fake_place *place = state;
    fake_world *w = place->world;
    pthread_mutex_lock(&w->lock);
    bool lent = w->patient || w->slow;
    int i = fake_start(place, (fake_started){.from = -1, .taken = !lent});
    fake_put(place, to, channel, data, bytes, lent ? &place->started[i].taken : NULL);
    w->travelled += bytes;
    pthread_mutex_unlock(&w->lock);
    return i;
}

static inline int fake_start_receive(void *state, int from, int channel, void *data, size_t bytes) {
    struct fake_place *place = state;
    pthread_mutex_lock(&place->world->lock);
    int i = fake_start(place, (fake_started){.from = from, .channel = channel, .data = data, .bytes = bytes});
    pthread_mutex_unlock(&place->world->lock);
    return i;
}

static inline bool fake_arrived(void *state, int message) {
    struct fake_place *place = state;
    fake_started *m = &place->started[message];
    pthread_mutex_lock(&place->world->lock);
    if (!m->lives)
        abort(); /* it has arrived before */
    bool there = false;
    if (m->vain)
        m->vain--;
    else
        there = m->from < 0 ? m->taken : fake_take(place, m->from, m->channel, m->data, m->bytes);
    m->lives = !there;
    pthread_mutex_unlock(&place->world->lock);
    if (!there && ++place->in_vain % 256 == 0) /* on a busy machine each takes milliseconds */
        sched_yield();
    return there;
}

static inline void fake_world_open(fake_world *w) {
    *w = (fake_world){.lock = PTHREAD_MUTEX_INITIALIZER, .arrived = PTHREAD_COND_INITIALIZER};
}

static inline mo_ranks fake_ranks(fake_world *w, int rank, int size) {
    static const char *const host[MOST_RANKS] = {"first", "second", "third", "fourth"};
    w->place[rank] = (struct fake_place){.world = w, .rank = rank};
    return (mo_ranks){.rank = rank,
        .size = size,
        .program = "fake",
        .host = size <= 4 ? host : NULL,
        .send = fake_send,
        .receive = fake_receive,
        .start_send = fake_start_send,
        .start_receive = fake_start_receive,
        .arrived = fake_arrived,
        .state = &w->place[rank],
        .parted = &w->place[rank].parted};
}

/* Runs every rank in a thread of its own: `work` gets its member of `members`, `stride` bytes apart. All messages that
 * were sent have been received then. */
static inline void fake_world_run(fake_world *w, int size, void *(*work)(void *), void *members, size_t stride) {
    pthread_t thread[MOST_RANKS];
    assert_in_range(size, 1, MOST_RANKS);
    for (int r = 0; r < size; r++)
        assert_int_equal(pthread_create(&thread[r], NULL, work, (char *)members + (size_t)r * stride), 0);
    for (int r = 0; r < size; r++)
        pthread_join(thread[r], NULL);
    assert_int_equal(w->waiting, 0);
}

#endif
