/* tests/train/fake_ranks.h - runs the ranks of a training run as threads of this process; messages wait in lists, one
 * for each pair of ranks. */
#ifndef FAKE_RANKS_H
#define FAKE_RANKS_H

#include "tests/suite.h"
#include "train/inside.h"

#include <pthread.h>

enum { MOST_RANKS = 40 };

typedef struct fake_message {
    struct fake_message *next;
    size_t bytes;
    char data[];
} fake_message;

typedef struct fake_world {
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    fake_message *first[MOST_RANKS][MOST_RANKS]; /* from, to */
    size_t waiting, bytes;                       /* number of messages not yet received; bytes of all messages sent */
    struct fake_place {
        struct fake_world *world;
        int rank;
        bool parted;
    } place[MOST_RANKS];
} fake_world;

/* Appends a message to its list. The caller holds the lock. */
static inline void fake_put(struct fake_place *place, int to, const void *data, size_t bytes) {
    fake_world *w = place->world;
    fake_message *m = calloc(1, sizeof *m + bytes), **last;
    m->bytes = bytes;
    if (bytes)
        memcpy(m->data, data, bytes);
    for (last = &w->first[place->rank][to]; *last; last = &(*last)->next)
        ;
    *last = m;
    w->waiting++;
    w->bytes += bytes;
    pthread_cond_broadcast(&w->arrived);
}

/* Takes the first message of the list, if there is one. The caller holds the lock. */
static inline bool fake_take(struct fake_place *place, int from, void *data, size_t bytes) {
    fake_world *w = place->world;
    fake_message *m = w->first[from][place->rank];
    if (!m)
        return false;
    w->first[from][place->rank] = m->next;
    w->waiting--;
    if (m->bytes != bytes)
        abort(); /* the ranks disagree on the order of messages */
    if (bytes)
        memcpy(data, m->data, bytes);
    free(m);
    return true;
}

static inline void fake_send(void *state, int to, const void *data, size_t bytes) {
    struct fake_place *place = state;
    fake_world *w = place->world;
    pthread_mutex_lock(&w->lock);
    fake_put(place, to, data, bytes);
    pthread_mutex_unlock(&w->lock);
}

static inline void fake_receive(void *state, int from, void *data, size_t bytes) {
    struct fake_place *place = state;
    fake_world *w = place->world;
    pthread_mutex_lock(&w->lock);
    while (!fake_take(place, from, data, bytes))
        pthread_cond_wait(&w->arrived, &w->lock);
    pthread_mutex_unlock(&w->lock);
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
        .state = &w->place[rank],
        .parted = &w->place[rank].parted};
}

/* Runs `work` in a thread for each rank; rank r gets the member at `members` + r `stride` bytes. Fails if a message has
 * not been received at the end. */
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
