#include "model/etcd/v2_answers.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/etcd/json_text.h"
#include "model/etcd/v2_client.h"
#include "model/store/stored_text.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// The root is told without its name.
EtcdV2Node said_of(const std::string& key, const EtcdV2Tree::Node& node) {
  return {key == "/" ? "" : key, node.value,   node.is_directory,
          node.modified,         node.created, node.shared};
}

/// What a client makes of the listing of `key`, a directory: parents before what is in them, the
/// last directory first. Null where bytes that are no ASCII leave it to a parser.
std::shared_ptr<const EtcdV2Said> reading_of(const EtcdV2Tree& tree, const std::string& key,
                                             bool recursive) {
  auto nodes = std::make_shared<std::vector<EtcdV2Node>>();
  std::vector<std::string> directories{key};
  while (!directories.empty()) {
    const std::string next = std::move(directories.back());
    directories.pop_back();
    for (const auto& [path, node] : tree.listed(next)) {
      if (!is_ascii(path) || !is_ascii(node.value)) return nullptr;
      nodes->push_back(said_of(path, node));
      if (recursive && node.is_directory) directories.push_back(path);
    }
  }
  if (!is_ascii(key)) return nullptr;
  HOOKE_CHECK(tree.find(key) != nullptr, "a directory that is listed is there");
  return std::make_shared<const EtcdV2Said>(
      EtcdV2Said{{said_of(key, *tree.find(key)), std::move(nodes)}});
}

/// As told_with(), of an answer to a GET.
sim::Value told_listed(std::string text, const EtcdV2Tree& tree, const std::string& key,
                       bool recursive) {
  const EtcdV2Tree::Node* const node = tree.find(key);
  if (node == nullptr || !node->is_directory) return told_with(std::move(text), tree, key);
  auto told = std::make_shared<StoredText>(std::move(text));
  told->reading(StoredText::kAsEtcdAnswer) = reading_of(tree, key, recursive);
  return sim::Value(std::move(told));
}

}  // namespace

sim::Value told_with(std::string text, const EtcdV2Tree& tree, const std::string& key) {
  const EtcdV2Tree::Node* const node = tree.find(key);
  if (node == nullptr) return sim::Value(std::move(text));
  if (node->is_directory) return sim::Value(std::make_shared<StoredText>(std::move(text)));
  EtcdV2Node said{key, node->value, false, node->modified, node->created, node->shared};
  return sim::Value(std::make_shared<EtcdV2NodeText>(std::move(text), std::move(said)));
}

sim::Value told_refusal(const EtcdV2Refusal& refusal, std::uint64_t index) {
  const nlohmann::ordered_json body{{"errorCode", refusal.code},
                                    {"message", refusal.message},
                                    {"cause", refusal.cause},
                                    {"index", index}};
  return sim::Value(std::make_shared<StoredText>(json_text(body) + "\n"));
}

const HttpHeaders& EtcdV2Answers::headers(std::uint64_t index) {
  if (headers_.empty() || headers_at_ != index) {
    const std::string text = std::to_string(index);
    headers_ = {{"X-Etcd-Index", text}, {"X-Raft-Index", text}, {"X-Raft-Term", "2"}};
    headers_at_ = index;
  }
  return headers_;
}

const EtcdV2Answers::Answer& EtcdV2Answers::get(const EtcdV2Tree& tree, const std::string& key,
                                                bool recursive, sim::MonotonicTime now) {
  HOOKE_CHECK(index_ <= tree.index(), "the index of a tree grows");
  if (std::exchange(index_, tree.index()) != tree.index()) told_.clear();
  Told& told = told_[{key, recursive}];
  if (told.answer.status != 0 && now < told.until) return told.answer;
  if (tree.find(key) == nullptr) {
    const EtcdV2Refusal refusal = tree.refusal_of(key);
    told = {{refusal.status, told_refusal(refusal, index_)}, sim::MonotonicTime::max()};
    return told.answer;
  }
  EtcdV2Tree::Said said = tree.get(key, recursive);
  HOOKE_CHECK(now < said.until, "an answer is true when it is made");
  told = {{200, told_listed(std::move(said.text), tree, key, recursive)}, said.until};
  return told.answer;
}

}  // namespace hooke::model
