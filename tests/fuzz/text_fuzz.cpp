// Tokens are UTF-8 and never empty, every tokenizer takes every text, and lower-casing first or last cuts
// alike at white space. Sentences are pieces of their text, in order, and lose nothing but white space.
#include <string>
#include <string_view>

#include "fuzz.h"
#include "sentencode/error.h"
#include "sentencode/text/corpus.h"
#include "sentencode/text/tokenizer.h"
#include "sentencode/text/utf8.h"

namespace {

using namespace sentencode;

bool is_blank(std::string_view text) {
  while (!text.empty()) {
    const std::size_t space = whitespace_length(text);
    if (space == 0) return false;
    text.remove_prefix(space);
  }
  return true;
}

void check_tokens(std::string_view text, const Tokenizer& tokenizer) {
  Tokens tokens;
  try {
    tokenizer(text, tokens);
  } catch (const InvalidInput&) {
    FUZZ_REQUIRE(tokenizer.invalid == InvalidUtf8::refuse);
    FUZZ_REQUIRE(find_invalid_utf8(text) != std::string_view::npos);
    return;
  }
  std::size_t bytes = 0;
  for (const std::string_view token : tokens.views()) {
    FUZZ_REQUIRE(!token.empty());
    FUZZ_REQUIRE(find_invalid_utf8(token) == std::string_view::npos);
    FUZZ_REQUIRE(tokenizer.split != Split::whitespace || whitespace_length(token) == 0);
    bytes += token.size();
  }
  // What is cut is not made up: at most a bad byte becomes three, a letter's lower case one byte more.
  FUZZ_REQUIRE(bytes <= lowercase_bound(repair_utf8(text).size()));
}

void check_sentences(std::string_view text) {
  const char* end = text.data();
  for (const std::string_view sentence : split_sentences(text)) {
    FUZZ_REQUIRE(!is_blank(sentence));
    FUZZ_REQUIRE(sentence.data() >= end && sentence.data() + sentence.size() <= text.data() + text.size());
    FUZZ_REQUIRE(is_blank({end, static_cast<std::size_t>(sentence.data() - end)}));
    end = sentence.data() + sentence.size();
  }
  FUZZ_REQUIRE(is_blank({end, static_cast<std::size_t>(text.data() + text.size() - end)}));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const Split split : {Split::whitespace, Split::words, Split::punctuation}) {
    for (const bool lowercase : {false, true}) {
      for (const InvalidUtf8 invalid : {InvalidUtf8::replace, InvalidUtf8::refuse}) {
        check_tokens(text, {.split = split, .lowercase = lowercase, .invalid = invalid});
      }
    }
  }
  check_sentences(text);
  return 0;
}
