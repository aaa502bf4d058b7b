// A walk over the words before the last one finds the command and what it expects next; then the
// candidates of that place are those that begin as the last word does.
#include "scenarios/cli/completion.h"

#include <algorithm>

#include "scenarios/cli/arguments.h"
#include "scenarios/cli/commands.h"

namespace hooke::cli {
namespace {

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

bool is_shown(const CLI::Option& option) {
  const auto words = value_words(option);
  return !option.get_group().empty() &&
         std::find(words.begin(), words.end(), "DEPRECATED") == words.end();
}

/// How many values may follow one mention of `option`.
int values_max(const CLI::Option& option) {
  const int most = option.get_items_expected_max();
  return option.get_allow_extra_args() || most <= 1 ? most
                                                    : std::max(1, option.get_items_expected_min());
}

std::string with_dashes(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

/// The names of an option. The second spelling of torchrun's, with underscores, counts only for a
/// word that has one.
std::vector<std::string> names_of(const CLI::Option& option, const std::string& typed) {
  const auto& names = option.get_lnames();
  std::vector<std::string> out;
  for (const std::string& name : option.get_snames()) out.push_back("-" + name);
  for (const std::string& name : names) {
    const bool second = name.find('_') != std::string::npos &&
                        std::find(names.begin(), names.end(), with_dashes(name)) != names.end();
    if (!second || typed.find('_') != std::string::npos) out.push_back("--" + name);
  }
  return out;
}

/// What is known of a command line before its last word.
class Walk {
 public:
  explicit Walk(const CLI::App& app) : command_(&app) {}

  void pass(const std::string& word) {
    if (in_script_ || takes(word)) return;
    open_ = nullptr;
    if (!options_are_over_ && word.size() > 1 && word.starts_with("-")) {
      const std::size_t equals = word.find('=');
      options_are_over_ = word == "--";
      open_ = command_->get_option_no_throw(word.substr(0, equals));
      taken_ = equals == std::string::npos ? 0 : 1;
      return;
    }
    const CLI::App* const below = positionals_ == 0 ? command_called(*command_, word) : nullptr;
    if (below != nullptr) {
      command_ = below;
    } else if (command_->get_prefix_command()) {
      in_script_ = true;
    } else {
      if (positionals_ == 0) first_ = word;
      ++positionals_;
    }
  }

  [[nodiscard]] const CLI::App& command() const { return *command_; }
  /// Everything belongs to what `hooke agent` runs.
  [[nodiscard]] bool in_script() const {
    return in_script_ || (options_are_over_ && command_->get_prefix_command());
  }
  [[nodiscard]] bool options_are_over() const { return options_are_over_; }
  [[nodiscard]] bool is_first() const { return positionals_ == 0; }
  /// The first positional; empty before it.
  [[nodiscard]] const std::string& first() const { return first_; }
  /// The option that can take one value more; nullptr: none.
  [[nodiscard]] const CLI::Option* open() const {
    return open_ != nullptr && taken_ < values_max(*open_) ? open_ : nullptr;
  }
  /// It must.
  [[nodiscard]] bool needs_value() const {
    return open_ != nullptr && taken_ < open_->get_items_expected_min();
  }
  /// The positional that comes next; nullptr: none.
  [[nodiscard]] const CLI::Option* positional() const {
    int before = 0;
    for (const CLI::Option* const option : command_->get_options()) {
      if (!option->get_positional()) continue;
      before += option->get_items_expected_max();
      if (positionals_ < before) return option;
    }
    return nullptr;
  }

 private:
  bool takes(const std::string& word) {
    if (!needs_value() && (open() == nullptr || word.starts_with("-"))) return false;
    ++taken_;
    return true;
  }

  const CLI::App* command_;
  const CLI::Option* open_ = nullptr;
  int taken_ = 0;
  int positionals_ = 0;
  std::string first_;
  bool options_are_over_ = false;
  bool in_script_ = false;
};

/// Collects what begins as the typed word does.
class Collector {
 public:
  explicit Collector(std::string typed) : typed_(std::move(typed)) {}

  void add(const std::string& word, const std::string& meaning = "") {
    if (word.starts_with(typed_)) found_.words.push_back({word, first_line(meaning)});
  }
  void commands_below(const CLI::App& app) {
    for (const CLI::App* const each : shown_commands(app)) {
      add(each->get_name(), each->get_description());
    }
  }
  void options_of(const CLI::App& app) {
    for (const CLI::Option* const option : app.get_options()) {
      if (!is_shown(*option)) continue;
      for (const std::string& name : names_of(*option, typed_)) {
        add(name, option->get_description());
      }
    }
  }
  /// `before`: what stands before the value in its word, "--world="; `kind`: of what a NAME is.
  void values_of(const CLI::Option& option, std::string before, const std::string& kind = "all") {
    const char delimiter = option.get_delimiter();
    const std::size_t last = delimiter == '\0' ? std::string::npos : typed_.rfind(delimiter);
    if (last != std::string::npos && last >= before.size()) before = typed_.substr(0, last + 1);
    for (const std::string& value : fixed_values(option)) add(before + value);
    for (const std::string& word : value_words(option)) {
      if (word == "FILE") found_.paths = Paths::files;
      if (word == "DIR") found_.paths = Paths::directories;
      if (word == "INVARIANT") add_all(before, listed_names("invariants"));
      if (word == "FAULT") add_all(before, listed_names("faults"));
      if (word == "NAME") add_all(before, listed_names(kind));
    }
  }
  void files() { found_.paths = Paths::files; }
  void add_all(const std::string& before, const std::vector<std::string>& names) {
    for (const std::string& name : names) add(before + name);
  }
  [[nodiscard]] bool found_nothing() const {
    return found_.words.empty() && found_.paths == Paths::none;
  }
  Completions take() { return std::move(found_); }

 private:
  std::string typed_;
  Completions found_;
};

/// `hooke help` and `hooke man` take the names of commands, and help those that hooke list has,
/// which are too many to offer where nothing is typed.
Completions command_names(const CLI::App& app, std::vector<std::string> words, bool with_names) {
  Walk walk(app);
  Collector collector(words.back());
  if (with_names && words.size() == 1 && !words.back().empty()) {
    for (const char* const kind : {"all", "scenarios"}) collector.add_all("", listed_names(kind));
  }
  words.pop_back();
  for (const std::string& word : words) walk.pass(word);
  if (walk.is_first()) collector.commands_below(walk.command());
  return collector.take();
}

void add_words(const Walk& walk, const std::string& typed, Collector& out) {
  if (walk.open() != nullptr) out.values_of(*walk.open(), "");
  if (walk.is_first()) out.commands_below(walk.command());
  if (walk.command().get_prefix_command()) out.files();
  const CLI::Option* const positional = walk.positional();
  if (positional != nullptr) out.values_of(*positional, "", walk.first());
  if (typed.empty() && out.found_nothing()) out.options_of(walk.command());
}

}  // namespace

std::vector<std::string> value_words(const CLI::Option& option) {
  std::vector<std::string> out;
  const std::string text = option.get_type_name();
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t close = text[begin] == '{' ? text.find('}', begin) : begin;
    const std::size_t end = std::min(text.find(':', close), text.size());
    if (end > begin) out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

std::vector<std::string> fixed_values(const CLI::Option& option) {
  for (const std::string& word : value_words(option)) {
    if (!word.starts_with("{")) continue;
    return CLI::detail::split(word.substr(1, word.size() - 2), ',');
  }
  return {};
}

Completions completions(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty()) return {};
  const std::string& typed = words.back();
  const std::vector<std::string> before(words.begin(), words.end() - 1);
  const bool is_name = !typed.starts_with("-");
  if (is_name && !before.empty() && (before.front() == "help" || before.front() == "man")) {
    if (before.back() != "--directory") {
      return command_names(app, {words.begin() + 1, words.end()}, before.front() == "help");
    }
  }
  Walk walk(app);
  for (const std::string& word : before) walk.pass(word);
  Collector out(typed);
  if (walk.in_script()) {
    out.files();
  } else if (walk.needs_value()) {
    out.values_of(*walk.open(), "");
  } else if (is_name || walk.options_are_over()) {
    add_words(walk, typed, out);
  } else if (const std::size_t equals = typed.find('='); equals != std::string::npos) {
    const CLI::Option* const option = walk.command().get_option_no_throw(typed.substr(0, equals));
    if (option != nullptr) out.values_of(*option, typed.substr(0, equals + 1));
  } else {
    out.options_of(walk.command());
  }
  return out.take();
}

}  // namespace hooke::cli
