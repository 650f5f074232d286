/* train/suite.h - pools and suites as files: what is trained on, and what is evaluated. Part of train/train.h.
 *
 * Both are JSON. A pool: {"pool": NAME, "about", "link_share": 0.2, "families": {"nc": 1, "lp": 1, "gc": 1}, "graphs":
 * [{"data": NAME, "tasks": ["nc", "lp"], "link_share": 0.2}, ..]}. A suite: {"suite": NAME, "about", "protocol":
 * "split", "seeds": 3, "heads": [NAME, ..], "tasks": [{"data": NAME, "task": "nc", "k": [4, 8], "metrics": [NAME, ..]},
 * ..]}. All but the names, "graphs" and their "data", "tasks" and their "data" and "task" may be left out. */
#ifndef MO_SUITE_H
#define MO_SUITE_H

#include "train/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a pool file says. Owned; release. */
typedef struct mo_pool_file {
    mo_context *ctx;
    char *name;
    double link_share;       /* of graphs that do not say */
    double family[MO_TASKS]; /* how often each is drawn, as mo_pool_set_families has it */
    int n;
    char **graph; /* as mo_pool_open takes them: "pubmed:nc+lp@0.1" */
} mo_pool_file;

/* Whether a text names a pool that comes with the library, or ends in .json: a list of graphs does neither. */
MO_API bool mo_is_pool_file(const char *text);
/* By name (NAME.pool.json of the embedded data) or by path. NULL on failure: a key that is unknown or there twice, a
 * graph twice, a name that is no data set, with file, line and column. */
MO_API mo_pool_file *mo_pool_file_read(mo_context *ctx, const char *name_or_path);
MO_API void mo_pool_file_release(mo_pool_file *file);

#define MO_LINK_METRICS 6
/* "auc", "ap", "mrr", "hits_rank", "hits_ogb", "hits_pooled"; of nodes and graphs there is "accuracy" alone. */
MO_API const char *mo_link_metric_name(int i);

/* One data set and task of a suite. */
typedef struct mo_suite_task {
    char *data;
    mo_task task;
    int n_shots;
    int64_t *shots;   /* 4, 8, 16, 32, 64, 512 where the file does not say; of links 512 */
    unsigned metrics; /* bits 1 << number of the link metric; 0: all */
} mo_suite_task;

/* What a suite file says. Owned; release. */
typedef struct mo_suite {
    mo_context *ctx;
    char *name;
    bool episodes; /* protocol episode */
    int64_t seeds; /* or episodes; 0: not said */
    int n_heads, n;
    char **head;
    mo_suite_task *task;
} mo_suite;

/* By name (NAME.suite.json of the embedded data) or by path. NULL on failure, as above. */
MO_API mo_suite *mo_suite_read(mo_context *ctx, const char *name_or_path);
MO_API void mo_suite_release(mo_suite *suite);

#ifdef __cplusplus
}
#endif
#endif
