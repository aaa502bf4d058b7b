// One server per worker start, with PyTorch's names.
#include "model/timer/watchdog.h"

#include "sim/port/check.h"

namespace hooke::model {
namespace {

constexpr sim::Duration kWatchInterval = std::chrono::milliseconds(100);

}  // namespace

std::string Watchdog::variable(const char* name) const {
  const auto& environment = ports_.processes.environment();
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

std::map<std::string, std::string> Watchdog::start(const std::string& run_id) {
  std::string path = variable("TORCHELASTIC_TIMER_FILE");
  if (variable("TORCHELASTIC_ENABLE_FILE_TIMER") == "1") path = serve(std::move(path), run_id);
  if (path.empty()) return {};
  return {{"TORCHELASTIC_TIMER_FILE", std::move(path)}};
}

std::string Watchdog::serve(std::string path, const std::string& run_id) {
  if (path.empty()) {
    constexpr std::uint64_t kNames = 1'000'000'000'000'000'000;
    const std::string own_directory = variable("TMPDIR");
    const std::string directory =
        own_directory.empty() || !puts_the_timer_where_temporary_files_are(variant_)
            ? "/tmp"
            : own_directory;
    static_cast<void>(ports_.files.make_directories(directory));
    path = directory + "/watchdog_timer_" +
           std::to_string(ports_.random.below("agent.timer_file", kNames));
  }
  path = free_path(std::move(path));
  HOOKE_CHECK(!path.empty(), "a watchdog serves a file");
  FileTimerOptions options;
  options.path = path;
  options.run_id = run_id;
  options.max_interval = kWatchInterval;
  options.variant = variant_;
  options.on_event = told_;
  options.make_table = make_table_;
  server_ = make_server(std::move(options));
  HOOKE_CHECK(server_ != nullptr, "a watchdog that serves has a server");
  server_->start();
  return path;
}

std::unique_ptr<FileTimerServer> Watchdog::make_server(FileTimerOptions options) {
  return std::make_unique<FileTimerServer>(ports_, std::move(options));
}

void Watchdog::stop() {
  if (server_ != nullptr) server_->stop();
  server_ = nullptr;
}

}  // namespace hooke::model
