/* tests/bad_text.h - text files that loaders must refuse, and the expected messages. */
#ifndef BAD_TEXT_H
#define BAD_TEXT_H

#include "scratch.h"
#include "train/inside.h"

/* A text file, and the message of its refusal after the path. */
typedef struct bad_text {
    const char *content;
    const char *place; /* ":LINE:", or ":" where no line is to blame */
    const char *expected, *found;
} bad_text;

static inline void assert_refused(scratch *s, const char *path, mo_code code, const char *const *parts) {
    mo_graph *graph = mo_graph_open(s->ctx, path);
    if (graph)
        fail_msg("expected %s to be refused (%s)", path, parts[0]);
    assert_int_equal(strncmp(mo_context_status(s->ctx)->message, path, strlen(path)), 0);
    assert_failed(s->ctx, code, parts);
}

static inline void assert_texts_refused(scratch *s, const char *name, const bad_text *texts, int count) {
    for (int i = 0; i < count; i++) {
        const char *path = scratch_write(s, name, texts[i].content, strlen(texts[i].content));
        char place[600];
        snprintf(place, sizeof place, "%s%s", path, texts[i].place);
        assert_refused(s, path, MO_FORMAT, PARTS(place, texts[i].expected, texts[i].found));
    }
}

#endif
