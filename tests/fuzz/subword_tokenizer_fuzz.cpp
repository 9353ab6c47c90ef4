// Any bytes are a tokenizer.json, a FormatError or Unsupported. A tokenizer takes every text, unless it has
// no unknown token where it needs one. Its ids are in its vocabulary, and limits shorten their list.
#include "sentencode/text/subword_tokenizer.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz.h"
#include "sentencode/error.h"

namespace {

using namespace sentencode;

constexpr std::string_view kTexts[] = {
    "",
    " a  man\tplays [UNK] <s> 3,14 a-b!",
    "\u00C9\u0301a\u0323 \u4E2D\u6587 \uFB01 \u0130 \u2581\u00A0\u200B\uFFFD\u1100\u1161",
    "unaffable unaffable aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
};

std::vector<std::int32_t> ids_of(const SubwordTokenizer& tokenizer, std::string_view text) {
  SubwordTokenizer::Scratch scratch;
  std::vector<std::int32_t> ids;
  tokenizer.encode(text, scratch, ids);
  return ids;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string json(reinterpret_cast<const char*>(data), size);
  std::shared_ptr<const SubwordTokenizer> tokenizer, limited;
  try {
    tokenizer = SubwordTokenizer::from_json(json);
    limited = SubwordTokenizer::from_json(json, {.max_tokens = 2});
  } catch (const FormatError&) {
    return 0;
  } catch (const Unsupported&) {
    return 0;
  }
  FUZZ_REQUIRE(tokenizer->json() == json);
  for (const std::string_view text : kTexts) {
    std::vector<std::int32_t> ids;
    try {
      ids = ids_of(*tokenizer, text);
    } catch (const InvalidInput& error) {
      FUZZ_REQUIRE(std::string_view(error.what()).starts_with("the tokenizer has no token for "));
      continue;
    }
    FUZZ_REQUIRE(
        std::ranges::all_of(ids, [&](std::int32_t id) { return id >= 0 && id < tokenizer->size(); }));
    ids.resize(std::min<std::size_t>(ids.size(), 2));
    FUZZ_REQUIRE(ids_of(*limited, text) == ids);
  }
  return 0;
}
