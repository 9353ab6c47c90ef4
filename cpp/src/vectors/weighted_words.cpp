#include "sentencode/vectors/weighted_words.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sentencode/error.h"
#include "sentencode/parallel.h"

namespace sentencode {
namespace {

constexpr std::int64_t kSentencesOfThread = 1024;  // sentences per piece of work
constexpr std::int64_t kLookedUp = 64;             // sentences that are looked up before their rows are read

std::vector<std::int32_t> rows_of_tokens(const Tokenizer& tokenizer, const WordVectors& vectors) {
  ST_CHECK(tokenizer.subwords != nullptr, InvalidInput, "the tokenizer has no SubwordTokenizer");
  std::vector<std::int32_t> rows(static_cast<std::size_t>(tokenizer.subwords->size()));
  Tokens scratch;
  for (std::size_t id = 0; id < rows.size(); ++id) {
    rows[id] = vectors.id(tokenizer.token(static_cast<std::int32_t>(id), scratch));
  }
  return rows;
}

}  // namespace

WeightedWords::WeightedWords(std::shared_ptr<const WordVectors> vectors, Tokenizer tokenizer,
                             std::vector<float> weights)
    : vectors_(std::move(vectors)), tokenizer_(std::move(tokenizer)), weights_(std::move(weights)) {
  ST_CHECK(vectors_ != nullptr, InvalidInput, "vectors are missing");
  ST_CHECK(weights_.empty() || std::ssize(weights_) == vectors_->rows(), InvalidInput, "weights: expected ",
           vectors_->rows(), ", one for each row of the vectors, got ", weights_.size());
  const auto bad = std::find_if(weights_.begin(), weights_.end(), [](float w) { return !std::isfinite(w); });
  ST_CHECK(bad == weights_.end(), InvalidInput, "weights[", bad - weights_.begin(), "] is ", *bad,
           ", not a finite number");
  may_overflow_ = std::ranges::any_of(weights_, [](float w) { return std::abs(w) > 1; });
  if (tokenizer_.split == Split::subwords && vectors_->oov() != OutOfVocabulary::subwords) {
    row_of_token_ = std::make_shared<const std::vector<std::int32_t>>(rows_of_tokens(tokenizer_, *vectors_));
  }
}

void WeightedWords::lookup(const Sentences& sentences, std::int64_t begin, std::int64_t end, Tokens& scratch,
                           RaggedIds& ids) const {
  ids.clear();
  if (row_of_token_ == nullptr || sentences.tokenised()) {
    return vectors_->lookup(tokenizer_, sentences, begin, end, scratch, ids);
  }
  const std::vector<std::int32_t>& rows = *row_of_token_;
  for (std::int64_t i = begin; i < end; ++i) {
    scratch.clear();
    const auto before = static_cast<std::ptrdiff_t>(ids.ids.size());
    tokenizer_.append_ids(sentences, i, scratch, ids.ids);
    auto kept = ids.ids.begin() + before;
    for (auto id = kept; id != ids.ids.end(); ++id) {
      *kept = rows[static_cast<std::size_t>(*id)];
      kept += *kept >= 0;
    }
    ids.ids.erase(kept, ids.ids.end());
    ids.offsets.push_back(std::ssize(ids.ids));
  }
}

RaggedIds WeightedWords::lookup(const Sentences& sentences, std::int64_t max_tokens) const {
  RaggedIds ids;
  vectors_->lookup(tokenizer_, sentences, ids, max_tokens);
  return ids;
}

RaggedIds WeightedWords::lookup_listed(const Sentences& sentences, std::int64_t max_tokens) const {
  if (vectors_->oov() != OutOfVocabulary::subwords) return lookup(sentences, max_tokens);
  const RaggedIds all = lookup(sentences);
  RaggedIds listed;
  for (std::int64_t i = 0; i < all.size(); ++i) {
    std::int64_t left = max_tokens > 0 ? max_tokens : std::ssize(all[i]);
    for (const std::int32_t id : all[i]) {
      if (id < vectors_->rows() && left-- > 0) listed.ids.push_back(id);
    }
    listed.offsets.push_back(std::ssize(listed.ids));
  }
  return listed;
}

template <typename Block>
void WeightedWords::for_blocks(const Sentences& sentences, MatrixView out, const Block& block) const {
  ST_CHECK(out.rows() == sentences.size() && out.cols() == dim(), InvalidInput, "out must be [",
           sentences.size(), ", ", dim(), "], got [", out.rows(), ", ", out.cols(), "]");
  sentences.check();
  parallel_for(0, sentences.size(), kSentencesOfThread, [&](std::int64_t first, std::int64_t last) {
    Tokens scratch;
    RaggedIds ids;
    for (std::int64_t begin = first; begin < last; begin += kLookedUp) {
      const std::int64_t end = std::min(begin + kLookedUp, last);
      lookup(sentences, begin, end, scratch, ids);
      block(ids,
            MatrixView(out.row(begin).data(), end - begin, dim(), Eigen::OuterStride<>(out.outerStride())));
    }
  });
}

void WeightedWords::means(const Sentences& sentences, MatrixView out, bool unit_length) const {
  for_blocks(sentences, out, [this, unit_length](const RaggedIds& ids, MatrixView rows) {
    vectors_->means(ids, weights_or_null(), rows);
    ST_CHECK(!may_overflow_ || rows.allFinite(), DivergedError,
             "an embedding is not finite: weights times word vectors exceed the numbers of float32");
    for (std::int64_t i = 0; i < ids.size() && unit_length; ++i) {
      const double length = std::sqrt(squared_length(rows.row(i)));
      if (length > 0) rows.row(i) = (rows.row(i).cast<double>() * (1 / length)).cast<float>();
    }
  });
}

void WeightedWords::normalised_means(const Sentences& sentences, MatrixView out) const {
  for_blocks(sentences, out, [this](const RaggedIds& ids, MatrixView rows) {
    Eigen::ArrayXf x(dim());
    Eigen::ArrayXd squares(dim());  // float squares of small numbers would underflow
    vectors_->sums(ids, weights_or_null(), rows);
    for (std::int64_t i = 0; i < ids.size(); ++i) {
      squares.setZero();
      for (const std::int32_t id : ids[i]) {
        vectors_->row(ids, id, x.data());
        squares += x.cast<double>().square();
      }
      const auto words = static_cast<double>(std::max<std::size_t>(1, ids[i].size()));
      const Eigen::ArrayXf norms = (squares.sqrt() * words).cast<float>();
      rows.row(i).array() /= (norms > 0).select(norms, 1).transpose();
    }
  });
}

bool WeightedWords::same_as(const WeightedWords& other) const {
  const WordVectors &mine = *vectors_, &theirs = *other.vectors_;
  if (tokenizer_ != other.tokenizer_ || weights_ != other.weights_ || mine.oov() != theirs.oov())
    return false;
  if (mine.size() != theirs.size() || mine.dim() != theirs.dim()) return false;
  const bool same_file =
      !mine.path().empty() && mine.path() == theirs.path() && mine.prefix() == theirs.prefix();
  return &mine == &theirs || same_file || mine.fingerprint() == theirs.fingerprint();
}

}  // namespace sentencode
