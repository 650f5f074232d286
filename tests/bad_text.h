/* tests/bad_text.h - files that loaders must refuse; most stand in tests/graphs/files.cases. */
#ifndef BAD_TEXT_H
#define BAD_TEXT_H

#include "scratch.h"
#include "train/inside.h"

static inline void assert_refused(scratch *s, const char *path, mo_code code, const char *const *parts) {
    mo_graph *graph = mo_graph_open(s->ctx, path);
    if (graph)
        fail_msg("expected %s to be refused (%s)", path, parts[0]);
    assert_int_equal(strncmp(mo_context_status(s->ctx)->message, path, strlen(path)), 0);
    assert_failed(s->ctx, code, parts);
}

#endif
