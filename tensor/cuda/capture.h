/* tensor/cuda/capture.h - steps kept as CUDA graphs. */
#ifndef MO_CUDA_RECORDING_H
#define MO_CUDA_RECORDING_H

#include "tensor/cuda/device.h"

constexpr size_t captured_uploads = (size_t)1 << 20; /* bytes of constants that one capture may hold */

struct cuda_capture {
    seam_graph *graph;
    mo_note *notes; /* the notes of its checks */
    int count;
    int64_t number, streams;
    uint64_t moves;  /* the memory's count of moves when the graph was made */
    char *constants; /* page-locked: the values that each replay uploads */
    size_t used;
    cuda_capture *next;
};

bool capture_begin_cuda(mo_context *ctx, int64_t streams);
void *capture_end_cuda(mo_context *ctx);
bool capture_replay_cuda(mo_context *ctx, void *capture, int64_t ahead);
void capture_release_cuda(mo_context *ctx, void *capture);

/* Returns true if no capture is being made. Else raises that a capture cannot hold `what`, and gives the capture up. */
bool not_capturing(mo_context *ctx, const char *what);
/* Page-locked memory that lives as long as the capture being made; NULL (raised) if there is no more. */
char *capture_constants(mo_context *ctx, size_t bytes);
/* The capture with this number; NULL if there is none. */
cuda_capture *find_capture(mo_context *ctx, int64_t number);
/* Gives up the capture being made. */
void capture_close(mo_context *ctx);

/* The number of steps that a replay is ahead of the captured step. */
struct moving_steps {
    const int64_t *ahead; /* on the device; NULL: no capture is being made */
    int64_t streams;
};
moving_steps steps_of(mo_context *ctx);

#endif
