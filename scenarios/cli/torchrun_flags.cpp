// Values come as texts, from the command line or from a variable, and one function per option reads
// them.
#include "scenarios/cli/torchrun_flags.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "model/launch/torchrun_options.h"
#include "model/observe/python_numbers.h"

namespace hooke::cli {
namespace {

std::string underscored(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::string spellings(const std::string& name, const std::string& shorthand) {
  std::string names = shorthand.empty() ? "--" + name : "-" + shorthand + ",--" + name;
  if (underscored(name) != name) names += ",--" + underscored(name);
  return names;
}

std::string variable_of(const std::string& name) {
  std::string variable = "PET_" + underscored(name);
  std::transform(variable.begin(), variable.end(), variable.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return variable;
}

std::int64_t whole(const std::string& name, const std::string& text) {
  const auto number = model::python_int(text);
  if (!number)
    throw CLI::ConversionError("expected a whole number, got \"" + text + "\"", "--" + name);
  return *number;
}

double seconds(const std::string& name, const std::string& text) {
  const auto number = model::python_float(text);
  if (!number) throw CLI::ConversionError("expected a number, got \"" + text + "\"", "--" + name);
  return *number;
}

}  // namespace

CLI::Option* TorchrunFlags::add_value(const std::string& name, const Read& read,
                                      const std::string& type, const std::string& meaning,
                                      const std::string& shorthand) {
  CLI::Option* const option =
      command_.add_option_function<std::string>(spellings(name, shorthand), read, meaning);
  option->type_name(type)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);  // as argparse
  const std::string variable = variable_of(name);
  after_.emplace_back([option, read, variable] {
    const char* const given = std::getenv(variable.c_str());
    // CLI11 takes an empty variable for none.
    if (option->count() == 0 && given != nullptr && *given == '\0') read("");
  });
  return option->envname(variable);
}

CLI::Option* TorchrunFlags::add(const std::string& name, std::string& value,
                                const std::string& meaning, const std::string& shorthand) {
  return add_value(
      name, [&value](const std::string& text) { value = text; }, "TEXT", meaning, shorthand);
}

CLI::Option* TorchrunFlags::add(const std::string& name, std::optional<std::string>& value,
                                const std::string& meaning) {
  return add_value(
      name, [&value](const std::string& text) { value = text; }, "TEXT", meaning, "");
}

CLI::Option* TorchrunFlags::add(const std::string& name, std::int64_t& value,
                                const std::string& meaning) {
  return add_value(
      name, [&value, name](const std::string& text) { value = whole(name, text); }, "INT", meaning,
      "");
}

CLI::Option* TorchrunFlags::add(const std::string& name, std::optional<std::int64_t>& value,
                                const std::string& meaning) {
  return add_value(
      name, [&value, name](const std::string& text) { value = whole(name, text); }, "INT", meaning,
      "");
}

CLI::Option* TorchrunFlags::add(const std::string& name, double& value,
                                const std::string& meaning) {
  return add_value(
      name, [&value, name](const std::string& text) { value = seconds(name, text); }, "FLOAT",
      meaning, "");
}

CLI::Option* TorchrunFlags::add_flag(const std::string& name, bool& value,
                                     const std::string& meaning, const std::string& shorthand) {
  // Given on the command line the flag's text is "true", which no variable's valid text is.
  CLI::Option* const option = command_.add_option(
      spellings(name, shorthand),
      [&value](const CLI::results_t& texts) {
        value = value || texts.front() == "true";
        return true;
      },
      meaning);
  const std::string variable = variable_of(name);
  option->expected(0)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  option->disable_flag_override();
  after_.emplace_back([&value, variable] {
    const char* const given = std::getenv(variable.c_str());
    if (given == nullptr) return;
    const auto number = model::python_int(given);
    if (!number) {
      throw model::RefusedOption(variable + ": expected a whole number, got \"" + given + "\"");
    }
    value = value || *number != 0;
  });
  return option->envname(variable);
}

void TorchrunFlags::read_variables() const {
  for (const auto& read : after_) read();
}

}  // namespace hooke::cli
