#pragma once
// Which processors a worker is bound to so that it stays near its GPU (torch/numa/binding.py).

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/port/ports.h"

namespace hooke::model {

/// How much of the machine around its GPU a worker gets.
enum class AffinityMode : unsigned char {
  node,         ///< the GPU's NUMA node
  socket,       ///< all NUMA nodes of that node's socket
  exclusive,    ///< its own share of the node's cores, which the GPUs of the node divide evenly
  core_complex  ///< the cores of the node around one last-level cache, by turns among the GPUs
};
/// Of "node", "socket", "exclusive", "core-complex"; nullopt for anything else.
std::optional<AffinityMode> affinity_mode_from(std::string_view name);

/// For each of `workers` local ranks its processors as numactl takes them ("0-3,8"), the worker of
/// local rank n being that of GPU n. GPUs are NVIDIA's as far as CUDA_VISIBLE_DEVICES lets them be
/// seen, in the order of their PCI addresses. std::runtime_error saying what this machine lacks: a
/// GPU for each worker, the command numactl, or processors that this process may use there.
std::vector<std::string> numa_processors(sim::Ports& ports, AffinityMode mode,
                                         std::int64_t workers);

}  // namespace hooke::model
