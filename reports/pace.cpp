// The time so far is cut into three parts; the rate in each is one sample of the rates to come.
#include "reports/pace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hooke::report {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

constexpr nanoseconds kBasis = 3s;
constexpr std::uint64_t kTasksMin = 10;
constexpr int kParts = 3;
constexpr std::size_t kSamplesMax = 600;

/// "45 s", "12 min", "3.5 h".
std::string rough(nanoseconds time) {
  const double seconds = std::ceil(static_cast<double>(time.count()) / 1e9);
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

nanoseconds after(double tasks, double rate) {
  // A century is enough, and fits.
  return nanoseconds(static_cast<std::int64_t>(std::min(tasks / rate, 3e9) * 1e9));
}

}  // namespace

void Pace::see(nanoseconds elapsed, std::uint64_t done) {
  if (samples_.empty() || done < samples_.back().done) {
    samples_.clear();
    longest_pause_ = {};
    last_end_ = {elapsed, done};
  }
  if (done > last_end_.done) {
    longest_pause_ = std::max(longest_pause_, elapsed - last_end_.at);
    last_end_ = {elapsed, done};
  }
  if (samples_.size() == kSamplesMax) {
    for (std::size_t i = 0; i < kSamplesMax / 2; ++i) samples_[i] = samples_[2 * i];
    samples_.resize(kSamplesMax / 2);
  }
  samples_.push_back({elapsed, done});
}

double Pace::done_at(nanoseconds at) const {
  const auto after = std::find_if(samples_.begin(), samples_.end(),
                                  [&](const Sample& each) { return each.at >= at; });
  if (after == samples_.begin()) return static_cast<double>(after->done);
  if (after == samples_.end()) return static_cast<double>(samples_.back().done);
  const auto before = std::prev(after);
  const double part = static_cast<double>((at - before->at).count()) /
                      static_cast<double>((after->at - before->at).count());
  return static_cast<double>(before->done) + part * static_cast<double>(after->done - before->done);
}

std::optional<Pace::Span> Pace::left(std::uint64_t planned) const {
  if (samples_.empty()) return std::nullopt;
  const Sample& first = samples_.front();
  const Sample& now = samples_.back();
  const nanoseconds whole = now.at - first.at;
  if (whole < kBasis || now.done - first.done < kTasksMin || planned <= now.done)
    return std::nullopt;
  double slowest = 0, fastest = 0;
  for (int part = 0; part < kParts; ++part) {
    const nanoseconds from = first.at + whole * part / kParts,
                      to = first.at + whole * (part + 1) / kParts;
    const double rate = (done_at(to) - done_at(from)) / static_cast<double>((to - from).count());
    if (!(rate > 0)) return std::nullopt;
    slowest = part == 0 ? rate : std::min(slowest, rate);
    fastest = std::max(fastest, rate);
  }
  const auto tasks = static_cast<double>(planned - now.done);
  // A task that is out may be as slow as the slowest that was seen.
  return Span{after(tasks, fastest * 1e9), after(tasks, slowest * 1e9) + longest_pause_};
}

std::string left_text(const std::optional<Pace::Span>& left, std::optional<nanoseconds> limit) {
  if (limit && (!left || *limit <= left->least)) {
    return fmt::format("{} left by --time", rough(std::max(*limit, nanoseconds(0))));
  }
  if (!left) return "";
  const nanoseconds most = limit ? std::min(left->most, *limit) : left->most;
  if (const std::string least = rough(left->least);
      most - left->least > std::max<nanoseconds>(1s, most / 10) && least != rough(most)) {
    return fmt::format("{} to {} left at this pace", least, rough(most));
  }
  return fmt::format("about {} left", rough(most));
}

}  // namespace hooke::report
