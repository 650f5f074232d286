/* train/run/buckets.c - gradients on their way along the binomial tree of ranks (train/ranks/ranks.c), bucket by
 * bucket: up to rank 0, which joins them, and down again as totals. In round i, a rank whose lowest one bit is i sends
 * its nodes of the tree of sums to the rank without that bit.
 *
 * Backward finds the gradients of the last parameters first, so buckets are numbered from the last parameter to the
 * first. The order of messages in time is free, that of sums is not: a tree takes its nodes in the order of episodes.
 */
#include "train/run/buckets.h"

#include "tensor/storage.h"

enum { MOST_SENDING = 2 }; /* at a time: of more, all would arrive late */

/* ---- moves ---- */

/* Lists the nodes that rank `from` sends in a round; returns their number. `list` may be NULL, as below. */
static int list_nodes(const mo_ranks *ranks, int E, int from, int bit, mo_move *list) {
    bool down = from == ranks->rank;
    int64_t end = mo_ranks_first(E, ranks->size, mo_ranks_end(ranks, from, bit));
    int n = 0, level;
    for (int64_t j = mo_ranks_first(E, ranks->size, from); j < end; j += (int64_t)1 << level, n++) {
        level = mo_sum_tree_level(j, end);
        if (list)
            list[n] = (mo_move){.kind = down ? MO_SEND_NODE : MO_RECEIVE_NODE,
                .peer = down ? from - bit : from,
                .node = n,
                .level = level,
                .first = j,
                .end = j + ((int64_t)1 << level)};
    }
    return n;
}

static int list_moves(const mo_ranks *ranks, int E, mo_move *list) {
    int n = 0, bit = 1, rank = ranks->rank;
    for (; bit < ranks->size && !(rank & bit); bit *= 2)
        if (rank + bit < ranks->size)
            n += list_nodes(ranks, E, rank + bit, bit, list ? list + n : NULL);
    if (rank)
        n += list_nodes(ranks, E, rank, bit, list ? list + n : NULL);
    if (list)
        list[n] = (mo_move){.kind = rank ? MO_RECEIVE_TOTAL : MO_JOIN_NODES, .peer = rank - (rank ? bit : 0)};
    n++;
    for (bit /= 2; bit; bit /= 2)
        if (rank + bit < ranks->size) {
            if (list)
                list[n] = (mo_move){.kind = MO_SEND_TOTAL, .peer = rank + bit};
            n++;
        }
    return n;
}

/* ---- making them ---- */

bool mo_buckets_can_start(mo_context *ctx, const mo_ranks *ranks, mo_tensor *const *like, int n) {
    bool can = ranks->start_send && ranks->bucket <= MO_LARGEST_STARTED && mo_ok(ctx);
    for (int i = 0; can && i < n; i++)
        can = mo_gradient_bytes(like[i]) <= MO_LARGEST_STARTED - ranks->bucket;
    return can;
}

/* Cuts the parameters into buckets, from the last one on; returns their number. `list` may be NULL. */
static int cut(mo_tensor *const *like, int n, size_t least, mo_bucket *list) {
    int buckets = 0;
    size_t bytes = 0, at = 0;
    for (int i = n - 1, last = n; i >= 0; i--) {
        bytes += mo_gradient_bytes(like[i]);
        if (i && (!least || bytes < least))
            continue;
        size_t message = mo_sum_tree_bytes(like + i, last - i);
        if (list)
            list[buckets] = (mo_bucket){.first = i, .n = last - i, .at = at, .bytes = message};
        buckets++;
        at += message;
        bytes = 0;
        last = i;
    }
    return buckets;
}

static void make_parts(mo_buckets *b, mo_tensor *const *like, int episodes, size_t bytes) {
    mo_context *ctx = b->ctx;
    int n = b->n_parameters;
    b->n = cut(like, n, bytes, NULL);
    b->n_moves = list_moves(&b->ranks, episodes, NULL);
    b->bucket = mo_host_alloc(ctx, (size_t)b->n * sizeof *b->bucket);
    b->moves = mo_host_alloc(ctx, (size_t)b->n_moves * sizeof *b->moves);
    b->total = mo_host_alloc(ctx, (size_t)n * sizeof(mo_tensor *));
    b->bytes = mo_sum_tree_bytes(like, n);
    if (mo_context_device(ctx) != MO_CPU)
        b->message = mo_host_alloc(ctx, b->bytes);
    if (!mo_ok(ctx))
        return;
    list_moves(&b->ranks, episodes, b->moves);
    cut(like, n, bytes, b->bucket);
    for (int k = 0; k < b->n && mo_ok(ctx); k++)
        b->bucket[k].tree = mo_sum_tree_create(ctx, like + b->bucket[k].first, b->bucket[k].n);
}

mo_buckets *mo_buckets_create(
    mo_tape *t, const mo_ranks *ranks, mo_tensor *const *like, int n, int episodes, size_t bytes) {
    mo_context *ctx = t->ctx;
    mo_buckets *b = mo_ok(ctx) ? mo_host_alloc(ctx, sizeof *b) : NULL;
    if (!b)
        return NULL;
    *b = (mo_buckets){.ctx = ctx,
        .ranks = *ranks,
        .tape = t,
        .n_parameters = n,
        .first = mo_ranks_first(episodes, ranks->size, ranks->rank),
        .end = mo_ranks_first(episodes, ranks->size, ranks->rank + 1)};
    if (!bytes)
        b->ranks.start_send = NULL;
    make_parts(b, like, episodes, bytes);
    if (mo_ok(ctx))
        return b;
    mo_buckets_release(b);
    return NULL;
}

void mo_buckets_release(mo_buckets *b) {
    if (!b)
        return;
    mo_context *ctx = b->ctx;
    for (int k = 0; b->bucket && k < b->n; k++)
        mo_sum_tree_release(b->bucket[k].tree);
    mo_host_free(ctx, b->bucket, (size_t)b->n * sizeof *b->bucket);
    mo_host_free(ctx, b->moves, (size_t)b->n_moves * sizeof *b->moves);
    mo_host_free(ctx, b->total, (size_t)b->n_parameters * sizeof(mo_tensor *));
    mo_host_free(ctx, b->message, b->bytes);
    mo_host_free(ctx, b, sizeof *b);
}

/* ---- messages ---- */

static bool move_receives(const mo_move *m) {
    return m->kind == MO_RECEIVE_NODE || m->kind == MO_RECEIVE_TOTAL;
}

/* The memory of the sum that the message of a move carries. A rank that has failed may lack it, and sends any other. */
static mo_tensor *sum_of_move(const mo_bucket *k, const mo_move *m) {
    if (m->kind == MO_SEND_NODE && m->node < k->tree->depth)
        return k->tree->node[m->node].whole;
    return m->kind == MO_SEND_TOTAL ? k->whole : k->tree->spare.whole;
}

/* What MPI reads or writes: the sum itself, or its copy on the host. Until the message has arrived it stays as it is: a
 * node that is sent is joined with no other in this step, and the spare node serves one move at a time. */
static char *message_of(const mo_buckets *b, const mo_bucket *k, const mo_move *m) {
    return b->message ? b->message + k->at : mo_tensor_view(sum_of_move(k, m)).data;
}

/* Starts the message of a move, or sends or receives it where messages wait. */
static void start(mo_buckets *b, mo_bucket *k, const mo_move *m) {
    const mo_ranks *r = &b->ranks;
    bool receives = move_receives(m);
    char *data = message_of(b, k, m);
    int channel = (int)(k - b->bucket);
    k->started = true;
    k->arrived = !r->start_send;
    b->sending[m->kind]++;
    if (r->start_send && receives)
        k->message = r->start_receive(r->state, m->peer, channel, data, k->bytes);
    else if (r->start_send)
        k->message = r->start_send(r->state, m->peer, channel, data, k->bytes);
    else if (receives)
        r->receive(r->state, m->peer, data, k->bytes);
    else
        r->send(r->state, m->peer, data, k->bytes);
}

/* Starts the current move, if its turn has come. */
static bool begin_move(mo_buckets *b, mo_bucket *k, const mo_move *m) {
    bool sends = m->kind == MO_SEND_NODE || m->kind == MO_SEND_TOTAL;
    if ((sends && b->sending[m->kind] == MOST_SENDING) || (m->kind == MO_SEND_NODE && k->have < m->end))
        return false;
    if (sends && b->message)
        mo_tensor_read(sum_of_move(k, m), b->message + k->at, k->bytes);
    start(b, k, m);
    return true;
}

/* Takes what the current move has brought; false: it must wait for gradients of this rank. */
static bool end_move(mo_buckets *b, mo_bucket *k, const mo_move *m) {
    mo_tree_node *spare = &k->tree->spare;
    if (m->kind == MO_RECEIVE_NODE && k->have < m->first)
        return false;
    if (move_receives(m) && b->message)
        mo_tensor_write(spare->whole, b->message + k->at, k->bytes);
    if (m->kind == MO_RECEIVE_NODE) {
        mo_sum_tree_push_spare(k->tree, b->tape, m->level, m->first >> m->level);
        k->have = m->end;
    } else if (m->kind == MO_RECEIVE_TOTAL) {
        k->total = spare->sum;
        k->whole = spare->whole;
    }
    return true;
}

/* A rank that has failed may have no sum, and passes on any memory. */
static void join(const mo_buckets *b, mo_bucket *k) {
    k->total = mo_sum_tree_join(k->tree, b->tape);
    k->whole = k->total ? mo_sum_tree_whole(k->tree) : k->tree->spare.whole;
}

/* Makes the moves of a bucket that can be made; returns whether it has made all. */
static bool advance(mo_buckets *b, mo_bucket *k) {
    for (; k->move < b->n_moves; k->move++) {
        const mo_move *m = &b->moves[k->move];
        if (m->kind == MO_JOIN_NODES) {
            join(b, k);
            continue;
        }
        if (!k->started && !begin_move(b, k, m))
            return false;
        if (!k->arrived && !b->ranks.arrived(b->ranks.state, k->message))
            return false;
        k->arrived = true;
        if (!end_move(b, k, m))
            return false;
        b->sending[m->kind]--;
        k->started = false;
    }
    return true;
}

/* ---- a step ---- */

void mo_buckets_begin(mo_buckets *b) {
    for (int i = 0; i < b->n; i++) {
        mo_bucket *k = &b->bucket[i];
        k->tree->depth = k->move = 0;
        k->have = b->first;
        k->waiting = k->n;
        k->started = false;
        k->total = NULL;
    }
    mo_buckets_poll(b);
}

static void add_episode(const mo_buckets *b, mo_bucket *k, int64_t episode, mo_tensor *const *X) {
    mo_sum_tree_push(k->tree, b->tape, 0, episode, X + k->first);
    k->have = episode + 1;
}

void mo_buckets_add(mo_buckets *b, int64_t episode, mo_tensor *const *X) {
    for (int i = 0; i < b->n; i++)
        add_episode(b, &b->bucket[i], episode, X);
}

void mo_buckets_add_one(mo_buckets *b, int64_t episode, int i, mo_tensor *const *X) {
    mo_bucket *k = b->bucket;
    while (i < k->first)
        k++;
    if (--k->waiting)
        return;
    k->waiting = k->n;
    add_episode(b, k, episode, X);
}

void mo_buckets_poll(mo_buckets *b) {
    for (int i = 0; b->ranks.start_send && i < b->n; i++)
        advance(b, &b->bucket[i]);
}

mo_tensor *const *mo_buckets_end(mo_buckets *b) {
    for (int i = 0; i < b->n; i++)
        if (b->bucket[i].have < b->end) /* this rank has failed */
            b->bucket[i].have = b->end;
    for (bool all = false; !all;) {
        all = true;
        for (int i = 0; i < b->n; i++)
            all &= advance(b, &b->bucket[i]);
    }
    for (int i = 0; i < b->n; i++)
        for (int p = 0; p < b->bucket[i].n; p++)
            b->total[b->bucket[i].first + p] = b->bucket[i].total ? b->bucket[i].total[p] : NULL;
    return b->total;
}
