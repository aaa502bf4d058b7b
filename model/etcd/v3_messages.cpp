// A reader of fields that knows both spellings of a name, and each message in its terms.
#include "model/etcd/v3_messages.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "model/etcd/json_text.h"
#include "model/store/base64.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(const std::string& why) {
  throw EtcdV3Refusal{EtcdV3Refusal::kInvalidArgument, why};
}

[[noreturn]] void refuse_type(const json& value, const char* wanted) {
  refuse(std::string("json: cannot unmarshal ") + value.type_name() + " into Go value of type " +
         wanted);
}

/// Standard Base64 as Go reads it: padded, and line breaks do not count.
sim::Value decoded(std::string text) {
  if (text.find('\r') != std::string::npos || text.find('\n') != std::string::npos) {
    std::erase_if(text, [](char c) { return c == '\r' || c == '\n'; });
  }
  std::size_t bad = text.size() % 4 == 0 ? std::string::npos : text.size() / 4 * 4;
  // All but the pads, or up to what is neither a digit nor a pad in its place.
  const std::size_t digits = bad == std::string::npos ? base64_digits(text) : text.size();
  if (digits < text.size() &&
      (digits + 2 < text.size() || text[digits] != '=' || text.back() != '=')) {
    bad = digits;
  }
  if (bad != std::string::npos) {
    refuse("illegal base64 data at input byte " + std::to_string(bad));
  }
  return base64_decode(sim::Value(std::move(text)));
}

/// "range_end" is also "rangeEnd".
std::string camel(std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool joint = name[i] == '_' && i + 1 < name.size();
    out += joint ? static_cast<char>(name[++i] - 'a' + 'A') : name[i];
  }
  return out;
}

/// A type with words for its numbers, which count from 0; no words behind the last.
struct Enum {
  std::string_view name;
  std::array<std::string_view, 5> words;
};

class Fields {
 public:
  explicit Fields(const json& object) : object_(object) {
    if (!object.is_object()) refuse_type(object, "map[string]json.RawMessage");
    // Most clients write no name in that way.
    const auto is_capital = [](char c) { return 'A' <= c && c <= 'Z'; };
    for (const auto& [name, value] : object.get_ref<const json::object_t&>())
      has_capitals_ = has_capitals_ || std::ranges::any_of(name, is_capital);
  }

  [[nodiscard]] const json* find(const char* name) const {
    auto found = object_.find(name);
    const bool has_joints = std::string_view(name).find('_') != std::string_view::npos;
    if (found == object_.end() && has_joints && has_capitals_) found = object_.find(camel(name));
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  [[nodiscard]] sim::Value value(const char* name) const {
    const json* const found = find(name);
    if (found == nullptr) return {};
    if (!found->is_string()) refuse_type(*found, "[]uint8");
    return decoded(found->get<std::string>());
  }
  [[nodiscard]] std::string bytes(const char* name) const { return value(name).bytes(); }
  [[nodiscard]] std::int64_t number(const char* name) const {
    const json* const found = find(name);
    if (found == nullptr) return 0;
    if (!found->is_string() && !found->is_number()) refuse_type(*found, "int64");
    const std::string text = found->is_string() ? found->get<std::string>() : found->dump();
    std::int64_t number = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
    if (end.ec != std::errc() || end.ptr != text.data() + text.size()) {
      refuse("json: cannot unmarshal number " + text + " into Go value of type int64");
    }
    return number;
  }
  [[nodiscard]] bool truth(const char* name) const {
    const json* const found = find(name);
    if (found == nullptr) return false;
    if (!found->is_boolean()) refuse_type(*found, "bool");
    return found->get<bool>();
  }
  /// A word for its place among those of the type, or any number.
  [[nodiscard]] std::int64_t choice(const char* name, const Enum& type) const {
    const json* const found = find(name);
    return found == nullptr ? 0 : choice_of(*found, type);
  }
  static std::int64_t choice_of(const json& given, const Enum& type) {
    if (given.is_number_integer()) return given.get<std::int64_t>();
    if (!given.is_string()) refuse_type(given, "int32");
    const std::string word = given.get<std::string>();
    for (std::size_t i = 0; i < type.words.size(); ++i) {
      if (word == type.words[i] && !word.empty()) return static_cast<std::int64_t>(i);
    }
    refuse("unknown value \"" + word + "\" for enum etcdserverpb." + std::string(type.name));
  }
  template <class Read>
  auto list(const char* name, Read read) const {
    std::vector<decltype(read(object_))> out;
    const json* const found = find(name);
    if (found == nullptr) return out;
    if (!found->is_array()) refuse_type(*found, "[]json.RawMessage");
    for (const json& item : *found) out.push_back(read(item));
    return out;
  }

 private:
  const json& object_;
  bool has_capitals_ = false;  ///< in the name of a field
};

EtcdV3RangeRequest range_of(const Fields& in) {
  EtcdV3RangeRequest out;
  out.key = in.bytes("key");
  out.range_end = in.bytes("range_end");
  out.limit = in.number("limit");
  out.revision = in.number("revision");
  out.sort_order =
      in.choice("sort_order", {"RangeRequest_SortOrder", {"NONE", "ASCEND", "DESCEND"}});
  out.sort_target = in.choice(
      "sort_target", {"RangeRequest_SortTarget", {"KEY", "VERSION", "CREATE", "MOD", "VALUE"}});
  out.serializable = in.truth("serializable");
  out.keys_only = in.truth("keys_only");
  out.count_only = in.truth("count_only");
  out.min_mod_revision = in.number("min_mod_revision");
  out.max_mod_revision = in.number("max_mod_revision");
  out.min_create_revision = in.number("min_create_revision");
  out.max_create_revision = in.number("max_create_revision");
  return out;
}

EtcdV3PutRequest put_of(const Fields& in) {
  return {in.bytes("key"),     in.value("value"),        in.number("lease"),
          in.truth("prev_kv"), in.truth("ignore_value"), in.truth("ignore_lease")};
}

EtcdV3DeleteRequest delete_of(const Fields& in) {
  return {in.bytes("key"), in.bytes("range_end"), in.truth("prev_kv")};
}

EtcdV3Compare compare_of(const Fields& in) {
  EtcdV3Compare out;
  out.result =
      in.choice("result", {"Compare_CompareResult", {"EQUAL", "GREATER", "LESS", "NOT_EQUAL"}});
  out.target = in.choice("target",
                         {"Compare_CompareTarget", {"VERSION", "CREATE", "MOD", "VALUE", "LEASE"}});
  out.key = in.bytes("key");
  out.range_end = in.bytes("range_end");
  constexpr std::array kFields{"version", "create_revision", "mod_revision", "value", "lease"};
  if (out.target == EtcdV3Compare::value) {
    out.bytes = in.value("value");
  } else if (out.target >= 0 && out.target < std::ssize(kFields)) {
    out.number = in.number(kFields[static_cast<std::size_t>(out.target)]);
  }
  return out;
}

EtcdV3TxnRequest txn_of(const Fields& in, int depth);

EtcdV3Operation operation_of(const Fields& in, int depth) {
  EtcdV3Operation out;
  if (const json* range = in.find("request_range")) out.what = range_of(Fields(*range));
  if (const json* put = in.find("request_put")) out.what = put_of(Fields(*put));
  if (const json* gone = in.find("request_delete_range")) out.what = delete_of(Fields(*gone));
  if (const json* txn = in.find("request_txn")) out.what = txn_of(Fields(*txn), depth + 1);
  return out;
}

EtcdV3TxnRequest txn_of(const Fields& in, int depth) {
  HOOKE_CHECK(depth >= 1, "the outermost transaction has the depth 1");
  if (depth > kEtcdTxnDepth) refuse("etcdserver: too many operations in txn request");
  EtcdV3TxnRequest out;
  const auto operation = [depth](const json& item) { return operation_of(Fields(item), depth); };
  out.compare = in.list("compare", [](const json& item) { return compare_of(Fields(item)); });
  out.success = in.list("success", operation);
  out.failure = in.list("failure", operation);
  return out;
}

EtcdV3LeaseRequest lease_of(const Fields& in) {
  return {in.number("ID"), in.number("TTL"), in.truth("keys")};
}

EtcdV3WatchRequest watch_of(const Fields& in) {
  using Kind = EtcdV3WatchRequest::Kind;
  EtcdV3WatchRequest out;
  if (const json* create = in.find("create_request")) {
    const Fields fields(*create);
    out.kind = Kind::create;
    out.key = fields.bytes("key");
    out.range_end = fields.bytes("range_end");
    out.start_revision = fields.number("start_revision");
    out.watch_id = fields.number("watch_id");
    out.prev_kv = fields.truth("prev_kv");
    for (const std::int64_t filter : fields.list("filters", [](const json& word) {
           return Fields::choice_of(word, {"WatchCreateRequest_FilterType", {"NOPUT", "NODELETE"}});
         })) {
      (filter == 0 ? out.no_put : out.no_delete) = true;
    }
  } else if (const json* cancel = in.find("cancel_request")) {
    out.kind = Kind::cancel;
    out.watch_id = Fields(*cancel).number("watch_id");
  } else if (in.find("progress_request") != nullptr) {
    out.kind = Kind::progress;
  }
  return out;
}

/// The next value of a text; nullopt at its end.
std::optional<json> next_value(std::istream& text, int code) {
  text >> std::ws;
  if (text.eof()) return std::nullopt;
  const char first = static_cast<char>(text.peek());
  json value;
  try {
    text >> value;
    return value;
  } catch (const json::exception&) {
    if (std::string_view("{[\"-0123456789tfn").find(first) == std::string_view::npos) {
      throw EtcdV3Refusal{
          code, std::string("invalid character '") + first + "' looking for beginning of value"};
    }
    throw EtcdV3Refusal{code, text.eof() ? "unexpected EOF" : "invalid character in a JSON text"};
  }
}

/// What comes behind the first value does not count; an empty text is an empty message.
template <class Read>
auto only_message(const std::string& body, Read read) {
  if (const auto plain = plain_json(body)) return read(Fields(*plain));
  std::istringstream text(body);
  json value = next_value(text, EtcdV3Refusal::kInvalidArgument).value_or(json(nullptr));
  if (value.is_null()) value = json::object();
  return read(Fields(value));
}

template <class Read>
auto messages(const std::string& body, Read read) {
  std::vector<decltype(read(Fields(json::object())))> out;
  if (const auto plain = plain_json(body)) {
    out.push_back(read(Fields(*plain)));
    return out;
  }
  std::istringstream text(body);
  while (auto value = next_value(text, EtcdV3Refusal::kUnknown))
    out.push_back(read(Fields(*value)));
  return out;
}

}  // namespace

// ---- refusals -----------------------------------------------------------------------------------

int EtcdV3Refusal::http_status() const {
  switch (code) {
    case kInvalidArgument:
    case kOutOfRange: return 400;
    case kNotFound: return 404;
    case kFailedPrecondition: return 412;
    case kUnavailable: return 503;
    default: return 500;
  }
}

std::string EtcdV3Refusal::body() const {
  // Text from a request may be in it, and that need not be UTF-8.
  return EtcdV3Json{{"error", message}, {"message", message}, {"code", code}}.dump(
      -1, ' ', false, EtcdV3Json::error_handler_t::replace);
}

// ---- requests -----------------------------------------------------------------------------------

EtcdV3RangeRequest read_etcd_range(const std::string& body) {
  return only_message(body, range_of);
}
EtcdV3PutRequest read_etcd_put(const std::string& body) {
  return only_message(body, put_of);
}
EtcdV3DeleteRequest read_etcd_delete(const std::string& body) {
  return only_message(body, delete_of);
}
EtcdV3TxnRequest read_etcd_txn(const std::string& body) {
  return only_message(body, [](const Fields& in) { return txn_of(in, 1); });
}
std::int64_t read_etcd_compaction(const std::string& body) {
  return only_message(body, [](const Fields& in) { return in.number("revision"); });
}
EtcdV3LeaseRequest read_etcd_lease(const std::string& body) {
  return only_message(body, lease_of);
}
std::vector<EtcdV3LeaseRequest> read_etcd_leases(const std::string& body) {
  return messages(body, lease_of);
}
std::vector<EtcdV3WatchRequest> read_etcd_watches(const std::string& body) {
  return messages(body, watch_of);
}

// ---- answers ------------------------------------------------------------------------------------

void put_number(EtcdV3Json& message, const char* name, std::int64_t number) {
  if (number != 0) message[name] = std::to_string(number);
}

std::string etcd_base64(const std::string& bytes) {
  return base64_encode(sim::Value(bytes)).bytes();
}

EtcdV3Json json_of(const EtcdV3KeyValue& entry) {
  HOOKE_CHECK(!entry.key.empty(), "an entry has a key");
  HOOKE_CHECK(entry.create_revision <= entry.mod_revision, "a key is made before it is changed");
  EtcdV3Json out;
  out["key"] = etcd_base64(entry.key);
  put_number(out, "create_revision", entry.create_revision);
  put_number(out, "mod_revision", entry.mod_revision);
  put_number(out, "version", entry.version);
  if (!entry.value.empty()) out["value"] = base64_encode(entry.value).bytes();
  put_number(out, "lease", entry.lease);
  return out;
}

EtcdV3Json etcd_header(std::int64_t revision) {
  EtcdV3Json out{{"cluster_id", "14841639068965178418"}, {"member_id", "10276657743932975437"}};
  put_number(out, "revision", revision);
  out["raft_term"] = "2";
  return out;
}

}  // namespace hooke::model
