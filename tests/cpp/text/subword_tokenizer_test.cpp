#include "sentencode/text/subword_tokenizer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sentencode/error.h"
#include "sentencode/text/tokenizer.h"
#include "sentencode/vectors/weighted_words.h"

namespace sentencode {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

Json word_level(const std::vector<std::string>& words) {
  Json vocab = {{"[UNK]", 0}};
  for (const auto& word : words) vocab.emplace(word, vocab.size());
  return {{"type", "WordLevel"}, {"vocab", vocab}, {"unk_token", "[UNK]"}};
}

Json word_piece(const std::vector<std::string>& words, int most = 100) {
  Json model = word_level(words);
  model["type"] = "WordPiece";
  model["continuing_subword_prefix"] = "##";
  model["max_input_chars_per_word"] = most;
  return model;
}

Json bert(bool lowercase = true, Json strip_accents = nullptr, bool clean = true, bool chinese = true) {
  return {{"type", "BertNormalizer"},
          {"clean_text", clean},
          {"handle_chinese_chars", chinese},
          {"strip_accents", strip_accents},
          {"lowercase", lowercase}};
}

Json file(Json model, Json normalizer = nullptr, Json pre_tokenizer = nullptr, Json added = Json::array()) {
  return {{"version", "1.0"},
          {"added_tokens", added},
          {"normalizer", normalizer},
          {"model", std::move(model)},
          {"pre_tokenizer", pre_tokenizer}};
}

Json added_token(const std::string& content, Json more = Json::object()) {
  Json token = {{"id", 0},         {"content", content},  {"single_word", false}, {"lstrip", false},
                {"rstrip", false}, {"normalized", false}, {"special", true}};
  token.update(more);
  return token;
}

Words subwords_in(const Json& content, std::string_view text, const SubwordOptions& options = {}) {
  const Tokenizer tokenizer{.split = Split::subwords,
                            .subwords = SubwordTokenizer::from_json(content.dump(), options)};
  Tokens out;
  tokenizer(text, out);
  return {out.views().begin(), out.views().end()};
}

/// What a step makes of text: the text that it leaves is one word, which is added as a token.
std::string normalised(const Json& normalizer, std::string_view text, const std::string& expected) {
  const Words words = subwords_in(file(word_level({expected}), normalizer), text);
  return words == Words{expected} ? expected : "another text";
}

/// The words of a pre-tokenizer, all of which are known.
Words split_words_in(const Json& pre_tokenizer, std::string_view text,
                     const std::vector<std::string>& known) {
  return subwords_in(file(word_level(known), nullptr, pre_tokenizer), text);
}

template <typename Kind>
void expect_error(const Json& content, const std::string& message) {
  try {
    SubwordTokenizer::from_json(content.is_string() ? content.get<std::string>() : content.dump());
    ADD_FAILURE() << "no error: " << message;
  } catch (const Kind& error) {
    EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
  }
}

const Json kBert = {{"type", "BertPreTokenizer"}};

TEST(SubwordTokenizer, WordPieceTakesTheLongestTokens) {
  const Json content = file(word_piece({"un", "unaff", "##aff", "##able", "##a", "!", "é", "##é"}, 12),
                            bert(true, false), kBert);
  EXPECT_EQ(subwords_in(content, "Unaffable!"), Words({"unaff", "##able", "!"}));
  EXPECT_EQ(subwords_in(content, "unaffa unaffx  "), Words({"unaff", "##a", "[UNK]"}));
  EXPECT_EQ(subwords_in(content, "éé é"), Words({"é", "##é", "é"}));
  EXPECT_EQ(subwords_in(content, "unaaaaaaaaaa unaaaaaaaaaaa"),  // twelve characters, thirteen
            Words({"un", "##a", "##a", "##a", "##a", "##a", "##a", "##a", "##a", "##a", "##a", "[UNK]"}));
  EXPECT_EQ(subwords_in(content, "éééééééééééé").size(), 12U);
  EXPECT_EQ(subwords_in(content, "ééééééééééééé"), Words({"[UNK]"}));
  EXPECT_EQ(subwords_in(content, ""), Words());
  EXPECT_EQ(subwords_in(content, " \t"), Words());
}

TEST(SubwordTokenizer, OptionsLimitCharactersThenTokensThenDropUnknown) {
  const Json content = file(word_piece({"a", "b", "é"}), bert(true, false), kBert);
  EXPECT_EQ(subwords_in(content, "a x b a", {.keep_unknown = false}), Words({"a", "b", "a"}));
  EXPECT_EQ(subwords_in(content, "a x b a", {.max_tokens = 3}), Words({"a", "[UNK]", "b"}));
  EXPECT_EQ(subwords_in(content, "a x b a", {.max_tokens = 2, .keep_unknown = false}), Words({"a"}));
  EXPECT_EQ(subwords_in(content, "é é é", {.max_characters = 3}), Words({"é", "é"}));
  EXPECT_EQ(subwords_in(content, "a b", {.max_characters = 100}), Words({"a", "b"}));
  EXPECT_THROW(subwords_in(content, "a", {.max_tokens = -1}), InvalidInput);
  EXPECT_THROW(subwords_in(content, "a", {.max_characters = -1}), InvalidInput);
}

TEST(SubwordTokenizer, TextOfAllLengthsAndScriptsInOneScratch) {
  // Words at all positions of the blocks that are split together, next to text that grows or is removed.
  const Json content = file(word_piece({"ab", "c", "##d", "'", "\u2019", "中", "e"}), bert(), kBert);
  const auto tokenizer = SubwordTokenizer::from_json(content.dump());
  SubwordTokenizer::Scratch scratch;
  for (const std::string piece : {"AB cd '", "AB\u2019cd'", "É中 \u200Bab", "ab\x01\x02 \t\n cd"}) {
    std::vector<std::int32_t> once, ids;
    tokenizer->encode(piece, scratch, once);
    std::string text;
    for (std::size_t size = 1; size < 150; ++size) {
      text += piece + " ";
      ids.clear();
      tokenizer->encode(text, scratch, ids);
      ASSERT_EQ(ids.size(), size * once.size());
      for (std::size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(ids[i], once[i % once.size()]) << text;
    }
  }
  std::vector<std::int32_t> ids;
  tokenizer->encode(std::string(1000, 'a') + std::string(3000, '\'') + "\uAC00\uAC00", scratch, ids);
  EXPECT_EQ(ids.size(), 3002U);
}

TEST(SubwordTokenizer, IdsAndTokensOfTheVocabulary) {
  Json content = file(word_level({"a"}));
  content["model"]["vocab"]["far"] = 9;
  content["added_tokens"] = {added_token("new"), added_token("a")};
  const auto tokenizer = SubwordTokenizer::from_json(content.dump());
  EXPECT_EQ(tokenizer->size(), 10);
  EXPECT_EQ(tokenizer->id("a"), 1);
  EXPECT_EQ(tokenizer->id("new"), 3);  // the number of tokens, as the package has it
  EXPECT_EQ(tokenizer->id("none"), -1);
  EXPECT_EQ(tokenizer->token(9), "far");
  EXPECT_EQ(tokenizer->token(3), "new");
  EXPECT_EQ(tokenizer->token(5), "");
  EXPECT_EQ(tokenizer->token(-1), "");
  EXPECT_EQ(tokenizer->token(10), "");
  EXPECT_EQ(tokenizer->unknown_id(), 0);
}

TEST(SubwordTokenizer, BertNormalizer) {
  EXPECT_EQ(normalised(bert(), "ÀÉ\u0001ß\tx", "aeß x"), "aeß x");
  EXPECT_EQ(normalised(bert(true, false), "ÀÉ", "àé"), "àé");
  EXPECT_EQ(normalised(bert(false), "ÀÉ", "ÀÉ"), "ÀÉ");
  EXPECT_EQ(normalised(bert(false, true), "ÀÉ", "AE"), "AE");
  EXPECT_EQ(normalised(bert(), "a中b", "a 中 b"), "a 中 b");
  EXPECT_EQ(normalised(bert(true, nullptr, true, false), "a中b", "a中b"), "a中b");
  EXPECT_EQ(normalised(bert(true, nullptr, false), "a\tB\x0B", "a\tb\x0B"), "a\tb\x0B");
  EXPECT_EQ(normalised(bert(), "a\u00A0\u200Bb\uFFFD", "a b"), "a b");
  const Json content = file(word_level({"ab", "c", ".", "_"}), bert(), kBert);
  EXPECT_EQ(subwords_in(content,
                        "A\x0B\x7F"
                        "B.\r\nC\x01_"),
            Words({"ab", ".", "c", "_"}));
  const Json dirty = file(word_level({"a", "c", ".", "\x01"}), bert(true, nullptr, false), kBert);
  EXPECT_EQ(subwords_in(dirty,
                        "A\x0B"
                        "C \x01."),
            Words({"a", "c", "\x01", "."}));
}

TEST(SubwordTokenizer, Normalizers) {
  EXPECT_EQ(normalised({{"type", "Lowercase"}}, "ÀİΣ\u1C89", "ài\u0307σ\u1C8A"), "ài\u0307σ\u1C8A");
  EXPECT_EQ(normalised({{"type", "NFD"}}, "éﬁ", "e\u0301ﬁ"), "e\u0301ﬁ");
  EXPECT_EQ(normalised({{"type", "NFKD"}}, "éﬁ", "e\u0301fi"), "e\u0301fi");
  EXPECT_EQ(normalised({{"type", "NFC"}}, "e\u0323\u0301ﬁ각", "ẹ\u0301ﬁ각"), "ẹ\u0301ﬁ각");
  EXPECT_EQ(normalised({{"type", "NFKC"}}, "e\u0301ﬁ①", "éfi1"), "éfi1");
  EXPECT_EQ(normalised({{"type", "StripAccents"}}, "e\u0301é", "eé"), "eé");
  EXPECT_EQ(normalised({{"type", "Strip"}, {"strip_left", true}, {"strip_right", false}}, "\u3000 a ", "a "),
            "a ");
  EXPECT_EQ(normalised({{"type", "Strip"}, {"strip_left", false}, {"strip_right", true}}, " a\u3000 ", " a"),
            " a");
  EXPECT_EQ(normalised({{"type", "Nmt"}}, "a\x01\tb\u2581c\u0085", "a b c\u0085"), "a b c\u0085");
  EXPECT_EQ(normalised({{"type", "Prepend"}, {"prepend", "▁"}}, "a", "▁a"), "▁a");
  EXPECT_EQ(
      normalised({{"type", "Replace"}, {"pattern", {{"String", "aa"}}}, {"content", "b"}}, "aaaac", "bbc"),
      "bbc");
  EXPECT_EQ(normalised({{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", "_"}}, " a  b   ",
                       " a_b_"),
            " a_b_");
  const Json sequence = {
      {"type", "Sequence"},
      {"normalizers", {{{"type", "NFD"}}, {{"type", "StripAccents"}}, {{"type", "Lowercase"}}}}};
  EXPECT_EQ(normalised(sequence, "ÉÀ", "ea"), "ea");
}

TEST(SubwordTokenizer, PreTokenizers) {
  const auto type = [](const char* name) { return Json{{"type", name}}; };
  EXPECT_EQ(split_words_in(kBert, "a, b!\u00A0c¿", {"a", ",", "b", "!", "c", "¿"}),
            Words({"a", ",", "b", "!", "c", "¿"}));
  EXPECT_EQ(split_words_in(type("Whitespace"), "it's $_1 !?", {"it", "'", "s", "$", "_1", "!?"}),
            Words({"it", "'", "s", "$", "_1", "!?"}));
  EXPECT_EQ(split_words_in(type("WhitespaceSplit"), " a,b\u3000c ", {"a,b", "c"}), Words({"a,b", "c"}));
  EXPECT_EQ(split_words_in({{"type", "Digits"}, {"individual_digits", true}}, "a12½", {"a", "1", "2", "½"}),
            Words({"a", "1", "2", "½"}));
  EXPECT_EQ(split_words_in({{"type", "Digits"}, {"individual_digits", false}}, "12a34", {"12", "a", "34"}),
            Words({"12", "a", "34"}));
  EXPECT_EQ(split_words_in({{"type", "CharDelimiterSplit"}, {"delimiter", "é"}}, "aéébé", {"a", "b"}),
            Words({"a", "b"}));
  EXPECT_EQ(split_words_in(nullptr, "a b", {"a b"}), Words({"a b"}));
  EXPECT_EQ(split_words_in({{"type", "FixedLength"}, {"length", 2}}, "aébcd", {"aé", "bc", "d"}),
            Words({"aé", "bc", "d"}));
  EXPECT_EQ(split_words_in(
                {{"type", "Sequence"}, {"pretokenizers", {type("WhitespaceSplit"), type("Punctuation")}}},
                "a- b", {"a", "-", "b"}),
            Words({"a", "-", "b"}));
}

TEST(SubwordTokenizer, DelimitersAreKeptAsTheBehaviorSays) {
  const auto behavior = [](const char* name, const std::vector<std::string>& expected) {
    EXPECT_EQ(split_words_in({{"type", "Punctuation"}, {"behavior", name}}, "-a--b-", expected), expected)
        << name;
  };
  behavior("Removed", {"a", "b"});
  behavior("Isolated", {"-", "a", "-", "-", "b", "-"});
  behavior("MergedWithPrevious", {"-", "a-", "-", "b-"});
  behavior("MergedWithNext", {"-a", "-", "-b", "-"});
  behavior("Contiguous", {"-", "a", "--", "b", "-"});
}

TEST(SubwordTokenizer, Metaspace) {
  const auto metaspace = [](const char* scheme, bool split) {
    return Json{{"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", scheme}, {"split", split}};
  };
  EXPECT_EQ(split_words_in(metaspace("always", true), "a  b", {"▁a", "▁", "▁b"}), Words({"▁a", "▁", "▁b"}));
  EXPECT_EQ(split_words_in(metaspace("always", true), " a", {"▁a"}), Words({"▁a"}));
  EXPECT_EQ(split_words_in(metaspace("never", true), "a b▁c", {"a", "▁b", "▁c"}), Words({"a", "▁b", "▁c"}));
  EXPECT_EQ(split_words_in(metaspace("always", false), "a b", {"▁a▁b"}), Words({"▁a▁b"}));
  for (const auto& [scheme, second] : {std::pair{"always", "▁b"}, std::pair{"first", "b"}}) {
    const Json content =
        file(word_level({"▁a", second}), nullptr, metaspace(scheme, true), Json::array({added_token("<s>")}));
    EXPECT_EQ(subwords_in(content, "a<s>b"), Words({"▁a", "<s>", second}));
    EXPECT_EQ(subwords_in(content, "<s>b"), Words({"<s>", second}));
  }
}

TEST(SubwordTokenizer, AddedTokens) {
  const auto with = [](const Json& added, const Json& normalizer = nullptr) {
    return file(word_level({"a", "b", " ", "ab"}), normalizer, nullptr, added);
  };
  EXPECT_EQ(subwords_in(with(Json::array({added_token("<x>"), added_token("<x><y>")})), "a<x><x><y>b"),
            Words({"a", "<x>", "<x><y>", "b"}));
  EXPECT_EQ(subwords_in(with(Json::array({added_token("x", {{"single_word", true}})})), "x").size(), 1U);
  EXPECT_EQ(subwords_in(with(Json::array({added_token("x", {{"single_word", true}})})), "axb"),
            Words({"[UNK]"}));
  EXPECT_EQ(subwords_in(with(Json::array({added_token("x", {{"lstrip", true}})})), "a \u3000x b"),
            Words({"a", "x", "[UNK]"}));
  EXPECT_EQ(subwords_in(with(Json::array({added_token("x", {{"rstrip", true}})})), "a x \u3000b"),
            Words({"[UNK]", "x", "b"}));
  EXPECT_EQ(
      subwords_in(with(Json::array({added_token("X", {{"normalized", true}})}), {{"type", "Lowercase"}}),
                  "AxbX"),
      Words({"a", "X", "b", "X"}));
  EXPECT_EQ(subwords_in(with(Json::array({added_token("X")}), {{"type", "Lowercase"}}), "AxBX"),
            Words({"[UNK]", "X"}));
  // The white space that one token strips is still searched for the next.
  EXPECT_EQ(subwords_in(with(Json::array({added_token("x", {{"rstrip", true}}), added_token(" ")})), "x b"),
            Words({"x", " ", "b"}));
}

TEST(SubwordTokenizer, InvalidUtf8IsReplacedOrRefused) {
  const auto subwords = SubwordTokenizer::from_json(file(word_level({"a\uFFFD"})).dump());
  Tokenizer tokenizer{.split = Split::subwords, .subwords = subwords};
  Tokens out;
  tokenizer("a\xFF", out);
  EXPECT_EQ(out.views().back(), "a\uFFFD");
  tokenizer.invalid = InvalidUtf8::refuse;
  EXPECT_THROW(tokenizer("a\xFF", out), InvalidInput);
}

TEST(SubwordTokenizer, IsPartOfTokenizersAndTheirJson) {
  const std::string content = file(word_piece({"A", "b"})).dump();
  const SubwordOptions options{.max_characters = 7, .max_tokens = 5, .keep_unknown = false};
  const Tokenizer tokenizer{
      .split = Split::subwords, .name = "mine", .subwords = SubwordTokenizer::from_json(content, options)};
  const Tokenizer same = Tokenizer::from_json(tokenizer.to_json());
  EXPECT_EQ(same, tokenizer);
  EXPECT_EQ(same.subwords->options(), options);
  EXPECT_NE(tokenizer,
            (Tokenizer{
                .split = Split::subwords, .name = "mine", .subwords = SubwordTokenizer::from_json(content)}));
  EXPECT_THROW(Tokenizer::from_json(R"({"split": "words", "content": "{}"})"), FormatError);
  EXPECT_THROW(Tokenizer::from_json(R"({"split": "words", "max_tokens": 3})"), FormatError);
  EXPECT_THROW(Tokenizer::from_json(R"({"split": "subwords"})"), FormatError);
  EXPECT_THROW(Tokenizer::from_json(R"({"split": "subwords", "max_tokens": -1})"), FormatError);
  Tokens out;
  EXPECT_THROW((Tokenizer{.split = Split::subwords}("a", out)), InvalidInput);
  (Tokenizer{.split = Split::subwords, .lowercase = true, .subwords = tokenizer.subwords})("A", out);
  EXPECT_EQ(out.views().back(), "a");
  tokenizer.append_token("New York", out);
  EXPECT_EQ(out.views().back(), "New York");
}

TEST(SubwordTokenizer, IdsAreMappedToRows) {
  StringTable words;
  for (const char* word : {"a", "##b", "x"}) words.insert(word);
  const Matrix rows = Matrix::Random(3, 4);
  const ConstMatrixView table(rows.data(), 3, 4, Eigen::OuterStride<>(4));
  const auto view = [](Matrix& m) {
    return MatrixView(m.data(), m.rows(), m.cols(), Eigen::OuterStride<>(m.cols()));
  };
  const std::vector<std::string_view> texts = {"a ab A zz x ab", "", "ab\xFF"};
  const std::vector<std::string_view> lists = {"a", "##b"};
  const std::vector<std::int64_t> offsets = {0, 2};
  for (const auto oov : {OutOfVocabulary::skip, OutOfVocabulary::zero, OutOfVocabulary::random}) {
    for (const bool lowercase : {false, true}) {
      const Tokenizer tokenizer{.split = Split::subwords,
                                .lowercase = lowercase,
                                .subwords = SubwordTokenizer::from_json(
                                    file(word_piece({"a", "A", "##b", "x"}), nullptr, kBert).dump())};
      const WeightedWords encoder(WordVectors::from_array(words, table, {}, Storage::float32, oov), tokenizer,
                                  {});
      const Sentences sentences{texts, {}};
      RaggedIds ids;
      encoder.vectors()->lookup(tokenizer, sentences, ids);  // by text
      Matrix expected(3, 4), means(3, 4), of_list(1, 4);
      encoder.vectors()->means(ids, nullptr, view(expected));
      encoder.means(sentences, view(means));
      EXPECT_EQ(means, expected);
      encoder.means({lists, offsets}, view(of_list));
      EXPECT_TRUE(of_list.isApprox((rows.row(0) + rows.row(1)) / 2));
    }
  }
}

TEST(SubwordTokenizer, ErrorsNameTheField) {
  const auto changed = [](const char* pointer, const Json& value) {
    Json content = file(word_piece({"a"}), bert(), kBert, Json::array({added_token("<s>")}));
    content[Json::json_pointer(pointer)] = value;
    return content;
  };
  expect_error<FormatError>("{", "tokenizer.json: ");
  expect_error<FormatError>(Json::array(), "its content must be an object, got []");
  expect_error<FormatError>(Json{{"version", "1.0"}}, "model is missing");
  expect_error<FormatError>(changed("/version", "2.0"), "version must be 1.0, got \"2.0\"");
  expect_error<FormatError>(changed("/model/vocab", 3), "model.vocab must be an object, got 3");
  expect_error<FormatError>(changed("/model/vocab/a", -1), "model.vocab['a'] must be a whole number, got -1");
  expect_error<FormatError>(changed("/model/vocab/a", 1.5), "model.vocab['a'] must be a whole number");
  expect_error<FormatError>(changed("/model/max_input_chars_per_word", "x"),
                            "model.max_input_chars_per_word must be");
  expect_error<FormatError>(changed("/normalizer/lowercase", 1),
                            "normalizer.lowercase must be true or false, got 1");
  expect_error<FormatError>(changed("/normalizer", "NFC"), "normalizer must be an object, got \"NFC\"");
  expect_error<FormatError>(changed("/pre_tokenizer", {{"type", "Punctuation"}, {"behavior", "Odd"}}),
                            "pre_tokenizer.behavior must be one of Removed, Isolated");
  expect_error<FormatError>(changed("/pre_tokenizer", {{"type", "Metaspace"}, {"replacement", "ab"}}),
                            "pre_tokenizer.replacement must be one character, got \"ab\"");
  expect_error<FormatError>(changed("/added_tokens/0/lstrip", nullptr),
                            "added_tokens[0].lstrip must be true or false");
  expect_error<Unsupported>(changed("/model/unk_token", "none"),
                            "model.unk_token 'none' is not in model.vocab");
  expect_error<Unsupported>(changed("/model/vocab/a", 0), "has the id 0, which is not unique");
  expect_error<Unsupported>(changed("/model/vocab/a", 2000000000), "has the id 2000000000");
  expect_error<Unsupported>(changed("/model/type", "Odd"), "model has the type 'Odd'");
  expect_error<Unsupported>(changed("/model/type", nullptr), "model.type is missing");
  expect_error<Unsupported>(changed("/normalizer", {{"type", "Prepend"}, {"prepend", ""}}),
                            "normalizer.prepend is empty");
  expect_error<Unsupported>(changed("/normalizer/type", "Odd"), "normalizer has the type 'Odd'");
  expect_error<Unsupported>(changed("/pre_tokenizer/type", "Odd"), "pre_tokenizer has the type 'Odd'");
  expect_error<Unsupported>(
      changed("/normalizer", {{"type", "Replace"}, {"pattern", {{"Regex", "a+"}}}, {"content", ""}}),
      "normalizer.pattern.Regex 'a+' is none of");
  const Json longer = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aaaaaaaaaaa"}};
  expect_error<Unsupported>(changed("/normalizer", {{"type", "Sequence"}, {"normalizers", {longer, longer}}}),
                            "normalizer and pre_tokenizer could make a text 121 times as long");
  // U+FDFA is 18 characters in NFKD.
  for (const char* pattern : {"a", "ab"}) {
    const Json ligatures = {{"type", "Replace"},
                            {"pattern", {{"String", pattern}}},
                            {"content", "\uFDFA\uFDFA\uFDFA\uFDFA\uFDFA\uFDFA\uFDFA"}};
    const Json both = Json::array({ligatures, {{"type", "NFKD"}}});
    expect_error<Unsupported>(changed("/normalizer", {{"type", "Sequence"}, {"normalizers", both}}),
                              "could make a text ");
  }
  expect_error<Unsupported>(
      changed("/normalizer", {{"type", "Sequence"}, {"normalizers", Json::array_t(65, {{"type", "NFC"}})}}),
      "normalizer has more than 64 steps");
  expect_error<Unsupported>(changed("/model/max_input_chars_per_word", 1000000000),
                            "could take quadratic time");
  Json spaces = added_token(" ");
  spaces["rstrip"] = true;
  expect_error<Unsupported>(changed("/added_tokens/0", spaces),
                            "' ' is white space and strips more around it");
  const Json twice = Json::array({{{"Sequence", {{"id", "A"}}}}, {{"Sequence", {{"id", "A"}}}}});
  for (const auto& [single, count] : {std::pair(twice, "2"), std::pair(Json::array(), "0")}) {
    const Json post = {{"type", "TemplateProcessing"}, {"single", single}};
    expect_error<Unsupported>(changed("/post_processor", {{"type", "Sequence"}, {"processors", {post}}}),
                              concat("processors.single has the text ", count, " times"));
  }
  const Json first = {{"type", "Metaspace"}, {"replacement", "_"}, {"prepend_scheme", "first"}};
  const Json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"use_regex", false}};
  expect_error<Unsupported>(
      changed("/pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", {bytes, first}}}),
      "after ByteLevel with add_prefix_space");
  Json nested = {{"type", "NFC"}};
  for (int i = 0; i < 100; ++i) nested = {{"type", "Sequence"}, {"normalizers", {nested}}};
  expect_error<FormatError>(changed("/normalizer", nested), "is nested more than");
}

}  // namespace
}  // namespace sentencode
