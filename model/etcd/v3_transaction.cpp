#include "model/etcd/v3_transaction.h"

#include <memory>
#include <string_view>
#include <utility>
#include <variant>

#include "model/etcd/json_text.h"
#include "model/store/base64.h"
#include "model/store/stored_text.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

constexpr std::int64_t kNever = -1;  ///< no revision is negative

EtcdV3TxnRequest request_of(const EtcdV3Transaction::Put& put) {
  EtcdV3TxnRequest out;
  EtcdV3Compare fence;
  fence.target = EtcdV3Compare::mod;
  fence.key = put.key;
  fence.number = put.revision;
  out.compare.push_back(std::move(fence));
  if (put.there) {
    EtcdV3Compare same;
    same.target = EtcdV3Compare::value;
    same.key = put.key;
    same.bytes = *put.there;
    out.compare.push_back(std::move(same));
  }
  EtcdV3RangeRequest read;
  read.key = put.key;
  out.failure.push_back({std::move(read)});
  out.success.push_back({EtcdV3PutRequest{put.key, put.value, put.lease}});
  return out;
}

}  // namespace

EtcdV3Transaction::EtcdV3Transaction(const Put& put)
    : request_(request_of(put)),
      name_(base64_encode(sim::Value(put.key))),
      value_(base64_encode(put.value)),
      there_(base64_encode(put.there.value_or(sim::Value()))) {
  HOOKE_CHECK(!put.key.empty() && put.lease >= 0, "a transaction is about a key");
  compose([this](const auto& part) { size_ += part.size(); });
}

EtcdV3Transaction::Put EtcdV3Transaction::reading(const std::string& key) {
  return {.key = key, .value = {}, .revision = kNever};
}

bool EtcdV3Transaction::only_reads() const {
  return request_.compare.front().number == kNever;
}

const EtcdV3PutRequest& EtcdV3Transaction::put() const {
  return std::get<EtcdV3PutRequest>(request_.success.front().what);
}

/// Nothing in it has to be escaped.
template <class Take>
void EtcdV3Transaction::compose(Take take) const {
  const auto add = [&take](const auto&... parts) { (take(parts), ...); };
  using Text = std::string_view;
  add(Text(R"({"compare":[{"key":")"), name_, Text(R"(","mod_revision":")"),
      std::to_string(request_.compare.front().number), Text(R"(","target":"MOD"})"));
  if (request_.compare.size() > 1) {
    add(Text(R"(,{"key":")"), name_, Text(R"(","target":"VALUE","value":")"), there_,
        Text(R"("})"));
  }
  add(Text(R"(],"failure":[{"request_range":{"key":")"), name_,
      Text(R"("}}],"success":[{"request_put":{"key":")"), name_);
  if (put().lease != 0) add(Text(R"(","lease":")"), std::to_string(put().lease));
  add(Text(R"(","value":")"), value_, Text(R"("}}]})"));
}

const std::string& EtcdV3Transaction::bytes() const {
  struct Append {
    std::string& out;
    void operator()(std::string_view text) const { out += text; }
    void operator()(const sim::Value& value) const { out += value.bytes(); }
  };
  if (bytes_.empty()) {
    bytes_.reserve(size_);
    compose(Append{bytes_});
  }
  HOOKE_CHECK(bytes_.size() == size_, "a text is as long as was said before it was made");
  return bytes_;
}

sim::Value told_with(const EtcdV3Json& answer, const EtcdV3Transaction& asked,
                     const EtcdV3Keys& keys) {
  EtcdV3TransactionAnswer says{answer.value("succeeded", false), keys.revision()};
  const auto entry = says.succeeded ? std::nullopt : keys.find(asked.key());
  if (entry) says.entry = {entry->value, entry->mod_revision};
  const auto text = std::make_shared<StoredText>(json_text(answer));
  text->reading(StoredText::kAsEtcdTransaction) =
      std::make_shared<const EtcdV3TransactionAnswer>(std::move(says));
  return sim::Value(text);
}

}  // namespace hooke::model
