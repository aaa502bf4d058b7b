// The instants of the history in order. An operation has its own as late as it can: when another
// one ends that would not be possible otherwise. Reads have theirs as soon as what they found
// stands there, for they are in no client's way.
#include "properties/linearizability/register_history.h"

#include <algorithm>
#include <compare>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "sim/port/check.h"

namespace hooke::properties {
namespace {

using Kind = RegisterOperation::Kind;
using Index = std::uint32_t;

/// One way in which it may have been up to now.
struct Course {
  std::optional<std::int64_t> value;  ///< what stands there; nullopt: anything
  std::vector<Index> done;            ///< of what is open, what has had its instant; sorted
  friend auto operator<=>(const Course&, const Course&) = default;
};

bool has(const std::vector<Index>& sorted, Index index) {
  return std::binary_search(sorted.begin(), sorted.end(), index);
}
void add(std::vector<Index>& sorted, Index index) {
  const auto place = std::lower_bound(sorted.begin(), sorted.end(), index);
  if (place == sorted.end() || *place != index) sorted.insert(place, index);
}
void take(std::vector<Index>& sorted, Index index) {
  const auto place = std::lower_bound(sorted.begin(), sorted.end(), index);
  if (place != sorted.end() && *place == index) sorted.erase(place);
}

/// Open operations by a value of theirs.
class Places {
 public:
  using At = std::multimap<std::int64_t, Index>;
  void put(std::int64_t value, Index index) { at_.emplace(value, index); }
  void take(std::int64_t value, Index index) {
    const auto [begin, end] = at_.equal_range(value);
    const auto found = std::find(begin, end, At::value_type{value, index});
    if (found != end) at_.erase(found);
  }
  void clear() { at_.clear(); }
  struct Range {
    At::const_iterator from, to;
    [[nodiscard]] At::const_iterator begin() const { return from; }
    [[nodiscard]] At::const_iterator end() const { return to; }
  };
  [[nodiscard]] Range of(std::int64_t value) const {
    const auto [from, to] = at_.equal_range(value);
    return {from, to};
  }
  [[nodiscard]] const At& all() const { return at_; }
  [[nodiscard]] std::size_t size() const { return at_.size(); }

 private:
  At at_;
};

class Examination {
 public:
  explicit Examination(const RegisterHistory& history)
      : history_(history),
        open_(history.operations.size()),
        uncertain_(history.operations.size()) {}

  std::vector<std::size_t> run(std::size_t at_most) {
    std::vector<std::size_t> found;
    for (const Point& point : points()) {
      if (point.what == Point::begins) {
        begin(point.operation);
      } else if (point.what == Point::gap_ends) {
        start_anew();
      } else if (must_end(open_[point.operation])) {
        if (end(point.operation)) continue;
        found.push_back(point.operation);
        if (found.size() == at_most) break;
        start_anew();
      }
    }
    return found;
  }

 private:
  struct Point {
    enum What : unsigned char { begins, ends, gap_ends };
    sim::WorldTime at{};
    What what{};
    Index operation = 0;
    friend auto operator<=>(const Point&, const Point&) = default;
  };

  static bool must_end(std::optional<Kind> kind) {
    return kind == Kind::read || kind == Kind::write;
  }
  [[nodiscard]] const RegisterOperation& at(Index index) const {
    return history_.operations[index];
  }
  [[nodiscard]] bool in_gap(const RegisterOperation& operation) const;
  [[nodiscard]] std::vector<Point> points();

  void begin(Index index);
  /// False when no course is left.
  bool end(Index index);
  void close(Index index);
  /// Anything may stand there now, and whatever is open may never come to be.
  void start_anew();

  /// All ways to go on from `course` that end with `last`, into `out`.
  void follow(const Course& course, Index last, std::vector<Course>& out);
  /// What is worth attempting on the way to `last`.
  const std::set<std::int64_t>& useful(Index last);
  /// The next steps from `course`, other than `last` itself.
  [[nodiscard]] std::vector<Course> steps(const Course& course, Index last);
  void over_nothing(const Course& course, Index last, std::vector<Course>& out);
  /// What comes of `course` when `value` stands there, put by `by` if anybody.
  [[nodiscard]] Course reach(const Course& course, std::int64_t value,
                             std::optional<Index> by) const;
  /// After the end of what ends now: whatever else is open and must end has had its instant.
  [[nodiscard]] bool leaves_nothing_to_end(const Course& course) const;
  [[nodiscard]] bool covers(const Course& a, const Course& b) const;
  /// Leaves out what can do nothing that another course could not do too.
  void thin_out(std::vector<Course>& courses) const;

  const RegisterHistory& history_;
  /// What is open, and as what: a write whose end tells nothing any more is an attempt.
  std::vector<std::optional<Kind>> open_;
  std::vector<bool> uncertain_;  ///< writes that are attempts from the beginning
  Places reads_;                 ///< open reads by what they find
  Places by_expected_;           ///< open writes, attempts and unseen ones by what they expect
  Places writes_, attempts_;     ///< open ones by what they put
  std::set<Index> unseen_;
  std::set<std::int64_t> useful_;  ///< empty: not looked at yet since the latest end
  std::size_t followed_ = 0;       ///< courses that were gone through until the present end
  std::vector<Course> courses_{Course{}};
  bool too_many_ = false;
};

bool Examination::in_gap(const RegisterOperation& operation) const {
  const auto gap = std::lower_bound(
      history_.gaps.begin(), history_.gaps.end(), operation.began,
      [](const RegisterHistory::Span& span, sim::WorldTime began) { return span.to < began; });
  return gap != history_.gaps.end() && gap->from <= operation.ended;
}

std::vector<Examination::Point> Examination::points() {
  std::vector<Point> out;
  for (Index i = 0; i < history_.operations.size(); ++i) {
    const RegisterOperation& operation = at(i);
    const bool ends = must_end(operation.kind);
    const bool uncertain = ends && in_gap(operation);
    if (uncertain && operation.kind == Kind::read) continue;
    if (uncertain) uncertain_[i] = true;
    out.push_back({operation.began, Point::begins, i});
    if (ends && !uncertain) out.push_back({operation.ended, Point::ends, i});
  }
  for (const RegisterHistory::Span& gap : history_.gaps)
    out.push_back({gap.to, Point::gap_ends, 0});
  std::sort(out.begin(), out.end());
  return out;
}

void Examination::begin(Index index) {
  const RegisterOperation& operation = at(index);
  open_[index] = uncertain_[index] ? Kind::attempt : operation.kind;
  if (operation.kind == Kind::read) {
    reads_.put(operation.value, index);
    for (Course& course : courses_) {
      if (course.value == operation.value) add(course.done, index);
    }
    return;
  }
  by_expected_.put(operation.expected, index);
  switch (*open_[index]) {
    case Kind::write: writes_.put(operation.value, index); return;
    case Kind::unseen: unseen_.insert(index); return;
    default: attempts_.put(operation.value, index);
  }
}

void Examination::close(Index index) {
  const RegisterOperation& operation = at(index);
  if (operation.kind == Kind::read) {
    reads_.take(operation.value, index);
  } else {
    by_expected_.take(operation.expected, index);
    writes_.take(operation.value, index);
  }
  open_[index].reset();
}

bool Examination::end(Index index) {
  std::vector<Course> left;
  useful_.clear();
  followed_ = 0;
  for (Course& course : courses_) {
    if (has(course.done, index)) {
      take(course.done, index);
      left.push_back(std::move(course));
    } else {
      follow(course, index, left);
    }
  }
  close(index);
  if (too_many_ || left.size() > kOrdersMax) {
    start_anew();
    return true;
  }
  thin_out(left);
  courses_ = std::move(left);
  return !courses_.empty();
}

void Examination::start_anew() {
  too_many_ = false;
  courses_.assign(1, Course{});
  writes_.clear();
  reads_.clear();
  for (Index index = 0; index < open_.size(); ++index) {
    if (open_[index] == Kind::read) open_[index].reset();
    if (open_[index] != Kind::write) continue;
    open_[index] = Kind::attempt;
    attempts_.put(at(index).value, index);
  }
}

void Examination::follow(const Course& course, Index last, std::vector<Course>& out) {
  const RegisterOperation& operation = at(last);
  std::map<std::optional<std::int64_t>, std::vector<Course>> seen;  // by what stands there
  std::deque<Course> left{course};  // in about the order of how much has been done
  while (!left.empty() && !too_many_) {
    const Course now = std::move(left.front());
    left.pop_front();
    std::vector<Course>& alike = seen[now.value];
    const bool covered = std::any_of(alike.begin(), alike.end(),
                                     [&](const Course& other) { return covers(other, now); });
    if (covered) continue;
    alike.push_back(now);
    too_many_ = ++followed_ > kOrdersMax;
    const bool reads = operation.kind == Kind::read;
    if (has(now.done, last) || !now.value || now.value == operation.value ||
        (!reads && (now.value == operation.expected || now.value == 0))) {
      Course after = reach(now, operation.value, std::nullopt);
      take(after.done, last);
      out.push_back(std::move(after));
      if (leaves_nothing_to_end(out.back())) continue;  // and covers all other ways to `last`
    }
    if (has(now.done, last)) continue;  // what may follow can follow later
    for (Course& next : steps(now, last)) left.push_back(std::move(next));
  }
}

Course Examination::reach(const Course& course, std::int64_t value, std::optional<Index> by) const {
  Course out{value, course.done};
  if (by) add(out.done, *by);
  for (const auto& [found, read] : reads_.of(value)) add(out.done, read);
  return out;
}

bool Examination::leaves_nothing_to_end(const Course& course) const {
  const auto ended = std::count_if(course.done.begin(), course.done.end(),
                                   [&](Index index) { return must_end(open_[index]); });
  HOOKE_CHECK(reads_.size() + writes_.size() > 0, "what comes to its end is open");
  return static_cast<std::size_t>(ended) + 1 == reads_.size() + writes_.size();
}

/// Of what may never come to be only what helps something else along: what can lead to `last`, to
/// what must end, or to an unseen attempt.
const std::set<std::int64_t>& Examination::useful(Index last) {
  if (!useful_.empty()) return useful_;
  useful_ = {0, at(last).value};
  if (at(last).kind != Kind::read) useful_.insert(at(last).expected);
  for (const Places* places : {&reads_, &writes_}) {
    for (const auto& [value, operations] : places->all()) useful_.insert(value);
  }
  for (const auto& [expected, index] : by_expected_.all()) {
    if (open_[index] != Kind::attempt) useful_.insert(expected);
  }
  std::vector<std::int64_t> left(useful_.begin(), useful_.end());
  while (!left.empty()) {
    const std::int64_t value = left.back();
    left.pop_back();
    for (const auto& [attempted, index] : attempts_.of(value)) {
      if (useful_.insert(at(index).expected).second) left.push_back(at(index).expected);
    }
  }
  return useful_;
}

std::vector<Course> Examination::steps(const Course& course, Index last) {
  std::vector<Course> out;
  const auto is_free = [&](Index index) { return index != last && !has(course.done, index); };
  if (!course.value) {
    // What might have been attempted first makes no difference where anything may stand.
    for (const auto& [value, index] : writes_.all()) {
      if (is_free(index)) out.push_back(reach(course, value, index));
    }
    for (const auto& [value, index] : reads_.all())
      out.push_back(reach(course, value, std::nullopt));
    return out;
  }
  std::set<std::int64_t> attempted;  // of several ways to attempt the same any will do
  bool unseen = false;
  for (const auto& [expected, index] : by_expected_.of(*course.value)) {
    if (!is_free(index)) continue;
    const std::int64_t value = at(index).value;
    const auto kind = open_[index];
    if (kind == Kind::unseen) {
      if (std::exchange(unseen, true)) continue;
      for (const std::int64_t any : useful(last)) out.push_back(reach(course, any, index));
    } else if (kind == Kind::write ||
               (useful(last).contains(value) && attempted.insert(value).second)) {
      out.push_back(reach(course, value, index));
    }
  }
  for (const auto& [value, index] : writes_.of(*course.value)) {
    if (is_free(index)) out.push_back(reach(course, value, index));
  }
  if (course.value == 0) {
    over_nothing(course, last, out);
  } else if (history_.may_vanish && *history_.may_vanish <= at(last).ended) {
    out.push_back(reach(course, 0, std::nullopt));
  }
  return out;
}

/// Where nothing stands every write can go, whatever it expected.
void Examination::over_nothing(const Course& course, Index last, std::vector<Course>& out) {
  const auto write = [&](Index index, std::int64_t value) {
    const bool is_free = index != last && !has(course.done, index);
    if (is_free && at(index).expected != 0) out.push_back(reach(course, value, index));
  };
  for (const auto& [value, index] : writes_.all()) write(index, value);
  for (const std::int64_t value : useful(last)) {
    for (const auto& [attempted, index] : attempts_.of(value)) write(index, value);
    for (const Index index : unseen_) write(index, value);
  }
}

bool Examination::covers(const Course& a, const Course& b) const {
  if (a.value != b.value) return false;
  if (!std::includes(b.done.begin(), b.done.end(), a.done.begin(), a.done.end())) return false;
  return std::all_of(b.done.begin(), b.done.end(),
                     [&](Index index) { return has(a.done, index) || !must_end(open_[index]); });
}

void Examination::thin_out(std::vector<Course>& courses) const {
  std::sort(courses.begin(), courses.end(), [](const Course& a, const Course& b) {
    return std::pair(a.done.size(), a) < std::pair(b.done.size(), b);
  });
  courses.erase(std::unique(courses.begin(), courses.end()), courses.end());
  std::vector<Course> kept;
  for (Course& course : courses) {
    const bool covered = std::any_of(kept.begin(), kept.end(),
                                     [&](const Course& other) { return covers(other, course); });
    if (!covered) kept.push_back(std::move(course));
  }
  courses = std::move(kept);
}

}  // namespace

std::vector<std::size_t> contradictions(const RegisterHistory& history, std::size_t at_most) {
  return Examination(history).run(at_most);
}

}  // namespace hooke::properties
