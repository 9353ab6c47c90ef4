#include "text/subwords/added_tokens.h"

#include <algorithm>
#include <utility>

#include "sentencode/error.h"
#include "sentencode/text/utf8.h"
#include "text/subwords/json_fields.h"
#include "text/subwords/unicode.h"

namespace sentencode {
namespace {

std::size_t index_of(char byte) { return static_cast<unsigned char>(byte); }

/// Position of the character that ends at `end`.
std::size_t previous(std::string_view text, std::size_t end) {
  do {
    --end;
  } while (end > 0 && (index_of(text[end]) & 0xC0) == 0x80);
  return end;
}

bool is_at(std::string_view text, std::size_t at, unicode::Set set) {
  return unicode::is(decode_utf8(text.substr(at)).code, set);
}

}  // namespace

void AddedTokens::add(AddedToken token, std::string pattern) {
  ST_CHECK(!pattern.empty(), Unsupported, "tokenizer.json: the added token '", token.content,
           "' is empty after normalisation");
  ST_CHECK(pattern.size() <= kLongestToken, Unsupported, "tokenizer.json: an added token has ",
           pattern.size(), " bytes; expected at most ", kLongestToken);
  bool space = token.lstrip || token.rstrip;
  for (std::size_t at = 0; space && at < pattern.size();
       at += decode_utf8(std::string_view(pattern).substr(at)).length) {
    space = is_at(pattern, at, unicode::kSpace);
  }
  ST_CHECK(!space, Unsupported, "tokenizer.json: the added token '", token.content,
           "' is white space and strips more around it");
  const auto at = std::ranges::lower_bound(patterns_, pattern);
  ST_CHECK(at == patterns_.end() || *at != pattern, Unsupported, "tokenizer.json: the added token '",
           token.content, "' equals another after normalisation");
  begin_ = tokens_.empty() || begin_ == static_cast<int>(index_of(pattern.front()))
               ? static_cast<int>(index_of(pattern.front()))
               : -1;
  begins_[index_of(pattern.front())] = true;
  tokens_.insert(tokens_.begin() + (at - patterns_.begin()), std::move(token));
  patterns_.insert(at, std::move(pattern));
}

AddedTokens::Match AddedTokens::find(std::string_view text, std::size_t at) const {
  for (; at < text.size(); ++at) {
    if (begin_ >= 0) {
      at = std::min(text.find(static_cast<char>(begin_), at), text.size());
      if (at == text.size()) break;
    } else if (!begins_[index_of(text[at])]) {
      continue;
    }
    // Patterns [first, last) begin with the bytes of the text up to `end`; the shortest is the first.
    Match longest;
    auto first = patterns_.begin(), last = patterns_.end();
    for (std::size_t end = at; end < text.size() && first != last;) {
      const std::size_t size = end - at;
      const auto byte = [size](const std::string& pattern) { return index_of(pattern[size]); };
      const auto same = std::ranges::equal_range(first, last, index_of(text[end]), {}, byte);
      first = same.begin();
      last = same.end();
      ++end;
      if (first != last && first->size() == size + 1) {
        longest = {at, end, &tokens_[static_cast<std::size_t>(first - patterns_.begin())]};
        ++first;
      }
    }
    if (longest.token != nullptr) return longest;
  }
  return {};
}

void AddedTokens::split(std::string_view text, std::vector<Part>& parts) const {
  parts.clear();
  std::size_t begin = 0;      // of the text after the last token
  std::size_t space_end = 0;  // of the last white space that was stripped
  for (Match match = find(text, 0); match.token != nullptr; match = find(text, match.end)) {
    const AddedToken& token = *match.token;
    const bool inside_word = (match.begin > 0 && is_at(text, previous(text, match.begin), unicode::kWord)) ||
                             (match.end < text.size() && is_at(text, match.end, unicode::kWord));
    if (token.single_word && inside_word) continue;
    std::size_t first = match.begin, last = match.end;
    while (token.lstrip && first > begin && is_at(text, previous(text, first), unicode::kSpace)) {
      first = previous(text, first);
    }
    if (token.lstrip) first = std::max(first, begin);
    if (token.rstrip) {
      last = std::max(last, space_end);
      while (last < text.size() && is_at(text, last, unicode::kSpace)) {
        last += decode_utf8(text.substr(last)).length;
      }
      space_end = last;
    }
    if (begin < first) parts.push_back({begin, first, -1});
    parts.push_back({first, last, token.id});
    begin = last;
  }
  if (begin != text.size()) parts.push_back({begin, text.size(), -1});
}

}  // namespace sentencode
