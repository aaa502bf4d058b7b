// One process, asked for its version until it answers.
#include "model/etcd/embedded_server.h"

#include <stdexcept>

#include "model/http/http_client.h"
#include "model/store/free_port.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

std::string url(const std::string& host, sim::PortNumber port) {
  return "http://" + host + ":" + std::to_string(port.value);
}

}  // namespace

EmbeddedEtcd::EmbeddedEtcd(sim::Ports& ports, const Options& options)
    : ports_(ports),
      program_("etcd"),
      data_directory_(options.data_directory),
      port_(options.port) {
  const auto& environment = ports.processes.environment();
  const auto named = environment.find("TORCHELASTIC_ETCD_BINARY_PATH");
  if (named != environment.end() && ports.files.exists(named->second)) program_ = named->second;
  if (port_.value == 0) port_ = probe_free_port(ports.network);
  const sim::MonotonicTime deadline = ports.clock.monotonic_now() + options.timeout;
  for (const bool with_v2 : {true, false}) {  // from 3.6 on there is no v2 any more
    start(options, with_v2);
    if (await_answer(deadline)) return;
  }
  throw std::runtime_error(program_ + " has ended; what it said is in " + data_directory_ + "/log");
}

void EmbeddedEtcd::start(const Options& options, bool with_v2) {
  HOOKE_CHECK(!running_ && port_.value != 0, "a server is started once, at a port");
  if (const auto made = ports_.files.make_directories(options.data_directory); !made) {
    throw std::runtime_error("etcd: " + made.failure().detail);
  }
  const std::string peers = url("localhost", probe_free_port(ports_.network));
  sim::SpawnRequest request;
  request.argv = {program_,
                  "--data-dir",
                  options.data_directory + "/data",
                  "--listen-client-urls",
                  url(options.loopback ? "127.0.0.1" : "0.0.0.0", port_),
                  "--advertise-client-urls",
                  url("localhost", port_),
                  "--listen-peer-urls",
                  peers,
                  "--initial-advertise-peer-urls",
                  peers,
                  "--initial-cluster",
                  "default=" + peers};
  if (with_v2) request.argv.emplace_back("--enable-v2");
  request.environment = ports_.processes.environment();
  request.stdout_path = request.stderr_path = options.data_directory + "/log";
  const auto pid = ports_.processes.spawn(request);
  if (!pid) {
    throw std::runtime_error(program_ + ": cannot be started (" + pid.failure().detail +
                             "); is etcd-server installed?");
  }
  pid_ = pid.value();
  HOOKE_CHECK(pid_.value > 0, "a process that was started has a number");
  running_ = true;
}

bool EmbeddedEtcd::await_answer(sim::MonotonicTime deadline) {
  HOOKE_CHECK(running_, "a server that answers was started");
  for (;;) {
    if (ports_.processes.poll(pid_)) {
      running_ = false;
      return false;
    }
    try {
      HttpClient client(ports_, {{"localhost", port_}, std::nullopt});
      const auto soon = ports_.clock.monotonic_now() + 1s;
      // Its health is that of its consensus: a version is told before it can serve.
      if (client.exchange({"GET", "/health", "", "", ""}, soon).status == 200) return true;
    } catch (const HttpError&) {
      // Not yet.
    }
    if (ports_.clock.monotonic_now() >= deadline) {
      throw std::runtime_error(program_ + " does not answer; what it said is in " +
                               data_directory_ + "/log");
    }
    ports_.executor.sleep_until(ports_.clock.monotonic_now() + 50ms);
  }
}

EmbeddedEtcd::~EmbeddedEtcd() {
  if (running_) static_cast<void>(ports_.processes.signal_group(pid_, sim::Signal::kill));
}

void EmbeddedEtcd::stop() {
  if (!running_) return;
  running_ = false;
  static_cast<void>(ports_.processes.signal(pid_, sim::Signal::term));
  if (!ports_.processes.wait(pid_, ports_.clock.monotonic_now() + 10s)) {
    static_cast<void>(ports_.processes.signal_group(pid_, sim::Signal::kill));
    static_cast<void>(ports_.processes.wait(pid_, std::nullopt));
  }
  static_cast<void>(ports_.files.remove(data_directory_));
}

}  // namespace hooke::model
