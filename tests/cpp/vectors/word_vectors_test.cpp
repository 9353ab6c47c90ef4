#include "sentencode/vectors/word_vectors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "sentencode/error.h"
#include "sentencode/parallel.h"
#include "temporary_folder.h"
#include "vectors/tables.h"
#include "without_checksums.h"

namespace sentencode {
namespace {

using Table = std::shared_ptr<const WordVectors>;

ConstMatrixView view(const Matrix& m) {
  return {m.data(), m.rows(), m.cols(), Eigen::OuterStride<>(m.cols())};
}
MatrixView view(Matrix& m) { return {m.data(), m.rows(), m.cols(), Eigen::OuterStride<>(m.cols())}; }

/// Words w0, w1, ... with rows of small integers, which every storage but int8 represents exactly.
struct Example {
  Matrix rows;
  StringTable words;
  std::vector<std::int64_t> counts;

  Example(std::int64_t n, std::int64_t dim) : rows(n, dim) {
    std::mt19937 random(17);
    for (std::int64_t i = 0; i < n; ++i) {
      words.insert(concat("w", i));
      counts.push_back(1000 - i);
      for (std::int64_t j = 0; j < dim; ++j)
        rows(i, j) = static_cast<float>(static_cast<int>(random() % 41) - 20);
    }
  }
  Table table(Storage storage = Storage::float32, OutOfVocabulary oov = OutOfVocabulary::skip) const {
    return WordVectors::from_array(words, view(rows), counts, storage, oov);
  }
};

Vector row_of(const WordVectors& vectors, std::int32_t id) {
  Vector out(vectors.dim());
  vectors.row(id, out.data());
  return out;
}

TEST(WordVectors, FindsWordsAndRows) {
  const Example example(50, 7);
  for (const Storage storage : kStorages) {
    const auto vectors = example.table(storage);
    EXPECT_EQ(vectors->size(), 50);
    EXPECT_EQ(vectors->rows(), 50);
    EXPECT_EQ(vectors->dim(), 7);
    EXPECT_EQ(vectors->id("w49"), 49);
    EXPECT_EQ(vectors->id("w50"), -1);
    EXPECT_EQ(vectors->id(""), -1);
    for (std::int32_t i = 0; i < 50; ++i) {
      EXPECT_LE((row_of(*vectors, i) - example.rows.row(i).transpose()).cwiseAbs().maxCoeff(),
                storage == Storage::int8 ? 0.08F : 0.0F);
    }
  }
}

TEST(WordVectors, RefusesInvalidTables) {
  const Example example(3, 2);
  const std::vector<std::int64_t> one_count{1};
  const Matrix no_columns(1, 0);
  EXPECT_THROW_WITH(WordVectors::from_array(strings({"a"}), view(example.rows)), InvalidInput,
                    "3 rows for 1 words");
  EXPECT_THROW_WITH(WordVectors::from_array(example.words, view(example.rows), one_count), InvalidInput,
                    "1 counts for 3 words");
  EXPECT_THROW_WITH(WordVectors::from_array(strings({"a"}), view(no_columns)), InvalidInput, "dim");
  Matrix bad = example.rows;
  bad(1, 1) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW_WITH(WordVectors::from_array(example.words, view(std::as_const(bad))), InvalidInput,
                    "number 2 of the vector of 'w1' is nan");
  bad(1, 1) = -1e6F;
  EXPECT_EQ(row_of(*WordVectors::from_array(example.words, view(std::as_const(bad))), 1)[1], -1e6F);
  EXPECT_THROW_WITH(WordVectors::from_array(example.words, view(std::as_const(bad)), {}, Storage::float16),
                    InvalidInput, "too large for float16");
}

TEST(WordVectors, ReadsStridedRows) {
  const Example example(4, 6);
  const ConstMatrixView left(example.rows.data(), 4, 3, Eigen::OuterStride<>(6));
  const auto vectors = WordVectors::from_array(example.words, left);
  EXPECT_EQ(row_of(*vectors, 3), example.rows.row(3).head(3).transpose());
}

TEST(WordVectors, RepresentsUnknownWords) {
  const Example example(40, 5);
  const auto zero = example.table(Storage::float16, OutOfVocabulary::zero);
  EXPECT_EQ(zero->id("unknown"), 40);
  EXPECT_EQ(zero->rows(), 41);
  EXPECT_TRUE(row_of(*zero, 40).isZero(0.0F));

  const auto mean = example.table()->with_oov(OutOfVocabulary::mean);
  EXPECT_EQ(mean->id("unknown"), 40);
  EXPECT_LT((row_of(*mean, 40) - example.rows.colwise().mean().transpose()).norm(), 1e-5F);

  const auto random = example.table(Storage::int8)->with_oov(OutOfVocabulary::random);
  const auto id = random->id("unknown");
  EXPECT_GE(id, 40);
  EXPECT_LT(id, random->rows());
  EXPECT_EQ(random->id("unknown"), id);
  EXPECT_NE(random->id("another"), id);
  EXPECT_EQ(random->id("w3"), 3);
  EXPECT_NEAR(row_of(*random, id).norm(), example.rows.rowwise().norm().mean(), 0.2F);
  EXPECT_GT((row_of(*random, id) - row_of(*random, random->id("another"))).norm(), 1.0F);
  EXPECT_EQ(row_of(*random, id),
            row_of(*example.table(Storage::int8)->with_oov(OutOfVocabulary::random), id));
}

TEST(WordVectors, LooksUpRawTextAndTokens) {
  const Example example(20, 2);
  const Tokenizer tokenizer{.split = Split::whitespace};
  const std::vector<std::string_view> raw{"w3 unknown  w1", "", "unknown", "w19 w19"};
  const std::vector<std::string_view> tokens{"w3", "unknown", "w1", "unknown", "w19", "w19"};
  const std::vector<std::int64_t> offsets{0, 3, 3, 4, 6};
  const std::vector<std::int64_t> beyond{0, 3, 7};
  RaggedIds none;
  EXPECT_THROW(example.table()->lookup(tokenizer, Sentences{tokens, beyond}, none), InvalidInput);
  for (const Sentences& sentences : {Sentences{raw, {}}, Sentences{tokens, offsets}}) {
    RaggedIds out;
    example.table()->lookup(tokenizer, sentences, out);
    EXPECT_EQ(out.ids, (std::vector<std::int32_t>{3, 1, 19, 19}));
    EXPECT_EQ(out.offsets, (std::vector<std::int64_t>{0, 2, 2, 2, 4}));
    out.clear();
    example.table(Storage::float32, OutOfVocabulary::zero)->lookup(tokenizer, sentences, out, 2);
    EXPECT_EQ(out.ids, (std::vector<std::int32_t>{3, 20, 20, 19, 19}));
    EXPECT_EQ(out.offsets, (std::vector<std::int64_t>{0, 2, 2, 3, 5}));
    Tokens scratch;
    RaggedIds part;
    example.table()->lookup(tokenizer, sentences, 1, 4, scratch, part);
    EXPECT_EQ(part.ids, (std::vector<std::int32_t>{19, 19}));
    EXPECT_EQ(part.size(), 3);
  }
  const std::vector<std::string_view> upper{"W3 W1"};
  RaggedIds out;
  example.table()->lookup({.split = Split::whitespace, .lowercase = true}, {upper, {}}, out);
  EXPECT_EQ(out.ids, (std::vector<std::int32_t>{3, 1}));
}

TEST(WordVectors, LookupDoesNotDependOnThreads) {
  const Example example(300, 2);
  std::mt19937 random(5);
  std::vector<std::string> texts(5000);
  for (auto& text : texts) {
    for (unsigned n = random() % 150; n > 0; --n) text += concat("w", random() % 400, " ");
  }
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  const Tokenizer tokenizer{.split = Split::whitespace};
  const auto vectors = example.table();
  RaggedIds alone, together;
  Tokens scratch;
  vectors->lookup(tokenizer, {views, {}}, 0, 5000, scratch, alone);
  const int before = num_threads();
  set_num_threads(3);
  vectors->lookup(tokenizer, {views, {}}, together);
  set_num_threads(before);
  EXPECT_EQ(alone.ids, together.ids);
  EXPECT_EQ(alone.offsets, together.offsets);
}

TEST(WordVectors, SumsRowsInOneCallOrMany) {
  const Example example(200, 97);
  std::mt19937 random(23);
  for (const Storage storage : kStorages) {
    for (const auto oov : {OutOfVocabulary::skip, OutOfVocabulary::random}) {
      const auto vectors = example.table(storage, oov);
      RaggedIds sentences;
      for (const int length : {3, 0, 64, 65, 1, 200, 0}) {
        for (int i = 0; i < length; ++i) {
          sentences.ids.push_back(
              static_cast<std::int32_t>(random() % static_cast<unsigned>(vectors->rows())));
        }
        sentences.offsets.push_back(static_cast<std::int64_t>(sentences.ids.size()));
      }
      std::vector<float> weights(static_cast<std::size_t>(vectors->rows()));
      for (float& w : weights) w = static_cast<float>(random() % 100) / 64.0F;
      for (const float* chosen :
           {static_cast<const float*>(nullptr), static_cast<const float*>(weights.data())}) {
        Matrix out = Matrix::Constant(sentences.size(), 97, 1e9F);
        vectors->sums(sentences, chosen, view(out));
        for (std::int64_t s = 0; s < sentences.size(); ++s) {
          Vector expected = Vector::Zero(97), one(97);
          for (const auto id : sentences[s]) {
            expected += (chosen == nullptr ? 1.0F : chosen[id]) * row_of(*vectors, id);
          }
          vectors->sum(sentences[s], chosen, one.data());
          EXPECT_EQ(one, out.row(s).transpose());
          EXPECT_LE((one - expected).norm(), 1e-5F * (1.0F + expected.norm())) << name_of(storage);
        }
      }
      Matrix wrong(1, 97);
      EXPECT_THROW_WITH(vectors->sums(sentences, nullptr, view(wrong)), InvalidInput, "out must be [7, 97]");
    }
  }
}

TEST(WordVectors, SelectsWordsAndConvertsStorage) {
  const Example example(2500, 8);
  const auto vectors = example.table();
  const auto few = vectors->only(strings({"w9", "absent", "w2400", "w2"}));
  ASSERT_EQ(few->size(), 3);
  EXPECT_EQ(few->words()[0], "w2");
  EXPECT_EQ(few->id("w2400"), 2);
  EXPECT_EQ(row_of(*few, 2), example.rows.row(2400).transpose());
  EXPECT_EQ(few->counts()[1], 991);
  EXPECT_EQ(vectors->first(2)->size(), 2);
  EXPECT_EQ(vectors->first(99999)->size(), 2500);
  EXPECT_EQ(vectors->only(StringTable())->size(), 0);

  const auto half = vectors->with_storage(Storage::float16), bytes = vectors->with_storage(Storage::int8);
  EXPECT_EQ(row_of(*half, 2400), example.rows.row(2400).transpose());
  EXPECT_EQ(half->counts()[0], 1000);
  EXPECT_EQ(row_of(*bytes->only(strings({"w7"})), 0), row_of(*bytes, 7)) << "narrowing does not round again";
  EXPECT_EQ(half->with_storage(Storage::float32)->fingerprint(), vectors->fingerprint());
}

TEST(WordVectors, HasAFingerprintOfItsContent) {
  const Example example(20, 3);
  const auto vectors = example.table();
  EXPECT_EQ(vectors->fingerprint().size(), 64U);
  EXPECT_EQ(vectors->fingerprint(), example.table()->fingerprint());
  EXPECT_EQ(vectors->fingerprint(), vectors->with_oov(OutOfVocabulary::mean)->fingerprint());
  EXPECT_NE(vectors->fingerprint(), vectors->with_storage(Storage::float16)->fingerprint());
  EXPECT_NE(vectors->fingerprint(), vectors->first(19)->fingerprint());
  Example other = example;
  other.rows(19, 2) += 1.0F;
  EXPECT_NE(vectors->fingerprint(), other.table()->fingerprint());
  EXPECT_NE(vectors->fingerprint(),
            WordVectors::from_array(example.words, view(example.rows))->fingerprint());
}

TEST(WordVectors, DetectsCase) {
  const Matrix ones = Matrix::Ones(3, 1);
  EXPECT_TRUE(WordVectors::from_array(strings({"a", "B", "c"}), view(ones))->cased());
  EXPECT_TRUE(WordVectors::from_array(strings({"\xce\x91", "b", "c"}), view(ones))->cased()) << "Greek Alpha";
  EXPECT_FALSE(WordVectors::from_array(strings({"a", "1", "\xff"}), view(ones))->cased());
  Example many(1000, 1);
  many.words.insert("UNK");
  many.rows.conservativeResize(1001, 1);
  many.rows(1000, 0) = 0.0F;
  many.counts.push_back(0);
  EXPECT_FALSE(many.table()->cased());
}

TEST(WordVectors, DetectsPunctuationInWords) {
  const Matrix ones = Matrix::Ones(3, 1);
  EXPECT_TRUE(WordVectors::from_array(strings({"do", "n't", "c"}), view(ones))->compounds());
  EXPECT_TRUE(WordVectors::from_array(strings({"a", "co-op", "c"}), view(ones))->compounds());
  EXPECT_FALSE(WordVectors::from_array(strings({"a", "3.5", "'"}), view(ones))->compounds());
  Example many(3000, 1);
  EXPECT_FALSE(many.table()->compounds());
  many.words.insert("n't");
  many.rows.conservativeResize(3001, 1);
  many.rows(3000, 0) = 0.0F;
  many.counts.push_back(0);
  EXPECT_TRUE(many.table()->compounds()) << "one is enough";
  EXPECT_FALSE(WordVectors::from_array(strings({"a_b", "\xff", ","}), view(ones))->compounds());
}

TEST(WordVectors, IsSavedAndMapped) {
  const TemporaryFolder folder;
  const Example example(1500, 9);
  for (const Storage storage : kStorages) {
    const auto vectors = example.table(storage);
    vectors->save(folder.path("vectors"));
    const auto opened = WordVectors::open(folder.path("vectors"), OutOfVocabulary::zero);
    EXPECT_EQ(opened->path(), folder.path("vectors"));
    EXPECT_EQ(opened->storage(), storage);
    EXPECT_EQ(opened->size(), 1500);
    EXPECT_EQ(opened->id("w1499"), 1499);
    EXPECT_EQ(opened->id("absent"), 1500);
    EXPECT_EQ(opened->counts()[3], 997);
    EXPECT_EQ(opened->fingerprint(), vectors->fingerprint());
    EXPECT_EQ(
        opened->with_storage(storage == Storage::float32 ? Storage::float16 : Storage::float32)->id("w5"), 5);
    for (const int i : {0, 700, 1499}) EXPECT_EQ(row_of(*opened, i), row_of(*vectors, i));
    opened->save(folder.path("again"));
    EXPECT_TRUE(folder.read("again") == folder.read("vectors"));
  }
}

TEST(WordVectors, OutlivesItsFile) {
  const TemporaryFolder folder;
  Example(100, 3).table()->save(folder.path("vectors"));
  auto opened = WordVectors::open(folder.path("vectors"));
  const auto converted = opened->with_storage(Storage::float16), narrowed = opened->first(10);
  opened.reset();
  EXPECT_EQ(converted->id("w99"), 99);
  EXPECT_EQ(narrowed->id("w9"), 9);
}

TEST(WordVectors, RoundTripsThroughMemory) {
  const TemporaryFolder folder;
  const auto vectors = Example(100, 3).table(Storage::float16);
  vectors->save(folder.path("vectors"));
  const std::string bytes = vectors->to_bytes();
  EXPECT_TRUE(bytes == without_checksums(folder.path("vectors")));
  const auto back = WordVectors::from_bytes(bytes, OutOfVocabulary::zero);
  EXPECT_EQ(back->id("w99"), 99);
  EXPECT_EQ(back->oov(), OutOfVocabulary::zero);
  EXPECT_EQ(back->path(), "");
  EXPECT_THROW_WITH(WordVectors::from_bytes("rubbish", OutOfVocabulary::skip), FormatError,
                    "word vectors in memory: not");
}

TEST(WordVectors, IsEmbeddedInAModelFile) {
  const TemporaryFolder folder;
  const Example example(10, 4);
  const auto vectors = WordVectors::from_array(example.words, view(example.rows), {}, Storage::int8);
  const Matrix other = Matrix::Random(3, 3);
  std::map<std::string, Tensor> tensors{{"other", tensor_of(other)}};
  vectors->add_to(tensors, "vectors.");
  write_safetensors(folder.path("model"), tensors, {});
  const auto file = SafeTensors::open(folder.path("model"));
  const auto opened = WordVectors::from_tensors(file, "vectors.", OutOfVocabulary::skip);
  EXPECT_EQ(row_of(*opened, 9), row_of(*vectors, 9));
  EXPECT_TRUE(opened->counts().empty());
  EXPECT_EQ(opened->fingerprint(), vectors->fingerprint());
  EXPECT_EQ(opened->prefix(), "vectors.");
  EXPECT_THROW_WITH(WordVectors::from_tensors(file, "", OutOfVocabulary::skip), FormatError, "has no tensor");
  EXPECT_THROW_WITH(WordVectors::open(folder.path("model")), FormatError, "not one of word vectors");
}

TEST(WordVectors, SurvivesDamagedFiles) {
  const TemporaryFolder folder;
  Example(6, 3).table(Storage::int8)->save(folder.path("vectors"));
  const std::string whole = without_checksums(folder.path("vectors"));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THROW(WordVectors::open(folder.write("truncated", whole.substr(0, length))), FormatError)
        << length;
  }
  std::mt19937 random(31);
  int opened = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string flipped = whole;
    for (int n = 0; n < 1 + i % 3; ++n)
      flipped[random() % whole.size()] ^= static_cast<char>(1 << random() % 8);
    try {
      const auto vectors = WordVectors::open(folder.write("flipped", flipped), OutOfVocabulary::mean);
      for (const auto* word : {"w0", "w5", "absent"}) row_of(*vectors, vectors->id(word));
      vectors->most_similar(row_of(*vectors, 0).data(), 3);
      ++opened;
    } catch (const Error&) {  // FormatError; InvalidInput if a damaged scale makes the mean NaN
    }
  }
  EXPECT_GT(opened, 100) << "damage to rows and words goes unseen, and must do no harm";
  EXPECT_LT(opened, 3900);
}

TEST(WordVectors, SumsOfManyWordsAreExactToAMillionth) {
  const Matrix row = Matrix::Constant(1, 3, 0.1F);
  const auto vectors = WordVectors::from_array(strings({"a"}), view(row));
  for (const std::size_t count : {64, 65, 128, 5000, 1'000'003}) {
    const std::vector<std::int32_t> ids(count, 0);
    Vector sum(3);
    vectors->sum(ids, nullptr, sum.data());
    const double expected = static_cast<double>(count) * static_cast<double>(0.1F);
    EXPECT_NEAR(sum[2], expected, expected * 1e-6) << count;
  }
}

TEST(WordVectors, ReadsAMatrixOfAnotherLibrary) {
  const TemporaryFolder folder;
  const Matrix rows =
      Matrix::NullaryExpr(4, 3, [](Eigen::Index i, Eigen::Index j) { return static_cast<float>(3 * i + j); });
  const Matrix bad = Matrix::Constant(1, 1, std::nanf(""));
  const RowMajor<double> wide = rows.cast<double>();
  std::vector<std::int8_t> bytes{1, -2, 3, 4, 5, -128};
  std::vector<std::uint16_t> half{0x3c00, 0x4000};   // 1, 2
  std::vector<std::uint16_t> brain{0x3f80, 0x4000};  // 1, 2
  const std::map<std::string, Tensor> tensors{
      {"f32", tensor_of(rows)},
      {"f64", tensor_of(wide)},
      {"i8", tensor_of(std::span<const std::int8_t>(bytes), {2, 3})},
      {"f16", {DType::f16, {2, 1}, std::as_bytes(std::span(half))}},
      {"bf16", {DType::bf16, {2, 1}, std::as_bytes(std::span(brain))}},
      {"nan", tensor_of(bad)},
      {"line", {DType::f16, {2}, std::as_bytes(std::span(half))}}};
  write_safetensors(folder.path("model"), tensors, {});
  const auto file = SafeTensors::open(folder.path("model"));
  const auto read = [&](const std::string& name, const StringTable& words,
                        std::span<const std::int64_t> mapping = {}, std::int64_t columns = 0) {
    const auto table = WordVectors::from_matrix(file, name, words, mapping, columns);
    Matrix out(table->size(), table->dim());
    table->matrix(out.data());
    return out;
  };
  EXPECT_EQ(read("f32", strings({"a", "b", "c"})), rows.topRows(3)) << "the last row has no word";
  EXPECT_EQ(read("f64", strings({"a", "b", "c", "d"})), rows);
  EXPECT_EQ(read("f32", strings({"a", "b"}), {}, 2), rows.topLeftCorner(2, 2));
  EXPECT_EQ(read("i8", strings({"a", "b"})).row(1), Eigen::RowVector3f(4, 5, -128));
  EXPECT_EQ(read("f16", strings({"a", "b"})), Eigen::Vector2f(1, 2));
  EXPECT_EQ(read("bf16", strings({"a", "b"})), Eigen::Vector2f(1, 2));
  const std::int64_t mapping[] = {1, 0, 1};
  EXPECT_EQ(read("i8", strings({"a", "b", "c"}), mapping, 1), Eigen::Vector3f(4, 1, 4));
  EXPECT_EQ(WordVectors::from_matrix(file, "i8", strings({"a"}))->storage(), Storage::int8);

  const std::int64_t outside[] = {0, 2};
  EXPECT_THROW_WITH(read("none", strings({"a"})), FormatError, "'none' is missing");
  EXPECT_THROW_WITH(read("line", strings({"a"})), FormatError, "must be a matrix");
  EXPECT_THROW_WITH(read("nan", strings({"a"})), FormatError, "vector of 'a' holds NaN");
  EXPECT_THROW_WITH(read("i8", strings({"a", "b", "c"})), FormatError, "2 rows for 3 tokens");
  EXPECT_THROW_WITH(read("i8", strings({"a", "b"}), outside), FormatError, "row 2 is that of token 1");
  EXPECT_THROW_WITH(read("i8", strings({"a", "b"}), std::span(outside).first(1)), FormatError,
                    "1 rows for 2");
  EXPECT_THROW_WITH(read("i8", strings({"a"}), {}, 4), InvalidInput, "4 columns of 3");
}

TEST(WordVectors, RanksWordsByCosine) {
  const Example example(3000, 12);
  const auto vectors = example.table(Storage::float16);
  const Vector query = example.rows.row(5).transpose() + example.rows.row(1234).transpose();
  std::vector<std::pair<float, std::int32_t>> expected;
  for (std::int32_t i = 0; i < 3000; ++i) {
    if (i == 5) continue;
    expected.emplace_back(-query.dot(example.rows.row(i)) / query.norm() / example.rows.row(i).norm(), i);
  }
  std::sort(expected.begin(), expected.end());
  const std::int32_t exclude[] = {5};
  const auto nearest = vectors->most_similar(query.data(), 10, exclude);
  ASSERT_EQ(nearest.size(), 10U);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(nearest[i].first, expected[i].second);
    EXPECT_NEAR(nearest[i].second, -expected[i].first, 1e-5F);
  }
  EXPECT_EQ(vectors->most_similar(query.data(), 99999).size(), 3000U);
  EXPECT_TRUE(vectors->most_similar(query.data(), 0).empty());
  EXPECT_THROW_WITH(vectors->most_similar(query.data(), -1), InvalidInput, "-1");
  const Vector none = Vector::Zero(12);
  EXPECT_EQ(vectors->most_similar(none.data(), 1)[0].second, 0.0F);
}

}  // namespace
}  // namespace sentencode
