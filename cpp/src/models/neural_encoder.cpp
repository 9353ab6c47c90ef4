#include "sentencode/models/neural_encoder.h"

#include <ATen/Functions.h>
#include <c10/core/Event.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/tensor_options.h"
#include "nn/to_device.h"
#include "sentencode/error.h"
#include "sentencode/models/heads.h"
#include "sentencode/nn/evaluating.h"
#include "sentencode/parallel.h"

namespace sentencode::models {
namespace {

constexpr std::int64_t kBlock = 1 << 15;         // sentences per lookup of words
constexpr std::int64_t kMinFraction = 4;         // a batch without padding has at least 1/4 of batch_tokens
constexpr std::int64_t kGrain = 16;              // word vectors per task of a thread
constexpr std::int64_t kCopiedFloats = 1 << 20;  // floats of embeddings that a thread copies, at least
constexpr std::int64_t kReturnedBytes = std::int64_t{64} << 20;  // embeddings copied from a device at once

/// Indices of the sentences of a batch, and the length of the longest, end vector included.
struct Batch {
  std::span<const std::int64_t> sentences;
  std::int64_t longest;
};

/// Embeddings that are being copied from a device.
class PendingCopy {
 public:
  PendingCopy() = default;
  PendingCopy(at::Device device, at::IntArrayRef sizes)
      : z_(nn::empty_for(device, sizes, at::kFloat)), device_(device) {}

  void start(const at::Tensor& z, std::vector<std::int64_t> sentences) {
    sentences_ = std::move(sentences);
    z_.copy_(z, /*non_blocking=*/device_.is_cuda());
    if (!device_.is_cuda()) return;
    event_.emplace(device_.type());
    event_->record(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
  }

  /// Waits for the copy, and calls store(sentences, z) unless there are no sentences.
  template <typename Store>
  void wait_and(const Store& store) {
    if (event_) event_->synchronize();
    if (!sentences_.empty()) store(sentences_, z_);
  }

 private:
  at::Tensor z_;  // [n, dim]
  at::Device device_ = at::kCPU;
  std::vector<std::int64_t> sentences_;
  std::optional<c10::Event> event_;
};

/// Encodes a block on a device, and calls store(sentences, embeddings). The vectors of the distinct words are
/// copied once and gathered on the device. Embeddings are copied back many at a time, while the device
/// computes the next ones.
template <typename Store>
void encode_on_device(const NeuralEncoder& encoder, const NeuralEncoder::Read& read, const at::Tensor& end,
                      std::span<const Batch> batches, const at::TensorOptions& options, const Store& store) {
  if (batches.empty()) return;
  const RaggedIds& ids = read.words;
  const at::Device device = options.device();
  const std::int64_t features = encoder.width(read), ends = end.defined() ? 1 : 0;
  // Row 0 of the table is zero, for padding; row 1 is the end vector, if there is one; then each word once.
  const std::int64_t first_word = 1 + ends;
  const std::int32_t largest_id = ids.ids.empty() ? -1 : *std::ranges::max_element(ids.ids);
  std::vector<std::int32_t> row_of(static_cast<std::size_t>(largest_id) + 1), distinct;  // 0: no row yet
  for (const std::int32_t id : ids.ids) {
    std::int32_t& row = row_of[static_cast<std::size_t>(id)];
    if (row != 0) continue;
    row = static_cast<std::int32_t>(first_word + std::ssize(distinct));
    distinct.push_back(id);
  }
  const std::int64_t count = std::ssize(distinct);
  const at::Tensor host_table = nn::empty_for(device, {first_word + count, features}, at::kFloat);  // [W, E]
  float* const rows = host_table.mutable_data_ptr<float>();
  std::fill_n(rows, features, 0.F);
  if (ends == 1) std::copy_n(end.const_data_ptr<float>(), features, rows + features);
  parallel_for(0, count, kGrain, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) {
      float* const x = rows + (first_word + i) * features;
      std::fill_n(x, features, 0.F);
      encoder.row(read, distinct[static_cast<std::size_t>(i)], x);
    }
  });
  const at::Tensor table = host_table.to(options, /*non_blocking=*/true);
  std::int64_t total = 0;
  for (const auto& [batch, longest] : batches) total += std::ssize(batch) * (longest + 1);
  // Of each batch, the rows of its words [B T], and then its lengths [B].
  const at::Tensor host_words = nn::empty_for(device, {total}, at::kLong);
  auto* sentence = host_words.mutable_data_ptr<std::int64_t>();
  for (const auto& [batch, longest] : batches) {
    auto* length = sentence + std::ssize(batch) * longest;
    for (const std::int64_t i : batch) {
      std::int64_t* word = sentence;
      for (const std::int32_t id : ids[i]) *word++ = row_of[static_cast<std::size_t>(id)];
      if (ends == 1) *word++ = 1;
      *length++ = word - sentence;
      sentence += longest;
      std::fill(word, sentence, 0);
    }
    sentence = length;
  }
  const at::Tensor words = host_words.to(device, /*non_blocking=*/true);

  std::vector<at::Tensor> embeddings;  // not yet copied, [B, dim] each
  std::vector<std::int64_t> sentences;
  PendingCopy previous;
  const auto copy_back = [&] {
    PendingCopy copy(device, {std::ssize(sentences), encoder.dim()});
    if (!embeddings.empty()) copy.start(at::cat(embeddings), std::move(sentences));
    previous.wait_and(store);
    previous = std::move(copy);
    embeddings.clear();
    sentences.clear();
  };
  const std::int64_t sentences_per_copy = std::max<std::int64_t>(1, kReturnedBytes / (4 * encoder.dim()));
  std::int64_t begin = 0;
  for (const auto& [batch, longest] : batches) {
    poll_interrupt();
    const std::int64_t size = std::ssize(batch), positions = size * longest;
    const at::Tensor x = table.index_select(0, words.narrow(0, begin, positions))
                             .view({size, longest, features});                      // [B, T, E]
    const at::Tensor lengths = words.narrow(0, begin + positions, size);            // [B]
    const at::Tensor host_lengths = host_words.narrow(0, begin + positions, size);  // [B]
    const bool full = std::ssize(ids[batch.back()]) + ends == longest;
    const at::Tensor z =
        encoder.network()->encode(Sequences::of(x, lengths, full, host_lengths));  // [B, dim]
    embeddings.push_back(z.to(at::kFloat));
    sentences.insert(sentences.end(), batch.begin(), batch.end());
    begin += positions + size;
    if (std::ssize(sentences) >= sentences_per_copy) copy_back();
  }
  copy_back();
  previous.wait_and(store);
}

}  // namespace

NeuralEncoder::NeuralEncoder(std::string kind, WeightedWords words, std::shared_ptr<SentenceNetwork> network,
                             const NeuralOptions& options, WordIds ids, std::shared_ptr<Head> head)
    : kind_(std::move(kind)),
      words_(std::move(words)),
      network_(std::move(network)),
      options_(options),
      ids_(std::move(ids)),
      head_(std::move(head)) {
  ST_CHECK(network_ != nullptr, InvalidInput, "network is missing");
  ST_CHECK(words_.dim() == network_->features(), InvalidInput, "the network takes ", network_->features(),
           "-dimensional word vectors, got ", words_.dim(), " dimensions");
  ST_CHECK(options_.max_words >= 1, InvalidInput, "max_words must be at least 1, got ", options_.max_words);
  ST_CHECK(options_.batch_tokens >= 1, InvalidInput, "batch_tokens must be at least 1, got ",
           options_.batch_tokens);
  const std::int64_t rows = network_->word_inputs().ids;
  ST_CHECK(ids_.words.size() <= rows && ids_.unknown >= -1 && ids_.unknown < rows, InvalidInput,
           "ids: the network has ", rows, " word ids, got ", ids_.words.size(), " words, and ", ids_.unknown,
           " for unknown words");
}

NeuralEncoder::~NeuralEncoder() = default;

std::int64_t NeuralEncoder::dim() const { return network_->dim(); }

void NeuralEncoder::encode(const Sentences& sentences, MatrixView out) const {
  ST_CHECK(out.rows() == sentences.size() && out.cols() == dim(), InvalidInput, kind_, ": out must be [",
           sentences.size(), ", ", dim(), "], got [", out.rows(), ", ", out.cols(), "]");
  sentences.check();
  const c10::InferenceMode guard;
  const nn::Evaluating evaluating;
  const at::TensorOptions options = tensor_options(*network_);
  const at::Tensor end = network_->end().defined() ? network_->end().to(at::kCPU, at::kFloat) : at::Tensor();
  const std::int64_t ends = end.defined() ? 1 : 0;

  for (std::int64_t begin = 0; begin < sentences.size(); begin += kBlock) {
    const std::int64_t count = std::min(kBlock, sentences.size() - begin);
    const Read block = read(sentences.slice(begin, begin + count));
    const auto length = [&](std::int64_t i) { return std::ssize(block.words[i]); };
    std::vector<std::int64_t> order = longest_first(block);
    while (!order.empty() && length(order.back()) == 0) {
      out.row(begin + order.back()).setZero();
      order.pop_back();
    }
    std::vector<Batch> batches;
    for (std::size_t first = 0; first < order.size();) {
      const std::int64_t longest = length(order[first]) + ends;
      std::int64_t size = std::min(std::max<std::int64_t>(1, options_.batch_tokens / longest),
                                   std::ssize(order) - static_cast<std::int64_t>(first));
      // A batch of equally long sentences needs no padding.
      const auto remaining = std::span(order).subspan(first);
      const auto equally_long =
          std::ranges::find_if(remaining, [&](std::int64_t i) { return length(i) != length(order[first]); }) -
          remaining.begin();
      if (equally_long < size && equally_long * longest >= options_.batch_tokens / kMinFraction) {
        size = equally_long;
      }
      batches.push_back({remaining.first(static_cast<std::size_t>(size)), longest});
      first += static_cast<std::size_t>(size);
    }
    const auto store = [&](std::span<const std::int64_t> batch, const at::Tensor& z) {  // [n, dim]
      const float* const rows = z.const_data_ptr<float>();
      check_finite(Eigen::Map<const Matrix>(rows, std::ssize(batch), dim()));
      const std::int64_t grain = std::max<std::int64_t>(1, kCopiedFloats / dim());
      parallel_for(0, std::ssize(batch), grain, [&](std::int64_t from, std::int64_t to) {
        for (std::int64_t i = from; i < to; ++i) {
          std::copy_n(rows + i * dim(), dim(), out.row(begin + batch[static_cast<std::size_t>(i)]).data());
        }
      });
    };
    if (!options.device().is_cpu()) {
      encode_on_device(*this, block, end, batches, options, store);
      continue;
    }
    for (const Batch& batch : batches) {
      poll_interrupt();
      const at::Tensor z = network_->encode(gather(block, batch.sentences, end));  // [B, dim]
      store(batch.sentences, z.to(at::kFloat).contiguous());
    }
  }
}

}  // namespace sentencode::models
