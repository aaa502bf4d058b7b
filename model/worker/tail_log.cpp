// A line that is written in pieces is shown in pieces, each with its header, as PyTorch shows it.
#include "model/worker/tail_log.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "model/observe/background_tasks.h"
#include "sim/port/check.h"
#include "sim/port/sync.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

constexpr sim::Duration kPause = 100ms;
constexpr std::size_t kReadBytesMax = 64UL * 1024;  // of FileSystem::read_from

bool is_wanted(const std::vector<std::string>& filters, std::string_view line) {
  return filters.empty() || std::any_of(filters.begin(), filters.end(), [&](const auto& filter) {
           return line.find(filter) != std::string_view::npos;
         });
}

/// The lines of `text` that `file` wants, each with its header.
std::string wanted_lines(std::string_view text, const TailedFile& file) {
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    HOOKE_CHECK(begin < end && end <= text.size(), "a line that is shown moves on");
    const std::string_view line = text.substr(begin, end - begin);
    if (is_wanted(file.filters, line)) out.append(file.header).append(line);
    begin = end;
  }
  return out;
}

/// How much of `text`, which is what a read gave, is to be shown now: a read that is full ends
/// anywhere, so its last line may go on.
std::size_t lines_in(const std::string& text) {
  const std::size_t end = text.rfind('\n');
  return text.size() < kReadBytesMax || end == std::string::npos ? text.size() : end + 1;
}

/// Shows `text`, and says once for each file that not all of it could be shown.
void show(sim::Ports& ports, const TailedFile& file, const std::string& text, bool& told) {
  HOOKE_CHECK(!text.empty(), "what is shown is a line");
  const auto shown = ports.files.append(file.destination, text);
  if (shown || told) return;
  told = true;
  static_cast<void>(ports.files.append(
      "/dev/stderr",
      "hooke: not all of " + file.path + " could be shown: " + shown.failure().detail + "\n"));
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
    HOOKE_CHECK(!file.path.empty() && !file.destination.empty(), "a file is shown somewhere");
    fibers_.push_back(ports.executor.spawn(
        std::string(tasks::kTail) + file.path, [&world = ports, shared = shared_, file] {
          bool told = false;
          for (std::uint64_t offset = 0;;) {
            const bool last = shared->stop.is_set();
            const auto more = world.files.read_from(file.path, offset);
            if (more && !more.value().empty()) {
              const std::size_t size = lines_in(more.value());
              HOOKE_CHECK(0 < size && size <= more.value().size(), "what is shown moves on");
              offset += size;
              const std::string shown =
                  wanted_lines(std::string_view(more.value()).substr(0, size), file);
              if (!shown.empty()) show(world, file, shown, told);
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
