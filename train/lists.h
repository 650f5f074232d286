/* train/lists.h - pools (graphs to train on) and suites (tasks to evaluate) as text files. Part of train/inside.h.
 *
 * A line of a pool is a graph as mo_pool_open takes it, "pubmed:nc+lp@0.1", or a setting: "link_share 0.2" (for graphs
 * that give none) or "families 1 1 2" (relative frequencies of the tasks nc, lp, gc). A line of a suite is a data set
 * with its task and the k to evaluate, "cora:nc 4 8 16" (default: 4 8 16 32 64 512; for links 512), or a setting:
 * "protocol split" or "protocol episode", "seeds 3" (for protocol episode: the number of episodes), "heads ridge dot".
 * Blank lines and lines that begin with # are skipped. */
#ifndef MO_LISTS_H
#define MO_LISTS_H

#include "train/graph.h"

/* The content of a pool file. Owned; release. */
typedef struct mo_pool_file {
    double link_share;       /* 0: not set */
    double family[MO_TASKS]; /* relative frequencies, as for mo_pool_set_families */
    int n;
    char **graph; /* in the syntax of mo_pool_open */
} mo_pool_file;

/* Returns whether a text names a pool of the library or ends in .pool; if not, it is a list of graphs. */
MO_API bool mo_is_pool_file(const char *text);
/* Reads a pool by name (NAME.pool of the embedded data) or by path. Returns NULL on failure; the error gives file and
 * line. mo_pool_open checks that the graphs exist and support their tasks. */
MO_API mo_pool_file *mo_pool_file_read(mo_context *ctx, const char *name_or_path);
MO_API void mo_pool_file_release(mo_pool_file *file);

/* One data set and task of a suite. */
typedef struct mo_suite_task {
    char *data;
    mo_task task;
    int n_shots;
    int64_t *shots;
} mo_suite_task;

/* The content of a suite file. Owned; release. */
typedef struct mo_suite {
    bool episodes; /* protocol `episode` */
    int64_t seeds; /* number of seeds or episodes; 0: not set */
    int n_heads, n;
    char **head;
    mo_suite_task *task;
} mo_suite;

/* Reads a suite by name (NAME.suite of the embedded data) or by path. Returns NULL on failure, as for pools. */
MO_API mo_suite *mo_suite_read(mo_context *ctx, const char *name_or_path);
MO_API void mo_suite_release(mo_suite *suite);

#endif
