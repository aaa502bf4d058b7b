// A SAX handler builds the document, so that depth and duplicate keys are checked as the text is
// read and nothing recurses over untrusted nesting.
#include "scenarios/format/json_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>

#include "scenarios/format/duration.h"

namespace hooke::scenario {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kShownBytesMax = 60;
constexpr std::size_t kComparedBytesMax = 200;
const char* const kDuration = "a duration with a unit such as \"250us\" or \"5s\"";

/// At most kShownBytesMax bytes of UTF-8 text, cut between two characters.
std::string shortened(std::string text) {
  if (text.size() <= kShownBytesMax) return text;
  std::size_t end = kShownBytesMax - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
  return text.substr(0, end) + "...";
}

/// A key as a step of a JSON pointer, fit for a message of one line: control characters are written
/// as JSON writes them.
std::string escape(const std::string& key) {
  const std::string quoted = ordered_json(key).dump();
  std::string out;
  for (const char c : shortened(quoted.substr(1, quoted.size() - 2))) {
    out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  }
  return out;
}

/// Short form of a value for a message.
std::string shown(const ordered_json& value) {
  return shortened(value.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
}

/// What the parser has to say about a text that is no JSON, as "expected …, got …".
std::string complaint(std::string_view what) {
  // It quotes what it has read last, and that is the input's own text: out with it.
  const std::size_t quote = what.find("; last read: '");
  std::string_view said = what.substr(0, quote);
  std::string_view wanted;
  if (!what.ends_with('\'')) {
    constexpr std::string_view kExpected = "; expected ";
    const std::size_t from = what.rfind(kExpected);
    if (from != std::string_view::npos) wanted = what.substr(from + kExpected.size());
    said = said.substr(0, from);
  }
  const auto after = [&](std::string_view mark) {
    const std::size_t from = said.find(mark);
    return from == std::string_view::npos ? std::string_view() : said.substr(from + mark.size());
  };
  if (said.ends_with("ill-formed UTF-8 byte")) return "expected UTF-8 text, got a broken sequence";
  if (const auto number = after("number overflow parsing "); !number.empty()) {
    return "expected a number in range, got " + shortened(std::string(number));
  }
  std::string_view got = after(" - ");
  if (got.starts_with("unexpected ")) got.remove_prefix(std::string_view("unexpected ").size());
  std::string expected(wanted);
  if (wanted.empty()) {
    const std::string_view part = after("while parsing ");
    expected = "a JSON " + std::string(part.substr(0, part.find(" - ")));
  }
  return "expected " + expected + ", got " + std::string(got);
}

/// There are other control characters than ends of lines and tabs in a text of UTF-8.
bool commands_terminal(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 ? byte != '\t' && byte != '\n' && byte != '\r' : byte == 0x7f) return true;
    // U+0080 to U+009F, among them another way to say ESC [
    if (byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) {
      return true;
    }
  }
  return false;
}

class Handler {
 public:
  Handler(const std::string& source, std::string_view text, ordered_json& root)
      : source_(source), text_(text), root_(root) {}

  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(std::int64_t value) { return put(value); }
  bool number_unsigned(std::uint64_t value) { return put(value); }
  bool number_float(double value, const std::string&) { return put(value); }
  bool string(std::string& value) { return put(value); }
  bool binary(std::vector<std::uint8_t>&) { return false; }
  bool start_object(std::size_t) { return open(ordered_json::object()); }
  bool end_object() {
    keys_.pop_back();
    return close();
  }
  bool start_array(std::size_t) { return open(ordered_json::array()); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    if (!keys_.back().insert(name).second) {
      throw ScenarioError(source_ + ": " + pointer() + "/" + escape(name) +
                          ": expected each key once, got it twice");
    }
    key_ = name;
    return true;
  }
  bool parse_error(std::size_t byte, const std::string&, const nlohmann::detail::exception& error) {
    // The parser counts the bytes it has read, that one included.
    const std::size_t offset = byte > 0 ? byte - 1 : 0;
    throw ScenarioError(source_ + ": " + place_in(text_, offset) + ": " + complaint(error.what()));
  }

 private:
  [[nodiscard]] std::string pointer() const {
    std::string out;
    for (const std::string& step : path_) out += "/" + step;
    return out;
  }
  /// Of the value that is about to be put.
  [[nodiscard]] std::string place() const {
    if (stack_.empty()) return "(top)";
    const ordered_json& parent = *stack_.back();
    return pointer() + "/" + (parent.is_array() ? std::to_string(parent.size()) : escape(key_));
  }
  template <class T>
  bool put(T&& value) {
    static_cast<void>(insert(ordered_json(std::forward<T>(value))));
    return true;
  }
  ordered_json* insert(ordered_json value) {
    if (++values_ > kValuesMax) {
      throw ScenarioError(source_ + ": " + place() + ": expected at most " +
                          std::to_string(kValuesMax) + " values, got more");
    }
    if (stack_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    ordered_json& parent = *stack_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    // Keys are known to differ: no search for this one among all the others.
    using Members = ordered_json::object_t::Container;
    auto& members = static_cast<Members&>(parent.get_ref<ordered_json::object_t&>());
    return &members.emplace_back(key_, std::move(value)).second;
  }
  bool open(ordered_json empty) {
    if (stack_.size() == kNestingMax) {
      throw ScenarioError(source_ + ": " + pointer() + ": expected nesting of at most " +
                          std::to_string(kNestingMax) + ", got more");
    }
    const bool object = empty.is_object();
    if (!stack_.empty()) {
      path_.push_back(stack_.back()->is_array() ? std::to_string(stack_.back()->size())
                                                : escape(key_));
    }
    stack_.push_back(insert(std::move(empty)));
    if (object) keys_.emplace_back();
    return true;
  }
  bool close() {
    stack_.pop_back();
    if (!path_.empty()) path_.pop_back();
    return true;
  }

  const std::string& source_;
  std::string_view text_;
  ordered_json& root_;
  std::vector<ordered_json*> stack_;
  std::vector<std::set<std::string>> keys_;
  std::vector<std::string> path_;
  std::string key_;
  std::size_t values_ = 0;
};

void check_size(std::uintmax_t bytes, const std::string& source) {
  if (bytes <= kScenarioBytesMax) return;
  throw ScenarioError(source + ": byte " + std::to_string(kScenarioBytesMax) +
                      ": expected at most " + std::to_string(kScenarioBytesMax) + " bytes, got " +
                      std::to_string(bytes));
}

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

/// The length of the parts that two names have in common: 7 of "safety.bounds" and "safety.core".
std::size_t common_parts(std::string_view a, std::string_view b) {
  const auto* const differ = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  return std::string_view(a.begin(), differ).find_last_of("./") + 1;  // npos + 1 is 0
}

std::string read_all(std::FILE* file, const std::string& path) {
  std::string text;
  std::string chunk(1 << 16, '\0');
  while (const std::size_t count = std::fread(chunk.data(), 1, chunk.size(), file)) {
    text.append(chunk, 0, count);
    check_size(text.size(), path);  // what is no regular file tells no size beforehand
  }
  if (std::ferror(file) != 0) refuse_unopened(path, EIO);
  return text;
}

}  // namespace

std::string read_file(const std::string& path) {
  if (path == "-") return read_all(stdin, path);
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (std::filesystem::is_directory(status))
    throw ScenarioError(path + ": expected a file, got a directory");
  if (std::filesystem::is_regular_file(status)) {
    check_size(std::filesystem::file_size(path, error), path);
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (file == nullptr) refuse_unopened(path, errno);
  return read_all(file.get(), path);
}

void refuse_unopened(const std::string& path, int error) {
  if (error == ENOENT) throw ScenarioError(path + ": no such file");
  throw ScenarioError(path + ": expected a readable file, got " + std::strerror(error));
}

std::string place_in(std::string_view text, std::size_t offset) {
  if (text.substr(0, text.size() - std::min<std::size_t>(1, text.size())).find('\n') ==
      std::string_view::npos) {
    return "byte " + std::to_string(offset);
  }
  const std::string_view before = text.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t begin = before.rfind('\n') + 1;  // npos + 1 is 0
  return "line " + std::to_string(line) + ", column " + std::to_string(offset - begin + 1);
}

nlohmann::ordered_json parse_json(std::string_view text, const std::string& source) {
  check_size(text.size(), source);
  // The parser takes a NUL byte for the end of the text, whatever follows it.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    throw ScenarioError(source + ": " + place_in(text, nul) +
                        ": expected UTF-8 text, got a NUL byte");
  }
  ordered_json root;
  Handler handler(source, text, root);
  ordered_json::sax_parse(text, &handler);
  return root;
}

std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  std::optional<std::string> best;
  std::size_t best_distance = word.size() + 1;
  if (word.size() > kComparedBytesMax) return std::nullopt;
  for (const std::string& candidate : candidates) {
    const std::size_t common = common_parts(word, candidate);
    const std::string_view own = word.substr(common);
    const std::string_view other = std::string_view(candidate).substr(common);
    const std::size_t apart = distance(own, other);
    // Words without a letter in common are as far apart as the longer one is long.
    if (apart < best_distance && apart <= std::max<std::size_t>(2, own.size() / 4) &&
        apart < std::max(word.size(), candidate.size())) {
      best_distance = apart;
      best = candidate;
    }
  }
  return best;
}

void Place::refuse(const std::string& expected, const std::string& got) const {
  throw ScenarioError(source_ + ": " + (pointer_.empty() ? "(top)" : pointer_) + ": expected " +
                      expected + ", got " + got);
}

void Place::refuse_value(const std::string& expected) const {
  refuse(expected, shown(value_));
}

void Place::refuse_word(const std::string& expected, const std::string& word,
                        const std::vector<std::string>& candidates) const {
  const auto hint = nearest(word, candidates);
  refuse(expected, shown(word) + (hint ? "; did you mean \"" + *hint + "\"?" : ""));
}

const Place& Place::object(const std::vector<std::string>& keys) const {
  if (!value_.is_object()) refuse_value("an object");
  for (const auto& [key, member] : value_.items()) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    const auto hint = nearest(key, keys);
    throw UnknownKey(
        source_ + ": " + pointer_ + "/" + escape(key) + ": expected a known key, got " + shown(key),
        hint ? "; did you mean \"" + *hint + "\"?" : "", key, pointer_);
  }
  return *this;
}

Place Place::at(const std::string& key) const {
  if (!has(key)) refuse("the key \"" + key + "\"", "none");
  return {value_.at(key), pointer_ + "/" + escape(key), source_};
}

std::vector<Place> Place::items() const {
  if (!value_.is_array()) refuse_value("an array");
  std::vector<Place> out;
  for (std::size_t i = 0; i < value_.size(); ++i) {
    out.emplace_back(value_[i], pointer_ + "/" + std::to_string(i), source_);
  }
  return out;
}

std::vector<std::pair<std::string, Place>> Place::members() const {
  if (!value_.is_object()) refuse_value("an object");
  std::vector<std::pair<std::string, Place>> out;
  for (const auto& [key, member] : value_.items()) {
    out.emplace_back(key, Place(member, pointer_ + "/" + escape(key), source_));
  }
  return out;
}

std::string Place::text() const {
  if (!value_.is_string()) refuse_value("a text");
  return value_.get<std::string>();
}

std::string Place::shown_text() const {
  std::string out = text();
  if (commands_terminal(out)) {
    refuse("a text without control characters", shortened(value_.dump(-1, ' ', true)));
  }
  return out;
}

bool Place::truth() const {
  if (!value_.is_boolean()) refuse_value("true or false");
  return value_.get<bool>();
}

std::int64_t Place::integer(std::int64_t low, std::int64_t high) const {
  const std::string expected =
      "an integer from " + std::to_string(low) + " to " + std::to_string(high);
  if (!value_.is_number_integer()) refuse_value(expected);
  if (value_.is_number_unsigned() && value_.get<std::uint64_t>() > INT64_MAX)
    refuse_value(expected);
  const auto number = value_.get<std::int64_t>();
  if (number < low || number > high) refuse_value(expected);
  return number;
}

std::uint64_t Place::unsigned_integer() const {
  if (!value_.is_number_unsigned()) refuse_value("an integer of at least 0");
  return value_.get<std::uint64_t>();
}

sim::Duration Place::signed_duration() const {
  if (!value_.is_string()) refuse_value(kDuration);
  const auto span = parse_duration(value_.get<std::string>());
  if (!span) refuse_value(kDuration);
  if (*span > kSpanMax) refuse_value("a duration of at most " + duration_text(kSpanMax));
  if (*span < -kSpanMax) refuse_value("a duration of at least " + duration_text(-kSpanMax));
  return *span;
}

sim::Duration Place::duration() const {
  const sim::Duration span = signed_duration();
  if (span < sim::Duration::zero()) refuse_value("a duration of at least 0");
  return span;
}

sim::Duration Place::positive_duration() const {
  const sim::Duration span = duration();
  if (span == sim::Duration::zero()) refuse_value("a duration above 0");
  return span;
}

}  // namespace hooke::scenario
