// The words of sentences, as networks read them.
#include <ATen/Functions.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/tensor_options.h"
#include "sentencode/error.h"
#include "sentencode/models/neural_encoder.h"
#include "sentencode/parallel.h"
#include "sentencode/text/alphabet.h"

namespace sentencode::models {
namespace {

constexpr std::int64_t kGrain = 16;       // sentences whose word vectors a thread gathers at once
constexpr std::int64_t kWords = 1 << 12;  // words in one call of word_rows

bool has_subword_vector(const WeightedWords& words, std::string_view word) {
  if (words.vectors()->oov() != OutOfVocabulary::subwords) return false;
  std::vector<float> row(static_cast<std::size_t>(words.dim()));
  return words.vectors()->row_of_subwords(word, row.data());
}

/// The distinct words of many sentences; word_rows is called once for each.
class DistinctWords {
 public:
  DistinctWords(const WeightedWords& words, const WordIds& ids) : words_(words), ids_(ids) {}

  /// The word's row; -1 if it is not read.
  std::int32_t row(std::string_view word) {
    const std::int64_t before = distinct_.size();
    const std::int32_t i = distinct_.insert(word);
    if (i < before) return rows_[static_cast<std::size_t>(i)];
    const bool read = reads_word(words_, ids_, word);
    if (read) read_.push_back(i);
    return rows_.emplace_back(read ? static_cast<std::int32_t>(read_.size()) - 1 : -1);
  }

  at::Tensor word_rows(SentenceNetwork& network) const {  // [W, F]
    const WordInputs inputs = network.word_inputs();
    const at::TensorOptions options = tensor_options(network);
    std::vector<at::Tensor> rows;
    for (std::size_t begin = 0; begin < read_.size(); begin += kWords) {
      poll_interrupt();
      std::vector<std::string_view> block;
      for (const std::int32_t i :
           std::span(read_).subspan(begin).first(std::min<std::size_t>(kWords, read_.size() - begin))) {
        block.push_back(distinct_[i]);
      }
      const Words words = read_words(words_, ids_, inputs, block);
      const auto there = [&](const at::Tensor& x) { return x.defined() ? x.to(options.device()) : x; };
      rows.push_back(network
                         .word_rows({words.vectors.to(options), there(words.known), there(words.ids),
                                     there(words.characters)})
                         .to(at::kCPU, at::kFloat));
      TORCH_CHECK_VALUE(rows.back().dim() == 2 && rows.back().size(0) == std::ssize(block),
                        "word_rows must return [", block.size(), ", features], got ", rows.back().sizes());
    }
    return rows.empty() ? at::empty({0, 0}, at::kFloat) : at::cat(rows).contiguous();
  }

 private:
  const WeightedWords& words_;
  const WordIds& ids_;
  StringTable distinct_;
  std::vector<std::int32_t> rows_;  // of the distinct words, -1 for none
  std::vector<std::int32_t> read_;  // the distinct words that have a row
};

}  // namespace

bool reads_word(const WeightedWords& words, const WordIds& ids, std::string_view word) {
  return words.vectors()->id(word) >= 0 || ids.words.find(word) != StringTable::kMissing ||
         has_subword_vector(words, word);
}

Words read_words(const WeightedWords& words, const WordIds& ids, const WordInputs& inputs,
                 std::span<const std::string_view> of) {
  const std::int64_t count = std::ssize(of), features = words.dim(), width = inputs.characters;
  const WordVectors& table = *words.vectors();
  const Alphabet alphabet(inputs.alphabet);
  const Words read{at::zeros({count, features}, at::kFloat), at::empty({count}, at::kBool),
                   at::empty({count}, at::kLong),
                   width > 0 ? at::empty({count, width}, at::kLong) : at::Tensor()};
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string_view word = of[static_cast<std::size_t>(i)];
    float* const x = read.vectors.mutable_data_ptr<float>() + i * features;
    const std::int32_t row = table.id(word);  // that of a substitute, if the policy has one
    if (row >= 0) words.row(row, x);
    read.known.mutable_data_ptr<bool>()[i] =
        table.words().find(word) >= 0 ||
        (table.oov() == OutOfVocabulary::subwords && table.row_of_subwords(word, x));
    const std::int32_t id = ids.words.find(word);
    read.ids.mutable_data_ptr<std::int64_t>()[i] = id == StringTable::kMissing ? ids.unknown : id;
    if (width == 0) continue;
    alphabet(word,
             {read.characters.mutable_data_ptr<std::int64_t>() + i * width, static_cast<std::size_t>(width)});
  }
  return read;
}

NeuralEncoder::Read NeuralEncoder::read(const Sentences& sentences) const {
  if (network_->word_inputs().ids == 0) return {words_.lookup(sentences, options_.max_words), {}};
  const TokenisedSentences tokenised(words_.tokenizer(), sentences);
  const Sentences tokens = tokenised.sentences();
  DistinctWords words(words_, ids_);
  Read read;
  for (std::int64_t i = 0; i < tokens.size(); ++i) {
    const std::int64_t first = tokens.offsets[static_cast<std::size_t>(i)],
                       last = tokens.offsets[static_cast<std::size_t>(i) + 1];
    std::int64_t left = options_.max_words;
    for (std::int64_t t = first; t < last && left > 0; ++t) {
      const std::int32_t row = words.row(tokens.pieces[static_cast<std::size_t>(t)]);
      if (row < 0) continue;
      read.words.ids.push_back(row);
      --left;
    }
    read.words.offsets.push_back(std::ssize(read.words.ids));
  }
  read.rows = words.word_rows(*network_);
  return read;
}

NeuralEncoder::Read NeuralEncoder::read_tokens(const Sentences& tokens,
                                               std::vector<std::int64_t>& positions) const {
  std::vector<std::int64_t> each(tokens.pieces.size() + 1);  // every token is a sentence
  std::iota(each.begin(), each.end(), 0);
  Read read = this->read({tokens.pieces, each});
  RaggedIds words = std::exchange(read.words, {});
  read.words.made = std::move(words.made);
  read.words.made_scales = std::move(words.made_scales);
  for (std::int64_t i = 0; i < tokens.size(); ++i) {
    const std::int64_t first = tokens.offsets[static_cast<std::size_t>(i)],
                       last = tokens.offsets[static_cast<std::size_t>(i) + 1];
    std::int64_t left = options_.max_words;
    for (std::int64_t t = first; t < last && left > 0; ++t) {
      if (words[t].empty()) continue;
      read.words.ids.push_back(words[t][0]);
      positions.push_back(t - first);
      --left;
    }
    read.words.offsets.push_back(std::ssize(read.words.ids));
  }
  return read;
}

void NeuralEncoder::row(const Read& read, std::int32_t id, float* x) const {
  if (!read.rows.defined()) return words_.row(read.words, id, x);
  std::copy_n(read.rows.const_data_ptr<float>() + id * width(read), width(read), x);
}

std::vector<std::int64_t> NeuralEncoder::longest_first(const Read& read) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(read.words.size()));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(), [&](std::int64_t i) { return std::ssize(read.words[i]); });
  return order;
}

Sequences NeuralEncoder::gather(const Read& read, std::span<const std::int64_t> sentences,
                                const at::Tensor& end) const {
  const std::int64_t rows = std::ssize(sentences), features = width(read), ends = end.defined() ? 1 : 0;
  const auto length = [&](std::int64_t i) { return std::ssize(read.words[i]) + ends; };
  const std::int64_t longest = length(sentences.front());
  const at::Tensor x = at::zeros({rows, longest, features}, at::kFloat);  // [B, T, E]
  const at::Tensor lengths = at::empty({rows}, at::kLong);                // [B]
  float* const data = x.mutable_data_ptr<float>();
  auto* const length_data = lengths.mutable_data_ptr<std::int64_t>();
  parallel_for(0, rows, kGrain, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t b = from; b < to; ++b) {
      const std::int64_t i = sentences[static_cast<std::size_t>(b)];
      float* word = data + b * longest * features;
      for (const std::int32_t id : read.words[i]) {
        row(read, id, word);
        word += features;
      }
      if (ends == 1) std::copy_n(end.const_data_ptr<float>(), features, word);
      length_data[b] = length(i);
    }
  });
  return Sequences::of(x.to(tensor_options(*network_)), lengths, length(sentences.back()) == longest);
}

}  // namespace sentencode::models
