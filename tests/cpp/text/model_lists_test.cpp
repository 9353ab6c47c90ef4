#include "text/subwords/model_lists.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "sentencode/error.h"
#include "sentencode/parallel.h"
#include "sentencode/text/subword_tokenizer.h"
#include "temporary_folder.h"

namespace sentencode {
namespace {

using Json = nlohmann::json;

std::string with_model(const std::string& model) {
  return R"({"version": "1.0", "added_tokens": [{"vocab": [1, {"}": "]"}]}], "model": )" + model + "}\n";
}

TEST(ModelLists, AreReadWithoutATree) {
  using Ids = ModelLists::Ids;
  ModelLists lists;  // with views of the text
  const std::string text = with_model(R"({"type": "BPE", "vocab" : { "a\"\u00e9\ud83d\ude00": 0,
      "{\\": 12 }, "merges": [["a", "b]"], "c d", [ "\n" , "e" ]], "unk_token": null})");
  const auto rest = without_lists(text, lists);
  ASSERT_TRUE(rest);
  EXPECT_EQ(*rest,
            Json::parse(with_model(R"({"type": "BPE", "vocab": {}, "merges": [], "unk_token": null})")));
  EXPECT_EQ(lists.ids, (Ids{{0, "a\"é😀"}, {12, "{\\"}}));
  ASSERT_TRUE(lists.merges);
  ASSERT_EQ(lists.merges->size(), 3U);
  lists.merges->for_each_chunk<2>(0, [](std::size_t first, std::span<const MergeList::Merge> merges) {
    const std::vector<MergeList::Merge> expected = {{"a", "b]"}, {"c", "d"}, {"\n", "e"}};
    ASSERT_LE(first + merges.size(), expected.size());
    for (std::size_t i = 0; i < merges.size(); ++i) EXPECT_EQ(merges[i], expected[first + i]);
  });
  EXPECT_FALSE(lists.scores);
}

TEST(ModelLists, NumbersAreThoseOfSerde) {
  ModelLists lists;
  const std::string text =
      with_model(R"({"vocab": [["a", -3.1928355948178115], ["b", 1E+2], ["c", -0.0], ["d", 25e-1]]})");
  ASSERT_TRUE(without_lists(text, lists));
  ASSERT_TRUE(lists.scores);
  const auto& [tokens, scores] = *lists.scores;
  EXPECT_EQ(tokens, (std::vector<std::string_view>{"a", "b", "c", "d"}));
  EXPECT_EQ(scores[0], -31928355948178115.0 / 1e16);
  EXPECT_EQ(scores[1], 100);
  EXPECT_TRUE(std::signbit(scores[2]));
  EXPECT_EQ(scores[3], 2.5);
  EXPECT_EQ(serde_number(1, 309, false), std::nullopt);
}

TEST(ModelLists, StringsOfAllLengths) {
  for (const std::string special : {"\\\"", "\\\\", "\\u00e9", "é", "\x7f", "\x01", "\x1f", "\t"}) {
    for (std::size_t size = 0; size < 20; ++size) {
      for (std::size_t at = 0; at <= size; ++at) {
        std::string token(size, 'a');
        token.insert(at, special);
        const std::string text = with_model("{\"vocab\": {\"" + token + "\": 1}}");
        ModelLists lists;
        const auto rest = without_lists(text, lists);
        const Json all = Json::parse(text, nullptr, false);
        ASSERT_EQ(rest.has_value(), all.is_object()) << text;
        if (!rest) continue;
        EXPECT_EQ(lists.ids->at(0).second, all["model"]["vocab"].items().begin().key()) << text;
      }
    }
  }
}

TEST(SubwordTokenizer, ReadsManyMerges) {
  std::vector<std::string> tokens, merges;
  const std::string letters = "abcdefghijkl";
  const auto add = [&](std::string token) {
    for (std::size_t i = 1; i < token.size(); ++i)
      merges.push_back("\"" + token.substr(0, i) + " " + token.substr(i) + "\"");
    tokens.push_back("\"" + token + "\": " + std::to_string(tokens.size()));
  };
  std::vector<std::string> words = {""};
  for (int length = 1; length <= 4; ++length) {
    std::vector<std::string> longer;
    for (const std::string& word : words) {
      for (const char letter : letters) longer.push_back(word + letter);
    }
    words = std::move(longer);
    for (const std::string& word : words) add(word);
  }
  ASSERT_GT(merges.size(), std::size_t{1} << 15);
  const auto joined = [](const std::vector<std::string>& items) {
    std::string all;
    for (const std::string& item : items) all += (all.empty() ? "" : ", ") + item;
    return all;
  };
  const auto json = [&] {
    return R"({"model": {"type": "BPE", "vocab": {)" + joined(tokens) + R"(}, "merges": [)" + joined(merges) +
           "]}}";
  };
  const auto tokenizer = SubwordTokenizer::from_json(json());
  SubwordTokenizer::Scratch scratch;
  std::vector<std::int32_t> ids;
  for (const std::string word : {"abcd", "lkji", "gag", "l"}) tokenizer->encode(word, scratch, ids);
  ASSERT_EQ(ids.size(), 4U);
  EXPECT_EQ(tokenizer->token(ids[0]), "abcd");
  EXPECT_EQ(tokenizer->token(ids[1]), "lkji");
  EXPECT_EQ(tokenizer->token(ids[2]), "gag");
  merges.push_back("\"ab zz\"");
  const std::string last = "model.merges[" + std::to_string(merges.size() - 1) + "]";
  EXPECT_THROW_WITH(SubwordTokenizer::from_json(json()), FormatError,
                    last + ": the vocabulary does not have 'zz'");

  const int threads = num_threads();
  set_num_threads(1);
  set_interrupt_check([] {
    static bool interrupted = false;
    return !std::exchange(interrupted, true);
  });
  EXPECT_THROW(SubwordTokenizer::from_json(json()), Interrupted);
  set_interrupt_check(nullptr);
  set_num_threads(threads);
}

TEST(ModelLists, UnusualListsStayInTheTree) {
  for (const std::string model :
       {R"({"vocab": {"a": 1.5}})", R"({"vocab": {"a": -1}})", R"({"vocab": {"a": 4294967296}})",
        R"({"vocab": [["a", 1e400]]})", R"({"vocab": [["a", 12345678901234567890123.0]]})",
        R"({"vocab": [["a"]]})", R"({"vocab": null})", R"({"merges": ["#version: 0.2", "a b"]})",
        R"({"merges": ["a b c"]})", R"({"merges": {}})", R"([])", R"("x")", R"(null)"}) {
    ModelLists lists;
    const auto rest = without_lists(with_model(model), lists);
    const Json all = Json::parse(with_model(model), nullptr, false);
    EXPECT_EQ(rest.value_or(Json(Json::value_t::discarded)).dump(), all.dump()) << model;
    EXPECT_FALSE(lists.ids || lists.scores || lists.merges) << model;
  }
}

TEST(ModelLists, InvalidTextIsRefused) {
  for (const std::string model :
       {R"({"vocab": {"a": 0,}})", R"({"vocab": {"a": 01}})",
        R"({"vocab": {"a": 0}})"
        "x",
        R"({"vocab": {"a" 0}})", R"({"vocab": {"a": 0})", R"({"vocab": {"\ud800": 0}})",
        "{\"vocab\": {\"a\n\": 0}}", "{\"vocab\": {\"\xff\": 0}}", R"({"vocab": {}, "vocab": {}})",
        R"({"merges": [], "merges": []})", "", "nul", R"({"vocab": [["a", 1.]]})", R"({"vocab": [["a", -]]})",
        R"({"vocab": {"a)"}) {
    ModelLists lists;
    EXPECT_FALSE(without_lists(with_model(model), lists)) << model;
  }
  for (const std::string text :
       {"", "[]", "{", R"({"model": {"vocab")", R"({"model": {}, "model": {}})", "{} x"}) {
    ModelLists lists;
    EXPECT_FALSE(without_lists(text, lists)) << text;
  }
}

TEST(ModelLists, RepeatedTokensHaveTheLastId) {
  const std::string begin = R"({"type": "WordLevel", "unk_token": "u", "vocab": {"u": 0, "a": )";
  const auto tokenizer = SubwordTokenizer::from_json(R"({"model": )" + begin + R"(2, "a": 1}}})");
  EXPECT_EQ(tokenizer->id("a"), 1);
  EXPECT_EQ(tokenizer->size(), 2);
  const std::string repeated =
      R"(1, "longer than 16 bytes": 2, "longer than 16 bytes": 2, "also of many bytes": 3}}})";
  const auto longer = SubwordTokenizer::from_json(R"({"model": )" + begin + repeated);
  SubwordTokenizer::Scratch scratch;
  std::vector<std::int32_t> ids;
  longer->encode("also of many bytes", scratch, ids);
  EXPECT_EQ(ids, std::vector<std::int32_t>{3});
}

TEST(SubwordTokenizer, ListsItsTokens) {
  const auto read = [](const std::string& vocabulary, const std::string& more = "") {
    return SubwordTokenizer::from_json(
        R"({"truncation": {"max_length": 3}, "model": {"type": "WordLevel", "unk_token": "u", "vocab": )" +
        vocabulary + "}" + more + "}");
  };
  const auto plain = read(R"({"été": 1, "u": 0, "abcdef": 2})");
  EXPECT_EQ(plain->tokens()[1], "été");
  EXPECT_TRUE(plain->tokens().frozen()) << "a view";
  EXPECT_EQ(plain->median_characters(), 3);
  EXPECT_EQ(plain->missing_id(), -1);
  EXPECT_EQ(plain->truncation(), R"({"max_length":3})");

  const auto added = read(R"({"u": 0})", R"(, "added_tokens": [{"id": 1, "content": "<more>", "special": true,
      "single_word": false, "lstrip": false, "rstrip": false, "normalized": false}])");
  EXPECT_EQ(added->tokens()[1], "<more>");
  EXPECT_EQ(added->tokens().size(), 2);
  EXPECT_EQ(added->median_characters(), 3);

  EXPECT_EQ(read(R"({"u": 0, "a": 2})")->missing_id(), 1);
  EXPECT_THROW(read(R"({"u": 0, "a": 2})")->tokens(), FormatError);
  EXPECT_EQ(read(R"({"u": 0, "": 1})")->missing_id(), 1);
}

}  // namespace
}  // namespace sentencode
