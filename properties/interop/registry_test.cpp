// The registry of rendezvous handlers beside PyTorch's.
#include "model/rendezvous/registry.h"

#include "job.h"

namespace hooke::interop {
namespace {

using Handler = std::unique_ptr<model::RendezvousHandler>;

Handler one(Ports&, const model::RendezvousParameters&) {
  return nullptr;
}

Handler another(Ports&, const model::RendezvousParameters&) {
  return nullptr;
}

/// As registry.py says it of PyTorch's.
std::string said_by_hookes() {
  model::RendezvousRegistry registry;
  std::string said;
  const auto registered = [&](const std::string& name, model::RendezvousRegistry::Creator creator) {
    try {
      registry.add(name, std::move(creator));
      said += "taken\n";
    } catch (const std::invalid_argument&) {
      said += "refused\n";
    }
  };
  registered("mine", one);
  registered("mine", one);
  registered("mine", another);
  registered("", one);
  return said;
}

TEST(RegistryInterop, takes_the_same_creator_again_and_no_other_as_pytorchs_does) {
  const std::string python = torch_python(model::Variant::torch_2_x);
  if (python.empty()) GTEST_SKIP() << "no interpreter with PyTorch 2.x is named";
  run([&](Ports& ports, const std::filesystem::path& directory) {
    Child theirs(ports, directory, "registry", {python, script("registry.py").string()});
    EXPECT_EQ(theirs.end(60s), 0) << theirs.output();
    EXPECT_EQ(theirs.output(), said_by_hookes());
  });
}

}  // namespace
}  // namespace hooke::interop
