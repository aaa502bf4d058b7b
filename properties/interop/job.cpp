// Processes are told apart by what they report, never by timing.
#include "job.h"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

#include "sim/real/port_reservation.h"

namespace hooke::interop {
namespace {

namespace fs = std::filesystem;

fs::path variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? fs::path() : fs::path(value);
}

std::string contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

bool is_alive(int pid) {
  return kill(pid, 0) == 0;
}

}  // namespace

std::string torch_python(model::Variant variant) {
  return variable(variant == model::Variant::torch_1_13 ? "HOOKE_TORCH_1_13_PYTHON"
                                                        : "HOOKE_TORCH_PYTHON")
      .string();
}

bool is_installed(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

fs::path script(const std::string& name) {
  return variable("HOOKE_SOURCE_DIR") / "properties/interop" / name;
}

fs::path hooke_program() {
  return variable("HOOKE_BINARY_DIR") / "hooke";
}

void run(const std::function<void(Ports&, const fs::path&)>& body) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  std::string name = test->name();
  std::replace(name.begin(), name.end(), '/', '-');  // of a parameter
  const fs::path directory =
      fs::temp_directory_path() / ("hooke-" + name + "-" + std::to_string(getpid()));
  fs::create_directories(directory);
  real::RealProcess process({"interop"});
  process.run([&](Ports& ports) {
    body(ports, directory);
    return 0;
  });
  if (!testing::Test::HasFailure()) fs::remove_all(directory);
}

std::uint16_t free_port() {
  static std::vector<real::PortReservation> reserved;
  return reserved.emplace_back().port().value;
}

bool eventually(Ports& ports, sim::Duration span, const std::function<bool()>& holds) {
  const sim::MonotonicTime end = in(ports, span);
  while (!holds()) {
    if (ports.clock.monotonic_now() >= end) return false;
    ports.executor.sleep_until(in(ports, 50ms));
  }
  return true;
}

Child::Child(Ports& ports, const fs::path& directory, const std::string& name,
             std::vector<std::string> argv, const std::map<std::string, std::string>& environment)
    : ports_(ports), log_(directory / (name + ".log")) {
  sim::SpawnRequest request;
  request.argv = std::move(argv);
  request.environment = ports.processes.environment();
  for (const auto& [key, value] : environment) request.environment[key] = value;
  request.stdout_path = request.stderr_path = log_.string();
  const auto pid = ports.processes.spawn(request);
  if (!pid) throw std::runtime_error(pid.failure().detail);
  pid_ = pid.value();
}

Child::~Child() {
  if (ended_) return;
  // Without waiting: a destructor may run while the fiber unwinds.
  static_cast<void>(ports_.processes.signal_group(pid_, sim::Signal::kill));
}

void Child::signal(sim::Signal signal) {
  static_cast<void>(ports_.processes.signal(pid_, signal));
}

std::optional<int> Child::end(sim::Duration span) {
  if (!ended_) {
    if (const auto status = ports_.processes.wait(pid_, in(ports_, span))) {
      ended_ = status->as_python();
    }
  }
  return ended_;
}

std::string Child::output() const {
  return contents(log_);
}

Job::Job(Ports& ports, fs::path directory, model::Variant variant, std::vector<std::string> options,
         std::map<std::string, std::string> environment)
    : ports_(ports),
      directory_(std::move(directory)),
      variant_(variant),
      options_(std::move(options)),
      environment_(std::move(environment)),
      told_(variant) {
  fs::create_directories(directory_ / "reports");
  environment_["PYTHON_EXEC"] = torch_python(variant_);
  environment_["HOOKE_REPORTS"] = (directory_ / "reports").string();
  environment_["HOOKE_STOP"] = (directory_ / "stop").string();
}

Job::~Job() {
  // Workers are sessions of their own and outlive an agent that is killed.
  for (const auto& entry : fs::directory_iterator(directory_ / "reports")) {
    const int pid = std::atoi(entry.path().stem().c_str());
    if (pid > 0) kill(pid, SIGKILL);
  }
}

Child& Job::start(Kind kind, const std::string& name) {
  std::vector<std::string> argv;
  if (kind == Kind::hooke) {
    argv = {hooke_program().string(), "agent", "--trace",
            (directory_ / (name + ".jsonl")).string()};
    if (tells_variant_) argv.push_back("--protocol-variant=" + std::string(to_string(told_)));
  } else if (variant_ == model::Variant::torch_1_13) {
    argv = {torch_python(variant_), script("torchrun_1_13.py").string()};
  } else {
    argv = {torch_python(variant_), "-m", "torch.distributed.run"};
  }
  argv.insert(argv.end(), options_.begin(), options_.end());
  argv.push_back(script(script_).string());
  argv.emplace_back(kind == Kind::hooke ? "hooke" : "torchrun");
  argv.insert(argv.end(), arguments_.begin(), arguments_.end());
  auto child = std::make_unique<Child>(ports_, directory_, name, argv, environment_);
  return *(agents_[name] = std::move(child));
}

Child& Job::start_host(Kind kind, const std::string& name) {
  const std::string before_port = "localhost:";
  const auto endpoint = std::find_if(
      options_.begin(), options_.end(),
      [&](const std::string& option) { return option.find(before_port) != std::string::npos; });
  const std::size_t port = endpoint->find(before_port) + before_port.size();
  const sim::Endpoint store{
      "localhost", sim::PortNumber{static_cast<std::uint16_t>(std::stoul(endpoint->substr(port)))}};
  Child& host = start(kind, name);
  EXPECT_TRUE(eventually(ports_, 60s, [&] {
    return ports_.network.connect(store, in(ports_, 1s)).ok();
  })) << host.output();
  return host;
}

std::map<int, json> Job::workers() {
  std::map<int, json> out;
  for (const auto& entry : fs::directory_iterator(directory_ / "reports")) {
    if (entry.path().extension() != ".json") continue;
    json report = json::parse(contents(entry.path()));
    if (!is_alive(report["pid"])) continue;
    const int rank = report["rank"];
    if (out.contains(rank)) report["twice"] = true;
    out[rank] = std::move(report);
  }
  return out;
}

bool Job::becomes_one_world(std::size_t size) {
  return eventually(ports_, 150s, [&] {
    const std::map<int, json> now = workers();
    if (now.size() != size) return false;
    const json& first = now.begin()->second;
    return std::all_of(now.begin(), now.end(), [&](const auto& entry) {
      const json& report = entry.second;
      return !report.contains("twice") && report["world_size"] == size &&
             report["MASTER_ADDR"] == first["MASTER_ADDR"] &&
             report["MASTER_PORT"] == first["MASTER_PORT"] && report["launched"] == true;
    });
  });
}

json Job::seen_by_hooke_state() {
  std::vector<std::string> argv{hooke_program().string(), "state", "--json"};
  for (const std::string& option : options_) {
    if (option.starts_with("--rdzv_")) {
      argv.push_back(option);
    }
  }
  Child state(ports_, directory_, "state-" + std::to_string(looks_++), argv);
  EXPECT_EQ(state.end(20s), 0) << state.output();
  return json::parse(state.output());
}

std::string Job::output(const std::string& name) const {
  const auto agent = agents_.find(name);
  return agent == agents_.end() ? "" : agent->second->output();
}

void Job::lose(Child& agent) {
  // Not by the workers' reports: one that has just been started has not written any.
  const std::string pid = std::to_string(agent.pid().value);
  std::ifstream children("/proc/" + pid + "/task/" + pid + "/children");
  ASSERT_TRUE(children) << "this kernel does not tell the children of a process";
  const std::vector<pid_t> workers{std::istream_iterator<pid_t>(children), {}};
  agent.signal(sim::Signal::kill);
  for (const pid_t worker : workers) kill(worker, SIGKILL);
  EXPECT_EQ(agent.end(20s), -SIGKILL);
  for (const auto& [name, child] : agents_) {
    if (child.get() == &agent) lost_.push_back(name);
  }
}

void Job::finish() {
  std::ofstream(directory_ / "stop") << "now\n";
  for (const auto& [name, child] : agents_) {
    if (std::find(lost_.begin(), lost_.end(), name) != lost_.end()) continue;
    EXPECT_EQ(child->end(120s), 0) << name << ":\n" << child->output();
  }
}

}  // namespace hooke::interop
