// Which backends can be registered under which names.
#include "model/rendezvous/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hooke::model {
namespace {

std::unique_ptr<RendezvousHandler> makes_one(sim::Ports&, const RendezvousParameters&) {
  return nullptr;
}
std::unique_ptr<RendezvousHandler> makes_another(sim::Ports&, const RendezvousParameters&) {
  return nullptr;
}

TEST(RendezvousRegistry, takes_the_same_creator_again_and_no_other_for_its_name) {
  RendezvousRegistry registry;
  registry.add("mine", makes_one);
  registry.add("mine", makes_one);
  EXPECT_THAT(registry.names(), testing::ElementsAre("mine"));
  EXPECT_THROW(registry.add("mine", makes_another), std::invalid_argument);
  EXPECT_THROW(registry.add("", makes_one), std::invalid_argument);
}

TEST(RendezvousRegistry, cannot_tell_whether_two_objects_that_can_be_called_are_the_same) {
  RendezvousRegistry registry;
  const auto creator = [](sim::Ports&, const RendezvousParameters&) {
    return std::unique_ptr<RendezvousHandler>();
  };
  registry.add("mine", creator);
  EXPECT_THROW(registry.add("mine", creator), std::invalid_argument);
}

}  // namespace
}  // namespace hooke::model
