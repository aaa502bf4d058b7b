#include "model/etcd/v2_answers.h"

#include <memory>

#include "model/etcd/v2_client.h"
#include "model/store/stored_text.h"
#include "sim/port/check.h"

namespace hooke::model {

sim::Value told_with(std::string text, const EtcdV2Tree& tree, const std::string& key) {
  const EtcdV2Tree::Node* const node = tree.find(key);
  if (node == nullptr) return sim::Value(std::move(text));
  if (node->is_directory) return sim::Value(std::make_shared<StoredText>(std::move(text)));
  EtcdV2Node said{key, node->value, false, node->modified, node->created, node->shared};
  return sim::Value(std::make_shared<EtcdV2NodeText>(std::move(text), std::move(said)));
}

const sim::Value& EtcdV2Answers::get(const EtcdV2Tree& tree, const std::string& key, bool recursive,
                                     sim::MonotonicTime now) {
  if (std::exchange(index_, tree.index()) != tree.index()) told_.clear();
  const auto kept = told_.find({key, recursive});
  if (kept != told_.end() && now < kept->second.until) return kept->second.body;
  EtcdV2Tree::Said said = tree.get(key, recursive);
  HOOKE_CHECK(now < said.until, "an answer is true when it is made");
  Told& told = told_[{key, recursive}];
  told = {told_with(std::move(said.text), tree, key), said.until};
  return told.body;
}

}  // namespace hooke::model
