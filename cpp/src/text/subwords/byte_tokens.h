#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "text/subwords/model.h"

namespace sentencode {

/// The tokens <0x00> to <0xFF>, which stand for the bytes of unknown text ("byte fallback").
class ByteTokens {
 public:
  ByteTokens() { ids_.fill(-1); }
  explicit ByteTokens(const SubwordVocabulary& vocabulary) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    for (std::size_t byte = 0; byte < ids_.size(); ++byte) {
      const char token[] = {'<', '0', 'x', kDigits[byte / 16], kDigits[byte % 16], '>'};
      ids_[byte] = vocabulary.id({token, sizeof token});
    }
  }

  std::int32_t operator[](char byte) const { return ids_[static_cast<unsigned char>(byte)]; }
  bool has_all(std::string_view text) const {
    return std::ranges::all_of(text, [&](char byte) { return (*this)[byte] >= 0; });
  }

 private:
  std::array<std::int32_t, 256> ids_;
};

}  // namespace sentencode
