// What the reader of states refuses, and that it never does anything but read.
#include <gtest/gtest.h>

#include <map>

#include "model/rendezvous/state/pickle_reader.h"
#include "properties/unit/model/rendezvous/state_fixtures.h"

namespace hooke::model {
namespace {

using namespace std::string_literals;

// ---- a pickle assembled by hand, without memo ----

std::string text(const std::string& value) {
  return "\x8c" + std::string(1, static_cast<char>(value.size())) + value;
}
std::string global(const std::string& module, const std::string& name) {
  return text(module) + text(name) + "\x93";
}
const std::string kModule = "torch.distributed.elastic.rendezvous.dynamic_rendezvous";
const std::string kTimeBytes = "\x07\xea\x0b\x14\x14\x29\x3b\x04\xd7\x6e";
std::string time(const std::string& bytes = kTimeBytes) {
  return global("datetime", "datetime") + "C" + std::string(1, static_cast<char>(bytes.size())) +
         bytes + "\x85R";
}
std::string node(const std::string& attributes) {
  return global(kModule, "_NodeDesc") + ")\x81}(" + attributes + "ub";
}
const std::string kAddr = text("addr") + text("node-a");
const std::string kPid = text("pid") + "K\x05";
const std::string kLocalId = text("local_id") + "K\x01";
const std::string kNode = node(kAddr + kPid + kLocalId);

/// A state whose attributes are as given, others as they should be; "" leaves an attribute out.
std::string state(const std::map<std::string, std::string>& changed = {}) {
  const std::pair<std::string, std::string> fields[] = {
      {"round", "K\x02"},
      {"complete", "\x89"},
      {"deadline", time()},
      {"closed", "\x88"},
      {"participants", "}" + kNode + "K\x03s"},
      {"wait_list", "\x8f"},
      {"redundancy_list", "\x8f"},
      {"last_heartbeats", "}" + kNode + time() + "s"}};
  std::string out = "\x80\x04" + global(kModule, "_RendezvousState") + ")\x81}(";
  for (const auto& [name, value] : fields) {
    const auto found = changed.find(name);
    const std::string& chosen = found == changed.end() ? value : found->second;
    if (!chosen.empty()) out += text(name) + chosen;
  }
  for (const auto& [name, value] : changed) {
    if (name.starts_with("extra")) out += text(name) + value;
  }
  return out + "ub.";
}

/// The message with which `bytes` are refused; "" when they are read.
std::string refusal(const std::string& bytes, Variant variant = Variant::torch_2_x) {
  try {
    static_cast<void>(unpickle_state(bytes, variant));
  } catch (const RendezvousStateError& error) {
    return error.what();
  }
  return "";
}
testing::AssertionResult refuses(const std::string& bytes, const std::string& expected,
                                 const std::string& found) {
  const std::string message = refusal(bytes);
  if (message.find("byte ") == std::string::npos ||
      message.find("expected " + expected) == std::string::npos ||
      message.find("got " + found) == std::string::npos) {
    return testing::AssertionFailure() << "message: " << message;
  }
  return testing::AssertionSuccess();
}

TEST(PickleReader, reads_a_state_assembled_by_hand) {
  const RendezvousState read = unpickle_state(state(), Variant::torch_2_x);
  EXPECT_EQ(to_text(read),
            "round 2 incomplete closed deadline 1795207319317294us naive\n"
            "participants: node-a_5_1=3\nwait_list:\nredundancy_list:\n"
            "last_heartbeats: node-a_5_1=1795207319317294us\n");
}

// ---- nothing is looked up or called ----

TEST(PickleReader, refuses_every_class_that_is_not_part_of_a_state) {
  for (const auto& [module, name] :
       {std::pair{"os", "system"},
        {"posix", "system"},
        {"builtins", "eval"},
        {"builtins", "getattr"},
        {"datetime", "date"},
        {"datetime", "datetime.now"},
        {"torch.distributed.elastic.rendezvous.dynamic_rendezvous", "RendezvousSettings"}}) {
    const std::string name_found = std::string(module) + "." + name;
    EXPECT_TRUE(refuses("\x80\x04" + global(module, name) + text("true") + "\x85R.",
                        "a class of the rendezvous state", "\"" + name_found.substr(0, 60)));
    EXPECT_TRUE(refuses("c"s + module + "\n" + name + "\n(S'true'\ntR.",
                        "a class of the rendezvous state", "\"" + name_found.substr(0, 60)));
    EXPECT_NE(refusal(state({{"extra", global(module, name)}})), "");
  }
}

TEST(PickleReader, refuses_calls_of_anything_but_the_known_classes) {
  EXPECT_TRUE(refuses("K\x01)R.", "a class that can be called", "an integer"));
  EXPECT_TRUE(refuses(global(kModule, "_NodeDesc") + ")R.", "a class that can be called",
                      "the node class"));
  EXPECT_TRUE(refuses(global("builtins", "object") + ")\x81.", "the class of a state or a node",
                      "class object"));
  EXPECT_TRUE(refuses(global(kModule, "_RendezvousState") + "K\x01\x85\x81.",
                      "an empty tuple of arguments", "a tuple"));
  EXPECT_TRUE(refuses(global(kModule, "_NodeDesc") + ")}" + text("x") + "Ns\x92.", "an empty dict",
                      "a dict"));
  EXPECT_TRUE(refuses(global("copyreg", "_reconstructor") + global("builtins", "list") +
                          global("builtins", "object") + "N\x87R.",
                      "the class of a state or a node", "class list"));
}

TEST(PickleReader, refuses_opcodes_that_no_state_needs) {
  for (const std::string& opcode :
       {"\x82\x01"s, "\x83\x01\x00"s, "\x84\x01\x00\x00\x00"s, "Pname\n"s, "Q"s, "\x97"s, "\x98"s,
        "\xff"s, "\0"s, "ios\nsystem\n"s, "o"s}) {
    static constexpr char kDigits[] = "0123456789abcdef";
    const auto code = static_cast<unsigned char>(opcode[0]);
    EXPECT_TRUE(refuses("K\x01" + opcode + ".", "an opcode that a state needs",
                        "0x"s + kDigits[code >> 4U] + kDigits[code & 15U]));
  }
}

TEST(PickleReader, says_at_which_byte_it_met_what_it_refuses) {
  EXPECT_EQ(refusal("\x80\x04KxQ."),
            "the stored state cannot be read: byte 4: expected an opcode that a state needs, "
            "got 0x51");
  const std::string wrong = state({{"round", "N"}});
  EXPECT_EQ(refusal(wrong), "the stored state cannot be read: byte " +
                                std::to_string(wrong.find("round") + 5) +
                                ": expected round to be an integer, got None");
}

// ---- cut off, or too long ----

TEST(PickleReader, refuses_every_recorded_state_cut_off_anywhere) {
  for (const auto& blob : recorded_states()) {
    const std::string bytes = from_hex(blob.at("pickle_hex"));
    ASSERT_EQ(refusal(bytes), "");
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      ASSERT_NE(refusal(bytes.substr(0, size)), "") << blob.at("name") << " cut to " << size;
    }
  }
}

TEST(PickleReader, refuses_anything_after_the_end) {
  EXPECT_TRUE(refuses(state() + "\n", "the end of the data", "1 bytes more"));
  EXPECT_TRUE(refuses(state() + state(), "the end of the data", std::to_string(state().size())));
}

TEST(PickleReader, survives_any_changed_byte) {
  std::size_t refused = 0;
  for (const auto& blob : recorded_states()) {
    const std::string bytes = from_hex(blob.at("pickle_hex"));
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      for (const unsigned flip : {0x01U, 0x20U, 0x80U, 0xffU}) {
        std::string changed = bytes;
        changed[i] = static_cast<char>(static_cast<unsigned char>(changed[i]) ^ flip);
        refused += refusal(changed).empty() ? 0 : 1;
      }
    }
  }
  EXPECT_GT(refused, 10'000U);
}

TEST(PickleReader, checks_lengths_before_it_believes_them) {
  EXPECT_TRUE(refuses("\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f.", "a frame of at most 1 bytes",
                      "9223372036854775807"));
  EXPECT_TRUE(
      refuses("X\xff\xff\xff\xff.", "4294967295 bytes more", "the end of the data after 1"));
  for (const char opcode : {'\x8d', '\x8e', '\x96'}) {
    EXPECT_TRUE(refuses(opcode + "\xff\xff\xff\xff\xff\xff\xff\xff."s, "18446744073709551615 bytes",
                        "the end of the data"));
  }
  EXPECT_TRUE(
      refuses("\x8b\xff\xff\xff\x7f.", "an integer of at most 8 bytes", "2147483647 bytes"));
  EXPECT_TRUE(refuses("\x8a\x09\x01\x01\x01\x01\x01\x01\x01\x01\x01.",
                      "an integer of at most 8 bytes", "9 bytes"));
}

// ---- bombs ----

TEST(PickleReader, refuses_memo_places_that_leave_holes) {
  EXPECT_TRUE(refuses("Nq\x01.", "a memo place of at most 0", "1"));
  EXPECT_TRUE(refuses("Nr\xff\xff\xff\xff.", "a memo place of at most 0", "4294967295"));
  EXPECT_TRUE(refuses("Np-1\n.", "a memo place of at most 0", "18446744073709551615"));
  EXPECT_TRUE(refuses("h\x01.", "a memo place below 0", "1"));
  EXPECT_TRUE(refuses("N\x94j\x01\x00\x00\x00."s, "a memo place below 1", "1"));
  EXPECT_TRUE(refuses("g5\n.", "a memo place below 0", "5"));
}

TEST(PickleReader, refuses_deep_nesting) {
  const auto lists = [](std::size_t depth) {
    return std::string(depth, ']') + std::string(depth - 1, 'a');
  };
  EXPECT_EQ(refusal(state({{"extra", lists(60)}})), "");
  EXPECT_TRUE(refuses(state({{"extra", lists(70)}}), "nesting of at most 64", "deeper nesting"));
  EXPECT_TRUE(refuses(std::string(65, '('), "nesting of at most 64", "deeper nesting"));
  std::string tuples = "N";
  for (int i = 0; i < 100; ++i) tuples += "\x85";
  EXPECT_TRUE(refuses(tuples + ".", "nesting of at most 64", "deeper nesting"));
}

TEST(PickleReader, reads_a_dict_that_contains_itself_as_it_reads_anything_unknown) {
  EXPECT_EQ(refusal(state({{"extra", "}\x94" + text("self") + "h\x00s"s}})), "");
}

TEST(PickleReader, refuses_more_than_a_million_opcodes) {
  std::string pairs;
  for (int i = 0; i < 500'001; ++i) pairs += "N0";
  EXPECT_TRUE(refuses(pairs + state(), "at most 1000000 opcodes", "more"));
}

TEST(PickleReader, refuses_to_copy_one_list_over_and_over) {
  std::string bomb = "](" + std::string(20'000, 'N') + "e\x94";
  for (int i = 0; i < 2'000; ++i) bomb += global("builtins", "set") + "h\x00\x85R0"s;
  EXPECT_TRUE(refuses(bomb + ".", "data that is read once", "data that is copied many times"));
  bomb = "}(" + std::string(20'000, 'N') + "u\x94" + global(kModule, "_NodeDesc") + ")\x81";
  for (int i = 0; i < 2'000; ++i) bomb += "h\x00"s + "b";
  EXPECT_TRUE(refuses(bomb + ".", "data that is read once", "data that is copied many times"));
}

TEST(PickleReader, refuses_to_encode_one_text_over_and_over) {
  std::string bomb = "X\x20\x4e\x00\x00"s + std::string(20'000, 'x') + "\x94";
  for (int i = 0; i < 2'000; ++i)
    bomb += global("_codecs", "encode") + "h\x00"s + text("latin1") + "\x86R0";
  EXPECT_TRUE(refuses(bomb + ".", "data that is read once", "data that is copied many times"));
}

TEST(PickleReader, refuses_a_long_address_shared_by_very_many_nodes) {
  std::string nodes = "\x8f(";
  for (int i = 0; i < 10'000; ++i) {
    nodes += global(kModule, "_NodeDesc") + ")\x81}(" + text("addr");
    nodes += i == 0 ? "X\x40\x0d\x03\x00"s + std::string(200'000, 'x') + "\x94" : "h\x00"s;
    nodes += text("pid") + "M" + static_cast<char>(i & 255) + static_cast<char>(i >> 8) + kLocalId +
             "ub";
  }
  EXPECT_TRUE(refuses(state({{"wait_list", nodes + "\x90"}}), "addresses in proportion to the data",
                      "a long one many times"));
}

// ---- wrong types ----

TEST(PickleReader, refuses_a_value_of_the_wrong_type_in_each_attribute) {
  const std::string real = "G\x40\x00\x00\x00\x00\x00\x00\x00"s;  // 2.0
  const std::map<std::string, std::vector<std::string>> wrong = {
      {"round", {"N", "\x88", real, text("2"), "]", "J\xff\xff\xff\xff"}},
      {"complete", {"N", "K\x02", real, text("")}},
      {"closed", {"N", "K\xff", real, "}"}},
      {"deadline", {"K\x01", real, text("2026-11-20"), "\x88"}},
      {"participants",
       {"N", "]", "\x8f", "}K\x01K\x01s", "}" + kNode + "Ns", "}" + kNode + real + "s",
        "}" + kNode + "\x88s", "}" + text("node-a") + "K\x01s"}},
      {"wait_list", {"N", "]", "}", "\x8f(K\x01\x90", "\x8f(" + text("node-a") + "\x90"}},
      {"redundancy_list", {"N", "]", "}", "\x8f(N\x90"}},
      {"last_heartbeats",
       {"N", "]", "}" + kNode + "K\x01s", "}" + kNode + real + "s", "}" + kNode + "Ns"}}};
  EXPECT_EQ(wrong.size(), 8U);
  for (const auto& [name, values] : wrong) {
    for (const std::string& value : values) {
      EXPECT_NE(refusal(state({{name, value}})), "")
          << name << " " << testing::PrintToString(value);
    }
  }
}

TEST(PickleReader, refuses_nodes_with_wrong_or_missing_attributes) {
  for (const std::string& wrong :
       {kPid + kLocalId, kAddr + kLocalId, kAddr + kPid, text("addr") + "K\x01" + kPid + kLocalId,
        text("addr") + "C\x01x" + kPid + kLocalId, kAddr + text("pid") + "\x88" + kLocalId,
        kAddr + text("pid") + "G\x40\x00\x00\x00\x00\x00\x00\x00"s + kLocalId,
        kAddr + kPid + text("local_id") + text("1"), kAddr + kPid + text("local_id") + "N"}) {
    EXPECT_NE(refusal(state({{"wait_list", "\x8f(" + node(wrong) + "\x90"}})), "")
        << testing::PrintToString(wrong);
  }
  EXPECT_EQ(refusal(state({{"wait_list", "\x8f(" + kNode + "\x90"}})), "");
}

TEST(PickleReader, refuses_a_state_that_lacks_an_attribute_other_than_the_redundancy_list) {
  for (const std::string name : {"round", "complete", "deadline", "closed", "participants",
                                 "wait_list", "last_heartbeats"}) {
    EXPECT_TRUE(
        refuses(state({{name, ""}}), "a state with attribute " + name, "none of that name"));
  }
  EXPECT_EQ(refusal(state({{"redundancy_list", ""}})), "");
}

TEST(PickleReader, refuses_times_that_are_none) {
  for (const std::string& wrong :
       {"\x07\xea\x0d\x14\x14\x29\x3b\x04\xd7\x6e"s, "\x07\xea\x02\x1e\x14\x29\x3b\x04\xd7\x6e"s,
        "\x07\xea\x0b\x14\x18\x29\x3b\x04\xd7\x6e"s, "\x07\xea\x0b\x14\x14\x3c\x3b\x04\xd7\x6e"s,
        "\x07\xea\x0b\x14\x14\x29\x3c\x04\xd7\x6e"s, "\x07\xea\x0b\x14\x14\x29\x3b\x0f\x42\x40"s,
        "\x00\x00\x0b\x14\x14\x29\x3b\x04\xd7\x6e"s, "\x27\x0f\x0b\x14\x14\x29\x3b\x04\xd7\x6e"s,
        kTimeBytes.substr(1), kTimeBytes + "x"}) {
    EXPECT_NE(refusal(state({{"deadline", time(wrong)}})), "") << testing::PrintToString(wrong);
  }
  EXPECT_EQ(refusal(state({{"deadline", time("\x07\xea\x8b\x14\x14\x29\x3b\x0f\x42\x3f"s)}})), "")
      << "the fold bit is no part of the month";
}

TEST(PickleReader, refuses_text_that_is_not_utf8_or_whose_escapes_are_broken) {
  for (const std::string& wrong : {"\x80"s, "\xc3"s, "\xc0\x80"s, "\xe0\x80\x80"s,
                                   "\xf4\x90\x80\x80"s, "\xff"s, "a\xe6\xbc"s}) {
    EXPECT_TRUE(refuses(state({{"extra", text(wrong)}}), "UTF-8", "\""));
  }
  EXPECT_TRUE(refuses("Vbroken \\u12\n.", "whole unicode escapes", "\"broken"));
  EXPECT_TRUE(refuses("Sno quotes\n.", "a quoted string", "\"no quotes\""));
  EXPECT_TRUE(refuses("U\x01\xe9.", "ASCII", "\"?\""));
}

// ---- leniency that rolling upgrades need ----

TEST(PickleReader, accepts_zero_and_one_for_truth_values) {
  const RendezvousState read =
      unpickle_state(state({{"complete", "K\x01"}, {"closed", "I00\n"}}), Variant::torch_2_x);
  EXPECT_TRUE(read.complete);
  EXPECT_FALSE(read.closed);
}

TEST(PickleReader, drops_attributes_it_does_not_know) {
  const std::string extra = text("future") + "]";
  EXPECT_EQ(unpickle_state(
                state({{"extra", "G\x40\x00\x00\x00\x00\x00\x00\x00"s},
                       {"wait_list", "\x8f(" + node(kAddr + kPid + extra + kLocalId) + "\x90"}}),
                Variant::torch_2_x)
                .wait_list.at(0)
                ->text(),
            "node-a_5_1");
}

TEST(PickleReader, prefers_the_variants_own_name_for_the_address) {
  const std::string both =
      state({{"wait_list",
              "\x8f(" + node(kAddr + text("fqdn") + text("other") + kPid + kLocalId) + "\x90"}});
  EXPECT_EQ(unpickle_state(both, Variant::torch_2_x).wait_list.at(0)->addr, "node-a");
  EXPECT_EQ(unpickle_state(both, Variant::torch_1_13).wait_list.at(0)->addr, "other");
}

TEST(PickleReader, lets_the_last_of_equal_keys_win_in_the_place_of_the_first) {
  const std::string other = node(text("addr") + text("node-b") + kPid + kLocalId);
  const RendezvousState read = unpickle_state(
      state({{"participants", "}(" + kNode + "K\x01" + other + "K\x02" + kNode + "K\x07u"},
             {"wait_list", "\x8f(" + kNode + other + kNode + "\x90"}}),
      Variant::torch_2_x);
  ASSERT_EQ(read.participants.size(), 2U);
  EXPECT_EQ(read.participants[0].node->addr, "node-a");
  EXPECT_EQ(read.participants[0].rank, 7);
  EXPECT_EQ(read.wait_list.size(), 2U);
}

TEST(PickleReader, converts_times_of_other_zones_to_utc) {
  const std::string zone = global("datetime", "timezone") + global("datetime", "timedelta") +
                           "K\x00M\x10\x0eK\x00\x87R\x85R"s;  // one hour east
  const std::string eastern =
      global("datetime", "datetime") + "C\x0a" + kTimeBytes + zone + "\x86R";
  const RendezvousState read =
      unpickle_state(state({{"deadline", eastern}, {"last_heartbeats", "}"}}), Variant::torch_1_13);
  EXPECT_EQ(read.deadline, wall_us(1'795'207'319'317'294 - 3'600'000'000));
  EXPECT_TRUE(read.aware_times);
}

}  // namespace
}  // namespace hooke::model
