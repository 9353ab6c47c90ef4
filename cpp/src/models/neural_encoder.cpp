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

constexpr std::int64_t kBlock = 1 << 15;         // sentences whose words are looked up together
constexpr std::int64_t kMinFraction = 4;         // a batch without padding has at least 1/4 of batch_tokens
constexpr std::int64_t kGrain = 16;              // word vectors that a thread computes at once
constexpr std::int64_t kCopiedFloats = 1 << 20;  // floats of embeddings that are worth a thread
constexpr std::int64_t kReturnedBytes = std::int64_t{64} << 20;  // embeddings copied from a device at once

/// Sentences of one batch, and the length of the longest, its end included.
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

  template <typename Put>
  void wait_and(const Put& put) {
    if (event_) event_->synchronize();
    if (!sentences_.empty()) put(sentences_, z_);
  }

 private:
  at::Tensor z_;  // [n, dim]
  at::Device device_ = at::kCPU;
  std::vector<std::int64_t> sentences_;
  std::optional<c10::Event> event_;
};

/// Encodes on a device: the vectors of all distinct words are copied there once and gathered there,
/// embeddings are copied back many at a time, and the host waits for neither in between.
template <typename Put>
void encode_on_device(const NeuralEncoder& encoder, const NeuralEncoder::Read& read, const at::Tensor& end,
                      std::span<const Batch> batches, const at::TensorOptions& options, const Put& put) {
  if (batches.empty()) return;
  const RaggedIds& ids = read.words;
  const at::Device device = options.device();
  const std::int64_t features = encoder.width(read), ends = end.defined() ? 1 : 0;
  // Row 0 is zero, row 1 the end, then each word once, in order of appearance.
  const std::int64_t first = 1 + ends;
  const std::int32_t highest = ids.ids.empty() ? -1 : *std::ranges::max_element(ids.ids);
  std::vector<std::int32_t> row_of(static_cast<std::size_t>(highest) + 1), distinct;  // 0: no row yet
  for (const std::int32_t id : ids.ids) {
    std::int32_t& row = row_of[static_cast<std::size_t>(id)];
    if (row != 0) continue;
    row = static_cast<std::int32_t>(first + std::ssize(distinct));
    distinct.push_back(id);
  }
  const std::int64_t count = std::ssize(distinct);
  const at::Tensor rows = nn::empty_for(device, {first + count, features}, at::kFloat);  // [W, E]
  float* const data = rows.mutable_data_ptr<float>();
  std::fill_n(data, features, 0.F);
  if (ends == 1) std::copy_n(end.const_data_ptr<float>(), features, data + features);
  parallel_for(0, count, kGrain, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) {
      float* const x = data + (first + i) * features;
      std::fill_n(x, features, 0.F);
      encoder.row(read, distinct[static_cast<std::size_t>(i)], x);
    }
  });
  const at::Tensor table = rows.to(options, /*non_blocking=*/true);
  std::int64_t cells = 0;
  for (const auto& [batch, longest] : batches) cells += std::ssize(batch) * (longest + 1);
  const at::Tensor words = nn::empty_for(device, {cells}, at::kLong);  // ids [B T], lengths [B] of each batch
  auto* next = words.mutable_data_ptr<std::int64_t>();
  for (const auto& [batch, longest] : batches) {
    auto* length = next + std::ssize(batch) * longest;
    for (const std::int64_t i : batch) {
      std::int64_t* id = next;
      for (const std::int32_t word : ids[i]) *id++ = row_of[static_cast<std::size_t>(word)];
      if (ends == 1) *id++ = 1;
      *length++ = id - next;
      next += longest;
      std::fill(id, next, 0);
    }
    next = length;
  }
  const at::Tensor on_device = words.to(device, /*non_blocking=*/true);

  std::vector<at::Tensor> waiting;  // [B, dim] each
  std::vector<std::int64_t> sentences;
  PendingCopy before;  // copied while the device computes the next embeddings
  const auto copy_back = [&] {
    PendingCopy now(device, {std::ssize(sentences), encoder.dim()});
    if (!waiting.empty()) now.start(at::cat(waiting), std::move(sentences));
    before.wait_and(put);
    before = std::move(now);
    waiting.clear();
    sentences.clear();
  };
  const std::int64_t most = std::max<std::int64_t>(1, kReturnedBytes / (4 * encoder.dim()));
  std::int64_t begin = 0;
  for (const auto& [batch, longest] : batches) {
    poll_interrupt();
    const std::int64_t size = std::ssize(batch), all = size * longest;
    const at::Tensor x =
        table.index_select(0, on_device.narrow(0, begin, all)).view({size, longest, features});  // [B, T, E]
    const at::Tensor lengths = words.narrow(0, begin + all, size);                               // [B]
    const bool full = std::ssize(ids[batch.back()]) + ends == longest;
    const at::Tensor z = encoder.network()->encode(
        Sequences::of(x, on_device.narrow(0, begin + all, size), full, lengths));  // [B, dim]
    waiting.push_back(z.to(at::kFloat));
    sentences.insert(sentences.end(), batch.begin(), batch.end());
    begin += all + size;
    if (std::ssize(sentences) >= most) copy_back();
  }
  copy_back();
  before.wait_and(put);
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
  const c10::InferenceMode guard;
  const nn::Evaluating evaluating;
  const at::TensorOptions options = tensor_options(*network_);
  const at::Tensor end = network_->end().defined() ? network_->end().to(at::kCPU, at::kFloat) : at::Tensor();
  const std::int64_t ends = end.defined() ? 1 : 0;

  for (std::int64_t begin = 0; begin < sentences.size(); begin += kBlock) {
    const std::int64_t count = std::min(kBlock, sentences.size() - begin);
    const Read words = read(sentences.slice(begin, begin + count));
    const auto length = [&](std::int64_t i) { return std::ssize(words.words[i]); };
    std::vector<std::int64_t> order = longest_first(words);
    while (!order.empty() && length(order.back()) == 0) {
      out.row(begin + order.back()).setZero();
      order.pop_back();
    }
    std::vector<Batch> batches;
    for (std::size_t first = 0; first < order.size();) {
      const std::int64_t longest = length(order[first]) + ends;
      std::int64_t rows = std::min(std::max<std::int64_t>(1, options_.batch_tokens / longest),
                                   std::ssize(order) - static_cast<std::int64_t>(first));
      // If there are enough sentences of one length, a batch ends with them and needs no padding.
      const auto rest = std::span(order).subspan(first);
      const auto alike =
          std::ranges::find_if(rest, [&](std::int64_t i) { return length(i) != length(order[first]); }) -
          rest.begin();
      if (alike < rows && alike * longest >= options_.batch_tokens / kMinFraction) rows = alike;
      batches.push_back({rest.first(static_cast<std::size_t>(rows)), longest});
      first += static_cast<std::size_t>(rows);
    }
    const auto put = [&](std::span<const std::int64_t> batch, const at::Tensor& z) {  // [n, dim]
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
      encode_on_device(*this, words, end, batches, options, put);
      continue;
    }
    for (const Batch& batch : batches) {
      poll_interrupt();
      const at::Tensor z = network_->encode(gather(words, batch.sentences, end));  // [B, dim]
      put(batch.sentences, z.to(at::kFloat).contiguous());
    }
  }
}

}  // namespace sentencode::models
