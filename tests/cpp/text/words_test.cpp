#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "sentencode/text/tokenizer.h"
#include "sentencode/text/utf8.h"

// Corner cases. The Python tests check the table of rules in docs/text.md.
namespace sentencode {
namespace {

const Tokenizer kWords{.split = Split::words};

std::string tokens(std::string_view text, const Tokenizer& tokenizer = kWords) {
  Tokens out;
  tokenizer(text, out);
  std::string joined;
  for (const std::string_view token : out.views()) {
    EXPECT_FALSE(token.empty()) << text;
    if (!joined.empty()) joined += '|';
    joined += token;
  }
  return joined;
}

using Case = std::pair<const char*, const char*>;  // text, tokens

TEST(Words, EmptyTextAndSigns) {
  const Case cases[] = {{"", ""},       {"  \t\n", ""}, {".", "."},      {"..", "..."},    {"-", "-"},
                        {"---", "--"},  {"'", "'"},     {"''", "\""},    {"'''", "\"|'"},  {"`", "`"},
                        {"``", "\""},   {"\"", "\""},   {"'s", "'s"},    {"n't", "n't"},   {"'S", "'S"},
                        {"'x", "'|x"},  {"x'", "x|'"},  {"'n", "'n"},    {"-x-", "-|x|-"}, {"_", "_"},
                        {"a_b", "a_b"}, {"\\", "\\"},   {"a|b", "a|||b"}};
  for (const auto& [text, expected] : cases) EXPECT_EQ(tokens(text), expected) << text;
}

TEST(Words, ContractionsInEveryCase) {
  const Case cases[] = {{"DON'T", "DO|N'T"},
                        {"CANNOT", "CAN|NOT"},
                        {"It'S", "It|'S"},
                        {"who'd've", "who|'d|'ve"},
                        {"mustn't've", "must|n't|'ve"},
                        {"n'ts", "n'ts"},
                        {"ain't.", "ai|n't|."},
                        {"d'ye", "d'|ye"},
                        {"More'n", "More|'n"},
                        {"'twas", "'t|was"},
                        {"y'all", "y'|all"},
                        {"a'b'c", "a'b'c"},
                        {"x's's", "x|'s|'s"},
                        {"cannots", "cannots"},
                        {"scannot", "scannot"},
                        {"'em'", "'|em|'"}};
  for (const auto& [text, expected] : cases) EXPECT_EQ(tokens(text), expected) << text;
}

TEST(Words, Periods) {
  const Case cases[] = {{"u.s.", "u.s."},
                        {"u.s", "u.s"},
                        {"U.S.A. is", "U.S.A.|is"},
                        {"e.g.this", "e.g.|this"},
                        {"3.5.", "3.5|."},
                        {"v1.2.3", "v1.2.3"},
                        {"1.", "1|."},
                        {"a.b.", "a.b."},
                        {"ph.d.", "ph.d."},
                        {"mr.", "mr|."},
                        {"mr. x", "mr.|x"},
                        {"mr.) x", "mr.|)|x"},
                        {"(etc.)", "(|etc|.|)"},
                        {"no. x", "no|.|x"},
                        {"no. 7", "no.|7"},
                        {"no.7", "no.|7"},
                        {"I. x", "I|.|x"},
                        {"j. x", "j.|x"},
                        {"etc... x", "etc|...|x"},
                        {"x.5", "x.|5"},
                        {"a .5", "a|.5"},
                        {"end.Next one", "end|.|Next|one"},
                        {"bbc.co.uk", "bbc.co.uk"},
                        {"my-site.com.", "my-site.com|."},
                        {"x.com.y", "x.|com|.|y"},
                        {"vol. 3", "vol.|3"},
                        {"\u00C9. x", "\u00C9.|x"},
                        {"\u00E9.u. x", "\u00E9.u.|x"}};
  for (const auto& [text, expected] : cases) EXPECT_EQ(tokens(text), expected) << text;
}

TEST(Words, Numbers) {
  const Case cases[] = {{"1,000,000", "1,000,000"},
                        {"1,a", "1|,|a"},
                        {"a,1", "a|,|1"},
                        {"10:30pm", "10:30pm"},
                        {"5:", "5|:"},
                        {"-5", "-|5"},
                        {"3-5", "3-5"},
                        {"$-5", "$|-|5"},
                        {"5'10\"", "5|'|10|\""},
                        {"'90", "'90"},
                        {"'90s'", "'|90s|'"},
                        {"'901", "'|901"},
                        {"100%", "100|%"},
                        {"1/2/3", "1/2/3"},
                        {"a/1", "a|/|1"},
                        {"2x", "2x"}};
  for (const auto& [text, expected] : cases) EXPECT_EQ(tokens(text), expected) << text;
}

TEST(Words, Addresses) {
  const Case cases[] = {{"(http://a.b/c?d=e#f)", "(|http://a.b/c?d=e#f|)"},
                        {"HTTP://A.B", "HTTP://A.B"},
                        {"://x", ":|/|/|x"},
                        {"see:http://a.b", "see|:|http://a.b"},
                        {"Www.a.b,", "Www.a.b|,"},
                        {"mailto:a@b.org!", "mailto|:|a@b.org|!"},
                        {"<a-b.c@d-e.org>", "<|a-b.c@d-e.org|>"},
                        {"a@b", "a|@|b"},
                        {"a@.b", "a|@|.|b"},
                        {"@b.org", "@|b.org"},
                        {"a@b.c@d.e", "a@b.c|@|d.e"},
                        {"http://", "http|:|/|/"}};
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(tokens(text), expected) << text;
  }
}

TEST(Words, Typography) {
  const Case cases[] = {{"\u2018so\u2019", "'|so|'"},      {"don\u2019t", "do|n't"},
                        {"don\u00B4t", "do|n't"},          {"don\u0092t \u0093so\u0094", "do|n't|\"|so|\""},
                        {"\u201Eso\u201C", "\"|so|\""},    {"a\u2014b", "a|--|b"},
                        {"a\u2013b \u2013 c", "a-b|--|c"}, {"\u2212 5", "-|5"},
                        {"wait\u2026", "wait|..."},        {"co\u00ADop\u00ADerate", "cooperate"},
                        {"\uFEFFa\u200Bb\u2060c", "a|bc"}, {"a\u00A0b\u3000c", "a|b|c"}};
  for (const auto& [text, expected] : cases) EXPECT_EQ(tokens(text), expected) << text;
}

TEST(Words, OtherScriptsAndEmoji) {
  const Case cases[] = {{"na\u00EFve caf\u00E9s", "na\u00EFve|caf\u00E9s"},
                        {"e\u0301te\u0301", "e\u0301te\u0301"},
                        {"\u65E5\u672C\u3001\u8A9E\u3002", "\u65E5\u672C|\u3001|\u8A9E|\u3002"},
                        {"\U0001F44D\U0001F3FD\U0001F44D", "\U0001F44D\U0001F3FD|\U0001F44D"},
                        {"\U0001F1E9\U0001F1EA\U0001F1EB\U0001F1F7\U0001F1E9",
                         "\U0001F1E9\U0001F1EA|\U0001F1EB\U0001F1F7|\U0001F1E9"},
                        {"\u2764\uFE0Fok", "\u2764\uFE0F|ok"},
                        {"1\uFE0F\u20E3", "1\uFE0F\u20E3"},
                        {"\U0001FAE8\U0001FFFF", "\U0001FAE8|\U0001FFFF"},
                        {"caf\xE9 x", "caf\uFFFD|x"},
                        {"\u0646\u0645\u06CC\u200C\u062E\u0648\u0627\u0647\u0645",
                         "\u0646\u0645\u06CC\u200C\u062E\u0648\u0627\u0647\u0645"}};
  for (const auto& [text, expected] : cases) EXPECT_EQ(tokens(text), expected) << text;
}

TEST(Words, SplitsLowerCaseEqually) {
  const Tokenizer lower{.split = Split::words, .lowercase = true};
  for (const char* text : {"MR. X can't DON'T U.S. 'TIS CANNOT",
                           "\u00C9T\u00C9 \u201CDON\u2019T\u201D HTTP://A.B/C", "No. 5 I. x"}) {
    std::string expected = tokens(text);
    std::string folded(lowercase_bound(expected.size()), ' ');
    folded.resize(lowercase_utf8(expected, folded.data()));
    EXPECT_EQ(tokens(text, lower), folded);
  }
}

// Repeated units must take time that is linear in the length of the text, not quadratic.
TEST(Words, TakesLinearTime) {
  for (const char* unit : {"ab.", "a,", "'", "'a", "!", "-a", "a@", "a.", "mr. ", "no. ", "a://", "www.",
                           "x@y.", "ab.cd-", "...", "\U0001F44D\u200D", "\u2019", "\xFF"}) {
    std::string text;
    while (text.size() < 300000) text += unit;
    const auto start = std::chrono::steady_clock::now();
    tokens(text);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20))
        << unit;  // sanitizers are slow
  }
}

}  // namespace
}  // namespace sentencode
