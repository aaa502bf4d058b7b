// The topology is what Linux shows of it under /sys, read as often as it is asked for: a start of
// workers is rare.
#include "model/worker/numa_binding.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <stdexcept>

#include "sim/port/check.h"

namespace hooke::model {
namespace {

using Processors = std::set<std::int64_t>;

constexpr std::int64_t kProcessorsMax = 1'000'000;

std::string trimmed(const std::string& text) {
  constexpr std::string_view kBlanks = " \t\n\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::int64_t number(const std::string& text, const std::string& path) {
  const std::string digits = trimmed(text);
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  if (error != std::errc() || end != digits.data() + digits.size() || out > kProcessorsMax) {
    throw std::runtime_error(path + ": expected a number, got \"" + digits + "\"");
  }
  return out;
}

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(trimmed(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return parts;
}

/// "0-2,4".
Processors processors_in(const std::string& text, const std::string& path) {
  Processors out;
  for (const std::string& part : parts_of(text, ',')) {
    if (part.empty()) continue;
    const std::size_t dash = part.find('-');
    const std::int64_t first = number(part.substr(0, dash), path);
    const std::int64_t last =
        dash == std::string::npos ? first : number(part.substr(dash + 1), path);
    for (std::int64_t i = first; i <= last; ++i) out.insert(i);
  }
  return out;
}

std::string ranges_of(const Processors& processors) {
  std::string out;
  for (auto first = processors.begin(); first != processors.end();) {
    auto last = first;
    auto next = std::next(first);
    while (next != processors.end() && *next == *last + 1) last = next++;
    out += (out.empty() ? "" : ",") + std::to_string(*first);
    if (last != first) out += "-" + std::to_string(*last);
    first = next;
  }
  HOOKE_CHECK(out.empty() == processors.empty(), "each processor is in a range");
  return out;
}

class Topology {
 public:
  explicit Topology(sim::Ports& ports) : ports_(ports) { find_gpus(); }

  [[nodiscard]] std::size_t gpus() const { return gpu_nodes_.size(); }
  [[nodiscard]] Processors near(AffinityMode mode, std::size_t gpu) const {
    HOOKE_CHECK(gpu < gpu_nodes_.size(), "a worker is near to a GPU that is there");
    switch (mode) {
      case AffinityMode::node: return allowed_on(gpu_nodes_[gpu]);
      case AffinityMode::socket: return on_socket_of(gpu_nodes_[gpu]);
      case AffinityMode::exclusive: return share_of(gpu);
      case AffinityMode::core_complex: return core_complex_of(gpu);
    }
    return {};
  }

 private:
  [[nodiscard]] std::string read(const std::string& path) const {
    const auto text = ports_.files.read(path);
    if (!text) throw std::runtime_error(path + ": " + std::string(to_string(text.failure().fault)));
    return text.value();
  }

  /// The NUMA node of each GPU that workers see, in their order.
  void find_gpus() {
    const auto found = ports_.files.list("/proc/driver/nvidia/gpus");
    if (!found) return;
    std::vector<std::int64_t> all;
    for (const std::string& address : found.value()) {
      const std::string path = "/sys/bus/pci/devices/" + address + "/numa_node";
      all.push_back(std::max<std::int64_t>(number(read(path), path), 0));  // -1: there is one only
    }
    const auto& environment = ports_.processes.environment();
    const auto visible = environment.find("CUDA_VISIBLE_DEVICES");
    if (visible == environment.end()) {
      gpu_nodes_ = all;
      return;
    }
    for (const std::string& entry : parts_of(visible->second, ',')) {
      if (entry.empty()) break;
      const std::int64_t index = number(entry, "CUDA_VISIBLE_DEVICES");
      if (index < 0 || index >= static_cast<std::int64_t>(all.size())) break;  // as CUDA has it
      gpu_nodes_.push_back(all[static_cast<std::size_t>(index)]);
    }
  }

  /// Those of a node that this process may use.
  [[nodiscard]] Processors allowed_on(std::int64_t node) const {
    const std::string path = "/sys/devices/system/node/node" + std::to_string(node) + "/cpulist";
    const std::string status = read("/proc/self/status");
    constexpr std::string_view kAllowed = "\nCpus_allowed_list:";
    const std::size_t at = status.find(kAllowed);
    if (at == std::string::npos) return {};
    const std::size_t begin = at + kAllowed.size();
    const Processors allowed =
        processors_in(status.substr(begin, status.find('\n', begin) - begin), "/proc/self/status");
    Processors out;
    for (const std::int64_t processor : processors_in(read(path), path)) {
      if (allowed.contains(processor)) out.insert(processor);
    }
    return out;
  }

  [[nodiscard]] std::int64_t socket_of(std::int64_t node) const {
    const Processors processors = allowed_on(node);
    if (processors.empty()) {
      throw std::runtime_error("no processor of NUMA node " + std::to_string(node) +
                               " may be used");
    }
    const std::string path = of(*processors.begin()) + "/topology/physical_package_id";
    return number(read(path), path);
  }

  [[nodiscard]] Processors on_socket_of(std::int64_t node) const {
    const std::string path = "/sys/devices/system/node/possible";
    const std::int64_t socket = socket_of(node);
    Processors out;
    for (const std::int64_t other : processors_in(read(path), path)) {
      if (socket_of(other) == socket) out.merge(allowed_on(other));
    }
    return out;
  }

  /// Which of the GPUs of its node it is, and how many there are.
  [[nodiscard]] std::pair<std::size_t, std::size_t> place_of(std::size_t gpu) const {
    HOOKE_CHECK(gpu < gpu_nodes_.size(), "a GPU that has a place is there");
    const auto node = gpu_nodes_[gpu];
    const auto begin = gpu_nodes_.begin();
    return {
        static_cast<std::size_t>(std::count(begin, begin + static_cast<std::ptrdiff_t>(gpu), node)),
        static_cast<std::size_t>(std::count(begin, gpu_nodes_.end(), node))};
  }

  [[nodiscard]] Processors share_of(std::size_t gpu) const {
    std::map<std::int64_t, Processors> cores;  // by their first processor, allowed or not
    for (const std::int64_t processor : allowed_on(gpu_nodes_[gpu])) {
      const std::string path = of(processor) + "/topology/thread_siblings_list";
      const Processors siblings = processors_in(read(path), path);
      if (siblings.empty()) throw std::runtime_error(path + ": names no processor");
      cores[*siblings.begin()].insert(processor);
    }
    const auto [place, gpus_here] = place_of(gpu);
    HOOKE_CHECK(place < gpus_here, "a GPU is one of those of its node");
    const std::size_t each = cores.size() / gpus_here;
    const std::size_t left_over = cores.size() % gpus_here;  // one more for each of the first GPUs
    if (each == 0) {
      throw std::runtime_error("NUMA node " + std::to_string(gpu_nodes_[gpu]) + " has " +
                               std::to_string(cores.size()) + " cores for " +
                               std::to_string(gpus_here) + " GPUs");
    }
    const std::size_t first = place * each + std::min(place, left_over);
    const std::size_t end = first + each + (place < left_over ? 1 : 0);
    HOOKE_CHECK(first < end && end <= cores.size(), "a share is of the cores that there are");
    Processors out;
    std::size_t index = 0;
    for (auto& [core, processors] : cores) {
      if (index >= first && index < end) out.merge(processors);
      ++index;
    }
    return out;
  }

  [[nodiscard]] Processors core_complex_of(std::size_t gpu) const {
    std::map<std::int64_t, Processors> by_cache;
    for (const std::int64_t processor : allowed_on(gpu_nodes_[gpu])) {
      by_cache[first_at_last_cache_of(processor)].insert(processor);
    }
    if (by_cache.empty()) return {};
    std::vector<Processors> complexes;
    for (auto& [cache, processors] : by_cache) complexes.push_back(std::move(processors));
    std::stable_sort(complexes.begin(), complexes.end(),
                     [](const auto& a, const auto& b) { return a.size() > b.size(); });
    return complexes[place_of(gpu).first % complexes.size()];
  }

  /// The first processor that shares the cache of the highest level with this one.
  [[nodiscard]] std::int64_t first_at_last_cache_of(std::int64_t processor) const {
    const std::string directory = of(processor) + "/cache";
    const auto entries = ports_.files.list(directory);
    Processors sharing;
    std::int64_t level = -1;
    for (const std::string& entry : entries ? entries.value() : std::vector<std::string>{}) {
      if (!entry.starts_with("index")) continue;
      const std::string cache = directory + "/" + entry;
      const std::string type = trimmed(read(cache + "/type"));
      const std::int64_t its_level = number(read(cache + "/level"), cache + "/level");
      if ((type != "Unified" && type != "Data") || its_level <= level) continue;
      level = its_level;
      sharing = processors_in(read(cache + "/shared_cpu_list"), cache + "/shared_cpu_list");
    }
    if (sharing.empty()) throw std::runtime_error(directory + ": shows no cache");
    return *sharing.begin();
  }

  static std::string of(std::int64_t processor) {
    return "/sys/devices/system/cpu/cpu" + std::to_string(processor);
  }

  sim::Ports& ports_;
  std::vector<std::int64_t> gpu_nodes_;
};

bool has_command(sim::Ports& ports, const std::string& name) {
  const auto& environment = ports.processes.environment();
  const auto path = environment.find("PATH");
  if (path == environment.end()) return false;
  const auto directories = parts_of(path->second, ':');
  return std::any_of(directories.begin(), directories.end(), [&](const std::string& directory) {
    return ports.files.exists(directory + "/" + name);
  });
}

}  // namespace

std::optional<AffinityMode> affinity_mode_from(std::string_view name) {
  if (name == "node") return AffinityMode::node;
  if (name == "socket") return AffinityMode::socket;
  if (name == "exclusive") return AffinityMode::exclusive;
  if (name == "core-complex") return AffinityMode::core_complex;
  return std::nullopt;
}

std::vector<std::string> numa_processors(sim::Ports& ports, AffinityMode mode,
                                         std::int64_t workers) {
  const Topology topology(ports);
  HOOKE_CHECK(workers > 0, "processors are those of workers");
  if (static_cast<std::int64_t>(topology.gpus()) < workers) {
    throw std::runtime_error("expected a GPU for each of " + std::to_string(workers) +
                             " workers to be near to, found " + std::to_string(topology.gpus()));
  }
  if (!has_command(ports, "numactl")) {
    throw std::runtime_error("expected the command numactl in PATH, found none");
  }
  std::vector<std::string> out;
  for (std::size_t gpu = 0; gpu < static_cast<std::size_t>(workers); ++gpu) {
    const Processors processors = topology.near(mode, gpu);
    if (processors.empty()) {
      throw std::runtime_error("no processor near GPU " + std::to_string(gpu) + " may be used");
    }
    out.push_back(ranges_of(processors));
  }
  HOOKE_CHECK(std::ssize(out) == workers, "each worker has processors of its own");
  return out;
}

}  // namespace hooke::model
