#include "scenarios/hunt/exploration.h"

#include <algorithm>

#include "model/observe/coverage_points.h"
#include "scenarios/format/json_reader.h"

namespace hooke::hunt {
namespace {

using nlohmann::ordered_json;
using scenario::Place;
using scenario::ScenarioError;

ordered_json kind_json(const FailureKind& kind) {
  ordered_json json{{"invariant", kind.invariant}, {"cause", kind.cause}};
  if (!kind.limit.empty()) json["limit"] = kind.limit;
  return json;
}

FailureKind kind_at(const Place& place) {
  return {place.at("invariant").text(), place.at("cause").text(),
          place.has("limit") ? place.at("limit").text() : ""};
}

bool is_failure(const FailureKind& kind) {
  return kind.limit.empty();
}

ordered_json shard_json(const Shard& shard) {
  return {{"first", shard.first}, {"count", shard.count}, {"index", shard.index}, {"of", shard.of}};
}

Shard shard_at(const Place& place) {
  place.object({"first", "count", "index", "of"});
  const Shard shard{place.at("first").unsigned_integer(), place.at("count").unsigned_integer(),
                    place.at("index").unsigned_integer(), place.at("of").unsigned_integer()};
  if (shard.of > Shard::kOfMax) {
    place.at("of").refuse_value("at most " + std::to_string(Shard::kOfMax));
  }
  if (shard.index >= shard.of) place.at("index").refuse_value("a number below \"of\"");
  if (shard.count > UINT64_MAX - shard.first) {
    place.at("count").refuse_value("seeds of at most 64 bits");
  }
  return shard;
}

void count(Finding& finding, std::uint64_t seed) {
  if (finding.worlds++ == 0 || seed < finding.first_seed) finding.first_seed = seed;
}

void merge_into(Finding& ours, const Finding& theirs) {
  const bool earlier =
      theirs.worlds != 0 && (ours.worlds == 0 || theirs.first_seed < ours.first_seed);
  ours.worlds += theirs.worlds;
  if (ours.reproducer.empty() || (earlier && !theirs.reproducer.empty()))
    ours.reproducer = theirs.reproducer;
  if (earlier) ours.first_seed = theirs.first_seed;
}

ordered_json kinds_json(const std::vector<FailureKind>& kinds) {
  ordered_json out = ordered_json::array();
  for (const FailureKind& kind : kinds) out.push_back(kind_json(kind));
  return out;
}

std::vector<FailureKind> kinds_at(const Place& place) {
  std::vector<FailureKind> out;
  for (const Place& item : place.items()) out.push_back(kind_at(item));
  return out;
}

ordered_json finding_json(ordered_json json, const Finding& finding) {
  json["worlds"] = finding.worlds;
  json["first_seed"] = finding.first_seed;
  if (!finding.reproducer.empty()) json["reproducer"] = finding.reproducer;
  return json;
}

/// Of a part with so many worlds.
Finding finding_at(const Place& place, std::uint64_t worlds) {
  if (place.at("worlds").unsigned_integer() > worlds) {
    place.at("worlds").refuse_value("at most all worlds, " + std::to_string(worlds));
  }
  return {place.at("worlds").unsigned_integer(), place.at("first_seed").unsigned_integer(),
          place.has("reproducer") ? place.at("reproducer").text() : ""};
}

}  // namespace

std::optional<std::uint64_t> shared_seed(const Shard& one, const Shard& other) {
  const std::uint64_t end = std::min(one.first + one.count, other.first + other.count);
  const auto begin = [](const Shard& shard) { return shard.first + shard.index; };
  // The first seed of `one` that is not before `other`; the remainders of those that follow repeat
  // after other.of of them.
  std::uint64_t seed = begin(one);
  if (seed < begin(other)) seed += (begin(other) - seed + one.of - 1) / one.of * one.of;
  for (std::uint64_t tried = 0; tried < other.of && seed < end; ++tried, seed += one.of) {
    if ((seed - begin(other)) % other.of == 0) return seed;
  }
  return std::nullopt;
}

void Exploration::add(const WorldResult& world, const KnownIssues& looked_for) {
  ++worlds;
  if (std::any_of(world.kinds.begin(), world.kinds.end(), is_failure)) ++broken;
  if (world.determinism_check) ++determinism_checks;
  if (world.determinism_failures) ++determinism_failures;
  if (world.cut) ++cut;
  events += world.events;
  digest.add(world.seed, world.hash);
  for (const FailureKind& kind : world.kinds) count(findings[kind], world.seed);
  for (const KnownIssue& each : looked_for) {
    const auto [place, is_first] = known_issues.try_emplace(each.name);
    KnownIssueCount& found = place->second;
    if (is_first) {
      found.kinds = each.kinds;
      found.references = each.references;
    }
    if (each.is_met_by(world.kinds)) count(found.met, world.seed);
  }
  for (const std::string& point : world.coverage) ++coverage[point];
  for (const WorldResult::Fault& fault : world.faults) {
    FaultCount& count = faults[fault.word];
    ++count.happened;
    if (fault.felt) ++count.felt;
  }
  hunt::add(accounts, world.accounts);
}

void Exploration::merge(const Exploration& other, const std::string& source) {
  if (other.space != space) {
    throw ScenarioError(source + ": /space: expected the space of the others, got another one");
  }
  for (const Shard& shard : other.shards) {
    for (const Shard& ours : shards) {
      if (const auto seed = shared_seed(ours, shard)) {
        throw ScenarioError(source + ": /shards: expected seeds that no other file has, got " +
                            std::to_string(*seed) + " again, of the " +
                            std::to_string(shard.count) + " from " + std::to_string(shard.first) +
                            " on, part " + std::to_string(shard.index) + "/" +
                            std::to_string(shard.of));
      }
    }
    shards.push_back(shard);
  }
  worlds += other.worlds;
  broken += other.broken;
  determinism_checks += other.determinism_checks;
  determinism_failures += other.determinism_failures;
  cut += other.cut;
  not_begun += other.not_begun;
  events += other.events;
  digest.add(other.digest);
  wall += other.wall;
  for (const auto& [kind, theirs] : other.findings) merge_into(findings[kind], theirs);
  for (const auto& [name, theirs] : other.known_issues) {
    const auto [ours, is_first] = known_issues.try_emplace(name);
    if (is_first) {
      ours->second.kinds = theirs.kinds;
      ours->second.references = theirs.references;
    }
    if (ours->second.kinds != theirs.kinds) {
      throw ScenarioError(source + ": /known_issues: expected \"" + name +
                          "\" to be what it is in the other files");
    }
    merge_into(ours->second.met, theirs.met);
  }
  for (const auto& [name, count] : other.coverage) coverage[name] += count;
  for (const auto& [word, count] : other.faults) {
    faults[word].happened += count.happened;
    faults[word].felt += count.felt;
  }
  hunt::add(accounts, other.accounts);
}

std::uint64_t Exploration::ways() const {
  return static_cast<std::uint64_t>(std::count_if(
      findings.begin(), findings.end(), [](const auto& item) { return is_failure(item.first); }));
}

std::map<FailureKind, Finding> Exploration::findings_beyond(const Exploration& other) const {
  std::map<FailureKind, Finding> out;
  for (const auto& [kind, finding] : findings) {
    if (is_failure(kind) && !other.findings.contains(kind)) out.emplace(kind, finding);
  }
  return out;
}

std::vector<std::string> Exploration::coverage_never_reached() const {
  std::vector<std::string> out;
  for (const std::string_view point : model::coverage::kAll) {
    if (!coverage.contains(std::string(point))) out.emplace_back(point);
  }
  return out;
}

std::string write_exploration(const Exploration& exploration) {
  ordered_json out{{"version", 1}, {"space", exploration.space}};
  out["shards"] = ordered_json::array();
  for (const Shard& shard : exploration.shards) out["shards"].push_back(shard_json(shard));
  out["worlds"] = exploration.worlds;
  out["broken"] = exploration.broken;
  out["determinism_checks"] = exploration.determinism_checks;
  out["determinism_failures"] = exploration.determinism_failures;
  out["cut"] = exploration.cut;
  if (exploration.not_begun != 0) out["not_begun"] = exploration.not_begun;
  out["events"] = exploration.events;
  out["digest"] = exploration.digest.hex();
  out["wall_ns"] = exploration.wall.count();
  out["findings"] = ordered_json::array();
  for (const auto& [kind, finding] : exploration.findings) {
    out["findings"].push_back(finding_json(kind_json(kind), finding));
  }
  out["known_issues"] = ordered_json::array();
  for (const auto& [name, sought] : exploration.known_issues) {
    ordered_json issue{{"name", name}, {"kinds", kinds_json(sought.kinds)}};
    if (!sought.references.empty()) issue["references"] = sought.references;
    out["known_issues"].push_back(finding_json(std::move(issue), sought.met));
  }
  out["coverage"] = exploration.coverage;
  out["faults"] = ordered_json::object();
  for (const auto& [word, count] : exploration.faults) {
    out["faults"][word] = {{"happened", count.happened}, {"felt", count.felt}};
  }
  out["accounts"] = accounts_json(exploration.accounts);
  return out.dump(2) + "\n";
}

Exploration load_exploration(std::string_view text, const std::string& source) {
  const ordered_json json = scenario::parse_json(text, source);
  const Place top(json, "", source);
  top.object({"version", "space", "shards", "worlds", "broken", "determinism_checks",
              "determinism_failures", "cut", "not_begun", "events", "digest", "wall_ns", "findings",
              "known_issues", "coverage", "faults", "accounts"});
  if (top.at("version").unsigned_integer() != 1) top.at("version").refuse_value("1");
  Exploration out;
  out.space = top.at("space").text();
  for (const Place& item : top.at("shards").items()) out.shards.push_back(shard_at(item));
  out.worlds = top.at("worlds").unsigned_integer();
  out.broken = top.at("broken").unsigned_integer();
  out.determinism_checks = top.at("determinism_checks").unsigned_integer();
  out.determinism_failures = top.at("determinism_failures").unsigned_integer();
  out.cut = top.at("cut").unsigned_integer();
  if (top.has("not_begun")) out.not_begun = top.at("not_begun").unsigned_integer();
  out.events = top.at("events").unsigned_integer();
  const auto digest = Digest::from_hex(top.at("digest").text());
  if (!digest) top.at("digest").refuse_value("32 hexadecimal digits");
  out.digest = *digest;
  out.wall = std::chrono::nanoseconds(top.at("wall_ns").integer(0, INT64_MAX));
  for (const Place& item : top.at("findings").items()) {
    item.object({"invariant", "cause", "limit", "worlds", "first_seed", "reproducer"});
    out.findings[kind_at(item)] = finding_at(item, out.worlds);
  }
  for (const Place& item : top.at("known_issues").items()) {
    item.object({"name", "kinds", "references", "worlds", "first_seed", "reproducer"});
    std::vector<std::string> references;
    if (item.has("references")) {
      for (const Place& each : item.at("references").items()) references.push_back(each.text());
    }
    KnownIssueCount& issue = out.known_issues[item.at("name").text()];
    issue.kinds = kinds_at(item.at("kinds"));
    issue.met = finding_at(item, out.worlds);
    issue.references = std::move(references);
  }
  for (const auto& [name, count] : top.at("coverage").members()) {
    out.coverage[name] = count.unsigned_integer();
  }
  for (const auto& [word, count] : top.at("faults").members()) {
    count.object({"happened", "felt"});
    out.faults[word] = {count.at("happened").unsigned_integer(),
                        count.at("felt").unsigned_integer()};
  }
  out.accounts = accounts_at(top.at("accounts"));
  return out;
}

std::string write_world(const WorldResult& world) {
  ordered_json out{{"seed", world.seed},
                   {"kinds", kinds_json(world.kinds)},
                   {"coverage", world.coverage},
                   {"faults", ordered_json::array()},
                   {"events", world.events},
                   {"wall_ns", world.wall.count()},
                   {"determinism_check", world.determinism_check},
                   {"determinism_failures", world.determinism_failures},
                   {"cut", world.cut},
                   {"hash", world.hash}};
  for (const WorldResult::Fault& fault : world.faults) {
    out["faults"].push_back({{"word", fault.word}, {"felt", fault.felt}});
  }
  out["accounts"] = account_rows(world.accounts);
  return out.dump();
}

WorldResult load_world(std::string_view line, const std::string& source) {
  const ordered_json json = scenario::parse_json(line, source);
  const Place top(json, "", source);
  top.object({"seed", "kinds", "coverage", "faults", "events", "wall_ns", "determinism_check",
              "determinism_failures", "cut", "hash", "accounts"});
  WorldResult out;
  out.seed = top.at("seed").unsigned_integer();
  out.kinds = kinds_at(top.at("kinds"));
  for (const Place& item : top.at("coverage").items()) out.coverage.push_back(item.text());
  for (const Place& item : top.at("faults").items()) {
    out.faults.push_back({item.at("word").text(), item.at("felt").truth()});
  }
  out.events = top.at("events").unsigned_integer();
  out.wall = std::chrono::nanoseconds(top.at("wall_ns").integer(0, INT64_MAX));
  out.determinism_check = top.at("determinism_check").truth();
  out.determinism_failures = top.at("determinism_failures").truth();
  out.cut = top.at("cut").truth();
  out.hash = top.at("hash").text();
  out.accounts = accounts_in_rows(top.at("accounts"));
  return out;
}

}  // namespace hooke::hunt
