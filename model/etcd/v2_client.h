#pragma once
// etcd's v2 API: a tree of directories and text values, with indices as fences. PyTorch speaks it
// through python-etcd.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/etcd/cluster.h"

namespace hooke::model {

/// A key or a directory as etcd describes it.
struct EtcdV2Node {
  std::string key;  ///< whole path
  std::string value;
  bool is_directory = false;
  std::uint64_t modified_index = 0;
  std::uint64_t created_index = 0;
  /// `value` as all its readers share it (stored_text.h); empty where it came as mere bytes.
  sim::Value shared{};
};

/// An answer about one key, as a text that its reader in the same program need not parse.
class EtcdV2NodeText final : public sim::Payload {
 public:
  /// `text` says just what `node` says.
  EtcdV2NodeText(std::string text, EtcdV2Node node)
      : text_(std::move(text)), node_(std::move(node)) {}
  [[nodiscard]] std::size_t size() const override { return text_.size(); }
  [[nodiscard]] const std::string& bytes() const override { return text_; }
  [[nodiscard]] const EtcdV2Node& node() const { return node_; }

 private:
  std::string text_;
  EtcdV2Node node_;
};

struct EtcdV2Answer {
  EtcdV2Node node;
  /// What below() says; null: nothing. Clients that are told the same share it.
  std::shared_ptr<const std::vector<EtcdV2Node>> listed{};
  std::uint64_t index = 0;  ///< of the whole store, X-Etcd-Index
  /// All keys and directories below `node`, when it was listed.
  [[nodiscard]] const std::vector<EtcdV2Node>& below() const;
};

/// What a text from etcd says (StoredText::kAsEtcdAnswer).
struct EtcdV2Said {
  EtcdV2Answer answer{};         ///< without its index
  std::optional<int> refusal{};  ///< its code; nullopt: it is an answer
  std::string why{};             ///< of the refusal
};

/// A write and the conditions under which it happens.
struct EtcdV2Write {
  std::optional<std::string> value = std::nullopt;
  bool directory = false;
  /// Only renews the life of what is there, and no watch hears of it.
  bool refresh = false;
  std::optional<std::int64_t> ttl_seconds = std::nullopt;
  std::optional<bool> previous_exists = std::nullopt;
  std::optional<std::string> previous_value = std::nullopt;
  std::optional<std::uint64_t> previous_index = std::nullopt;
};

class EtcdV2Client {
 public:
  static constexpr int kKeyNotFound = 100;
  static constexpr int kCompareFailed = 101;
  static constexpr int kExists = 105;
  static constexpr int kNoAgreement = 300;
  static constexpr int kIndexCleared = 401;

  /// Asks for the cluster's members. The calling fiber stands for Python's main thread: as
  /// python-etcd is not deaf, a caught signal is raised out of every call in it (SignalException),
  /// unless the server is interruptible. EtcdConnectionError.
  EtcdV2Client(sim::Ports& ports, EtcdOptions options);
  /// From now on no answer is waited for longer than this.
  void set_read_timeout(sim::Duration timeout) {
    options_.read_timeout = std::min(options_.read_timeout, timeout);
  }

  // All throw EtcdError for what etcd refuses and EtcdConnectionError otherwise. A path begins with
  // "/" and is escaped here.

  EtcdV2Answer get(const std::string& path);
  /// The same question, where nothing but the answer "no such key" is of interest.
  bool has(const std::string& path);
  /// A directory with everything below it.
  EtcdV2Answer list(const std::string& path);
  /// Unknown outcomes are the caller's to find out.
  EtcdV2Answer put(const std::string& path, const EtcdV2Write& write);
  /// Deletes a key that has that value: kCompareFailed, kKeyNotFound.
  void compare_and_delete(const std::string& path, const std::string& value);
  /// The first change at or below `path` since `index`; nullopt when none comes until `deadline`.
  /// EtcdError kIndexCleared when etcd has forgotten that far back; EtcdConnectionError for a poll
  /// that etcd ends without a word, of which python-etcd says that it is no JSON.
  std::optional<EtcdV2Answer> watch(const std::string& path, std::optional<std::uint64_t> index,
                                    sim::MonotonicTime deadline);

 private:
  [[nodiscard]] HttpRequest get_request(const std::string& path) const;
  [[nodiscard]] HttpRequest request(const std::string& method, const std::string& target,
                                    std::string form = "") const;
  EtcdV2Answer answer(const HttpRequest& request);

  EtcdOptions options_;
  std::unique_ptr<EtcdV2Members> members_;
};

}  // namespace hooke::model
