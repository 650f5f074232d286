/* tensor/cuda/map.h - the loop of kernels in which an element of y depends on the elements of the operands at the same
 * place: maps, choices, copies, fills.
 *
 * A thread takes a group at a time: 16 bytes of y, and as many elements of each operand. For this, groups must be
 * aligned, and along the last axis y must be contiguous, and each operand contiguous or constant. If there are more
 * groups than threads, a thread has two groups in flight. All other elements are taken one by one. */
#ifndef MO_CUDA_MAP_H
#define MO_CUDA_MAP_H

#include "tensor/cuda/loop_nest.h"

/* A group: `width` neighbouring elements of an operand of type T. */
template <typename T, int width> struct alignas(sizeof(T) * width) neighbours { T value[width]; };

/* The parameters a and b of a function. */
template <typename real> struct coefficients { real a, b; };

template <int width, typename T> __device__ inline neighbours<T, width> load_group(const T *x, bool constant) {
    if (!constant)
        return *reinterpret_cast<const neighbours<T, width> *>(x);
    neighbours<T, width> group;
    T value = *x;
    for (int k = 0; k < width; k++)
        group.value[k] = value;
    return group;
}

/* Returns the group at x, which may have any address. `there` elements may be read; the others become 0. */
template <int width, typename T> __device__ inline neighbours<T, width> load_part(const T *x, int64_t there) {
    neighbours<T, width> group;
    if (there >= width && reinterpret_cast<uintptr_t>(x) % sizeof group == 0)
        return *reinterpret_cast<const neighbours<T, width> *>(x);
    for (int k = 0; k < width; k++)
        group.value[k] = k < there ? x[k] : (T)0;
    return group;
}

template <int width, typename T>
__device__ inline void store_part(T *y, const neighbours<T, width> &group, int64_t there) {
    if (there >= width && reinterpret_cast<uintptr_t>(y) % sizeof group == 0) {
        *reinterpret_cast<neighbours<T, width> *>(y) = group;
        return;
    }
    for (int k = 0; k < width && k < there; k++)
        y[k] = group.value[k];
}

template <typename function, typename real, int width, typename... operand>
__device__ inline neighbours<real, width> map_group(
    const coefficients<real> &c, const neighbours<operand, width> &...x) {
    neighbours<real, width> y;
    for (int k = 0; k < width; k++)
        y.value[k] = function::of(c, x.value[k]...);
    return y;
}

/* The loop. The views have the order of N: y, then the operands. */
template <typename function, typename real, typename... operand> struct map_loop {
    static constexpr int width = 16 / sizeof(real), views = 1 + sizeof...(operand);
    using group = neighbours<real, width>;
    using nest = cuda_nest<views>;

    /* The function's values for the group at the positions `at`. */
    template <size_t... o>
    __device__ static group group_at(const nest &N, const int64_t (&at)[views], const coefficients<real> &c,
        std::index_sequence<o...>, const operand *...x) {
        return map_group<function, real, width>(
            c, load_group<width>(x + at[o + 1], N.stride[o + 1][N.ndim - 1] == 0)...);
    }

    template <size_t... o>
    __device__ static void run(const nest &N, int64_t groups, const coefficients<real> &c,
        std::index_sequence<o...> operands, real *y, const operand *...x) {
        int64_t i = first_item(), step = item_step(), at[views], next[views];
        for (; i + step < groups; i += 2 * step) {
            loop_nest_seek(N, i * width, at);
            loop_nest_seek(N, (i + step) * width, next);
            group first = group_at(N, at, c, operands, x...), second = group_at(N, next, c, operands, x...);
            *reinterpret_cast<group *>(y + at[0]) = first;
            *reinterpret_cast<group *>(y + next[0]) = second;
        }
        if (i < groups) {
            loop_nest_seek(N, i * width, at);
            *reinterpret_cast<group *>(y + at[0]) = group_at(N, at, c, operands, x...);
        }
        for (i = groups * width + first_item(); i < N.total; i += step) {
            loop_nest_seek(N, i, at);
            y[at[0]] = function::of(c, x[at[o + 1]]...);
        }
    }
};

/* The body of a kernel: y := function::of(c, x...). */
template <typename function, typename real, typename... operand>
__device__ inline void map_items(const cuda_nest<1 + sizeof...(operand)> &N, int64_t groups,
    const coefficients<real> &c, real *y, const operand *...x) {
    map_loop<function, real, operand...>::run(N, groups, c, std::index_sequence_for<operand...>(), y, x...);
}

/* ---- on the host ---- */

/* Whether a view can be read in groups of `width` elements along its last axis, number `last`. */
inline bool in_groups(const int64_t *stride, int64_t last, const void *data, int64_t width, size_t element) {
    bool can = stride[last] == 1 && (uintptr_t)data % ((size_t)width * element) == 0;
    for (int64_t i = 0; i < last; i++)
        can = can && stride[i] % width == 0;
    return can;
}

/* Returns the number of groups, which hold the first `groups * width` elements; 0 if the loop cannot take groups. */
template <typename real, typename... operand>
int64_t groups_of(const cuda_nest<1 + sizeof...(operand)> &N, const real *y, const operand *...x) {
    constexpr int64_t width = 16 / sizeof(real);
    const void *data[] = {y, x...};
    const size_t bytes[] = {sizeof(real), sizeof(operand)...};
    int64_t last = N.ndim - 1;
    bool can = last == 0 || (last > 0 && N.size[last] % width == 0);
    int view = 0;
    for (const auto &stride : N.stride) {
        bool constant = view > 0 && can && stride[last] == 0; /* the operand does not change along the axis */
        can = can && (constant || in_groups(stride, last, data[view], width, bytes[view]));
        view++;
    }
    return can ? N.total / width : 0;
}

constexpr int64_t threads_at_once = 1 << 18; /* about 132 multiprocessors of 2048 threads */

/* Gives each thread one group, or two groups if the threads would not all be on the device at once. Without groups,
 * gives each thread one element. */
inline dim3 blocks_for_map(int64_t total, int64_t groups) {
    int64_t threads = groups > threads_at_once ? most(threads_at_once, ceil_div(groups, 2)) : groups;
    return blocks_for(groups ? threads : total);
}

#endif
