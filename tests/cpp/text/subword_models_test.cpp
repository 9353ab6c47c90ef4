// Models and steps of subword tokenizers that need no tokenizer. tests/python/text/test_subword_models.py
// compares all of them with the package `tokenizers`.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "sentencode/error.h"
#include "sentencode/text/tokenizer.h"
#include "text/subwords/byte_level.h"
#include "text/subwords/graphemes.h"
#include "text/subwords/json_fields.h"
#include "text/subwords/model.h"
#include "text/subwords/patterns.h"
#include "text/subwords/precompiled.h"
#include "text/subwords/prefix_trie.h"
#include "text/subwords/word_cache.h"

namespace sentencode {
namespace {

using Json = nlohmann::json;
using Strings = std::vector<std::string>;

/// The tokens of a word; twice, since the second time is from the cache.
Strings tokens_of(const SubwordModel& model, std::string_view word) {
  std::vector<std::int32_t> ids, again;
  model.append_ids(word, ids);
  model.append_ids(word, again);
  EXPECT_EQ(ids, again);
  Strings tokens;
  for (const std::int32_t id : ids) tokens.emplace_back(model.vocabulary().token(id));
  return tokens;
}

template <typename E, typename Call>
void expect_failure(const Call& call, const std::string& message) {
  try {
    call();
    ADD_FAILURE() << "no error with '" << message << "'";
  } catch (const E& error) {
    EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
  }
}

Json unigram(const std::string& vocab, const std::string& more = R"("unk_id": 0)") {
  return Json::parse(R"({"type": "Unigram", "vocab": )" + vocab + ", " + more + "}");
}

TEST(Unigram, TakesTheSegmentationOfTheHighestScore) {
  const auto model =
      unigram_model(unigram(R"([["<unk>", 0], ["a", 0], ["b", 0], ["c", 0], ["d", 0], ["cd", 1],
      ["ab", 2], ["abc", 5], ["abcd", 10]])"));
  EXPECT_EQ(tokens_of(*model, "abcdacdxx"), (Strings{"abcd", "a", "cd", "<unk>"}));
  EXPECT_EQ(tokens_of(*model, ""), Strings());
  EXPECT_EQ(model->unknown_id(), 0);
}

TEST(Unigram, KeepsTheFirstOfEqualSegmentations) {
  const auto model =
      unigram_model(unigram(R"([["<unk>", -9], ["a", -1], ["b", -1], ["ab", -2], ["ba", -2], ["aba", -3]])"));
  EXPECT_EQ(tokens_of(*model, "ab"), Strings{"ab"});
  EXPECT_EQ(tokens_of(*model, "aba"), Strings{"aba"});
  EXPECT_EQ(tokens_of(*model, "bab"), (Strings{"b", "ab"}));
}

TEST(Unigram, SplitsUnknownTextIntoBytesIfItHasAll) {
  const std::string vocab = R"([["<unk>", 0], ["a", -1], ["<0xC3>", 0], ["<0xA9>", 0]])";
  const auto model = unigram_model(unigram(vocab, R"("unk_id": 0, "byte_fallback": true)"));
  EXPECT_EQ(tokens_of(*model, "aéa"), (Strings{"a", "<0xC3>", "<0xA9>", "a"}));
  EXPECT_EQ(tokens_of(*model, "aéya"), (Strings{"a", "<unk>", "a"}));
}

TEST(Unigram, RefusesUnknownTextWithoutAnUnknownToken) {
  const auto model = unigram_model(unigram(R"([["a", 0]])", R"("unk_id": null)"));
  EXPECT_EQ(tokens_of(*model, "aa"), (Strings{"a", "a"}));
  expect_failure<InvalidInput>([&] { tokens_of(*model, "ab"); }, "no token for 'b'");
}

TEST(Unigram, LongWordsNeedNoStack) {
  const auto model = unigram_model(unigram(R"([["<unk>", 0], ["a", -1], ["aa", -1.5]])"));
  EXPECT_EQ(tokens_of(*model, std::string(100001, 'a')).size(), 50001U);
}

TEST(Unigram, ErrorsNameTheField) {
  const auto fails = [](const Json& model, const std::string& message) {
    expect_failure<FormatError>([&] { unigram_model(model); }, message);
  };
  fails(unigram(R"([["a", 0], ["b"]])"), "model.vocab[1] must be a token and its finite score");
  fails(unigram(R"([["a", null]])"), "model.vocab[0]");
  fails(unigram(R"([[1, 0]])"), "model.vocab[0]");
  Json nan = unigram(R"([["a", 0]])");
  nan["vocab"][0][1] = std::nan("");
  fails(nan, "model.vocab[0]");
  fails(unigram(R"({"a": 0})"), "model.vocab");
  fails(unigram(R"([["a", 0]])", R"("unk_id": 1)"), "model.unk_id");
  fails(unigram(R"([["a", 0]])", R"("unk_id": -1)"), "model.unk_id");
  fails(unigram("[]"), "model.unk_id");
  fails(unigram(R"([["a", 0]])", R"("byte_fallback": 1)"), "model.byte_fallback");
}

Json bpe(const Strings& tokens, const Json& merges, const Json& more = Json::object()) {
  Json vocab = Json::object();
  for (const std::string& token : tokens) vocab[token] = vocab.size();
  Json model = Json::parse(R"({"type": "BPE", "dropout": null, "fuse_unk": false})");
  model["vocab"] = std::move(vocab);
  model["merges"] = merges;
  model.update(more);
  return Json::parse(model.dump());  // numbers as a file has them
}

TEST(Bpe, MergesPairsOfTheLowestRankFirst) {
  const Strings tokens{"a", "b", "c", "bc", "ab", "abc"};
  EXPECT_EQ(tokens_of(*bpe_model(bpe(tokens, {"b c", "a b", "ab c"})), "abc"), (Strings{"a", "bc"}));
  EXPECT_EQ(tokens_of(*bpe_model(bpe(tokens, {"a b", "b c", "ab c"})), "abc"), (Strings{"abc"}));
  const Json pairs = Json::array({Json::array({"a", "b"}), Json::array({"b", "c"})});
  EXPECT_EQ(tokens_of(*bpe_model(bpe(tokens, pairs)), "abcbc"), (Strings{"ab", "c", "bc"}));
  EXPECT_EQ(tokens_of(*bpe_model(bpe(tokens, {"#version: 0.2", "a b"})), "abab"), (Strings{"ab", "ab"}));
}

TEST(Bpe, UnknownCharacters) {
  const Strings tokens{"<unk>", "a", "<0xC3>", "<0xA9>"};
  const auto ids = [&](const Json& more, std::string_view word) {
    return tokens_of(*bpe_model(bpe(tokens, Json::array(), more)), word);
  };
  EXPECT_EQ(ids({{"unk_token", nullptr}}, "axya"), (Strings{"a", "a"}));
  EXPECT_EQ(ids({{"unk_token", "<unk>"}}, "axya"), (Strings{"a", "<unk>", "<unk>", "a"}));
  EXPECT_EQ(ids({{"unk_token", "<unk>"}, {"fuse_unk", true}}, "axya"), (Strings{"a", "<unk>", "a"}));
  const Json bytes = {{"unk_token", "<unk>"}, {"byte_fallback", true}};
  EXPECT_EQ(ids(bytes, "aéa"), (Strings{"a", "<0xC3>", "<0xA9>", "a"}));
  EXPECT_EQ(ids(bytes, "xé"), (Strings{"<0xC3>", "<0xA9>", "<unk>"}));  // as the package does
  expect_failure<InvalidInput>([&] { ids({{"unk_token", "[UNK]"}}, "x"); }, "model.unk_token '[UNK]'");
}

TEST(Bpe, PrefixesSuffixesAndWholeWords) {
  const Strings tokens{"a", "##a", "##a</w>", "a</w>", "##aa</w>", "aaa</w>"};
  const Json affixes = {{"continuing_subword_prefix", "##"}, {"end_of_word_suffix", "</w>"}};
  const auto model = bpe_model(bpe(tokens, {"##a ##a</w>", "a ##aa</w>"}, affixes));
  EXPECT_EQ(tokens_of(*model, "a"), Strings{"a</w>"});
  EXPECT_EQ(tokens_of(*model, "aa"), (Strings{"a", "##a</w>"}));
  EXPECT_EQ(tokens_of(*model, "aaa"), Strings{"aaa</w>"});
  const auto whole = bpe_model(bpe({"a", "b", "ab"}, Json::array(), {{"ignore_merges", true}}));
  EXPECT_EQ(tokens_of(*whole, "ab"), Strings{"ab"});
  EXPECT_EQ(tokens_of(*whole, "aba"), (Strings{"a", "b", "a"}));
}

/// The tokens by the definition.
Strings merged(Strings symbols, const std::vector<std::pair<std::string, std::string>>& merges) {
  while (true) {
    std::size_t best = merges.size(), at = 0;
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto rank = static_cast<std::size_t>(
          std::ranges::find(merges, std::pair(symbols[i], symbols[i + 1])) - merges.begin());
      if (rank < best) best = rank, at = i;
    }
    if (best == merges.size()) return symbols;
    symbols[at] += symbols[at + 1];
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

TEST(Bpe, EqualsTheDefinitionForWordsOfAllLengths) {
  std::mt19937 random(3);
  for (const bool spaces_join : {false, true}) {
    Strings tokens{"a", "b", "▁"};
    std::vector<std::pair<std::string, std::string>> merges;
    Json lines = Json::array();
    while (merges.size() < 60) {
      const std::pair merge(tokens[random() % tokens.size()], tokens[random() % tokens.size()]);
      const bool joins = merge.second.starts_with("▁") && !merge.first.ends_with("▁");
      if ((joins && !spaces_join) || std::ranges::count(merges, merge) > 0) continue;
      merges.push_back(merge);
      lines.push_back(merge.first + " " + merge.second);
      if (const auto both = merge.first + merge.second; std::ranges::count(tokens, both) == 0)
        tokens.push_back(both);
    }
    const auto model = bpe_model(bpe(tokens, lines));
    for (int i = 0; i < 400; ++i) {
      Strings symbols(random() % (i % 10 == 0 ? 300 : 20));
      std::string word;
      for (std::string& symbol : symbols) word += symbol = tokens[random() % 3];
      EXPECT_EQ(tokens_of(*model, word), merged(symbols, merges)) << word;
    }
  }
}

TEST(Bpe, ErrorsNameTheField) {
  const Strings tokens{"a", "b", "ab", ""};
  const auto fails = [](const Json& model, const std::string& message) {
    expect_failure<FormatError>([&] { bpe_model(model); }, message);
  };
  fails(bpe(tokens, {"a b", "b a"}), "model.merges[1]: the vocabulary does not have 'ba'");
  fails(bpe(tokens, {"a c"}), "model.merges[0]: the vocabulary does not have 'c'");
  fails(bpe(tokens, {"a  b"}), "model.merges[0] must be two tokens");
  fails(bpe(tokens, {"ab"}), "model.merges[0]");
  fails(bpe(tokens, {3}), "model.merges[0]");
  fails(bpe(tokens, "a b"), "model.merges");
  fails(bpe(tokens, Json::array(), {{"vocab", {{"a", -1}}}}), "model.vocab['a']");
  fails(bpe(tokens, Json::array(), {{"vocab", {{"a", 1.5}}}}), "model.vocab['a']");
  fails(bpe(tokens, Json::array(), {{"unk_token", 3}}), "model.unk_token");
  const auto refuses = [](const Json& model, const std::string& message) {
    expect_failure<Unsupported>([&] { bpe_model(model); }, message);
  };
  refuses(bpe(tokens, Json::array(), {{"dropout", 0.1}}), "model.dropout is 0.1");
  refuses(bpe(tokens, {" a"}), "model.merges[0]");
  refuses(bpe(tokens, Json::array(), {{"vocab", {{"a", 1}, {"b", 1}}}}), "not unique");
}

TEST(PrefixTrie, FindsWhatTheTextBeginsWith) {
  std::mt19937 random(5);
  for (const unsigned letters : {2U, 7U, 256U}) {
    Strings strings(letters == 256 ? 20000 : 2000);
    for (std::string& text : strings) {
      text.resize(random() % 9);
      for (char& c : text) c = static_cast<char>(random() % letters);
    }
    const std::vector<std::string_view> views(strings.begin(), strings.end());
    const PrefixTrie trie(views);
    std::map<std::string, std::int32_t> last;
    for (std::size_t i = 0; i < strings.size(); ++i) last[strings[i]] = static_cast<std::int32_t>(i);
    for (int i = 0; i < 2000; ++i) {
      const std::string text = strings[random() % strings.size()] + strings[random() % strings.size()];
      std::vector<std::pair<std::size_t, std::int32_t>> found, expected;
      trie.for_each_prefix(
          text, [&](std::size_t length, std::int32_t value) { found.emplace_back(length, value); });
      for (std::size_t length = 1; length <= text.size(); ++length) {
        const auto entry = last.find(text.substr(0, length));
        if (entry != last.end()) expected.emplace_back(length, entry->second);
      }
      ASSERT_EQ(found, expected);
    }
  }
  PrefixTrie().for_each_prefix("a", [](std::size_t, std::int32_t) { ADD_FAILURE(); });
}

/// The parts of `text` after a pre-tokenizer.
Strings parts_of(const SubwordPreTokenizer& step, std::string_view text) {
  Tokens memory;
  std::vector<SubwordPiece> pieces;
  step({text}, memory, pieces);
  Strings parts;
  for (const SubwordPiece& piece : pieces) parts.emplace_back(piece.text);
  return parts;
}

Strings split_at(const std::string& regex, std::string_view text,
                 DelimiterBehavior behavior = DelimiterBehavior::isolated, bool invert = false) {
  const Json json = {{"pattern", {{"Regex", regex}}}, {"invert", invert}};
  return parts_of(split_pre_tokenizer(JsonFields(json, "pre_tokenizer"), behavior), text);
}

TEST(Patterns, OfPublishedModels) {
  const std::string llama3 =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
      R"(\s*[\r\n]+|\s+(?!\S)|\s+)";
  EXPECT_EQ(split_at(llama3, "We'LL pay  $1234.50 'ſo'\r\n\n  x \t"),
            (Strings{"We", "'LL", " pay", " ", " $", "123", "4", ".", "50", " '", "ſo", "'\r\n\n", " ", " x",
                     " \t"}));
  EXPECT_EQ(split_at(R"(\p{N}{1,3})", "12345a6", DelimiterBehavior::removed), Strings{"a"});
  EXPECT_EQ(split_at(R"(\p{N}{1,3})", "12345a6", DelimiterBehavior::removed, true),
            (Strings{"123", "45", "6"}));
  expect_failure<Unsupported>([] { split_at("[ab]+", "a"); },
                              "pre_tokenizer.pattern.Regex '[ab]+' is none of");
}

TEST(Patterns, StringsWithAllBehaviors) {
  const auto parts = [](DelimiterBehavior behavior, bool invert = false) {
    const Json json = {{"pattern", {{"String", "--"}}}, {"invert", invert}};
    return parts_of(split_pre_tokenizer(JsonFields(json, "pre_tokenizer"), behavior), "a----b--");
  };
  using enum DelimiterBehavior;
  EXPECT_EQ(parts(removed), (Strings{"a", "b"}));
  EXPECT_EQ(parts(removed, true), (Strings{"--", "--", "--"}));
  EXPECT_EQ(parts(isolated), (Strings{"a", "--", "--", "b", "--"}));
  EXPECT_EQ(parts(merged_with_previous), (Strings{"a--", "--", "b--"}));
  EXPECT_EQ(parts(merged_with_next), (Strings{"a", "--", "--b", "--"}));
  EXPECT_EQ(parts(contiguous), (Strings{"a", "----", "b", "--"}));
}

TEST(ByteLevel, WritesVisibleCharacters) {
  const auto parts = [](std::string_view text, bool prefix, bool regex) {
    const Json json = {{"add_prefix_space", prefix}, {"use_regex", regex}};
    return parts_of(byte_level_pre_tokenizer(JsonFields(json, "pre_tokenizer")), text);
  };
  EXPECT_EQ(parts("it's é\n", false, true), (Strings{"it", "'s", "ĠÃ©", "Ċ"}));
  EXPECT_EQ(parts("a b", true, true), (Strings{"Ġa", "Ġb"}));
  EXPECT_EQ(parts(" a b", true, false), (Strings{"ĠaĠb"}));
  EXPECT_EQ(parts("", false, true), Strings());
}

TEST(Graphemes, OfUnicode17) {
  const auto first = [](std::string_view text) { return std::string(text.substr(0, grapheme_length(text))); };
  EXPECT_EQ(first("ab"), "a");
  EXPECT_EQ(first("e\u0301\u0302x"), "e\u0301\u0302");
  EXPECT_EQ(first("\r\n\n"), "\r\n");
  EXPECT_EQ(first("\n\u0301"), "\n");
  EXPECT_EQ(first("\u0600a"), "\u0600a");
  EXPECT_EQ(first("\u1100\u1161\u11A8\u1100"), "\u1100\u1161\u11A8");
  EXPECT_EQ(first("🇩🇪🇫🇷"), "🇩🇪");
  EXPECT_EQ(first("👩‍👩‍👧a"), "👩‍👩‍👧");
  EXPECT_EQ(first("क्षि"), "क्षि");
  EXPECT_EQ(first("a\U00010D69"), "a\U00010D69");  // since Unicode 16
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k)
      bits = bits << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (int shift = 18; shift >= 0; shift -= 6) text += kDigits[bits >> shift & 63];
  }
  for (std::size_t i = 0; i < (3 - bytes.size() % 3) % 3; ++i) text[text.size() - 1 - i] = '=';
  return text;
}

/// A map of single ASCII characters, as sentencepiece writes it.
std::string character_map(const std::map<char, std::string>& replacements) {
  std::vector<std::uint32_t> units(1024);
  std::string text;
  units[0] =
      256 << 10;  // the children of the root are in the second block, their values in the third and fourth
  for (const auto& [key, replacement] : replacements) {
    const auto child = 256U ^ static_cast<unsigned char>(key);
    const std::uint32_t value = 512 + 2 * static_cast<unsigned char>(key);
    units[child] = static_cast<unsigned char>(key) | 1U << 8 | (child ^ value) << 10;
    units[value] = 1U << 31 | static_cast<std::uint32_t>(text.size());
    text += replacement + '\0';
  }
  std::string bytes;
  const auto write = [&](std::uint32_t word) {
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(word >> shift);
  };
  write(static_cast<std::uint32_t>(4 * units.size()));
  for (const std::uint32_t unit : units) write(unit);
  return bytes + text;
}

SubwordNormalizer precompiled(const std::string& bytes) {
  const Json json = {{"precompiled_charsmap", base64(bytes)}};
  return precompiled_normalizer(JsonFields(json, "normalizer")).first;
}

std::string normal(const SubwordNormalizer& step, std::string_view text) {
  std::string out;
  step(text, out);
  return out;
}

TEST(Precompiled, ReplacesCharactersAndShortGraphemes) {
  const auto step = precompiled(character_map({{'A', "a"}, {'x', ""}, {'\t', " "}, {'\r', "CR"}}));
  EXPECT_EQ(normal(step, "ABxA\t\n"), "aBa \n");
  EXPECT_EQ(normal(step, "A\u0301é"), "aé");  // the rest of a short grapheme is lost
  EXPECT_EQ(normal(step, "A\u0301\u0301\u0301"), "a\u0301\u0301\u0301");  // but not that of a long one
  EXPECT_EQ(normal(step, "\r\n\r"), "CRCR");
  EXPECT_EQ(normal(step, std::string_view("A\0A", 3)), std::string_view("a\0a", 3));
  EXPECT_EQ(normal(step, ""), "");
  const Json json = {
      {"precompiled_charsmap", base64(character_map({{'A', ""}, {'B', "four"}, {'C', "two"}}))}};
  EXPECT_EQ(precompiled_normalizer(JsonFields(json, "normalizer")).second, 4);
}

TEST(Precompiled, RefusesDamagedMaps) {
  const std::string good = character_map({{'A', "a"}, {'B', "é"}});
  const auto fails = [](const std::string& bytes, const std::string& message) {
    expect_failure<FormatError>([&] { precompiled(bytes); },
                                "normalizer.precompiled_charsmap is damaged: " + message);
  };
  fails("", "it has 0 bytes");
  fails(std::string(4, '\0'), "a trie of 0 bytes");
  fails(good.substr(0, 2000), "a trie of 4096 bytes in 2000");
  fails(good.substr(0, good.size() - 2), "replacements are not UTF-8");
  fails(good.substr(0, good.size() - 5), "unit 644 of the trie refers to byte 2 of 0");
  std::string outside = good;
  outside[4 + 2] = 127;  // the root's offset
  fails(outside, "unit 0 of the trie refers to unit");
  std::string no_root = good;
  no_root[4 + 3] = '\x80';
  fails(no_root, "unit 0 of the trie has no children");
  const Json text = {{"precompiled_charsmap", "A*=="}}, bits = {{"precompiled_charsmap", "AB=="}};
  for (const Json& json : {text, bits})
    expect_failure<FormatError>([&] { precompiled_normalizer(JsonFields(json, "normalizer")); },
                                "it is not base64");
}

TEST(Precompiled, KeysWithoutAValueChangeNothing) {
  std::string bytes = character_map({{'A', "a"}});
  bytes[4 * (1 + 512 + 2 * 'A') + 3] = '\0';  // the value's unit
  EXPECT_EQ(normal(precompiled(bytes), "ABA"), "ABA");
}

TEST(Precompiled, DamagedMapsDoNotCrash) {
  std::mt19937 random(7);
  const std::string good = character_map({{'A', "a"}, {'B', "é"}, {'C', "long"}});
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(random() % 128);
  int read = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = good;
    for (unsigned k = random() % 4; k < 5; ++k) bytes[random() % bytes.size()] = static_cast<char>(random());
    try {
      read += normal(precompiled(bytes), text + "é\u0301").empty() ? 0 : 1;
    } catch (const FormatError&) {
    }
  }
  EXPECT_GT(read, 100);
}

TEST(WordCache, ThreadsGetTheSameIds) {
  const auto model =
      unigram_model(unigram(R"([["<unk>", 0], ["a", -1], ["b", -1], ["ab", -1.5], ["bba", -2]])"));
  std::mt19937 random(9);
  Strings words(5000);
  for (std::string& word : words) {
    word.resize(random() % 12);
    for (char& c : word) c = static_cast<char>('a' + random() % 2);
  }
  const std::vector<std::string_view> views(words.begin(), words.end());
  std::vector<std::vector<std::int32_t>> ids(4);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : ids) threads.emplace_back([&] { model->append_ids(views, mine); });
  }
  const auto fresh =
      unigram_model(unigram(R"([["<unk>", 0], ["a", -1], ["b", -1], ["ab", -1.5], ["bba", -2]])"));
  std::vector<std::int32_t> expected;
  for (const std::string_view word : views) fresh->append_ids(word, expected);
  for (const auto& mine : ids) EXPECT_EQ(mine, expected);
}

}  // namespace
}  // namespace sentencode
