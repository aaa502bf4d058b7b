// hooke state: the live rendezvous of any job.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <memory>
#include <stdexcept>

#include "model/launch/torchrun_options.h"
#include "model/observe/python_error.h"
#include "model/rendezvous/core/errors.h"
#include "model/rendezvous/job_look.h"
#include "reports/rendezvous_view.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/seconds.h"
#include "scenarios/recorded/state_record.h"
#include "sim/real/real_process.h"

namespace hooke::cli {
namespace {

struct StateOptions {
  std::string backend = "c10d";
  std::string endpoint;
  std::string run_id = "none";
  std::string configuration;
  double timeout_s = 10;
  double watch_s = 0;
  bool json = false;
  std::string record_path;
  double give_up_s = 60;
};

/// Prints one view; whether there is such a job.
bool show(const model::JobLook& look, const StateOptions& options) {
  const model::JobSight sight = look();
  if (sight.record.status == model::JobStatus::unknown) {
    std::fprintf(stderr, "hooke state: the store at %s knows no job \"%s\" (--rdzv-id)%s\n",
                 options.endpoint.c_str(), options.run_id.c_str(),
                 options.backend == "static" ? ", or its agents have not all come" : "");
    return false;
  }
  const auto print = options.json ? report::view_json : report::view_text;
  const std::string text = print(options.endpoint, sight.record, sight.state_bytes);
  // A terminal shows the newest view in place of the last one, a file all of them.
  if (options.watch_s > 0 && !options.json && isatty(STDOUT_FILENO) != 0) {
    std::fputs("\033[H\033[J", stdout);
  }
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
  return true;
}

model::RendezvousParameters parameters_of(const StateOptions& options) {
  model::RendezvousParameters parameters;
  parameters.backend = options.backend;
  parameters.endpoint = options.endpoint;
  parameters.run_id = options.run_id;
  parameters.config = model::parse_rendezvous_configuration(options.configuration);
  parameters.config["read_timeout"] = std::to_string(span_of(options.timeout_s).count()) + "ns";
  return parameters;
}

/// What to say of a store that could not be looked at.
std::string failure_text(const std::exception& error) {
  const bool state = dynamic_cast<const model::RendezvousError*>(&error) != nullptr &&
                     dynamic_cast<const model::RendezvousConnectionError*>(&error) == nullptr;
  return (state ? "what the store holds is not a state: " : "--rdzv-endpoint: ") +
         std::string(error.what());
}

/// Looks and records until it is told to stop, or the job is over: its store is gone, and the job was
/// closed, or the store stays away for longer than agents wait for it (read_timeout). Until then a
/// store that cannot be reached is asked again, and one that was never seen for ever.
class RecordedWatch {
 public:
  RecordedWatch(sim::Ports& ports, const StateOptions& options, std::ostream& out)
      : ports_(ports),
        options_(options),
        recorder_(out, options.run_id, options.backend, span_of(options.watch_s),
                  ports.clock.wall_now()) {}

  int run() {
    do {
      step();
    } while (!over_ && !ports_.processes.wait_signal(ports_.clock.monotonic_now() +
                                                     span_of(options_.watch_s)));
    recorder_.ended(ports_.clock.wall_now());
    std::fprintf(stderr, "hooke state: recorded %zu looks in %s\n", looks_,
                 options_.record_path.c_str());
    return looks_ > 0 ? kAllHeld : kSomethingFell;
  }

 private:
  void step() {
    try {
      if (!look_) look_ = model::look_at_state(ports_, parameters_of(options_));
      const auto view = look_();
      if (!view) return;
      ++looks_;
      lost_since_.reset();
      closed_ = view->state != nullptr && view->state->closed;
      recorder_.saw(*view, ports_.clock.wall_now());
    } catch (const model::EscapedPythonError& error) {
      lost(error);
    } catch (const model::RendezvousError& error) {
      lost(error);
    } catch (const model::StoreError& error) {
      lost(error);
    }
  }
  void lost(const std::exception& error) {
    const std::string why = failure_text(error);
    if (!told_) std::fprintf(stderr, "hooke state: %s; asking again\n", why.c_str());
    told_ = true;
    recorder_.unreachable(why, ports_.clock.wall_now());
    look_ = nullptr;
    const sim::MonotonicTime now = ports_.clock.monotonic_now();
    if (!lost_since_) lost_since_ = now;
    over_ = closed_ || (looks_ > 0 && now - *lost_since_ >= span_of(options_.give_up_s));
    if (over_ && !closed_) {
      std::fprintf(stderr, "hooke state: the store has not answered for %g s; the record ends\n",
                   options_.give_up_s);
    }
  }

  sim::Ports& ports_;
  const StateOptions& options_;
  scenario::StateRecorder recorder_;
  model::StateLook look_;
  std::optional<sim::MonotonicTime> lost_since_;
  std::size_t looks_ = 0;
  bool closed_ = false, over_ = false, told_ = false;
};

int record(sim::Ports& ports, const StateOptions& options) {
  if (!model::has_dynamic_state(options.backend)) {
    std::fprintf(stderr,
                 "hooke state: --record: expected a backend that keeps heartbeats (c10d, etcd-v2, "
                 "etcd-v3), got %s\n",
                 options.backend.c_str());
    return kBadInput;
  }
  std::ofstream out(options.record_path);
  if (!out) {
    std::fprintf(stderr, "hooke state: --record: expected a file that can be written, got %s\n",
                 options.record_path.c_str());
    return kBadInput;
  }
  return RecordedWatch(ports, options, out).run();
}

int watch(sim::Ports& ports, const StateOptions& options) {
  try {
    if (options.watch_s > 0) {
      for (const sim::Signal signal : {sim::Signal::term, sim::Signal::int_}) {
        static_cast<void>(ports.processes.catch_signal(signal));
      }
    }
    if (!options.record_path.empty()) return record(ports, options);
    const model::JobLook look = model::look_at_job(ports, parameters_of(options));
    if (options.watch_s <= 0) return show(look, options) ? kAllHeld : kSomethingFell;
    do {
      static_cast<void>(show(look, options));
    } while (!ports.processes.wait_signal(ports.clock.monotonic_now() + span_of(options.watch_s)));
    return kAllHeld;
  } catch (const std::invalid_argument& error) {
    const std::string what = error.what();
    const char* const flag = what.starts_with("--")                       ? ""
                             : what.find("endpoint") != std::string::npos ? "--rdzv-endpoint: "
                                                                          : "--rdzv-conf: ";
    std::fprintf(stderr, "hooke state: %s%s\n", flag, what.c_str());
    return kBadInput;
  } catch (const model::EscapedPythonError& error) {
    std::fprintf(stderr, "hooke state: %s\n", failure_text(error).c_str());
  } catch (const model::RendezvousError& error) {
    std::fprintf(stderr, "hooke state: %s\n", failure_text(error).c_str());
  } catch (const model::StoreError& error) {
    std::fprintf(stderr, "hooke state: %s\n", failure_text(error).c_str());
  }
  return kSomethingFell;
}

}  // namespace

void add_state(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "state", "Show the live rendezvous of a job of torchrun or hooke agents; changes nothing");
  auto options = std::make_shared<StateOptions>();
  command->add_option("--rdzv-backend,--rdzv_backend", options->backend, "As the job's")
      ->check(CLI::IsMember({"c10d", "etcd-v2", "etcd-v3", "etcd", "static"}))
      ->capture_default_str();
  command
      ->add_option("--rdzv-endpoint,--rdzv_endpoint", options->endpoint,
                   "As the job's; a path with store_type=file")
      ->default_str("localhost, the backend's port");
  command
      ->add_option("--rdzv-conf,--rdzv_conf", options->configuration,
                   "As the job's: store_type=file; protocol, ca_cert, user … of etcd")
      ->envname("PET_RDZV_CONF");
  command->add_option("--rdzv-id,--rdzv_id", options->run_id, "As the job's")
      ->capture_default_str();
  command->add_option("--timeout", options->timeout_s, "Seconds to wait for the store")
      ->check(seconds_from(0.001))
      ->capture_default_str();
  command->add_option("--watch", options->watch_s, "Look again every so many seconds")
      ->check(seconds_from(0.001))
      ->expected(0, 1)
      ->default_str("1");
  command->add_flag("--json", options->json, "One JSON object per look");
  command
      ->add_option("--record", options->record_path,
                   "Instead of showing them write what the looks see, for hooke judge, until "
                   "Ctrl-C or the end of the job")
      ->type_name("FILE");
  command
      ->add_option("--give-up", options->give_up_s,
                   "With --record: end when a store that was seen has not answered for so many "
                   "seconds")
      ->check(seconds_from(0.001))
      ->capture_default_str();
  command->footer(
      "Ages of heartbeats are by the clock of this machine.\n"
      "Examples:\n"
      "  hooke state --rdzv-endpoint head:29400 --rdzv-id job --watch\n"
      "  hooke state --rdzv-backend etcd-v2 --rdzv-endpoint etcd:2379 --rdzv-id job --json\n"
      "  hooke state --rdzv-backend static --rdzv-endpoint head:29500 --rdzv-id job\n"
      "  hooke state --rdzv-endpoint head:29400 --rdzv-id job --record job.record\n"
      "  hooke state --rdzv-conf store_type=file --rdzv-endpoint /shared/job --rdzv-id job\n"
      "Exit codes: 0; 1 no such job, or the store failed; 2 bad usage.");
  command->callback([options, &exit_code] {
    if (options->endpoint.empty()) {
      const bool over_etcd = options->backend.starts_with("etcd");
      options->endpoint = over_etcd ? "localhost:2379" : "localhost:29400";
    }
    if (!options->record_path.empty() && options->watch_s <= 0) options->watch_s = 1;
    real::RealProcess process({"hooke"});
    exit_code = process.run([&](sim::Ports& ports) { return watch(ports, *options); });
  });
}

}  // namespace hooke::cli
