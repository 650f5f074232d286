/* tests/web/native.c - answers the page's requests with the native build. A line of standard input is a request, whose
 * own lines are separated by tabs; a line of standard output is its answer. */
#include "tools/web/page.h"

#include <stdlib.h>
#include <string.h>

char *read_text_file(const char *path, size_t *bytes);
char *read_text_file(const char *path, size_t *bytes) {
    (void)path;
    *bytes = strlen(page_matrix);
    return strdup(page_matrix);
}

void put_on_terminal(lesson *l, const block *b) {
    (void)l, (void)b;
}

int report_failure(const mo_context *ctx) {
    (void)ctx;
    return EXIT_FAILED;
}

int main(void) {
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    while ((n = getline(&line, &room, stdin)) > 0) {
        line[n - 1] = '\0';
        for (char *at = line; (at = strchr(at, '\t'));)
            *at = '\n';
        memcpy(page_request((int)n), line, (size_t)n);
        puts(page_answer());
    }
    free(line);
    return 0;
}
