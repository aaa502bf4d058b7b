// Messages take milliseconds and lie minutes apart, so columns are moments in their order and not to
// scale; each has its time below it.
#include "reports/page/space_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "reports/explanation.h"
#include "reports/page/markup.h"
#include "reports/page/tables.h"
#include "reports/text.h"

namespace hooke::report {
namespace {

constexpr std::size_t kRowsMost = 40;
constexpr int kColumnPx = 30, kRowPx = 34, kTopPx = 22, kTimesPx = 78;

class Diagram {
 public:
  Diagram(const RunRecord& record, const std::vector<properties::Violation>& violations) {
    for (const Message& message : record.store().messages()) {
      if (!place(message.from) || !place(message.to)) continue;
      messages_.push_back(&message);
      columns_.emplace(message.sent, 0);
      columns_.emplace(message.received, 0);
    }
    if (messages_.empty()) return;
    const sim::WorldTime last = columns_.rbegin()->first;
    char letter = 'A';  // as in the list of faults
    for (const FaultMark& fault : record.faults()) {
      add_line(fault.at, "fault", fault.what, last, std::string(1, letter <= 'Z' ? letter++ : '+'));
    }
    for (const properties::Violation& each : violations) {
      add_line(each.at, "violation", each.invariant + " violated", last, "✗");
    }
    int column = 0;
    for (auto& [at, its_column] : columns_) its_column = column++;
  }

  [[nodiscard]] bool empty() const { return messages_.empty(); }
  [[nodiscard]] std::size_t shown() const { return messages_.size(); }

  void draw(pugi::xml_node part) const {
    pugi::xml_node frame = add_class(part, "div", "space-time");
    pugi::xml_node names = add_class(frame, "div", "rows");
    for (const std::string& node : nodes_) add(names, "span", {{"title", node}}, node);
    pugi::xml_node scroll = add(frame, "div",
                                {{"class", "scroll"},
                                 {"tabindex", "0"},
                                 {"role", "region"},
                                 {"aria-label", "Messages between nodes, in order of time"}});
    const int width = (static_cast<int>(columns_.size()) + 1) * kColumnPx;
    const int height = kTopPx + static_cast<int>(nodes_.size()) * kRowPx + kTimesPx;
    pugi::xml_node svg = add(scroll, "svg",
                             {{"width", std::to_string(width)},
                              {"height", std::to_string(height)},
                              {"role", "img"},
                              {"aria-label", fmt::format("{} messages between {} nodes",
                                                         messages_.size(), nodes_.size())}});
    for (std::size_t row = 0; row < nodes_.size(); ++row)
      line(svg, "world", 0, y(row), width, y(row));
    draw_lines(svg);
    for (const Message* const message : messages_) draw_message(svg, *message);
    draw_times(svg);
  }

 private:
  struct Line {
    sim::WorldTime at{};
    std::string style, what, label;
  };

  /// Nodes in the order of their first message; false beyond the last row.
  bool place(const std::string& node) {
    if (rows_.contains(node)) return true;
    if (nodes_.size() == kRowsMost) return false;
    rows_[node] = nodes_.size();
    nodes_.push_back(node);
    return true;
  }

  void add_line(sim::WorldTime at, const char* style, const std::string& what, sim::WorldTime last,
                std::string label) {
    constexpr std::size_t kLinesMost = 60;
    if (at > last || lines_.size() == kLinesMost) return;
    columns_.emplace(at, 0);
    lines_.push_back({at, style, what, std::move(label)});
  }

  [[nodiscard]] int x(sim::WorldTime at) const {
    return kColumnPx / 2 + columns_.at(at) * kColumnPx;
  }
  [[nodiscard]] static int y(std::size_t row) {
    return kTopPx + kRowPx / 2 + static_cast<int>(row) * kRowPx;
  }

  static pugi::xml_node line(pugi::xml_node svg, const std::string& style, int x1, int y1, int x2,
                             int y2) {
    return add(svg, "line",
               {{"class", style},
                {"x1", std::to_string(x1)},
                {"y1", std::to_string(y1)},
                {"x2", std::to_string(x2)},
                {"y2", std::to_string(y2)}});
  }

  void draw_lines(pugi::xml_node svg) const {
    for (const Line& each : lines_) {
      const int at = x(each.at);
      pugi::xml_node drawn = line(svg, each.style, at, kTopPx - 8, at,
                                  kTopPx + static_cast<int>(nodes_.size()) * kRowPx);
      add(drawn, "title", {}, fmt::format("{} at {}", each.what, at_text(each.at)));
      add(svg, "text",
          {{"class", each.style}, {"x", std::to_string(at + 3)}, {"y", std::to_string(kTopPx - 8)}},
          each.label);
    }
  }

  void draw_message(pugi::xml_node svg, const Message& message) const {
    const int x1 = x(message.sent), x2 = x(message.received);
    const int y1 = y(rows_.at(message.from)), y2 = y(rows_.at(message.to));
    pugi::xml_node group = add_class(svg, "g", message.by_store ? "message" : "message direct");
    add(group, "title", {},
        fmt::format("{} to {}: {}; {}, known at {}", message.from, message.to, message.what,
                    at_text(message.sent), at_text(message.received)));
    line(group, "arrow", x1, y1, x2, y2);
    add(group, "circle", {{"cx", std::to_string(x1)}, {"cy", std::to_string(y1)}, {"r", "2.5"}});
    const int back = y2 > y1 ? -7 : 7;
    add(group, "polygon",
        {{"points",
          fmt::format("{},{} {},{} {},{}", x2, y2, x2 - 5, y2 + back, x2 + 2, y2 + back)}});
  }

  /// Upright where there is room for a time at every column.
  void draw_times(pugi::xml_node svg) const {
    const int top = kTopPx + static_cast<int>(nodes_.size()) * kRowPx + 6;
    for (const auto& [at, column] : columns_) {
      const int middle = kColumnPx / 2 + column * kColumnPx + 3;
      add(svg, "text",
          {{"class", "time"},
           {"transform", fmt::format("translate({},{}) rotate(90)", middle, top)}},
          at_text(at));
    }
  }

  std::vector<const Message*> messages_;
  std::map<sim::WorldTime, int> columns_;
  std::map<std::string, std::size_t> rows_;
  std::vector<std::string> nodes_;
  std::vector<Line> lines_;
};

}  // namespace

void add_space_time(pugi::xml_node parent, const RunRecord& record,
                    const std::vector<properties::Violation>& violations) {
  const Diagram diagram(record, violations);
  if (diagram.empty()) return;
  const std::uint64_t all = record.store().message_count();
  pugi::xml_node part = add_part(parent, fmt::format("Messages between nodes ({})", grouped(all)));
  part.append_attribute("id") = "space-time";
  add_class(part, "p", "note",
            "A row for each node, time to the right; columns are in order, not to scale. An arrow "
            "begins where a node wrote into the store, and ends where another first read a state "
            "that holds it; heartbeats are left out. Dashed: the other node waited for it "
            "directly.");
  if (diagram.shown() < all) {
    add_class(part, "p", "note", fmt::format("The first {} of {}.", diagram.shown(), grouped(all)));
  }
  diagram.draw(part);
}

void add_store_states(pugi::xml_node parent, const RunRecord& record) {
  const auto& changes = record.store().changes();
  if (changes.empty()) return;
  const std::uint64_t all = record.store().change_count();
  pugi::xml_node part = add_part(parent, fmt::format("What the store held ({})", grouped(all)));
  part.append_attribute("id") = "store";
  add_class(part, "p", "note", "As the agents' accepted writes made it; heartbeats are left out.");
  if (changes.size() < all) {
    add_class(part, "p", "note", fmt::format("The first {} of {}.", changes.size(), grouped(all)));
  }
  pugi::xml_node table = add_table(part, {"job", "round", "at", "node", "change", "participants",
                                          "wait list", "spare", "state"});
  for (const StoreChange& each : changes) {
    add_row(table, {each.run_id, std::to_string(each.round), at_text(each.at), each.node, each.what,
                    each.members, each.waiting, each.spare, each.status});
  }
}

}  // namespace hooke::report
