// The first screen, from top to bottom; what is below it is in details.cpp.
#include "reports/page/run_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "reports/page/assets.h"
#include "reports/page/details.h"
#include "reports/page/finding_list.h"
#include "reports/page/lane_chart.h"
#include "reports/page/markup.h"
#include "reports/page/time_split.h"
#include "reports/text.h"

namespace hooke::report {
namespace {

struct Verdict {
  std::string style, words;
};

Verdict verdict_of(const Result& result, const std::vector<Finding>& findings) {
  const scenario::RunReport& run = result.run;
  if (!run.harness_failure.empty()) return {"failed", "the harness failed"};
  if (!result.supported()) return {"open", "unsupported in this world"};
  if (!result.conclusive()) return {"open", "inconclusive"};
  const auto unexpected = std::count_if(findings.begin(), findings.end(), [](const Finding& each) {
    return each.weight == Weight::unexpected;
  });
  if (unexpected > 0) {
    return {"failed",
            fmt::format("failed: {} invariant{} violated", unexpected, unexpected == 1 ? "" : "s")};
  }
  if (!run.passed) {
    return {result.must_fail ? "passed" : "failed",
            fmt::format("{}: {} expectation{} not met",
                        result.must_fail ? "failed, as it must" : "failed", run.unmet.size(),
                        run.unmet.size() == 1 ? "" : "s")};
  }
  if (result.must_fail) return {"failed", "passed, but must fail"};
  return {"passed", findings.empty() ? "passed" : "passed, as the scenario expects"};
}

std::set<std::string> jobs_in_vain(const scenario::RunReport& run) {
  std::set<std::string> in_vain;
  for (const scenario::JobResult& job : run.jobs) {
    if (job.outcome != "succeeded" && job.outcome != "running") in_vain.insert(job.run_id);
  }
  return in_vain;
}

/// "job "train": succeeded (3 agents succeeded) in 8m34.000s, 58 % of it useful training".
std::string outcome_of(const scenario::JobResult& job, const std::vector<TimeSplit>& splits) {
  const auto split = std::find_if(splits.begin(), splits.end(),
                                  [&](const TimeSplit& each) { return each.run_id == job.run_id; });
  if (split == splits.end()) return ending(job);
  const auto whole = std::max<std::int64_t>(1, split->whole().count());
  return fmt::format(
      "{}; {}, {:.0f} % of it useful training", ending(job), short_time(split->whole()),
      static_cast<double>(split->of(Spent::useful).count()) * 100 / static_cast<double>(whole));
}

void add_head(pugi::xml_node main, const PageContent& content, const std::vector<Finding>& findings,
              const std::vector<TimeSplit>& splits) {
  const scenario::RunReport& run = content.result->run;
  pugi::xml_node head = add(main, "header");
  add(head, "h1", {}, run.name);
  const Verdict verdict = verdict_of(*content.result, findings);
  add(head, "strong", {{"class", "verdict " + verdict.style}, {"id", "verdict"}}, verdict.words);
  for (const std::string* const why : {&run.harness_failure, &run.unsupported, &run.inconclusive}) {
    if (!why->empty()) add_class(head, "p", "outcome", *why);
  }
  for (const scenario::JobResult& job : run.jobs) {
    add_class(head, "p", "outcome", outcome_of(job, splits));
  }
  if (content.scenario != nullptr && !content.scenario->description.empty()) {
    add_class(main, "p", "description", content.scenario->description);
  }
}

void add_unmet(pugi::xml_node main, const scenario::RunReport& run) {
  const bool any = std::any_of(run.unmet.begin(), run.unmet.end(),
                               [](const scenario::Unmet& each) { return !each.violation; });
  if (!any) return;
  add(main, "h2", {}, "What was expected and did not come");
  pugi::xml_node list = add(main, "ul");
  for (const scenario::Unmet& unmet : run.unmet) {
    if (unmet.violation) continue;
    pugi::xml_node item = add(list, "li");
    add(item, "code", {}, unmet.expectation);
    say(item, ": " + unmet.reason);
  }
}

void add_grounds(pugi::xml_node main, const Grounds& grounds) {
  if (!grounds.assumptions.empty()) {
    add(main, "h2", {}, "Taken for granted");
    pugi::xml_node list = add(main, "ul");
    for (const std::string& assumption : grounds.assumptions) add(list, "li", {}, assumption);
  }
  if (grounds.not_judged.empty()) return;
  add(main, "h2", {{"id", "not-judged"}}, "Not judged");
  pugi::xml_node list = add(main, "ul");
  for (const scenario::NotJudged& each : grounds.not_judged) {
    pugi::xml_node item = add(list, "li");
    say(item, each.reason + ": ");
    add(item, "code", {}, joined(each.invariants));
  }
}

void add_faults(pugi::xml_node main, const PageContent& content) {
  const std::vector<FaultMark>& faults = content.record->faults();
  const std::vector<TimelineNote> notes = timeline_notes(content.result->run);
  if (faults.empty() && notes.empty()) return;
  constexpr std::size_t kOnTheFirstScreen = 12;
  pugi::xml_node whole = main;
  if (faults.size() > kOnTheFirstScreen) {
    whole = add(main, "details");
    add(whole, "summary", {}, fmt::format("What was done to it ({})", faults.size()));
  }
  pugi::xml_node list = add(
      whole, "ol", {{"class", "faults"}, {"id", "faults"}, {"aria-label", "What was done to it"}});
  for (std::size_t i = 0; i < std::min<std::size_t>(faults.size(), 100); ++i) {
    add(list, "li", {}, fmt::format("{} at {}", faults[i].what, at_text(faults[i].at)));
  }
  if (faults.size() > 100) {
    add_class(whole, "p", "note", fmt::format("… and {} more", faults.size() - 100));
  }
  for (const TimelineNote& note : notes) {
    add_class(main, "p", "note", note.entry + " " + note.text);
  }
}

void add_commands(pugi::xml_node main, const PageContent& content,
                  const std::vector<Finding>& findings) {
  if (content.scenario == nullptr || content.result->world != "sim") return;
  const std::string file = shell_word(content.result->file);
  const std::string seed =
      content.scenario->tape ? std::string() : fmt::format(" --seed {}", content.result->run.seed);
  add(main, "h2", {}, "Next");
  pugi::xml_node list = add_class(main, "ul", "commands");
  const auto command = [&](const std::string& text, const char* what) {
    pugi::xml_node item = add(list, "li");
    add(item, "code", {}, text);
    say(item, what);
  };
  command("hooke run " + file + seed + " --timeline", " plays this run again, line by line");
  if (findings.empty()) return;
  const bool is_explained = std::any_of(content.explanations.begin(), content.explanations.end(),
                                        [](const Explanation& each) { return each.worlds > 0; });
  if (!is_explained) {
    command("hooke explain " + file + seed + " --html explained.html",
            " adds the point of no return and what averts it to this page");
  }
  command("hooke shrink " + file + seed, " makes the scenario small");
}

}  // namespace

std::vector<Explanation> causes_of(const scenario::RunReport& run,
                                   const hunt::CauseRecorder& causes) {
  std::vector<Explanation> explanations;
  for (const Finding& finding : findings_of(run)) {
    explanations.push_back(
        {finding.invariant, {}, causes.story_of(finding.first), {}, {}, 0, false});
  }
  return explanations;
}

std::string run_page(const PageContent& content) {
  const scenario::RunReport& run = content.result->run;
  const std::vector<Finding> findings = findings_of(run, *content.invariants);
  const std::vector<TimeSplit> splits = split_time(content.record->lanes(), jobs_in_vain(run));
  pugi::xml_document document;
  pugi::xml_node main = add(document, "main");
  add_head(main, content, findings, splits);
  for (const TimeSplit& split : splits) {
    add_time_bar(main, split, content.record->end(), splits.size() > 1);
  }
  // Where invariants were violated, what was expected besides seldom says more.
  const bool is_told = !findings.empty() && findings.front().weight == Weight::unexpected;
  add_finding_list(main, findings, content.explanations);
  if (!is_told) add_unmet(main, run);
  if (!content.record->lanes().empty()) {
    add(main, "h2", {}, "What each node did");
    add_lane_chart(main, *content.record, findings, content.explanations);
  }
  add_faults(main, content);
  add_commands(main, content, findings);
  if (is_told) add_unmet(main, run);
  add_grounds(main, content.grounds);
  add_details(main, content);
  std::ostringstream out;
  out << page_head(run.name + " – hooke");
  document.save(
      out, "", pugi::format_raw | pugi::format_no_declaration | pugi::format_no_empty_element_tags);
  out << page_foot();
  return out.str();
}

}  // namespace hooke::report
