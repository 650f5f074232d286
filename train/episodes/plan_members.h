/* train/episodes/plan_members.h - the classes of a few-shot problem and the examples of each (library internal). */
#ifndef MO_PLAN_MEMBERS_H
#define MO_PLAN_MEMBERS_H

#include "train/inside.h"

/* Examples by class: those of class c are member[start[c]] .. member[start[c + 1] - 1], in rising order. */
typedef struct mo_members {
    int64_t classes;
    int64_t *start; /* [classes + 1] */
    int64_t *member;
} mo_members;

/* Groups positions i = 0 .. n - 1 by their class label[i]; skips negative labels. Returns false after raising; release
 * even then. */
bool mo_members_of_labels(mo_context *ctx, const int64_t *label, int64_t n, int64_t classes, mo_members *members);
/* Groups labelled examples by class: all of the graph's (example NULL), or the listed ones, which are distinct;
 * skips unlabelled ones. Returns false after raising; release even then. */
bool mo_members_group(const mo_graph *graph, mo_task task, const int64_t *example, int64_t n, mo_members *members);
/* The two classes of links: class 0 has the negatives' numbers, class 1 the positives'. */
bool mo_members_of_links(const mo_graph *graph, const mo_links *links, mo_members *members);
void mo_members_release(mo_members *members);
static inline int64_t mo_members_count(const mo_members *members, int64_t c) {
    return members->start[c + 1] - members->start[c];
}

/* Counts how often each of n ids occurs: times [n] receives the count at an id's first position, and 0 at later ones.
 * Returns the number of distinct ids. scratch [2 n]: its second half is zero before and after. */
int64_t mo_count_repeats(const int64_t *id, int64_t n, int64_t *scratch, int64_t *times);

/* Allocates a plan's support and queries; for links also their second ends. Returns false after raising, with an empty
 * plan. */
bool mo_plan_reserve(mo_context *ctx, mo_plan *plan, int64_t n_support, int64_t n_query);

#endif
