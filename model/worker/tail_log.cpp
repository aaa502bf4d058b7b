// A line that is written in pieces is shown in pieces, each with its header, as PyTorch shows it.
#include "model/worker/tail_log.h"

#include "sim/port/sync.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

constexpr sim::Duration kPause = 100ms;

std::string with_headers(const std::string& text, const std::string& header) {
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = text.find('\n', begin);
    end = end == std::string::npos ? text.size() : end + 1;
    out += header;
    out.append(text, begin, end - begin);
    begin = end;
  }
  return out;
}

}  // namespace

/// Outlives the TailLog for as long as a fiber uses it.
struct TailLog::Shared {
  explicit Shared(sim::Executor& executor) : stop(executor) {}
  sim::Flag stop;
};

TailLog::TailLog(sim::Ports& ports, const std::vector<TailedFile>& files)
    : ports_(ports), shared_(std::make_shared<Shared>(ports.executor)) {
  for (const TailedFile& file : files) {
    fibers_.push_back(
        ports.executor.spawn("tail " + file.path, [&world = ports, shared = shared_, file] {
          for (std::uint64_t offset = 0;;) {
            const bool last = shared->stop.is_set();
            const auto more = world.files.read_from(file.path, offset);
            if (more && !more.value().empty()) {
              offset += more.value().size();
              static_cast<void>(
                  world.files.append(file.destination, with_headers(more.value(), file.header)));
            } else if (last) {
              return;
            } else {
              shared->stop.wait(world.clock.monotonic_now() + kPause);
            }
          }
        }));
  }
}

TailLog::~TailLog() {
  shared_->stop.set();
}

void TailLog::stop() {
  shared_->stop.set();
  for (const sim::FiberId fiber : fibers_) ports_.executor.join(fiber);
  fibers_.clear();
}

}  // namespace hooke::model
