#pragma once
// Replaceable parts by name, as rendezvous backends are (RendezvousRegistry): a project registers
// its own beside the built-in ones, and scenarios and command lines choose among them.

#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "model/plugin/plugin_choice.h"

namespace hooke::model {

/// Makes a Product from the options of a choice.
template <class Product>
class Registry {
 public:
  /// Options that mean nothing: std::invalid_argument.
  using Creator = std::function<std::unique_ptr<Product>(const PluginChoice&)>;

  /// `kind`: what a message calls the products ("restart policy").
  explicit Registry(std::string kind) : kind_(std::move(kind)) {}

  /// Empty or taken name, or one with a colon in it: std::invalid_argument.
  void add(std::string name, Creator creator) {
    if (name.empty() || name.find(':') != std::string::npos) {
      throw std::invalid_argument("the name of a " + kind_ +
                                  " must be a non-empty text without a colon");
    }
    if (!creators_.emplace(name, std::move(creator)).second) {
      throw std::invalid_argument("a " + kind_ + " named \"" + name + "\" is registered already");
    }
  }

  /// Unknown name: std::invalid_argument with those that are known; also what the creator refuses.
  /// std::runtime_error for a creator that makes nothing.
  std::unique_ptr<Product> create(const PluginChoice& choice) const {
    const auto found = creators_.find(choice.name);
    if (found == creators_.end()) {
      std::string known;
      for (const std::string& each : names()) known += (known.empty() ? "" : ", ") + each;
      throw std::invalid_argument("the " + kind_ + " " + quoted_name(choice.name) +
                                  " is not registered; known are " + known);
    }
    std::unique_ptr<Product> product = found->second(choice);
    if (product == nullptr) {
      throw std::runtime_error("the " + kind_ + " \"" + choice.name + "\" made nothing");
    }
    return product;
  }

  /// In alphabetical order.
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& [name, creator] : creators_) out.push_back(name);
    return out;
  }

 private:
  std::string kind_;
  std::map<std::string, Creator> creators_;
};

}  // namespace hooke::model
