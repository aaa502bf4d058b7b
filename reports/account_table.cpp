#include "reports/account_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "reports/text.h"

namespace hooke::report {
namespace {

using properties::Account;

/// Judged per thousand of what was owed; -1 where nothing was.
std::int64_t judged_permille(const Account& account) {
  return account.owed() == 0 ? -1 : account.judged() * 1000 / account.owed();
}

std::string share(const Account& account) {
  const std::int64_t permille = judged_permille(account);
  return permille < 0 ? "-" : fmt::format("{}.{} %", permille / 10, permille % 10);
}

std::string count(std::int64_t number) {
  return grouped(static_cast<std::uint64_t>(number));
}

/// What excused most often.
std::string main_excuse(const Account& account) {
  const auto most =
      std::max_element(account.excused_by.begin(), account.excused_by.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == account.excused_by.end() ? "" : most->first;
}

}  // namespace

std::string account_table(const hunt::Accounts& accounts, const Style& style) {
  std::vector<std::pair<std::string, Account>> rows(accounts.begin(), accounts.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return judged_permille(a.second) < judged_permille(b.second);
  });
  constexpr const char* kLine = "{:<29} {:>10} {:>8} {:>8} {:>8} {:>7} {:>8}  {}\n";
  std::string out = paint(style, "1",
                          fmt::format(kLine, "\ninvariant", "owed", "judged", "broken", "excused",
                                      "open", "put off", "mostly excused by"));
  for (const auto& [id, account] : rows) {
    out += fmt::format(kLine, id, count(account.owed()), share(account), count(account.broken),
                       count(account.excused), count(account.open), count(account.put_off),
                       main_excuse(account));
  }
  return out;
}

}  // namespace hooke::report
