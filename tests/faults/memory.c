/* Makes one allocation of the compiled core fail: the n-th that it asks for, in any thread.
 *
 * cc -shared -fPIC -o memory.so memory.c; LD_PRELOAD=memory.so program
 * The program calls fault_arm(n, 0), n from 1, once it has loaded the core; fault_arm(0, 0) only counts, for fault_count(). */
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

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
    if (!armed || from < first || from >= last || atomic_fetch_add(&asked, 1) + 1 != target)
        return 0;
    errno = ENOMEM;
    return 1;
}
#define FAILS fails(__builtin_return_address(0))

void *malloc(size_t size) {
    return FAILS ? NULL : __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
    return FAILS ? NULL : __libc_calloc(count, size);
}
void *realloc(void *old, size_t size) {
    return FAILS ? NULL : __libc_realloc(old, size);
}
int posix_memalign(void **place, size_t alignment, size_t size) {
    if (FAILS)
        return ENOMEM;
    void *found = __libc_memalign(alignment, size);
    if (found)
        *place = found;
    return found ? 0 : ENOMEM;
}
