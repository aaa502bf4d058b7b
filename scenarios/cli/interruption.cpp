#include "scenarios/cli/interruption.h"

#include <csignal>

namespace hooke::cli {
namespace {

volatile std::sig_atomic_t caught = 0;

}  // namespace

void watch_for_interruption() {
  std::signal(SIGINT, [](int) {
    caught = 1;
    std::signal(SIGINT, SIG_DFL);  // the next one ends the command at once
  });
}

bool interrupted() {
  return caught != 0;
}

}  // namespace hooke::cli
