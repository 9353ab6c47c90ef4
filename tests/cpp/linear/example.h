// Words with random vectors, sentences of them, and the paper's matrices, computed by their definitions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "sentencode/error.h"
#include "sentencode/linear/prefix_gram.h"
#include "sentencode/vectors/weighted_words.h"

namespace sentencode {

inline constexpr Reading kReadings[] = {Reading::forward, Reading::backward};

inline MatrixView view(Matrix& m) { return {m.data(), m.rows(), m.cols(), Eigen::OuterStride<>(m.cols())}; }

/// Words w0, w1, ... in `dim` dimensions, with weights between 0.2 and 1.
class Example {
 public:
  explicit Example(std::int64_t dim, std::int64_t words = 30, unsigned seed = 1) : random_(seed) {
    std::normal_distribution<float> normal(0.3F, 1.0F);
    std::uniform_real_distribution<float> uniform(0.2F, 1.0F);
    Matrix rows = Matrix::NullaryExpr(words, dim, [&] { return normal(random_); });
    for (std::int64_t j = 0; j < dim; ++j)
      rows.col(j) *= std::pow(0.97F, static_cast<float>(j));  // decays like real spectra
    StringTable names;
    for (std::int64_t i = 0; i < words; ++i) names.insert(concat("w", i));
    const ConstMatrixView seen(rows.data(), words, dim, Eigen::OuterStride<>(dim));
    vectors_ = WordVectors::from_array(names, seen);
    for (std::int64_t i = 0; i < words; ++i) weights_.push_back(uniform(random_));
  }

  const std::shared_ptr<const WordVectors>& vectors() const { return vectors_; }
  WeightedWords words() const { return {vectors_, {.split = Split::whitespace}, weights_}; }

  RaggedIds ids(std::int64_t count, std::int64_t shortest, std::int64_t longest) {
    RaggedIds result;
    std::uniform_int_distribution<std::int64_t> length(shortest, longest);
    std::uniform_int_distribution<std::int32_t> id(0, static_cast<std::int32_t>(vectors_->size()) - 1);
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t l = length(random_); l > 0; --l) result.ids.push_back(id(random_));
      result.offsets.push_back(std::ssize(result.ids));
    }
    return result;
  }

  /// x of a sentence's words [l, n], in reading order.
  MatrixD x(std::span<const std::int32_t> ids, Reading reading = Reading::forward) const {
    MatrixD result(std::ssize(ids), vectors_->dim());
    Vector row(vectors_->dim());
    const WeightedWords weighted = words();
    for (std::int64_t t = 0; t < result.rows(); ++t) {
      const std::int64_t at = reading == Reading::forward ? t : result.rows() - 1 - t;
      weighted.row(ids[static_cast<std::size_t>(at)], row.data());
      result.row(t) = row.transpose().cast<double>();
    }
    return result;
  }

  VectorD mean(const RaggedIds& sentences) const {
    VectorD sum = VectorD::Zero(vectors_->dim());
    for (std::int64_t i = 0; i < sentences.size(); ++i) sum += x(sentences[i]).colwise().sum().transpose();
    return sum / static_cast<double>(sentences.ids.size());
  }

  /// The data matrix of section IV.A.
  MatrixD xi(const RaggedIds& sentences, Reading reading, const VectorD& centre) const {
    const std::int64_t n = vectors_->dim();
    std::int64_t longest = 0;
    for (std::int64_t i = 0; i < sentences.size(); ++i)
      longest = std::max<std::int64_t>(longest, std::ssize(sentences[i]));
    MatrixD result = MatrixD::Zero(std::ssize(sentences.ids), longest * n);
    std::int64_t row = 0;
    for (std::int64_t i = 0; i < sentences.size(); ++i) {
      const MatrixD words = x(sentences[i], reading).rowwise() - centre.transpose();
      for (std::int64_t t = 0; t < words.rows(); ++t, ++row) {
        for (std::int64_t k = 0; k <= t; ++k) result.block(row, k * n, 1, n) = words.row(t - k);
      }
    }
    return result;
  }

  /// R of eq. 4, which maps every row of Xi to the row of the prefix that is one word shorter.
  MatrixD shift(const RaggedIds& sentences) const {
    const std::int64_t rows = std::ssize(sentences.ids);
    MatrixD r = MatrixD::Zero(rows, rows);
    std::int64_t row = 0;
    for (std::int64_t i = 0; i < sentences.size(); ++i) {
      for (std::int64_t t = 0; t < std::ssize(sentences[i]); ++t, ++row) {
        if (t > 0) r(row, row - 1) = 1;
      }
    }
    return r;
  }

 private:
  std::mt19937 random_;
  std::shared_ptr<const WordVectors> vectors_;
  std::vector<float> weights_;
};

/// The texts of sentences of ids.
class Texts {
 public:
  explicit Texts(const RaggedIds& sentences) {
    for (std::int64_t i = 0; i < sentences.size(); ++i) {
      std::string text;
      for (const std::int32_t id : sentences[i]) text += concat("w", id, ' ');
      add(text);
    }
  }
  explicit Texts(std::initializer_list<std::string_view> texts) {
    for (const auto text : texts) add(std::string(text));
  }

  Sentences sentences() const { return {views_, {}}; }
  std::int64_t size() const { return std::ssize(views_); }

 private:
  void add(const std::string& text) {
    kept_.push_back(std::make_unique<std::string>(text));
    views_.push_back(*kept_.back());
  }
  std::vector<std::unique_ptr<std::string>> kept_;
  std::vector<std::string_view> views_;
};

}  // namespace sentencode
