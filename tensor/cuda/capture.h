/* tensor/cuda/capture.h - steps that are kept as graphs of the device. */
#ifndef MO_CUDA_RECORDING_H
#define MO_CUDA_RECORDING_H

#include "tensor/cuda/device.h"

constexpr size_t captured_uploads = (size_t)1 << 20; /* bytes of constants that one capture may hold */

struct cuda_capture {
    seam_graph *graph;
    mo_note *notes; /* of its checks */
    int count;
    int64_t number, streams;
    uint64_t moves;  /* of memory, when it was made */
    char *constants; /* page-locked: what it uploads at each replay */
    size_t used;
    cuda_capture *next;
};

bool capture_begin_cuda(mo_context *ctx, int64_t streams);
void *capture_end_cuda(mo_context *ctx);
bool capture_replay_cuda(mo_context *ctx, void *capture, int64_t ahead);
void capture_release_cuda(mo_context *ctx, void *capture);

/* Whether nothing is being captured; else what a capture cannot hold is raised, and the capture given up. */
bool not_capturing(mo_context *ctx, const char *what);
/* Page-locked memory that lives as long as the capture that is being made; NULL (raised) where there is no more. */
char *capture_constants(mo_context *ctx, size_t bytes);
/* The capture of that number, NULL where there is none. */
cuda_capture *find_capture(mo_context *ctx, int64_t number);
/* Gives up what is being captured. */
void capture_close(mo_context *ctx);

/* How far a captured step has moved on when it is replayed. */
struct moving_steps {
    const int64_t *ahead; /* on the device; NULL: nothing is being captured */
    int64_t streams;
};
moving_steps steps_of(mo_context *ctx);

#endif
