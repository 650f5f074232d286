/* train/suite.h - pools (graphs to train on) and suites (tasks to evaluate) as files. Part of train/inside.h.
 *
 * Both are JSON. A pool: {"pool": NAME, "about", "link_share": 0.2, "families": {"nc": 1, "lp": 1, "gc": 1}, "graphs":
 * [{"data": NAME, "tasks": ["nc", "lp"], "link_share": 0.2}, ..]}. A suite: {"suite": NAME, "about", "protocol":
 * "split", "seeds": 3, "heads": [NAME, ..], "tasks": [{"data": NAME, "task": "nc", "k": [4, 8], "metrics": [NAME, ..]},
 * ..]}. Only the names, "graphs" with their "data", and "tasks" with their "data" and "task" are required. */
#ifndef MO_SUITE_H
#define MO_SUITE_H

#include "train/graph.h"

/* The content of a pool file. Owned; release. */
typedef struct mo_pool_file {
    mo_context *ctx;
    char *name;
    double link_share;       /* for graphs that do not set their own */
    double family[MO_TASKS]; /* relative frequencies, as for mo_pool_set_families */
    int n;
    char **graph; /* in the form that mo_pool_open takes: "pubmed:nc+lp@0.1" */
} mo_pool_file;

/* Returns whether a text names a pool of the library or ends in .json; otherwise it is a list of graphs. */
MO_API bool mo_is_pool_file(const char *text);
/* Reads a pool by name (NAME.pool.json of the embedded data) or by path. Returns NULL on failure: an unknown or
 * repeated key, a repeated graph, a name that is not a data set; the error gives file and member. */
MO_API mo_pool_file *mo_pool_file_read(mo_context *ctx, const char *name_or_path);
MO_API void mo_pool_file_release(mo_pool_file *file);

#define MO_LINK_METRICS 6
/* "auc", "ap", "mrr", "hits_rank", "hits_ogb", "hits_pooled"; of nodes and graphs a suite has "accuracy" only. */
MO_API const char *mo_link_metric_name(int i);

/* One data set and task of a suite. */
typedef struct mo_suite_task {
    char *data;
    mo_task task;
    int n_shots;
    int64_t *shots;   /* default: 4, 8, 16, 32, 64, 512; for links 512 */
    unsigned metrics; /* bits 1 << number of the link metric; 0: all */
} mo_suite_task;

/* The content of a suite file. Owned; release. */
typedef struct mo_suite {
    mo_context *ctx;
    char *name;
    bool episodes; /* protocol episode */
    int64_t seeds; /* or episodes; 0: not set */
    int n_heads, n;
    char **head;
    mo_suite_task *task;
} mo_suite;

/* Reads a suite by name (NAME.suite.json of the embedded data) or by path. Returns NULL on failure, as for pools. */
MO_API mo_suite *mo_suite_read(mo_context *ctx, const char *name_or_path);
MO_API void mo_suite_release(mo_suite *suite);

#endif
