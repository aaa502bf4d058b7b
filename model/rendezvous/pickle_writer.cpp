// One writer, two outputs: Output either keeps the bytes or only counts them; both follow CPython's
// framing, so that the measured size is exact. When counting, a node that fits into the open frame
// is added in one step.
#include "model/rendezvous/pickle_writer.h"

#include <array>
#include <chrono>
#include <string_view>

#include "sim/port/check.h"

namespace hooke::model {
namespace {

constexpr std::string_view kModule = "torch.distributed.elastic.rendezvous.dynamic_rendezvous";
constexpr std::size_t kFrameTarget = 64 * 1024;
constexpr std::size_t kFrameHeaderBytes = 9;
constexpr std::size_t kBatch = 1000;

std::size_t text_bytes(std::string_view text) {
  return (text.size() < 256 ? 2 : 5) + text.size() + 1;
}

std::size_t int_bytes(std::int64_t number) {
  if (number >= 0 && number < 256) return 2;
  if (number >= 0 && number < 65'536) return 3;
  if (number >= INT32_MIN && number <= INT32_MAX) return 5;
  std::size_t bytes = 1;
  while (bytes < 8 && (number < -(std::int64_t{1} << (8 * bytes - 1)) ||
                       number >= (std::int64_t{1} << (8 * bytes - 1)))) {
    ++bytes;
  }
  return 2 + bytes;
}

/// Collects or counts bytes and keeps CPython's frames.
class Output {
 public:
  explicit Output(std::string* kept) : kept_(kept) {}

  void raw(std::string_view bytes) {
    if (!frame_open_) open_frame();
    if (kept_ != nullptr) kept_->append(bytes);
    total_ += bytes.size();
    frame_bytes_ += bytes.size();
  }
  void op(unsigned char opcode) {
    const char c = static_cast<char>(opcode);
    raw({&c, 1});
  }
  void little_endian(std::uint64_t number, std::size_t bytes) {
    std::array<char, 8> raw_bytes{};
    for (std::size_t i = 0; i < bytes; ++i)
      raw_bytes[i] = static_cast<char>(number >> (8 * i) & 255U);
    raw({raw_bytes.data(), bytes});
  }
  /// Where an object begins: a full frame ends here.
  void boundary() {
    if (frame_open_ && frame_bytes_ >= kFrameTarget) close_frame();
  }
  /// When only counting: adds `bytes` at once if no frame can end among them.
  bool skip(std::size_t bytes) {
    if (kept_ != nullptr || !frame_open_ || frame_bytes_ + bytes >= kFrameTarget) return false;
    total_ += bytes;
    frame_bytes_ += bytes;
    return true;
  }
  void proto() {
    if (kept_ != nullptr) kept_->append("\x80\x04", 2);
    total_ += 2;
  }
  std::size_t finish() {
    op('.');
    close_frame();
    return total_;
  }

 private:
  void open_frame() {
    frame_open_ = true;
    frame_bytes_ = 0;
    total_ += kFrameHeaderBytes;
    if (kept_ != nullptr) {
      frame_at_ = kept_->size();
      kept_->append(kFrameHeaderBytes, '\x95');
    }
  }
  void close_frame() {
    frame_open_ = false;
    if (kept_ == nullptr) return;
    for (std::size_t i = 0; i < 8; ++i) {
      (*kept_)[frame_at_ + 1 + i] = static_cast<char>(frame_bytes_ >> (8 * i) & 255U);
    }
  }

  std::string* kept_;
  std::size_t total_ = 0;
  bool frame_open_ = false;
  std::size_t frame_bytes_ = 0;
  std::size_t frame_at_ = 0;
};

class Writer {
 public:
  Writer(const RendezvousState& state, Variant variant, std::string* kept)
      : state_(state), v2_(variant == Variant::torch_2_x), out_(kept) {}

  std::size_t write() {
    out_.proto();
    out_.boundary();
    out_.boundary();
    module_ = text(kModule);
    text("_RendezvousState");
    out_.op(0x93);  // STACK_GLOBAL
    memoize();
    new_object();
    new_dict();
    out_.op('(');
    field("round", [&] { integer(state_.round); });
    field("complete", [&] { boolean(state_.complete); });
    field("deadline", [&] { deadline(); });
    field("closed", [&] { boolean(state_.closed); });
    field("participants", [&] { participants(); });
    field("wait_list", [&] { set(state_.wait_list, 1); });
    if (v2_) field("redundancy_list", [&] { set(state_.redundancy_list, 2); });
    field("last_heartbeats", [&] { heartbeats(); });
    out_.op('u');
    out_.op('b');
    return out_.finish();
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffU;

  template <class Body>
  void field(std::string_view name, Body body) {
    text(name);
    out_.boundary();
    body();
  }

  std::uint32_t memoize() {
    out_.op(0x94);
    return memo_++;
  }
  void get(std::uint32_t index) {
    if (index < 256) {
      out_.op('h');
      out_.little_endian(index, 1);
    } else {
      out_.op('j');
      out_.little_endian(index, 4);
    }
  }
  /// Writes a text that was not written before; returns its place in the memo.
  std::uint32_t text(std::string_view value) {
    out_.boundary();
    if (value.size() < 256) {
      out_.op(0x8c);
      out_.little_endian(value.size(), 1);
    } else {
      out_.op('X');
      out_.little_endian(value.size(), 4);
    }
    out_.raw(value);
    return memoize();
  }
  /// A text that is one and the same object throughout: written once, then referred to.
  void shared_text(std::uint32_t& place, std::string_view value) {
    if (place == kNone) {
      place = text(value);
    } else {
      out_.boundary();
      get(place);
    }
  }
  void integer(std::int64_t number) {
    out_.boundary();
    const std::size_t bytes = int_bytes(number);
    if (bytes == 2) {
      out_.op('K');
      out_.little_endian(static_cast<std::uint64_t>(number), 1);
    } else if (bytes == 3 && number >= 0) {
      out_.op('M');
      out_.little_endian(static_cast<std::uint64_t>(number), 2);
    } else if (number >= INT32_MIN && number <= INT32_MAX) {
      out_.op('J');
      out_.little_endian(static_cast<std::uint64_t>(number), 4);
    } else {
      out_.op(0x8a);  // LONG1
      out_.little_endian(bytes - 2, 1);
      out_.little_endian(static_cast<std::uint64_t>(number), bytes - 2);
    }
  }
  void boolean(bool value) { out_.op(value ? 0x88 : 0x89); }
  void new_object() {
    out_.boundary();
    out_.op(')');
    out_.op(0x81);  // NEWOBJ
    memoize();
  }
  void new_dict() {
    out_.boundary();
    out_.op('}');
    memoize();
  }
  /// A class of a module that has been named before.
  std::uint32_t global(std::uint32_t module, std::string_view name) {
    out_.boundary();
    out_.boundary();
    get(module);
    text(name);
    out_.op(0x93);
    return memoize();
  }

  // ---- nodes ----
  void node(const NodeRef& ref) {
    out_.boundary();
    if (node_class_ == kNone) {
      node_class_ = global(module_, "_NodeDesc");
    } else {
      // Class, object, dict, three shared names, then the values: 2+3+3+2+2+2+2 bytes around them.
      if (out_.skip(16 + ref.wire_bytes())) {
        memo_ += 3;
        return;
      }
      out_.boundary();
      get(node_class_);
    }
    new_object();
    new_dict();
    out_.op('(');
    shared_text(addr_name_, v2_ ? "addr" : "fqdn");
    text(ref->addr);
    shared_text(pid_name_, "pid");
    integer(ref->pid);
    shared_text(local_id_name_, "local_id");
    integer(ref->local_id);
    out_.op('u');
    out_.op('b');
  }

  /// The n-th node in the order of first appearance and its place in the memo.
  [[nodiscard]] std::size_t listed() const {
    return state_.participants.size() + state_.wait_list.size() +
           (v2_ ? state_.redundancy_list.size() : 0);
  }
  [[nodiscard]] const NodeRef& listed(std::size_t i) const {
    if (i < state_.participants.size()) return state_.participants[i].node;
    i -= state_.participants.size();
    if (i < state_.wait_list.size()) return state_.wait_list[i];
    return state_.redundancy_list[i - state_.wait_list.size()];
  }
  /// Later nodes of a list stand three places apart; the very first one brings its class along.
  [[nodiscard]] std::uint32_t place_of(std::size_t i) const {
    if (i == 0) return first_node_;
    std::size_t list = 0;
    std::size_t begin = 0;
    for (const std::size_t size : {state_.participants.size(), state_.wait_list.size()}) {
      if (i < begin + size) break;
      begin += size;
      ++list;
    }
    return list_place_[list] + static_cast<std::uint32_t>(i - begin) * 3;
  }
  void listed_node(const NodeRef& ref, std::size_t list, std::size_t index_in_list) {
    if (written_ == 0) first_node_ = memo_ + 2;        // after the class' name and the class
    if (written_ == 0) list_place_[list] = memo_ + 5;  // its three attribute names shift the others
    if (written_ > 0 && index_in_list == 0) list_place_[list] = memo_;
    ++written_;
    node(ref);
  }

  void participants() {
    new_dict();
    std::size_t in_list = 0;
    dict(state_.participants, [&](const Participant& entry) {
      listed_node(entry.node, 0, in_list++);
      integer(entry.rank);
    });
  }

  void set(const std::vector<NodeRef>& members, std::size_t list) {
    out_.op(0x8f);  // EMPTY_SET
    memoize();
    if (members.empty()) return;
    std::size_t i = 0;
    std::size_t in_batch = kBatch;
    while (in_batch == kBatch) {
      out_.op('(');
      for (in_batch = 0; i < members.size() && in_batch < kBatch; ++i, ++in_batch) {
        listed_node(members[i], list, i);
      }
      out_.op(0x90);  // ADDITEMS
    }
  }

  template <class T, class Body>
  void dict(const std::vector<T>& entries, Body body) {
    if (entries.empty()) return;
    if (entries.size() == 1) {
      body(entries[0]);
      out_.op('s');
      return;
    }
    std::size_t i = 0;
    std::size_t in_batch = kBatch;
    while (in_batch ==
           kBatch) {  // a full batch is followed by another one, an empty one if need be
      out_.op('(');
      for (in_batch = 0; i < entries.size() && in_batch < kBatch; ++i, ++in_batch) body(entries[i]);
      out_.op('u');
    }
  }

  // ---- times ----
  void heartbeats() {
    new_dict();
    std::size_t expected = 0;
    dict(state_.last_heartbeats, [&](const Heartbeat& entry) {
      const std::size_t known = listed();
      std::size_t i = expected;
      std::size_t looked_at = 0;
      for (; looked_at < known; ++looked_at, i = i + 1 == known ? 0 : i + 1) {
        if (listed(i) == entry.node) break;
      }
      if (looked_at < known) {
        expected = i + 1 == known ? 0 : i + 1;
        out_.boundary();
        get(place_of(i));
      } else {
        node(entry.node);  // reported, but on no list
      }
      time(entry.at);
    });
  }

  void deadline() {
    if (state_.deadline) {
      time(*state_.deadline);
    } else {
      out_.op('N');
    }
  }

  void time(sim::WallTime at) {
    out_.boundary();
    if (datetime_class_ == kNone) {
      out_.boundary();
      datetime_module_ = text("datetime");
      text("datetime");
      out_.op(0x93);
      datetime_class_ = memoize();
    } else {
      out_.boundary();
      get(datetime_class_);
    }
    out_.boundary();  // the tuple of arguments
    out_.boundary();  // its bytes
    out_.op('C');
    out_.little_endian(10, 1);
    calendar(at);
    memoize();
    if (state_.aware_times) {
      zone();
      out_.op(0x86);  // TUPLE2
    } else {
      out_.op(0x85);  // TUPLE1
    }
    memoize();
    out_.op('R');
    memoize();
  }

  void zone() {
    out_.boundary();
    if (zone_ != kNone) {
      get(zone_);
      return;
    }
    global(datetime_module_, "timezone");
    out_.boundary();
    out_.boundary();
    global(datetime_module_, "timedelta");
    out_.boundary();
    for (int i = 0; i < 3; ++i) integer(0);
    out_.op(0x87);  // TUPLE3
    memoize();
    out_.op('R');
    memoize();
    out_.op(0x85);
    memoize();
    out_.op('R');
    zone_ = memoize();
  }

  void calendar(sim::WallTime at) {
    const auto micros = std::chrono::floor<std::chrono::microseconds>(at.time_since_epoch());
    const std::chrono::sys_time<std::chrono::microseconds> time(micros);
    const auto day = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss clock(time - day);
    const auto year = static_cast<unsigned>(static_cast<int>(date.year()));
    const auto us = static_cast<std::uint64_t>(clock.subseconds().count());
    const std::array<unsigned, 10> fields{year >> 8U,
                                          year & 255U,
                                          static_cast<unsigned>(date.month()),
                                          static_cast<unsigned>(date.day()),
                                          static_cast<unsigned>(clock.hours().count()),
                                          static_cast<unsigned>(clock.minutes().count()),
                                          static_cast<unsigned>(clock.seconds().count()),
                                          static_cast<unsigned>(us >> 16U),
                                          static_cast<unsigned>(us >> 8U & 255U),
                                          static_cast<unsigned>(us & 255U)};
    for (const unsigned value : fields) out_.little_endian(value, 1);
  }

  const RendezvousState& state_;
  bool v2_;
  Output out_;
  std::uint32_t memo_ = 0;
  std::uint32_t module_ = kNone;
  std::uint32_t node_class_ = kNone;
  std::uint32_t addr_name_ = kNone, pid_name_ = kNone, local_id_name_ = kNone;
  std::uint32_t datetime_module_ = kNone, datetime_class_ = kNone, zone_ = kNone;
  std::size_t written_ = 0;
  std::uint32_t first_node_ = 0;
  std::array<std::uint32_t, 3> list_place_{};
};

}  // namespace

std::string pickle_state(const RendezvousState& state, Variant variant) {
  std::string bytes;
  const std::size_t size = Writer(state, variant, &bytes).write();
  HOOKE_CHECK(size == bytes.size(), "the writer counts what it writes");
  return bytes;
}

std::size_t pickled_state_bytes(const RendezvousState& state, Variant variant) {
  return Writer(state, variant, nullptr).write();
}

std::size_t pickled_node_value_bytes(const NodeDesc& desc) {
  return text_bytes(desc.addr) + int_bytes(desc.pid) + int_bytes(desc.local_id);
}

}  // namespace hooke::model
