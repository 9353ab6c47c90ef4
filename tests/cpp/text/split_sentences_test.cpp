#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "sentencode/text/corpus.h"

namespace sentencode {
namespace {

/// Splits a text in which `|` marks each expected boundary instead of a space.
void expect_split(std::string_view marked) {
  std::string text;
  std::vector<std::string> expected(1);
  for (const char c : marked) {
    text += c == '|' ? ' ' : c;
    if (c == '|') {
      expected.emplace_back();
    } else {
      expected.back() += c;
    }
  }
  std::vector<std::string> sentences;
  for (const std::string_view sentence : split_sentences(text)) sentences.emplace_back(sentence);
  EXPECT_EQ(sentences, expected) << text;
}

TEST(SplitSentences, TerminatorsAndCase) {
  expect_split("He left.|She stayed!|Why?|Nobody knows.");
  expect_split("What?!|No...|Well.|Oh!!!|So.");
  expect_split("He was... late.|But there.");
  expect_split("One and no end");
  expect_split("She asked. why not, it went on in lower case.");
  expect_split("It was 3.5 or .7 of it.|Then 10.|And 11.");
  expect_split("See example.com or a.b for more.|Then go.");
  expect_split("Elizabeth was I.|She went.");
}

TEST(SplitSentences, Abbreviations) {
  expect_split("Mr. Smith met Mrs. Jones, Dr. No and Prof. A. Einstein.|They spoke.");
  expect_split("He said “Mr. Smith left.”|«Dr. Jones», she said—Mrs. Hall saw it.|The “U.S. Army” is here.");
  expect_split("We met\u00A0Mr. Smith,Dr. No,<b>Mr. Hall</b>:Prof. Lee and *Mrs. Jones*.|‘Mr. Hall left.’");
  expect_split("J. R. R. Tolkien wrote it.|C. S. Lewis read it.");
  expect_split("He works at Acme Inc. Chicago is far.");
  expect_split("He works at Acme Inc.|The pay is low.");
  expect_split("He came to the U.S. Senate in Jan. 1990.|In the U.S.|He stayed.");
  expect_split("At 5 p.m. Monday it rained.|At 6 p.m.|It stopped.");
  expect_split("Use tools, e.g. Hammers, i.e. Those, etc.|But not vs. Them.");
  expect_split("She has a Ph.D.|Her sister has none.|No. 5 is there.|No.|But it is.");
  expect_split("See fig. 3 in vol. 2 on p. 7.|Then go to St. Louis.");
  expect_split("1. First item.|Then more.");
}

TEST(SplitSentences, QuotesAndBrackets) {
  expect_split("\"He left.\"|\"She stayed,\" he said.|'Why?'|(Nobody knows.)|[Really.]|End.");
  expect_split("“He left.”|“Did she?” he asked.|‘No!’|Then…|So.");
  expect_split("\"Stop!\" he cried.|\"Go (now)!\"|Then he left.");
  expect_split("He (Really?) Robert left (at 5 p.m.) Monday.|Then so.");
  expect_split("(He left. she stayed.)|Then \"(what?)\" no.");
  expect_split("She said: \"Go.\"|—Yes.|*Sure.*");
}

TEST(SplitSentences, OtherScripts) {
  expect_split("Élan était là.|Éva partit.|Ça va?|Öl.");
  expect_split("Он ушёл.|Она осталась.");
  EXPECT_EQ(split_sentences("彼は去った。彼女は残った！「なぜ？」終わり"),
            (std::vector<std::string_view>{"彼は去った。", "彼女は残った！", "「なぜ？」", "終わり"}));
}

TEST(SplitSentences, LinesAndSpace) {
  const auto split = [](std::string_view text) { return split_sentences(text); };
  using Views = std::vector<std::string_view>;
  EXPECT_EQ(split(""), Views());
  EXPECT_EQ(split(" \n\u3000\n "), Views());
  EXPECT_EQ(split("  He left.  \n She stayed. "), Views({"He left.", "She stayed."}));
  EXPECT_EQ(split("A heading \n\nThe text\ngoes on.\r\n \t\r\nNext\u00A0"),
            Views({"A heading", "The text\ngoes on.", "Next"}));
  EXPECT_EQ(split("..."), Views({"..."}));
  EXPECT_EQ(split(". ."), Views({".", "."}));
  EXPECT_EQ(split("\xFF. \xFF! A\xE2\x80"), Views({"\xFF.", "\xFF!", "A\xE2\x80"}));
}

TEST(SplitSentences, TakesLinearTime) {
  const std::size_t many = 60000;
  std::string opened(many, '(');
  opened += "x ";
  for (std::size_t i = 0; i < many; ++i) opened += "(A.) ";
  for (const std::string& unit :
       std::vector<std::string>{opened, ". ", "a.) ", "a. ", "(", "\" ", "\n", "\n ", "! (", ".", "U.S. ",
                                "1. ", "Mr. ", "\xFF", "…"}) {
    std::string text;
    while (text.size() < 300000) text += unit;
    const auto start = std::chrono::steady_clock::now();
    split_sentences(text);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20))
        << unit;  // sanitizers are slow
  }
}

}  // namespace
}  // namespace sentencode
