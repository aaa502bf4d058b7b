// Real time and resident memory, read rarely.
#include "sim/kernel/host_limits.h"

#include <unistd.h>

#include <cstdio>

namespace hooke::kernel {

HostLimits::HostLimits(std::optional<std::chrono::milliseconds> wall_time_max,
                       std::optional<std::size_t> memory_bytes_max)
    : memory_bytes_max_(memory_bytes_max) {
  if (wall_time_max) deadline_ = std::chrono::steady_clock::now() + *wall_time_max;
}

bool HostLimits::time_is_up() const {
  return deadline_ && std::chrono::steady_clock::now() >= *deadline_;
}

bool HostLimits::memory_is_up() const {
  if (!memory_bytes_max_) return false;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return false;
  unsigned long total_pages = 0;
  unsigned long resident_pages = 0;
  const int read = std::fscanf(file, "%lu %lu", &total_pages, &resident_pages);
  std::fclose(file);
  return read == 2 &&
         resident_pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) > *memory_bytes_max_;
}

Stopwatch::Stopwatch() : start_(std::chrono::steady_clock::now()) {}

std::chrono::nanoseconds Stopwatch::elapsed() const {
  return std::chrono::steady_clock::now() - start_;
}

}  // namespace hooke::kernel
