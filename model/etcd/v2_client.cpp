// Forms on the way there, JSON on the way back.
#include "model/etcd/v2_client.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "model/etcd/json_text.h"
#include "model/store/base64.h"
#include "model/store/stored_text.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

using nlohmann::json;

std::string target_of(const std::string& path) {
  HOOKE_CHECK(!path.empty(), "a key has a name");
  // A missing slash is added, as python-etcd does (client.py:_sanitize_key).
  const char* const slash = path.starts_with('/') ? "" : "/";
  return "/v2/keys" + (slash + percent_encoded(path, "/=+:@,;!$&'()*"));
}

void add(std::string& form, std::string_view name, std::string_view value) {
  form.append(form.empty() ? "" : "&").append(name).append("=");
  append_percent_encoded(form, value, "");
}

[[noreturn]] void no_etcd(const std::string& what) {
  throw EtcdConnectionError("the answer is not etcd's: " + what, true);
}

std::uint64_t index_of(const HttpResponse& response) {
  const std::string* const text = response.header("x-etcd-index");
  std::uint64_t index = 0;
  if (text != nullptr) std::from_chars(text->data(), text->data() + text->size(), index);
  return index;
}

EtcdV2Node node_of(const json& document) {
  EtcdV2Node node;
  node.key = document.value("key", "");
  node.value = document.value("value", "");
  node.is_directory = document.value("dir", false);
  node.modified_index = document.value("modifiedIndex", std::uint64_t{0});
  node.created_index = document.value("createdIndex", std::uint64_t{0});
  return node;
}

/// Everything below a directory; the answer may be nested as deep as its writer likes.
std::shared_ptr<const std::vector<EtcdV2Node>> nodes_below(const json& directory) {
  auto out = std::make_shared<std::vector<EtcdV2Node>>();
  std::vector<const json*> directories{&directory};
  while (!directories.empty()) {
    const json& next = *directories.back();
    directories.pop_back();
    const auto children = next.find("nodes");
    if (children == next.end()) continue;
    for (const json& child : *children) {
      out->push_back(node_of(child));
      directories.push_back(&child);
    }
  }
  return out;
}

/// How a refusal is told. Whether the request was sent before without an answer, and whether etcd's
/// members must agree on the answer.
struct Asked {
  bool in_doubt = false;
  bool by_quorum = false;
};

[[noreturn]] void refused(int code, const std::string& what, const Asked& asked) {
  if (asked.by_quorum && code == EtcdV2Client::kNoAgreement) throw EtcdConnectionError(what, true);
  throw EtcdError(code, what, asked.in_doubt);
}

EtcdV2Said said_in(const HttpResponse& response) {
  const json document = json_or_discarded(response.text());
  if (!document.is_object()) {
    no_etcd("HTTP status " + std::to_string(response.status) + ", and no JSON object");
  }
  try {
    if (document.contains("errorCode")) {
      return {{},
              document["errorCode"].get<int>(),
              "etcd: " + document.value("message", "") + " (" + document.value("cause", "") + ")"};
    }
    if (response.status == 401 || response.status == 403) {
      return {{}, response.status, "etcd: " + document.value("message", "not allowed")};
    }
    if (!document.contains("node")) no_etcd("no node in it");
    const json& node = document["node"];
    return {{node_of(node), nodes_below(node)}};
  } catch (const json::exception& error) {
    no_etcd(error.what());
  }
}

EtcdV2Answer without_index(const EtcdV2Said& said, const Asked& asked) {
  if (said.refusal) refused(*said.refusal, said.why, asked);
  return said.answer;
}

/// A server in the same program tells many clients the same: its text is understood once. Null where
/// it does not come from there.
const EtcdV2Said* kept_in(const HttpResponse& response) {
  const sim::Payload* const whole = response.whole.payload().get();
  const auto* const kept = dynamic_cast<const StoredText*>(whole);
  if (kept == nullptr) return nullptr;
  std::shared_ptr<const void>& reading = kept->reading(StoredText::kAsEtcdAnswer);
  if (reading == nullptr) reading = std::make_shared<const EtcdV2Said>(said_in(response));
  return static_cast<const EtcdV2Said*>(reading.get());
}

EtcdV2Answer answer_of(const HttpResponse& response, const Asked& asked) {
  EtcdV2Answer out;
  const sim::Payload* const whole = response.whole.payload().get();
  if (const auto* const told = dynamic_cast<const EtcdV2NodeText*>(whole)) {
    out.node = told->node();
  } else if (const EtcdV2Said* const kept = kept_in(response)) {
    out = without_index(*kept, asked);
  } else {
    out = without_index(said_in(response), asked);
  }
  out.index = index_of(response);
  return out;
}

EtcdOptions of_main_thread(EtcdOptions options, sim::FiberId fiber) {
  options.server.main_thread = fiber;
  return options;
}

}  // namespace

const std::vector<EtcdV2Node>& EtcdV2Answer::below() const {
  static const std::vector<EtcdV2Node> kNone;
  return listed == nullptr ? kNone : *listed;
}

EtcdV2Client::EtcdV2Client(sim::Ports& ports, EtcdOptions options)
    : options_(of_main_thread(std::move(options), ports.executor.ticket().fiber)),
      members_(options_.v2_members(ports, options_.server)) {
  HOOKE_CHECK(members_ != nullptr, "a client has members to ask");
  members_->learn(request("GET", "/v2/machines"), options_.read_timeout);
}

EtcdV2Answer EtcdV2Client::get(const std::string& path) {
  return answer(get_request(path));
}

bool EtcdV2Client::has(const std::string& path) {
  const EtcdV2Members::Answer answer = members_->exchange(get_request(path), options_.read_timeout);
  const EtcdV2Said* const kept = kept_in(answer.response);
  if (kept != nullptr && kept->refusal == kKeyNotFound) return false;
  try {
    static_cast<void>(answer_of(answer.response, {answer.in_doubt, options_.by_quorum}));
    return true;
  } catch (const EtcdError& error) {
    if (error.code() != kKeyNotFound) throw;
    return false;
  }
}

EtcdV2Answer EtcdV2Client::list(const std::string& path) {
  const char* const how = options_.by_quorum ? "&quorum=true" : "";
  return answer(request("GET", target_of(path) + "?recursive=true" + how));
}

EtcdV2Answer EtcdV2Client::put(const std::string& path, const EtcdV2Write& write) {
  HOOKE_CHECK(!write.refresh || !write.value, "a refresh leaves the value as it is");
  HOOKE_CHECK(!write.directory || !write.value, "a directory has no value");
  HOOKE_CHECK(!write.ttl_seconds || *write.ttl_seconds > 0, "what lives for a time lives on");
  std::string form;
  if (write.value) add(form, "value", *write.value);
  if (write.directory) add(form, "dir", "true");
  if (write.refresh) add(form, "refresh", "true");
  if (write.ttl_seconds) add(form, "ttl", std::to_string(*write.ttl_seconds));
  if (write.previous_exists) add(form, "prevExist", *write.previous_exists ? "true" : "false");
  if (write.previous_value) add(form, "prevValue", *write.previous_value);
  if (write.previous_index) add(form, "prevIndex", std::to_string(*write.previous_index));
  return answer(request("PUT", target_of(path), std::move(form)));
}

void EtcdV2Client::compare_and_delete(const std::string& path, const std::string& value) {
  static_cast<void>(
      answer(request("DELETE", target_of(path) + "?prevValue=" + percent_encoded(value, ""))));
}

std::optional<EtcdV2Answer> EtcdV2Client::watch(const std::string& path,
                                                std::optional<std::uint64_t> index,
                                                sim::MonotonicTime deadline) {
  std::string target = target_of(path) + "?wait=true&recursive=true";
  if (index) target += "&waitIndex=" + std::to_string(*index);
  const auto response = members_->watch(request("GET", target), deadline);
  if (!response) return std::nullopt;
  return answer_of(*response, {});
}

HttpRequest EtcdV2Client::get_request(const std::string& path) const {
  return request("GET", target_of(path) + (options_.by_quorum ? "?quorum=true" : ""));
}

HttpRequest EtcdV2Client::request(const std::string& method, const std::string& target,
                                  std::string form) const {
  HOOKE_CHECK(form.empty() || method == "PUT", "only what is put has a form");
  HOOKE_CHECK(target.starts_with("/v2/"), "what is asked for is of the v2 API");
  HttpRequest request{method, target, std::move(form), "", ""};
  if (!request.body.empty()) request.content_type = "application/x-www-form-urlencoded";
  if (!options_.user.empty()) {
    const sim::Value pair(options_.user + ":" + options_.password);
    request.authorization = "Basic " + base64_encode(pair).bytes();
  }
  return request;
}

EtcdV2Answer EtcdV2Client::answer(const HttpRequest& request) {
  const EtcdV2Members::Answer answer = members_->exchange(request, options_.read_timeout);
  return answer_of(answer.response, {answer.in_doubt, options_.by_quorum});
}

}  // namespace hooke::model
