#include "sentencode/models/neural_encoder.h"

#include <ATen/Functions.h>
#include <c10/core/Event.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nn/parameters.h"
#include "nn/saved_tensors.h"
#include "nn/to_device.h"
#include "saved_model.h"
#include "sentencode/error.h"
#include "sentencode/models/heads.h"
#include "sentencode/models/networks.h"
#include "sentencode/nn/evaluating.h"
#include "sentencode/parallel.h"
#include "sentencode/text/alphabet.h"
#include "sentencode/training/optimizer.h"

namespace sentencode::models {
namespace {

constexpr std::int64_t kBlock = 1 << 15;         // sentences whose words are looked up together
constexpr std::int64_t kMinFraction = 4;         // a batch without padding has at least 1/4 of batch_tokens
constexpr std::int64_t kGrain = 16;              // sentences whose word vectors a thread gathers at once
constexpr std::int64_t kCopiedFloats = 1 << 20;  // floats of embeddings that are worth a thread
constexpr std::int64_t kReturnedBytes = std::int64_t{64} << 20;  // embeddings copied from a device at once
constexpr std::int64_t kWords = 1 << 12;                         // words in one call of word_rows
constexpr char kNetwork[] = "network.";                          // prefixes of a file's tensors
constexpr char kHead[] = "head.";

at::ScalarType saved_type(const at::Tensor& tensor) {
  return tensor.is_floating_point() ? at::kFloat : tensor.scalar_type();
}

bool is_finite(const at::Tensor& tensor) {
  return !tensor.is_floating_point() || tensor.isfinite().all().item<bool>();
}

/// All tensors of network and head, by their names in files.
training::NamedTensors tensors_of(const SentenceNetwork& network, const Head* head) {
  training::NamedTensors all;
  for (const auto& tensors : {network.parameter_tensors(), network.other_tensors()}) {
    for (const auto& [name, tensor] : tensors) all.emplace_back(kNetwork + name, tensor);
  }
  if (head == nullptr) return all;
  for (const auto& tensors : {head->named_parameters(), head->named_buffers()}) {
    for (const auto& item : tensors) all.emplace_back(kHead + item.key(), item.value());
  }
  return all;
}

/// Calls make(numbers), which may allocate no more than the numbers of the file's tensors with that prefix.
/// Every error becomes a FormatError.
template <typename Make>
auto described(const SavedModel& saved, const char* what, std::string_view prefix, const Make& make) {
  std::int64_t numbers = 0, tensors = 0;
  for (const auto& [name, tensor] : saved.file->tensors()) {
    if (!name.starts_with(prefix)) continue;
    numbers += c10::multiply_integers(tensor.shape);
    ++tensors;
  }
  try {
    const nn::NumbersLimit limit(numbers, tensors);
    return saved.valid([&] { return make(numbers); });
  } catch (const c10::Error& error) {  // of a layer, or of the allocator
    throw FormatError(concat(saved.file->source(), ": ", what, ": ", error.what_without_backtrace()));
  }
}

/// Guards against damaged files that would allocate huge tensors: an integer option may exceed neither the
/// numbers in the file nor, if that is larger, its default.
void check_options(const SavedModel& saved, const char* what, const nlohmann::json& config,
                   std::int64_t numbers, const nlohmann::json& defaults) {
  for (const auto& [name, value] : config.items()) {
    const bool has = defaults.contains(name) && defaults[name].is_number_integer();
    const std::int64_t bound = std::max(numbers, has ? defaults[name].get<std::int64_t>() : 0);
    saved.check(!value.is_number_integer() || (value >= 0 && value <= bound), what, ": ", name, " is ",
                value.dump(), ", and the file has ", numbers, " numbers");
  }
}

/// A network with the file's options; its weights are read later.
std::shared_ptr<SentenceNetwork> described_network(const SavedModel& saved, const nlohmann::json& config) {
  return described(saved, "network", kNetwork, [&](std::int64_t numbers) {
    // Registered networks have no defaults to compare with, and their words may have no rows.
    const bool named = config.contains("network") && config["network"].is_string();
    const std::string known = named ? name_in_table(config["network"].get<std::string>()) : "";
    if (!known.empty()) {
      check_options(saved, "network", config, numbers, nlohmann::json::parse(default_config(known)));
    }
    return make_network(config.dump());
  });
}

/// The same for the head, whose inputs are `dim`-dimensional embeddings; null if the file has none.
std::shared_ptr<Head> described_head(const SavedModel& saved, const nlohmann::json& config,
                                     std::int64_t dim) {
  if (config.is_null()) return nullptr;
  return described(saved, "head", kHead, [&](std::int64_t numbers) {
    if (config.contains("features")) {
      saved.check(config["features"] == dim, "head: features must be ", dim, ", as the embeddings have, got ",
                  config["features"].dump());
    }
    check_options(saved, "head", config, std::max(numbers, dim), {});
    return make_head(config.dump());
  });
}

/// The word ids, saved with networks whose word_rows reads them.
WordIds saved_ids(const SavedModel& saved) {
  WordIds ids;
  if (!saved.config.contains("ids")) return ids;
  const nlohmann::json& option = saved.option("ids");
  saved.check(option.is_object() && option.size() == 2 && option.contains("words") &&
                  option.contains("unknown") && option["words"].is_array() &&
                  option["unknown"].is_number_integer(),
              "config: ids must have words and unknown");
  for (const nlohmann::json& word : option["words"]) {
    const std::int64_t before = ids.words.size();
    saved.check(word.is_string() && ids.words.insert(word.get_ref<const std::string&>()) == before,
                "config: ids must be distinct words, got ", word.dump());
  }
  ids.unknown = option["unknown"].get<std::int64_t>();
  return ids;
}

/// Device and type of the network's weights.
at::TensorOptions options_of(const SentenceNetwork& network) {
  const training::NamedTensors parameters = network.parameter_tensors();
  ST_CHECK(!parameters.empty(), InvalidInput, "the network has no parameters");
  return parameters.front().second.options();
}

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
    const at::TensorOptions options = options_of(network);
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
  return Sequences::of(x.to(options_of(*network_)), lengths, length(sentences.back()) == longest);
}

void NeuralEncoder::encode(const Sentences& sentences, MatrixView out) const {
  ST_CHECK(out.rows() == sentences.size() && out.cols() == dim(), InvalidInput, kind_, ": out must be [",
           sentences.size(), ", ", dim(), "], got [", out.rows(), ", ", out.cols(), "]");
  const c10::InferenceMode guard;
  const nn::Evaluating evaluating;
  const at::TensorOptions options = options_of(*network_);
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

void NeuralEncoder::save(const std::string& path, const SaveOptions& options) const {
  ModelContents contents;
  contents.add(words_, options.vectors, path);
  contents.config["network"] = nlohmann::json::parse(network_->config());
  contents.config["max_words"] = options_.max_words;
  contents.config["batch_tokens"] = options_.batch_tokens;
  if (network_->word_inputs().ids > 0) {
    nlohmann::json words = nlohmann::json::array();
    for (std::int64_t id = 0; id < ids_.words.size(); ++id) words.push_back(ids_.words[id]);
    contents.config["ids"] = {{"words", std::move(words)}, {"unknown", ids_.unknown}};
  }
  if (head_ != nullptr) contents.config["head"] = nlohmann::json::parse(head_->config());
  std::vector<at::Tensor> tensors;  // alive until they are written
  for (const auto& [name, tensor] : tensors_of(*network_, head_.get())) {
    tensors.push_back(tensor.detach().to(at::kCPU, saved_type(tensor)).contiguous());
    ST_CHECK(is_finite(tensors.back()), InvalidInput, kind_, ": the tensor '", name,
             "' must be finite to be saved");
    contents.tensors[name] = nn::view_of(name, tensors.back());
  }
  contents.save(path, kind_, params());
}

std::unique_ptr<NeuralEncoder> NeuralEncoder::load(const std::string& path, const LoadOptions& from) {
  const SavedModel saved = SavedModel::open(path, from);
  NeuralOptions options;
  options.max_words = saved.size_option("max_words", 1);
  options.batch_tokens = saved.size_option("batch_tokens", 1);
  const nlohmann::json& config = saved.option("network");
  WordIds ids = saved_ids(saved);
  const nlohmann::json head_config = saved.config.contains("head") ? saved.option("head") : nlohmann::json();
  saved.finish_config();
  const auto network = described_network(saved, config);
  const auto head = described_head(saved, head_config, network->dim());
  const at::NoGradGuard guard;
  std::set<std::string> names;
  for (const auto& [name, tensor] : tensors_of(*network, head.get())) {
    const auto entry = saved.file->tensors().find(name);
    saved.check(entry != saved.file->tensors().end(), "tensor '", name, "' is missing");
    const at::Tensor values = nn::copy_of(saved.file->source(), name, entry->second);
    saved.check(values.sizes() == tensor.sizes() && values.scalar_type() == saved_type(tensor), "tensor '",
                name, "' is ", c10::toString(values.scalar_type()), " ", values.sizes(), ", expected ",
                c10::toString(saved_type(tensor)), " ", tensor.sizes());
    saved.check(is_finite(values), "tensor '", name, "' must be finite");
    tensor.detach().copy_(values);
    names.insert(name);
  }
  for (const auto& [name, tensor] : saved.file->tensors()) {
    const bool ours = name.starts_with(kNetwork) || name.starts_with(kHead);
    saved.check(!ours || names.contains(name), "tensor '", name, "' is none of the network's");
  }
  auto encoder = saved.valid([&] {
    return std::make_unique<NeuralEncoder>(saved.kind, saved.words(), network, options, std::move(ids), head);
  });
  encoder->set_params(saved.params);
  network->eval();
  if (head != nullptr) head->eval();
  return encoder;
}

void register_encoders() {
  for_networks([](const auto& kind) {
    register_encoder(kind.encoder,
                     [](const std::string& path, const LoadOptions& from) -> std::unique_ptr<Encoder> {
                       return NeuralEncoder::load(path, from);
                     });
  });
}

}  // namespace sentencode::models
