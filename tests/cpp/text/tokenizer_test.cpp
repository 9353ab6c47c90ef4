#include "sentencode/text/tokenizer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sentencode/error.h"

namespace sentencode {
namespace {

using Words = std::vector<std::string>;
const std::string kBad = "\xEF\xBF\xBD";

Words tokens(const Tokenizer& tokenizer, std::string_view text) {
  Tokens out;
  tokenizer(text, out);
  return {out.views().begin(), out.views().end()};
}

TEST(Tokenizer, WhitespaceSplitsAtAllUnicodeSpace) {
  const Tokenizer whitespace{.split = Split::whitespace};
  EXPECT_EQ(tokens(whitespace, "A man  plays\ta guitar ."), Words({"A", "man", "plays", "a", "guitar", "."}));
  EXPECT_EQ(tokens(whitespace, " \n x\r\n"), Words({"x"}));
  EXPECT_EQ(tokens(whitespace, "a\u00A0b\u3000c\u2028d\u200Be"), Words({"a", "b", "c", "d\u200Be"}));
  EXPECT_EQ(tokens(whitespace, ""), Words());
  EXPECT_EQ(tokens(whitespace, " \u2003 "), Words());
}

TEST(Tokenizer, LowersAsciiAndUnicode) {
  const Tokenizer lower{.split = Split::whitespace, .lowercase = true};
  EXPECT_EQ(tokens(lower, "A MAN [Z] @"), Words({"a", "man", "[z]", "@"}));
  EXPECT_EQ(tokens(lower, "Ärger IN Ж Ⱥ K"), Words({"ärger", "in", "ж", "ⱥ", "k"}));
}

TEST(Tokenizer, ReplacesOrRefusesInvalidUtf8) {
  Tokenizer tokenizer{.split = Split::whitespace};
  EXPECT_EQ(tokens(tokenizer, "a\xFF b"), Words({"a\xEF\xBF\xBD", "b"}));
  tokenizer.lowercase = true;
  EXPECT_EQ(tokens(tokenizer, "A\xE2\x80 B"), Words({"a\xEF\xBF\xBD", "b"}));
  tokenizer.invalid = InvalidUtf8::refuse;
  try {
    tokens(tokenizer, "fine \xFF");
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_STREQ(error.what(), "byte 5 is not UTF-8: 0xff");
  }
}

TEST(Tokenizer, ViewsStayValidAsSentencesAreAdded) {
  const Tokenizer lower{.split = Split::whitespace, .lowercase = true};
  Tokens out;
  const std::string sentence = "THE " + std::string(5000, 'X') + " \u00C4";
  for (int i = 0; i < 200; ++i) lower(sentence, out);
  ASSERT_EQ(out.size(), 600U);
  for (std::size_t i = 0; i < out.size(); i += 3) {
    EXPECT_EQ(out.views()[i], "the");
    EXPECT_EQ(out.views()[i + 1], std::string(5000, 'x'));
    EXPECT_EQ(out.views()[i + 2], "\u00E4");
  }
  out.clear();
  EXPECT_EQ(out.size(), 0U);
}

TEST(Tokenizer, KeepsTheTokensOfListsWhole) {
  Tokens out;
  const Tokenizer lower{.split = Split::external, .lowercase = true, .name = "mine"};
  lower.append_token("New York", out);
  lower.append_token("", out);
  lower.append_token("\xFF", out);
  EXPECT_EQ(Words(out.views().begin(), out.views().end()), Words({"new york", "", kBad}));
  EXPECT_THROW(lower("New York", out), InvalidInput);
}

TEST(Tokenizer, PunctuationSplitsAroundAllButLettersAndDigits) {
  const Tokenizer punctuation{.split = Split::punctuation, .lowercase = true};
  const std::pair<const char*, Words> cases[] = {
      {"", {}},
      {" \t ", {}},
      {"Isn't it?", {"isn", "'", "t", "it", "?"}},
      {"co-op's ...", {"co", "-", "op", "'", "s", ".", ".", "."}},
      {"1,000 3.5% v1.2. 1. ,5", {"1,000", "3.5", "%", "v1.2", ".", "1", ".", ",", "5"}},
      {"1,,2 1.x", {"1", ",", ",", "2", "1", ".", "x"}},
      {"\u2764\uFE0Flove \u2764\uFE0F\u200D\u2764", {"\u2764", "love", "\u2764", "\u2764"}},
      {"a_b 2nd COVID19", {"a_b", "2nd", "covid19"}},
      {"Na\u00EFve\u00A0caf\u00E9\u2019s \u2014 \u20AC5",
       {"na\u00EFve", "caf\u00E9", "'", "s", "-", "-", "\u20AC", "5"}},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(tokens(punctuation, text), expected) << text;
    // Tokens of another tokenizer are split further, with the same result.
    Tokens out;
    for (const std::string& token : tokens({.split = Split::whitespace}, text))
      punctuation.append_token(token, out);
    EXPECT_EQ(Words(out.views().begin(), out.views().end()), expected) << text;
  }
  EXPECT_EQ(tokens(punctuation,
                   "a\xFF"
                   "b"),
            Words({"a\xEF\xBF\xBD"
                   "b"}));
}

TEST(Tokenizer, BatchOfRawTextOrTokens) {
  const std::vector<std::string_view> pieces = {"A b", "", "C"};
  const std::vector<std::int64_t> offsets = {0, 0, 2, 3};
  const Tokenizer lower{.split = Split::whitespace, .lowercase = true};
  const TokenisedSentences raw(lower, {pieces, {}});
  const Sentences seen = raw.sentences();
  EXPECT_EQ(Words(seen.pieces.begin(), seen.pieces.end()), Words({"a", "b", "c"}));
  EXPECT_EQ(std::vector<std::int64_t>(seen.offsets.begin(), seen.offsets.end()),
            std::vector<std::int64_t>({0, 2, 2, 3}));
  const TokenisedSentences tokenised(lower, {pieces, offsets});
  EXPECT_EQ(Words(tokenised.sentences().pieces.begin(), tokenised.sentences().pieces.end()),
            Words({"a b", "", "c"}));
  EXPECT_EQ(tokenised.sentences().size(), 3);
  EXPECT_EQ(TokenisedSentences(lower, {}).sentences().size(), 0);
}

TEST(Tokenizer, BatchErrorNamesTheSentence) {
  std::vector<std::string_view> pieces(2000, "fine");
  pieces[1234] = "ba\xFF";
  const Tokenizer strict{.split = Split::whitespace, .invalid = InvalidUtf8::refuse};
  try {
    TokenisedSentences(strict, {pieces, {}});
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_STREQ(error.what(), "sentences[1234]: byte 2 is not UTF-8: 0xff");
  }
  EXPECT_THROW_WITH(TokenisedSentences(strict, Sentences{pieces, {}}.slice(1200, 1300)), InvalidInput,
                    "sentences[1234]: byte 2");
}

TEST(Tokenizer, JsonRoundTrip) {
  for (const Split split : {Split::whitespace, Split::words, Split::punctuation, Split::external}) {
    for (const InvalidUtf8 invalid : {InvalidUtf8::replace, InvalidUtf8::refuse}) {
      for (const char* name : {"", "a \"b\" \u00E4"}) {
        const Tokenizer tokenizer{.split = split, .lowercase = true, .invalid = invalid, .name = name};
        EXPECT_EQ(Tokenizer::from_json(tokenizer.to_json()), tokenizer) << tokenizer.to_json();
      }
    }
  }
  EXPECT_EQ(Tokenizer().to_json(), R"({"invalid":"replace","lowercase":false,"split":"words"})");
}

TEST(Tokenizer, RefusesInvalidJson) {
  for (const char* json :
       {"", "[]", "3", "{", R"({"split":"letters"})", R"({"split":3})", R"({"lowercase":"yes"})",
        R"({"invalid":null})", R"({"name":[]})", R"({"colour":"red"})", "{\"split\":\"\xFF\"}"}) {
    EXPECT_THROW(Tokenizer::from_json(json), Error) << json;
  }
  EXPECT_THROW_WITH(Tokenizer::from_json("{\"split\":" + std::string(200'000, '[')), FormatError,
                    "tokenizer: its values are nested more than 512 times");
}

}  // namespace
}  // namespace sentencode
