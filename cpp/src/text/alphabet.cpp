#include "sentencode/text/alphabet.h"

#include "sentencode/error.h"
#include "sentencode/text/utf8.h"

namespace sentencode {

Alphabet::Alphabet(std::string_view characters) {
  while (!characters.empty()) {
    const CodePoint next = decode_utf8(characters);
    ST_CHECK(next.valid(), InvalidInput, "alphabet: not UTF-8");
    ST_CHECK(ids_.emplace(next.code, size()).second, InvalidInput, "alphabet: '",
             characters.substr(0, next.length), "' occurs twice");
    characters.remove_prefix(next.length);
  }
}

void Alphabet::operator()(std::string_view word, std::span<std::int64_t> ids) const {
  for (std::int64_t& id : ids) {
    id = kNone;
    if (word.empty()) continue;
    const CodePoint next = decode_utf8(word);
    const auto entry = ids_.find(next.code);
    id = entry == ids_.end() ? kUnknown : entry->second;
    word.remove_prefix(next.length);
  }
}

}  // namespace sentencode
