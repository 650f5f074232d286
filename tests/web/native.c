/* tests/web/native.c - the page's requests answered by the program's own build: a request a line of standard input, its
 * lines joined by tabs; an answer a line of standard output. */
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
