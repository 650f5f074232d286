/* train/run/schedule.c - the learning rate of a step: half a cosine from lr down to lr_min (Loshchilov and Hutter
 * 2017).
 */
#include "train/inside.h"

#include <math.h>

double mo_cosine(double lr, double lr_min, int64_t step, int64_t steps) {
    if (steps < 1)
        return lr;
    return lr_min + (lr - lr_min) * (1 + cos(3.14159265358979323846 * (double)step / (double)steps)) / 2;
}
