/* sanitized.h - whether the sanitizer of addresses watches this build, and what is said to it then. Needs and
 * changes nothing else. */
#ifndef LANG_SANITIZED_H
#define LANG_SANITIZED_H

#ifdef __SANITIZE_ADDRESS__
#define SANITIZES_ADDRESSES 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZES_ADDRESSES 1
#endif
#endif

#ifdef SANITIZES_ADDRESSES
#include <sanitizer/asan_interface.h>
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized" /* memory is named here, not read */
#define forbid_memory(start, bytes) __asan_poison_memory_region((start), (bytes))
#define allow_memory(start, bytes) __asan_unpoison_memory_region((start), (bytes))
#else
#define SANITIZES_ADDRESSES 0
#define forbid_memory(start, bytes) ((void)(start), (void)(bytes))
#define allow_memory(start, bytes) ((void)(start), (void)(bytes))
#endif

#endif
