// The loop runs ten times a second in up to ten thousand agents: a look at healthy workers must
// cost next to nothing.
#include <cstdlib>
#include <new>

#include "properties/unit/model/agent/test_job.h"

namespace {
std::size_t allocations = 0;
}  // namespace

// Of the whole test binary.
#if defined(__GNUC__) && !defined(__clang__)
// Inlined into a caller, the pair below looks to GCC like malloc freed by delete.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

void* operator new(std::size_t size) {
  ++allocations;
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
/// std::stable_sort asks by this one, which a sanitizer would otherwise answer itself.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace hooke::model {
namespace {

/// Allocations of a whole job whose workers run for `span`.
std::size_t cost_of(Duration span, std::int64_t& looks) {
  TestJob job;
  job[0].config.nproc_per_node = 8;
  job.worker = exits(span, 0);
  job.start();
  const std::size_t before = allocations;
  job.run();
  looks = job[0].rendezvous.looks;
  return allocations - before;
}

TEST(AgentCost, looks_at_healthy_workers_allocate_nothing) {
  std::int64_t few = 0;
  std::int64_t many = 0;
  const std::size_t short_job = cost_of(10s, few);
  const std::size_t long_job = cost_of(110s, many);
  ASSERT_GE(many - few, 900);
  EXPECT_LT(long_job, short_job + 10);  // the same job but for a thousand looks
}

}  // namespace
}  // namespace hooke::model
