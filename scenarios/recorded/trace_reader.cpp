// Lines are read with a limit, so that a file without any newline is no burden.
#include "scenarios/recorded/trace_reader.h"

#include <cerrno>
#include <filesystem>

#include "scenarios/format/json_reader.h"

namespace hooke::scenario {
namespace {

constexpr std::string_view kEndType = "trace.ended";

/// nullopt: an event stands there.
std::optional<sim::WorldTime> trace_end_from(const std::string& line, const std::string& source) {
  if (line.find(kEndType) == std::string::npos) return std::nullopt;
  const nlohmann::ordered_json document = parse_json(line, source);
  const Place root(document, "", source);
  if (!root.has("type") || root.at("type").json() != kEndType) return std::nullopt;
  root.object({"type", "at_ns"});
  return sim::WorldTime(sim::Duration(root.at("at_ns").integer(0, kTraceNumberMax)));
}

}  // namespace

TraceReader::TraceReader(std::string path) : path_(std::move(path)) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path_, ignored)) {
    throw ScenarioError(path_ + ": expected a trace file, got a directory");
  }
  in_.open(path_, std::ios::binary);
  if (!in_) refuse_unopened(path_, errno);
}

std::string TraceReader::place() const {
  return path_ + ": line " + std::to_string(line_);
}

bool TraceReader::read_line(std::string& line) {
  line.clear();
  std::streambuf& bytes = *in_.rdbuf();
  int c = bytes.sbumpc();
  if (c == EOF) return false;
  ++line_;
  for (; c != EOF && c != '\n'; c = bytes.sbumpc()) {
    if (line.size() == kTraceLineBytesMax) {
      throw ScenarioError(place() + ": expected an event in at most " +
                          std::to_string(kTraceLineBytesMax) + " bytes, got a longer line");
    }
    line += static_cast<char>(c);
  }
  whole_ = c == '\n';
  return true;
}

std::optional<TraceLine> TraceReader::next() {
  std::string line;
  if (!read_line(line)) return std::nullopt;
  if (end_) throw ScenarioError(place() + ": expected no line after the end of a trace, got one");
  end_ = trace_end_from(line, place());
  if (end_) return next();
  if (whole_) return read_trace_line(line, place());
  try {
    return read_trace_line(line, place());
  } catch (const ScenarioError&) {
    cut_off_ = true;
    return std::nullopt;
  }
}

}  // namespace hooke::scenario
