// A page is the text of --help, divided into the sections that a manual page has. The help's closing
// text says by its first words what a line of it is: "Example…", "Exit codes…", or a note.
#include "scenarios/cli/manual.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <set>
#include <sstream>
#include <utility>

#include "scenarios/cli/arguments.h"
#include "scenarios/cli/completion.h"

namespace hooke::cli {
namespace {

constexpr std::size_t kLineBytesMax = 79;  // mandoc's lint complains of longer ones

/// The character that begins at `text[at]`, which is UTF-8, as troff writes it; moves `at` past it.
std::string character(const std::string& text, std::size_t& at) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i]));
  };
  const std::uint32_t first = byte(at++);
  if (first < 0x80) {
    switch (static_cast<char>(first)) {
      case '\\': return "\\e";
      case '-': return "\\-";
      case '\'': return "\\(aq";
      case '"': return "\\(dq";
      case '`': return "\\(ga";
      case '^': return "\\(ha";
      case '~': return "\\(ti";
      default: return {static_cast<char>(first)};
    }
  }
  std::uint32_t code = first < 0xe0 ? first & 0x1fU : first < 0xf0 ? first & 0x0fU : first & 0x07U;
  while (at < text.size() && (byte(at) & 0xc0U) == 0x80) code = code << 6U | (byte(at++) & 0x3fU);
  std::ostringstream out;
  out << "\\[u" << std::hex << std::uppercase;
  out.width(4);
  out.fill('0');
  out << code << ']';
  return out.str();
}

std::string escaped(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) out += character(text, at);
  return out;
}

/// A line of input that begins with a dot would be a request.
std::string as_text(const std::string& line) {
  return line.starts_with(".") ? "\\&" + line : line;
}

/// A paragraph in lines that are short enough.
std::string filled(const std::string& text) {
  std::istringstream words(text);
  std::string out, line, word;
  while (words >> word) {
    const std::string next = escaped(word);
    if (!line.empty() && line.size() + 1 + next.size() > kLineBytesMax) {
      out += as_text(line) + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + next;
  }
  return line.empty() ? out : out + as_text(line) + "\n";
}

std::string bold(const std::string& text) {
  return "\\fB" + escaped(text) + "\\fR";
}
std::string italic(const std::string& text) {
  return "\\fI" + escaped(text) + "\\fR";
}

/// "SECONDS" of "FLOAT:SECONDS": the last word that is no set, no range and no remark.
std::string value_name(const CLI::Option& option) {
  std::string out;
  for (const std::string& word : value_words(option)) {
    const bool is_name = word.find_first_of(" {") == std::string::npos && word != "DEPRECATED";
    if (is_name) out = word;
  }
  return out;
}

std::string joined(const std::vector<std::string>& words) {
  return CLI::detail::join(words, ", ");
}

std::vector<std::string> names(const std::set<CLI::Option*>& options) {
  std::vector<std::string> out;
  for (const CLI::Option* const option : options) out.push_back(option->get_name());
  std::sort(out.begin(), out.end());  // the set is one of addresses
  return out;
}

/// What the help puts between an option's name and its description.
std::string facts(const CLI::Option& option) {
  std::string out;
  const auto say = [&](const std::string& fact) { out += " " + fact + "."; };
  if (const auto values = fixed_values(option); !values.empty()) say("One of: " + joined(values));
  for (const std::string& word : value_words(option)) {
    if (word.find(' ') != std::string::npos && !word.starts_with("{")) say(word);
  }
  if (option.get_items_expected_max() != 0 && !option.get_default_str().empty()) {
    say("Default: " + option.get_default_str());
  }
  if (option.get_expected_max() == CLI::detail::expected_max_vector_size) {
    say(option.get_delimiter() == '\0' ? "More than one may be given"
                                       : "More than one may be given, with commas");
  }
  if (option.get_required()) say("Required");
  if (!option.get_envname().empty()) say("Environment: " + option.get_envname());
  if (!option.get_needs().empty()) say("Needs: " + joined(names(option.get_needs())));
  if (!option.get_excludes().empty()) say("Excludes: " + joined(names(option.get_excludes())));
  return out;
}

std::string described(const CLI::Option& option) {
  std::string text = option.get_description();
  if (!text.empty() && !text.ends_with(".")) text += ".";
  return filled(text + facts(option));
}

std::string option_entry(const CLI::Option& option) {
  std::string head;
  const auto add = [&](const std::string& name) {
    head += (head.empty() ? "" : ", ") + bold(name);
  };
  for (const std::string& name : option.get_snames()) add("-" + name);
  for (const std::string& name : option.get_lnames()) add("--" + name);
  if (option.get_items_expected_max() != 0 && !value_name(option).empty()) {
    head += " " + italic(value_name(option));
  }
  return ".TP\n" + head + "\n" + described(option);
}

std::string arguments(const CLI::App& command) {
  std::string out;
  for (const CLI::Option* const option : command.get_options()) {
    if (!option->get_positional()) continue;
    out += ".TP\n" + italic(option->get_name(true, false)) + "\n" + described(*option);
  }
  return out.empty() ? out : ".SH ARGUMENTS\n" + out;
}

std::string options(const CLI::App& command) {
  std::string out = ".SH OPTIONS\n";
  for (const std::string& group : command.get_groups()) {
    std::string entries;
    for (const CLI::Option* const option : command.get_options()) {
      const bool in_group = option->get_group() == group && option->nonpositional();
      if (in_group) entries += option_entry(*option);
    }
    if (group.empty() || entries.empty()) continue;
    if (group != "Options") out += ".SS \"" + escaped(group) + "\"\n";
    out += entries;
  }
  return out;
}

std::string commands(const CLI::App& command) {
  std::string out;
  for (const CLI::App* const below : shown_commands(command)) {
    out += ".TP\n" + bold(full_name(*below)) + "\n" + filled(below->get_description() + ".");
  }
  return out.empty() ? out : ".SH COMMANDS\n" + out;
}

/// A line to type, which nothing may divide.
std::string verbatim(const std::string& line) {
  return ".RS 4\n.nf\n" + as_text(escaped(line)) + "\n.fi\n.RE\n";
}

/// The help's closing text, by section.
struct Closing {
  std::string notes, examples, exit_codes;
};

Closing closing_of(const CLI::App& command) {
  Closing out;
  std::string* section = &out.notes;
  std::istringstream lines(command.get_footer());
  for (std::string line; std::getline(lines, line);) {
    for (const auto& [head, its] :
         {std::pair{"Example", &out.examples}, {"Exit codes", &out.exit_codes}}) {
      if (!line.starts_with(head)) continue;
      section = its;
      const std::size_t colon = line.find(':');
      const bool is_title = colon == (line.starts_with("Examples") ? 8 : std::string(head).size());
      if (is_title) line.erase(0, std::min(colon + 2, line.size()));
    }
    if (line.empty()) continue;
    if (!section->empty()) *section += ".PP\n";
    *section += line.starts_with("  ") ? verbatim(line.substr(2)) : filled(line);
  }
  return out;
}

std::string section(const std::string& title, const std::string& text) {
  return text.empty() ? "" : ".SH " + title + "\n" + text;
}

/// "hooke run [OPTIONS] paths...", as the help says it.
std::string synopsis(const CLI::App& command) {
  std::istringstream usage(CLI::Formatter().make_usage(&command, full_name(command)));
  std::string line;
  std::getline(usage, line);
  return line.substr(line.find(' ') + 1);
}

std::string see_also(const CLI::App& command) {
  std::vector<const CLI::App*> others = shown_commands(command);
  if (command.get_parent() != nullptr) others.insert(others.begin(), command.get_parent());
  std::string out;
  for (const CLI::App* const other : others) {
    out += (out.empty() ? "" : ",\n") + std::string(".BR ") + escaped(page_name(*other)) + " (1)";
  }
  return out.empty() ? out : out + "\n";
}

}  // namespace

std::string page_name(const CLI::App& command) {
  std::string name = full_name(command);
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::vector<const CLI::App*> with_all_below(const CLI::App& command) {
  std::vector<const CLI::App*> out{&command};
  for (const CLI::App* const below : shown_commands(command)) {
    const auto more = with_all_below(*below);
    out.insert(out.end(), more.begin(), more.end());
  }
  return out;
}

std::string manual_page(const CLI::App& command) {
  const CLI::App* top = &command;
  while (top->get_parent() != nullptr) top = top->get_parent();
  std::string title = page_name(command);
  std::transform(title.begin(), title.end(), title.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const Closing closing = closing_of(command);
  // No date: a page is as old as the program that prints it.
  return ".TH " + escaped(title) + " 1 \"\" \"" + escaped(top->version()) + "\" \"hooke\"\n" +
         ".nh\n.ad l\n" +  // neither option names nor their values are divided
         section("NAME", filled(page_name(command) + " - " + command.get_description())) +
         section("SYNOPSIS", filled(synopsis(command))) +
         section("DESCRIPTION", filled(command.get_description() + ".") +
                                    (closing.notes.empty() ? "" : ".PP\n" + closing.notes)) +
         arguments(command) + commands(command) + options(command) +
         section("EXAMPLES", closing.examples) + section("EXIT STATUS", closing.exit_codes) +
         section("SEE ALSO", see_also(command));
}

}  // namespace hooke::cli
