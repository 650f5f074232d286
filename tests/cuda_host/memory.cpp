/* tests/cuda_host/memory.cpp - the device's protected pages, page-locked memory, and who touched them. */
#include "tests/cuda_host/memory.h"

#include "tests/cuda_host/block.h"
#include "tests/cuda_host/violation.h"

#include <cinttypes>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sys/mman.h>
#include <unistd.h>

namespace cuda_host {

static constexpr std::size_t page = 4096, alignment = 256, range = std::size_t{256} << 30;
static constexpr unsigned char unset = 0xff; /* byte of new memory; eight such bytes are a NaN */

struct allocation {
    std::size_t bytes;
    char *pages;
    std::size_t page_bytes;
};

struct locked {
    std::size_t bytes;
    int queued; /* copies */
};

/* Memory that was touched since the window was opened. */
struct stretch {
    char *from;
    std::size_t bytes;
};

static struct {
    char *base, *next; /* start of the device's range of addresses; place of the next allocation */
    std::map<char *, allocation> live, released;
    std::map<char *, locked> pinned;
    std::size_t live_bytes, peak_bytes, held_bytes;
    long planned, asked; /* number of the allocation that fails; number of allocations so far */
    int windows;
    stretch open[1024];
    int opened;
} device;

/* Returns the last entry that begins at or before the address. */
template <typename Map> static auto before(Map &map, const void *address) {
    auto entry = map.upper_bound(static_cast<char *>(const_cast<void *>(address)));
    return entry == map.begin() ? map.end() : --entry;
}

static bool in_range(const void *address) {
    return device.base && address >= device.base && address < device.base + range;
}

void violation(const char *format, ...) {
    char text[1024], where[256];
    std::va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    describe_thread(where, sizeof where);
    std::fflush(nullptr);
    std::fprintf(stderr, "cuda-host: %s%s\n", text, where);
    std::signal(SIGABRT, SIG_DFL); /* so that abort ends the process, whatever handler a test framework has set */
    std::abort();
}

static void protect(char *from, std::size_t bytes, int protection) {
    if (mprotect(from, bytes, protection) != 0)
        violation("the system refuses to protect pages");
}

static void close_all() {
    while (device.opened > 0) {
        const stretch &s = device.open[--device.opened];
        protect(s.from, s.bytes, PROT_NONE);
    }
}

/* Makes the memory around an address accessible, if it is part of an allocation. Only around it: most windows touch
 * little of the memory. */
static bool open_at(char *address) {
    const std::ptrdiff_t piece = 256 << 10;
    auto entry = device.live.upper_bound(address); /* an allocation's pages can begin before its first byte */
    if (entry == device.live.end() || entry->second.pages > address)
        entry = before(device.live, address);
    if (!device.windows || entry == device.live.end())
        return false;
    const allocation &a = entry->second;
    char *end = a.pages + a.page_bytes;
    if (address >= end)
        return false;
    if (device.opened == sizeof device.open / sizeof *device.open)
        close_all();
    char *from = a.pages + (address - a.pages) / piece * piece;
    stretch s = {from, std::size_t(end - from < piece ? end - from : piece)};
    device.open[device.opened++] = s;
    protect(s.from, s.bytes, PROT_READ | PROT_WRITE);
    return true;
}

/* A fault inside the range opens an allocation's memory, or is a violation. Any other fault is passed on. */
static void on_fault(int, siginfo_t *info, void *) {
    if (in_range(info->si_addr) && open_at(static_cast<char *>(info->si_addr)))
        return;
    if (device.windows && !in_range(info->si_addr))
        violation("device code touched %p, which is no device memory", info->si_addr);
    if (!in_range(info->si_addr)) {
        std::signal(SIGSEGV, SIG_DFL);
        return; /* returns to the instruction, which faults again */
    }
    const char *who = device.windows ? "device code" : "host code, outside a copy,";
    char *touched = static_cast<char *>(info->si_addr);
    auto live = before(device.live, touched), released = before(device.released, touched);
    bool is_live = live != device.live.end() && (released == device.released.end() || released->first < live->first);
    if (!is_live && released == device.released.end())
        violation("%s touched device memory before all allocations", who);
    const auto &entry = is_live ? *live : *released;
    violation("%s touched byte %td of %s allocation of %zu bytes", who, touched - entry.first,
        is_live ? "an" : "a released", entry.second.bytes);
}

/* The handler has its own stack, as the fault can be that of a full stack. */
static void catch_faults() {
    stack_t stack = {};
    sigaltstack(nullptr, &stack);
    if (stack.ss_flags & SS_DISABLE) {
        static char space[64 << 10];
        stack = {};
        stack.ss_sp = space;
        stack.ss_size = sizeof space;
        sigaltstack(&stack, nullptr);
    }
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, nullptr);
}

static void begin() {
    catch_faults(); /* at each call, as test frameworks set their own handler for each test */
    if (device.base)
        return;
    void *map = mmap(nullptr, range, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        violation("no address space for the device");
    device.base = static_cast<char *>(map);
    device.next = device.base + (1 << 20);
}

std::size_t memory_capacity() {
    const char *text = std::getenv("MOCHI_CUDA_HOST_MEMORY");
    return text ? std::strtoull(text, nullptr, 10) : std::size_t{4} << 30;
}

std::size_t memory_left() {
    std::size_t capacity = memory_capacity();
    return capacity > device.live_bytes ? capacity - device.live_bytes : 0;
}

std::size_t memory_used() {
    return device.live_bytes;
}

std::size_t memory_peak(bool restart) {
    std::size_t peak = device.peak_bytes;
    device.peak_bytes = restart ? device.live_bytes : peak;
    return peak;
}

std::size_t memory_held() {
    return device.held_bytes;
}

void memory_trim() {
    device.held_bytes = device.live_bytes;
}

bool allocation_fails() {
    const char *text = std::getenv("MOCHI_CUDA_HOST_ALLOCATION");
    long planned = text ? std::atol(text) : 0;
    if (planned != device.planned)
        device.asked = 0;
    device.planned = planned;
    return planned && ++device.asked == planned;
}

void *memory_allocate(std::size_t bytes) {
    begin();
    if (bytes > memory_left())
        return nullptr;
    std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    std::size_t page_bytes = rounded ? (rounded + page - 1) / page * page : page;
    if (page_bytes + page > std::size_t(device.base + range - device.next))
        violation("the address space of the device is used up");
    allocation a = {bytes, device.next, page_bytes};
    char *block = a.pages + page_bytes - rounded;
    device.next += page_bytes + page;
    protect(a.pages, a.page_bytes, PROT_READ | PROT_WRITE);
    std::memset(a.pages, unset, page_bytes);
    protect(a.pages, a.page_bytes, PROT_NONE);
    device.live.emplace(block, a);
    device.live_bytes += bytes;
    device.peak_bytes = device.live_bytes > device.peak_bytes ? device.live_bytes : device.peak_bytes;
    device.held_bytes = device.live_bytes > device.held_bytes ? device.live_bytes : device.held_bytes;
    return block;
}

/* Fails unless the other bytes on the pages of the block are unchanged. */
static void check_margins(const char *block, const allocation &a) {
    for (const char *p = a.pages; p < a.pages + a.page_bytes; p++)
        if (p == block)
            p += a.bytes - 1 + (a.bytes == 0);
        else if (static_cast<unsigned char>(*p) != unset)
            violation("byte %td of an allocation of %zu bytes was written", p - block, a.bytes);
}

void memory_release(void *block) {
    auto entry = device.live.find(static_cast<char *>(block));
    if (entry == device.live.end())
        violation("release of an address that is no live allocation");
    allocation a = entry->second;
    protect(a.pages, a.page_bytes, PROT_READ);
    check_margins(entry->first, a);
    protect(a.pages, a.page_bytes, PROT_NONE);
    madvise(a.pages, a.page_bytes, MADV_DONTNEED);
    device.live_bytes -= a.bytes;
    device.released.emplace(entry->first, a);
    device.live.erase(entry);
}

memory_window::memory_window() {
    if (device.windows++ == 0)
        begin();
}

memory_window::~memory_window() {
    if (--device.windows == 0)
        close_all();
}

void *pinned_allocate(std::size_t bytes) {
    void *block = std::malloc(bytes ? bytes : 1);
    if (block)
        device.pinned.emplace(static_cast<char *>(block), locked{bytes, 0});
    return block;
}

void pinned_release(void *block) {
    auto entry = device.pinned.find(static_cast<char *>(block));
    if (block && entry == device.pinned.end())
        violation("release of page-locked memory that is none");
    if (block && entry->second.queued)
        violation("release of page-locked memory of which %d copies are queued", entry->second.queued);
    if (block)
        device.pinned.erase(entry);
    std::free(block);
}

void pinned_queued(const void *address, int copies) {
    auto entry = before(device.pinned, address);
    if (entry != device.pinned.end())
        entry->second.queued += copies;
}

space space_of(const void *address) {
    if (in_range(address)) {
        auto entry = before(device.live, address);
        bool inside =
            entry != device.live.end() && static_cast<const char *>(address) <= entry->first + entry->second.bytes;
        return inside ? space::device : space::stale;
    }
    auto entry = before(device.pinned, address);
    bool inside =
        entry != device.pinned.end() && static_cast<const char *>(address) < entry->first + entry->second.bytes;
    return inside ? space::pinned : space::host;
}

const char *name_of(space s) {
    return s == space::device   ? "device"
           : s == space::pinned ? "page-locked host"
           : s == space::host   ? "host"
                                : "stale device";
}

void require_device(const void *address, std::size_t bytes, const char *what) {
    space found = space_of(address);
    if (bytes && found != space::device)
        violation("%s is a %s address, expected device memory", what, name_of(found));
    if (!bytes)
        return;
    auto entry = before(device.live, address);
    std::size_t room = entry->second.bytes - std::size_t(static_cast<const char *>(address) - entry->first);
    if (bytes > room)
        violation("%s needs %zu bytes, its allocation has %zu from there on", what, bytes, room);
}

void require_pinned(const void *address, std::size_t bytes, const char *what) {
    space found = space_of(address);
    if (bytes && found != space::pinned)
        violation("%s is a %s address, expected page-locked host memory", what, name_of(found));
    auto entry = before(device.pinned, address);
    if (bytes && bytes > entry->second.bytes - std::size_t(static_cast<const char *>(address) - entry->first))
        violation("%s needs %zu bytes, more than its page-locked block has", what, bytes);
}

void require_aligned(const void *address, std::size_t multiple, const char *what) {
    if (reinterpret_cast<std::uintptr_t>(address) % multiple)
        violation("%s is not aligned to %zu bytes", what, multiple);
}

/* Whether an address is on a mapped page. */
static bool is_mapped(std::uintptr_t address) {
    unsigned char resident;
    return mincore(reinterpret_cast<void *>(address / page * page), page, &resident) == 0;
}

void require_device_words(const void *argument, std::size_t bytes, const char *kernel) {
    const std::uintptr_t least = std::uintptr_t{1} << 32, end = std::uintptr_t{1} << 47;
    for (std::size_t at = 0; at + sizeof(std::uintptr_t) <= bytes; at += sizeof(std::uintptr_t)) {
        std::uintptr_t word;
        std::memcpy(&word, static_cast<const char *>(argument) + at, sizeof word);
        if (word < least || word >= end)
            continue;
        space found = space_of(reinterpret_cast<void *>(word));
        if (found == space::stale || (found == space::host && is_mapped(word)))
            violation("kernel %.*s is given a %s address", name_length(kernel), kernel, name_of(found));
    }
}

} // namespace cuda_host
