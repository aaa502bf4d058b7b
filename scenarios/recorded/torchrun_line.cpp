// By hand and not with regular expressions: logs are long, and most of their lines are workers'.
#include "scenarios/recorded/torchrun_line.h"

#include <charconv>
#include <chrono>

namespace hooke::scenario {
namespace {

/// Digits and punctuation of "MMDD HH:MM:SS.uuuuuu ".
constexpr std::string_view kStampForm = "0000 00:00:00.000000 ";
/// Numbers from logs stay so small that sums of some of them fit.
constexpr std::int64_t kLoggedNumberMax = std::int64_t{1} << 40;

bool has_stamp(std::string_view text) {
  if (text.size() < kStampForm.size()) return false;
  for (std::size_t i = 0; i < kStampForm.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kStampForm[i] == '0' ? !digit : text[i] != kStampForm[i]) return false;
  }
  return true;
}

std::int64_t digits(std::string_view text) {
  std::int64_t out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

std::optional<std::int64_t> leading_number(std::string_view text) {
  std::int64_t out = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), out);
  if (parsed.ec != std::errc() || out > kLoggedNumberMax || out < -kLoggedNumberMax)
    return std::nullopt;
  return out;
}

/// PyTorch's own files by their place in PyTorch: torch/_logging/_internal.py shortens a path by the
/// first folder of sys.path that holds it, which need not be the one that PyTorch is installed in.
std::string_view source_of(std::string_view place) {
  const std::string_view path = place.substr(0, place.rfind(':'));
  const std::size_t pytorch = path.rfind("torch/distributed/");
  if (pytorch == path.npos || (pytorch > 0 && path[pytorch - 1] != '/')) return path;
  return path.substr(pytorch);
}

}  // namespace

std::optional<TorchrunLine> split_torchrun_line(std::string_view line) {
  using namespace std::chrono;
  if (line.size() < 1 + kStampForm.size() || std::string_view("VIWEC").find(line[0]) == line.npos) {
    return std::nullopt;
  }
  const std::string_view stamp = line.substr(1);
  if (!has_stamp(stamp)) return std::nullopt;
  const auto date =
      year_month_day(year(2024), month(static_cast<unsigned>(digits(stamp.substr(0, 2)))),
                     day(static_cast<unsigned>(digits(stamp.substr(2, 2)))));
  if (!date.ok()) return std::nullopt;
  const std::string_view rest = stamp.substr(kStampForm.size());
  const std::size_t space = rest.find(' ');
  const std::size_t bracket = rest.find("] ");
  if (space == rest.npos || bracket == rest.npos || bracket < space) return std::nullopt;
  const auto pid = leading_number(rest.substr(0, space));
  if (!pid || *pid <= 0 || *pid > std::int64_t{1} << 22) return std::nullopt;
  const std::string_view place = rest.substr(space + 1, bracket - space - 1);
  TorchrunLine out;
  out.at =
      sim::WorldTime(sys_days(date).time_since_epoch() + hours(digits(stamp.substr(5, 2))) +
                     minutes(digits(stamp.substr(8, 2))) + seconds(digits(stamp.substr(11, 2))) +
                     microseconds(digits(stamp.substr(14, 6))));
  out.pid = sim::Pid{static_cast<std::int32_t>(*pid)};
  out.source = source_of(place);
  out.words = rest.substr(bracket + 2);
  return out;
}

std::optional<std::int64_t> number_after(std::string_view words, std::string_view before) {
  const std::size_t found = words.find(before);
  if (found == words.npos) return std::nullopt;
  return leading_number(words.substr(found + before.size()));
}

std::optional<std::string> text_after(std::string_view words, std::string_view before,
                                      std::string_view end) {
  const std::size_t found = words.find(before);
  if (found == words.npos) return std::nullopt;
  const std::string_view rest = words.substr(found + before.size());
  return std::string(end.empty() ? rest : rest.substr(0, rest.find(end)));
}

std::vector<std::int64_t> numbers_of(std::string_view list, std::size_t count_max) {
  std::vector<std::int64_t> out;
  for (std::size_t at = 0; at < list.size() && out.size() < count_max;) {
    const std::size_t begin = list.find_first_of("-0123456789", at);
    if (begin == list.npos) break;
    if (const auto number = leading_number(list.substr(begin))) out.push_back(*number);
    at = std::min(list.find_first_not_of("-0123456789", begin), list.size());
  }
  return out;
}

}  // namespace hooke::scenario
