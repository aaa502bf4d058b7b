#pragma once
// A setting that is one of a few words may be written in any case and with blanks around it.

#include <algorithm>
#include <string>

namespace hooke::model {

/// Python's strip() and lower(), of ASCII (etcd_rendezvous_backend.py:_create_etcd_client,
/// c10d_rendezvous_backend.py:create_backend).
inline std::string setting_word(std::string text) {
  constexpr const char* kBlank = " \t\n\r\f\v\x1c\x1d\x1e\x1f";
  text.erase(text.find_last_not_of(kBlank) + 1);
  text.erase(0, text.find_first_not_of(kBlank));
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

}  // namespace hooke::model
