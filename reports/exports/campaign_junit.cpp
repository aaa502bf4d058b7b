// The ways as on the page of a hunt, then the invariants that were kept.
#include "reports/exports/campaign_junit.h"

#include <fmt/format.h>

#include <pugixml.hpp>
#include <set>
#include <sstream>

#include "reports/junit_markup.h"
#include "reports/page/campaign_findings.h"
#include "reports/text.h"

namespace hooke::report {
namespace {

/// What becomes of one test case.
struct CaseEnding {
  const char* element = nullptr;  ///< "failure", "error", "skipped"; nullptr: it passed
  std::string type{}, message{}, text{};
};

class CampaignSuites {
 public:
  CampaignSuites(const CampaignContent& content, const PlaceOf& place_of)
      : content_(content), hunt_(*content.exploration), place_of_(place_of) {}

  std::string write() {
    std::set<std::string> broken;
    for (const CampaignFinding& finding : campaign_findings(hunt_, *content_.invariants)) {
      broken.insert(finding.invariant);
      for (const CampaignFinding::Way& way : finding.ways) append_way(finding, way);
    }
    if (hunt_.determinism_failures != 0) append_determinism();
    for (const auto& [invariant, account] : hunt_.accounts) {
      if (!broken.contains(invariant)) append_kept(invariant, account);
    }
    return document();
  }

 private:
  /// The suite's properties, to be added to.
  pugi::xml_node append_suite(const std::string& invariant, const std::string& name,
                              const JunitPlace& place, const CaseEnding& ending) {
    const std::string element = ending.element == nullptr ? "" : ending.element;
    pugi::xml_node suite = suites_.append_child("testsuite");
    set(suite, "name", invariant);
    set(suite, "tests", "1");
    set(suite, "failures", element == "failure" ? "1" : "0");
    set(suite, "errors", element == "error" ? "1" : "0");
    set(suite, "skipped", element == "skipped" ? "1" : "0");
    if (!place.file.empty()) set(suite, "file", place.file);
    pugi::xml_node properties = suite.append_child("properties");
    add_property(properties, "invariant", invariant);
    pugi::xml_node test = suite.append_child("testcase");
    set(test, "name", name);
    set(test, "classname", invariant);
    if (!place.file.empty()) set(test, "file", place.file);
    if (place.line != 0) set(test, "line", std::to_string(place.line));
    ++tests_;
    if (element.empty()) return properties;
    failures_ += element == "failure" ? 1 : 0;
    errors_ += element == "error" ? 1 : 0;
    pugi::xml_node said = test.append_child(ending.element);
    if (element != "skipped") set(said, "type", ending.type);
    set(said, "message", ending.message);
    if (element != "skipped") said.text() = junit_text(ending.text).c_str();
    return properties;
  }

  [[nodiscard]] std::string command_for(const hunt::Finding& finding) const {
    if (content_.printing.empty()) return "";
    return fmt::format("{} --print {} >world.json && hooke explain world.json", content_.printing,
                       finding.first_seed);
  }

  [[nodiscard]] std::string story_of(const CampaignFinding& finding,
                                     const CampaignFinding::Way& way,
                                     const JunitPlace& place) const {
    std::string text;
    if (!place.file.empty()) {
      text = place.line == 0 ? place.file + ": " : fmt::format("{}:{}: ", place.file, place.line);
    }
    text += fmt::format("{}\n{}\n", finding.invariant, way.first.cause);
    if (!finding.meaning.empty()) text += "holds otherwise: " + finding.meaning + "\n";
    text += fmt::format("in {} of {}, first in world {}\n", grouped(way.second.worlds),
                        counted(hunt_.worlds, "world"), way.second.first_seed);
    for (const CampaignFinding::Issue& issue : finding.issues) {
      text += "known issue: " + issue.name + "\n";
    }
    if (!way.second.reproducer.empty()) {
      text += "hooke explain " + shell_word(way.second.reproducer) + "\n";
    }
    const std::string command = command_for(way.second);
    return command.empty() ? text : text + command + "\n";
  }

  void append_way(const CampaignFinding& finding, const CampaignFinding::Way& way) {
    const JunitPlace place = place_of_(way.second);
    CaseEnding ending{"failure", finding.invariant, finding.invariant + ": " + way.first.cause,
                      story_of(finding, way, place)};
    if (finding.invariant == "harness") ending.element = "error";
    if (!way.first.limit.empty()) {
      ending.element = "skipped";
      ending.message = "no agent could have kept it: " + way.first.limit;
    }
    pugi::xml_node properties = append_suite(finding.invariant, way.first.cause, place, ending);
    add_property(properties, "worlds", std::to_string(way.second.worlds));
    add_property(properties, "first_seed", std::to_string(way.second.first_seed));
    add_property(properties, "reproducer", way.second.reproducer);
    add_property(properties, "command", command_for(way.second));
    for (const CampaignFinding::Issue& issue : finding.issues) {
      add_property(properties, "known_issue", issue.name);
    }
  }

  void append_determinism() {
    const std::string message = fmt::format("{} gave another trace when run again",
                                            counted(hunt_.determinism_failures, "world"));
    append_suite("determinism", "two runs of a world are equal", {},
                 {"error", "determinism", message, message + "\n"});
  }

  void append_kept(const std::string& invariant, const properties::Account& account) {
    pugi::xml_node properties =
        append_suite(invariant, fmt::format("kept in {}", counted(hunt_.worlds, "world")), {}, {});
    add_property(properties, "owed", std::to_string(account.owed()));
    add_property(properties, "judged", std::to_string(account.judged()));
  }

  std::string document() {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(hunt_.wall).count();
    set(suites_, "name", content_.title);
    set(suites_, "tests", std::to_string(tests_));
    set(suites_, "failures", std::to_string(failures_));
    set(suites_, "errors", std::to_string(errors_));
    set(suites_, "time", fmt::format("{}.{:03}", ms / 1000, ms % 1000));
    std::ostringstream out;
    document_.save(out, "  ");
    return out.str();
  }

  const CampaignContent& content_;
  const hunt::Exploration& hunt_;
  const PlaceOf& place_of_;
  pugi::xml_document document_;
  pugi::xml_node suites_ = document_.append_child("testsuites");
  std::size_t tests_ = 0, failures_ = 0, errors_ = 0;
};

}  // namespace

std::string campaign_junit(const CampaignContent& content, const PlaceOf& place_of) {
  return CampaignSuites(content, place_of).write();
}

}  // namespace hooke::report
