#pragma once
// Tells whether AddressSanitizer is on (g++ and clang++ say so differently) and brings in what
// stacks and switches have to announce to it.

#if defined(__SANITIZE_ADDRESS__)
#define HOOKE_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HOOKE_ADDRESS_SANITIZER 1
#endif
#endif

#ifdef HOOKE_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
