/* Makes the compiled core run out of memory: the n-th time that it asks the kernel for some, and from then on, in any thread.
 *
 * cc -shared -fPIC -o memory.so memory.c; LD_PRELOAD=memory.so program
 * The program calls fault_arm(n, 0), n from 1, once it has loaded the core; fault_arm(0, 0) only counts, for fault_count().
 * With MIMALLOC_DISALLOW_ARENA_ALLOC=1 the core asks for little at a time, and often. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

static atomic_long asked, target;
static atomic_int armed;
static uintptr_t first, last; /* where the core is */

static int find(struct dl_phdr_info *library, size_t size, void *unused) {
    (void)size, (void)unused;
    if (!strstr(library->dlpi_name, "/_core."))
        return 0;
    for (int i = 0; i < library->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &library->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && (part->p_flags & PF_X)) {
            first = library->dlpi_addr + part->p_vaddr;
            last = first + part->p_memsz;
        }
    }
    return 1;
}
void fault_arm(long nth, int unused) {
    (void)unused;
    dl_iterate_phdr(find, NULL);
    asked = 0;
    target = nth;
    armed = first != 0;
}
long fault_count(void) {
    return asked;
}
void fault_disarm(void) {
    armed = 0;
}

static int fails(const void *caller) {
    uintptr_t from = (uintptr_t)caller;
    if (!armed || from < first || from >= last)
        return 0;
    long nth = atomic_fetch_add(&asked, 1) + 1;
    return target && nth >= target;
}

void *mmap(void *at, size_t length, int protection, int flags, int file, off_t offset) {
    static void *(*next)(void *, size_t, int, int, int, off_t);
    if (fails(__builtin_return_address(0))) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    if (!next)
        next = dlsym(RTLD_NEXT, "mmap");
    return next(at, length, protection, flags, file, offset);
}
/* Its other name, where an offset has 64 bits. */
void *mmap64(void *, size_t, int, int, int, off_t) __attribute__((alias("mmap")));
