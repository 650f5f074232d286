/* tests/cuda_host/null/open_seam.h - a seam on the libraries that compute nothing. */
#ifndef OPEN_SEAM_H
#define OPEN_SEAM_H

#include "tensor/cuda/seams/seam.h"
#include "tests/suite.h"

static inline seam *open_seam(seam_choice which) {
    char text[256];
    seam *s = NULL;
    const char *reason = seam_open(&s, &which, text, sizeof text);
    if (reason)
        fail_msg("%s", reason);
    return s;
}

#endif
