// What torch.numa.binding of PyTorch 2.13 made of 120 random machines with 1 to 6 GPUs, and what
// hooke makes of them. null: it raised.
#include "model/worker/numa_binding.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

using nlohmann::json;
using sim::Ports;
using Texts = std::vector<std::string>;

/// Writes what Linux shows of such a machine.
void show(Ports& ports, const json& machine) {
  const auto put = [&](const std::string& path, const std::string& text) {
    ASSERT_TRUE(ports.files.make_directories(path.substr(0, path.rfind('/'))).ok());
    ASSERT_TRUE(ports.files.write(path, text + "\n").ok());
  };
  const std::string nodes = "/sys/devices/system/node/";
  put(nodes + "possible", machine.at("possible"));
  for (std::size_t i = 0; i < machine.at("cpulists").size(); ++i) {
    put(nodes + "node" + std::to_string(i) + "/cpulist", machine["cpulists"][i]);
  }
  for (std::size_t i = 0; i < machine.at("siblings").size(); ++i) {
    const std::string cpu = "/sys/devices/system/cpu/cpu" + std::to_string(i);
    put(cpu + "/topology/thread_siblings_list", machine["siblings"][i]);
    put(cpu + "/topology/physical_package_id", machine["packages"][i].dump());
    const auto cache = [&](int index, const char* type, int level, const json& shared) {
      const std::string directory = cpu + "/cache/index" + std::to_string(index);
      put(directory + "/type", type);
      put(directory + "/level", std::to_string(level));
      put(directory + "/shared_cpu_list", shared);
    };
    cache(0, "Data", 1, machine["siblings"][i]);
    cache(1, "Instruction", 1, machine["siblings"][i]);
    cache(2, "Unified", 2, machine["siblings"][i]);
    cache(3, "Unified", 3, machine["caches"][i]);
  }
  for (std::size_t i = 0; i < machine.at("gpu_nodes").size(); ++i) {
    const std::string address = "0000:" + std::to_string(10 + i) + ":00.0";
    put("/proc/driver/nvidia/gpus/" + address + "/information", "");
    put("/sys/bus/pci/devices/" + address + "/numa_node", machine["gpu_nodes"][i].dump());
  }
  put("/proc/self/status", "Name:\tpython\nCpus_allowed:\tff\nCpus_allowed_list:\t" +
                               machine.at("allowed").get<std::string>() + "\nMems_allowed:\t1");
  put("/bin/numactl", "");
}

/// Runs `body` on a machine that shows itself as `machine`.
void on(const json& machine, const std::map<std::string, std::string>& environment,
        const std::function<void(Ports&)>& body) {
  world::TestWorld world;
  bool done = false;
  world.world->register_program("agent", [&](Ports& ports) {
    show(ports, machine);
    body(ports);
    done = true;
    return 0;
  });
  ASSERT_TRUE(world.world->start(world.node("n"), {{"agent"}, environment, true, {}, {}}).ok());
  world.run();
  EXPECT_TRUE(done);
}

/// The processors, or the refusal in brackets.
Texts bound(Ports& ports, AffinityMode mode, std::size_t workers) {
  try {
    return numa_processors(ports, mode, static_cast<std::int64_t>(workers));
  } catch (const std::runtime_error& error) {
    return {"<" + std::string(error.what()) + ">"};
  }
}

const std::map<std::string, std::string> kUsual{{"PATH", "/usr/bin:/bin"}};

std::vector<json> machines() {
  const char* const source = std::getenv("HOOKE_SOURCE_DIR");
  std::ifstream file(std::string(source == nullptr ? "." : source) +
                     "/properties/conformance/numa/bindings-2.13.jsonl");
  std::vector<json> out;
  for (std::string line; std::getline(file, line);) out.push_back(json::parse(line));
  return out;
}

TEST(NumaBinding, is_that_of_pytorch) {
  const std::vector<json> all = machines();
  ASSERT_EQ(all.size(), 120U);
  std::size_t compared = 0, refused = 0;
  for (const json& machine : all) {
    on(machine, kUsual, [&](Ports& ports) {
      for (const auto& [name, expected] : machine.at("expected").items()) {
        const AffinityMode mode = affinity_mode_from(name).value();
        Texts wanted;
        for (const json& entry : expected) {
          if (entry.is_null()) break;
          wanted.push_back(entry);
        }
        if (!wanted.empty()) {
          EXPECT_EQ(bound(ports, mode, wanted.size()), wanted) << name << " " << machine;
        }
        compared += wanted.size();
        if (wanted.size() == expected.size()) continue;
        EXPECT_EQ(bound(ports, mode, wanted.size() + 1).at(0).at(0), '<') << name << " " << machine;
        ++refused;
      }
    });
  }
  EXPECT_GT(compared, 1000U);
  EXPECT_GT(refused, 20U);
}

TEST(NumaBinding, goes_by_the_gpus_that_workers_see) {
  json machine = machines().at(1);
  const Texts all = machine["expected"]["node"];
  ASSERT_EQ(all, (Texts{"2-3", "2-3", "0-1", "0-1"}));
  on(machine, {{"PATH", "/bin"}, {"CUDA_VISIBLE_DEVICES", "3, 0,-1,1"}}, [](Ports& ports) {
    EXPECT_EQ(bound(ports, AffinityMode::node, 2), (Texts{"0-1", "2-3"}));
    EXPECT_EQ(bound(ports, AffinityMode::node, 3),
              (Texts{"<expected a GPU for each of 3 workers to be near to, found 2>"}));
  });
}

TEST(NumaBinding, says_what_the_machine_lacks) {
  json machine = machines().at(1);
  on(machine, {{"PATH", "/usr/bin"}}, [](Ports& ports) {
    EXPECT_EQ(bound(ports, AffinityMode::node, 1),
              (Texts{"<expected the command numactl in PATH, found none>"}));
  });
  on(machine, {{"PATH", "/bin"}, {"CUDA_VISIBLE_DEVICES", "GPU-5ebe9f43"}}, [](Ports& ports) {
    EXPECT_EQ(bound(ports, AffinityMode::node, 1),
              (Texts{"<CUDA_VISIBLE_DEVICES: expected a number, got \"GPU-5ebe9f43\">"}));
  });
  machine["gpu_nodes"] = json::array();
  on(machine, kUsual, [](Ports& ports) {
    EXPECT_EQ(bound(ports, AffinityMode::socket, 1),
              (Texts{"<expected a GPU for each of 1 workers to be near to, found 0>"}));
  });
}

}  // namespace
}  // namespace hooke::model
