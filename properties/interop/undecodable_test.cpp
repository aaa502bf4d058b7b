// Stored bytes that are no state of a rendezvous: what the agents raise, hooke's and PyTorch's.
#include "job.h"
#include "model/observe/python_error.h"
#include "model/rendezvous/core/errors.h"
#include "model/rendezvous/dynamic/decisions.h"
#include "model/rendezvous/dynamic/state_holder.h"

namespace hooke::interop {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

/// A store in which others have left these bytes.
class Bytes final : public model::RendezvousBackend {
 public:
  explicit Bytes(std::string stored) : stored_(std::move(stored)) {}
  [[nodiscard]] std::string name() const override { return "bytes"; }
  std::optional<model::StoredState> get_state() override {
    return model::StoredState{sim::Value(stored_), model::Token("1")};
  }
  std::optional<model::SetStateResult> set_state(const sim::Value&,
                                                 const std::optional<model::Token>&) override {
    throw std::logic_error("nothing is to be written");
  }

 private:
  std::string stored_;
};

/// The class of what is raised, or "None".
std::string raised_by(Ports& ports, const std::string& stored) {
  model::RendezvousSettings settings;
  settings.run_id = "job";
  Bytes backend(stored);
  model::Decisions decisions(settings);
  model::StateHolder holder(ports.clock, backend, settings, decisions,
                            model::NodeRef(model::NodeDesc{"node", 1, 0}), nullptr,
                            sim::Duration::zero());
  try {
    static_cast<void>(holder.sync());
    return "None";
  } catch (const model::RendezvousStateError& error) {
    return error.class_name();
  } catch (const model::EscapedPythonError& error) {
    return error.class_name();
  }
}

const std::string kClasses = "ctorch.distributed.elastic.rendezvous.dynamic_rendezvous\n";
const std::string kState = kClasses + "_RendezvousState\n)\x81";

/// Stored bytes, and the class of what both raise.
const std::vector<std::pair<std::string, std::string>> kUndecodable{
    {"", "EOFError"},
    {"\x80\x04", "EOFError"},
    {"\x80", "RendezvousStateError"},
    {"}(K\x01", "EOFError"},
    {"K", "RendezvousStateError"},
    {"M\x01", "RendezvousStateError"},  // cut off in the middle of a number
    {"\x8c\x04"
     "ab",
     "RendezvousStateError"},
    {"\x8c", "RendezvousStateError"},
    {"X\x05\x00\x00\x00"s + "ab", "RendezvousStateError"},
    {"\x95\x05\x00\x00\x00\x00\x00\x00\x00"s + "N.", "RendezvousStateError"},
    {"Vabc", "RendezvousStateError"},
    {"I12", "RendezvousStateError"},
    {"garbage", "RendezvousStateError"},
    {"hello world", "RendezvousStateError"},
    {"\xff", "RendezvousStateError"},
    {"\0"s, "RendezvousStateError"},
    {".", "RendezvousStateError"},
    {"a.", "RendezvousStateError"},
    {"0.", "RendezvousStateError"},
    {"h\x01.", "RendezvousStateError"},
    {"j\x01\x00\x00\x00."s, "RendezvousStateError"},
    {"t.", "RendezvousStateError"},
    {"}K\x01u.", "RendezvousStateError"},
    {"\x80\x06N.", "ValueError"},
    {"Ix\n.", "ValueError"},
    {"Lx\n.", "ValueError"},
    {"Snone\n.", "RendezvousStateError"},
    {"S'a\\x0'\n.", "ValueError"},
    {"\x8c\x01\xff.", "UnicodeDecodeError"},
    {"U\x01\xff.", "UnicodeDecodeError"},
    {"V\\u12\n.", "UnicodeDecodeError"},
    {kClasses + "_RendezvousStatf\n)\x81.", "AttributeError"},
    {"}K\x01"
     "a.",
     "AttributeError"},
    {"K\x01)R.", "TypeError"},
    // Whole pickles of something else.
    {"N.", "AttributeError"},
    {"K\x05.", "AttributeError"},
    {"}.", "AttributeError"},
    {"\x8c\x05hello.", "AttributeError"},
    {kClasses + "_NodeDesc\n)\x81.", "AttributeError"},
    // States in which something is missing or of another kind.
    {kState + ".", "AttributeError"},
    {kState + "}\x8c\x0flast_heartbeatsNsb.", "AttributeError"},
    {kState + "}\x8c\x0flast_heartbeats]sb.", "AttributeError"},
    {kState + "}\x8c\x0flast_heartbeatsK\x01sb.", "AttributeError"},
    {kState + "}\x8c\x0flast_heartbeats}K\x01K\x01ssb.", "TypeError"},
};

TEST(Undecodable, states_raise_what_python_raises) {
  if (torch_python().empty()) GTEST_SKIP() << "HOOKE_TORCH_PYTHON names no interpreter";
  run([](Ports& ports, const fs::path& directory) {
    std::vector<std::string> argv{torch_python(), script("undecodable.py").string()};
    std::string theirs;
    for (const auto& [stored, raised] : kUndecodable) {
      static constexpr char kDigits[] = "0123456789abcdef";
      std::string digits;
      for (const char c : stored) {
        const auto byte = static_cast<unsigned char>(c);
        digits += {kDigits[byte >> 4U], kDigits[byte & 15U]};
      }
      argv.push_back(digits);
      theirs += raised + "\n";
      EXPECT_EQ(raised_by(ports, stored), raised) << testing::PrintToString(stored);
    }
    Child pytorch(ports, directory, "pytorch", argv);
    EXPECT_EQ(pytorch.end(60s), 0) << pytorch.output();
    EXPECT_EQ(pytorch.output(), theirs);
  });
}

}  // namespace
}  // namespace hooke::interop
