// The one place where a broken invariant of the harness ends the program.
#include "sim/port/check.h"

#include <cstdio>
#include <cstdlib>

namespace hooke::sim {

void check_failed(const char* condition, const char* file, int line, const char* meaning) noexcept {
  std::fprintf(stderr, "hooke: internal invariant broken at %s:%d: %s (%s)\n", file, line, meaning,
               condition);
  std::abort();
}

}  // namespace hooke::sim
