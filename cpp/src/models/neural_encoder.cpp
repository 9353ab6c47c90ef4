#include "sentencode/models/neural_encoder.h"

#include <ATen/Functions.h>
#include <c10/core/Event.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>
#include <c10/util/accumulate.h>

#include <algorithm>
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

constexpr std::int64_t kBlock = 1 << 15;   // sentences whose words are looked up before any is encoded
constexpr std::int64_t kFewer = 4;         // a batch of one length may have so many times fewer tokens
constexpr std::int64_t kGrain = 16;        // sentences whose vectors a thread gathers at once
constexpr std::int64_t kCopied = 1 << 20;  // numbers of embeddings that a thread is worth
constexpr std::int64_t kBytesBack = std::int64_t{64} << 20;  // of embeddings that a device gives at once
constexpr std::int64_t kWords = 1 << 12;                     // words of which rows are made at once
constexpr char kNetwork[] = "network.";                      // tensors of a file
constexpr char kHead[] = "head.";

at::ScalarType kept_as(const at::Tensor& tensor) {
  return tensor.is_floating_point() ? at::kFloat : tensor.scalar_type();
}

bool is_finite(const at::Tensor& tensor) {
  return !tensor.is_floating_point() || tensor.isfinite().all().item<bool>();
}

/// All tensors of network and head, by their names in files.
training::NamedTensors tensors_of(const SentenceNetwork& network, const Head* head) {
  training::NamedTensors found;
  for (const auto& tensors : {network.parameter_tensors(), network.other_tensors()}) {
    for (const auto& [name, tensor] : tensors) found.emplace_back(kNetwork + name, tensor);
  }
  if (head == nullptr) return found;
  for (const auto& tensors : {head->named_parameters(), head->named_buffers()}) {
    for (const auto& item : tensors) found.emplace_back(kHead + item.key(), item.value());
  }
  return found;
}

/// What `make` makes within the limit of a file's numbers, of those tensors whose names begin so. Whatever is
/// wrong is a FormatError.
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

/// Damage must not ask for memory that nothing needs: no whole number among the options may be larger than
/// `most`, how many numbers the file has, nor than by default.
void check_options(const SavedModel& saved, const char* what, const nlohmann::json& config, std::int64_t most,
                   const nlohmann::json& usual) {
  for (const auto& [name, value] : config.items()) {
    const bool has = usual.contains(name) && usual[name].is_number_integer();
    const std::int64_t bound = std::max(most, has ? usual[name].get<std::int64_t>() : 0);
    saved.check(!value.is_number_integer() || (value >= 0 && value <= bound), what, ": ", name, " is ",
                value.dump(), ", and the file has ", most, " numbers");
  }
}

/// A network as the file describes it, with other weights.
std::shared_ptr<SentenceNetwork> described_network(const SavedModel& saved, const nlohmann::json& config) {
  return described(saved, "network", kNetwork, [&](std::int64_t numbers) {
    // Of networks that are written elsewhere nothing is known: their words may have no rows.
    const bool named = config.contains("network") && config["network"].is_string();
    const std::string known = named ? name_in_table(config["network"].get<std::string>()) : "";
    if (!known.empty()) {
      check_options(saved, "network", config, numbers, nlohmann::json::parse(default_config(known)));
    }
    return make_network(config.dump());
  });
}

/// The same for the head that learnt from embeddings of so many dimensions; null where there is none.
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

/// The ids of words, which stand in files of networks that ask for them.
WordIds saved_ids(const SavedModel& saved) {
  WordIds ids;
  if (!saved.config.contains("ids")) return ids;
  const nlohmann::json& found = saved.option("ids");
  saved.check(found.is_object() && found.size() == 2 && found.contains("words") &&
                  found.contains("unknown") && found["words"].is_array() &&
                  found["unknown"].is_number_integer(),
              "config: ids must have words and unknown");
  for (const nlohmann::json& word : found["words"]) {
    const std::int64_t before = ids.words.size();
    saved.check(word.is_string() && ids.words.insert(word.get_ref<const std::string&>()) == before,
                "config: ids must be distinct words, got ", word.dump());
  }
  ids.unknown = found["unknown"].get<std::int64_t>();
  return ids;
}

/// Where, and how exactly, a network computes.
at::TensorOptions computed_by(const SentenceNetwork& network) {
  const training::NamedTensors parameters = network.parameter_tensors();
  ST_CHECK(!parameters.empty(), InvalidInput, "the network has no parameters");
  return parameters.front().second.options();
}

/// [W, F] of words that are given by their places in the vectors, -1 where they have none, and as text.
class WordReader {
 public:
  WordReader(const WeightedWords& words, const WordIds& ids, SentenceNetwork& network)
      : words_(words),
        ids_(ids),
        network_(network),
        inputs_(network.word_inputs()),
        alphabet_(inputs_.alphabet),
        computed_(computed_by(network)) {}

  /// The place of a word among those that rows are made of; -1 where it is left out.
  std::int32_t place(std::string_view word) {
    const std::int64_t before = distinct_.size();
    const std::int32_t seen = distinct_.insert(word);
    if (seen < before) return places_[static_cast<std::size_t>(seen)];
    const WordVectors& vectors = *words_.vectors();
    const bool kept = vectors.id(word) >= 0 || ids_.words.find(word) != StringTable::kMissing ||
                      (vectors.oov() == OutOfVocabulary::subwords && has_subwords(word));
    if (kept) kept_.push_back(seen);
    return places_.emplace_back(kept ? static_cast<std::int32_t>(kept_.size()) - 1 : -1);
  }

  at::Tensor rows() const {
    std::vector<at::Tensor> found;
    for (std::int64_t begin = 0; begin < std::ssize(kept_); begin += kWords) {
      poll_interrupt();
      const std::int64_t end = std::min(begin + kWords, std::ssize(kept_));
      found.push_back(network_.word_rows(read(begin, end)).to(at::kCPU, at::kFloat));
      TORCH_CHECK_VALUE(found.back().dim() == 2 && found.back().size(0) == end - begin,
                        "word_rows must return [", end - begin, ", features], got ", found.back().sizes());
    }
    return found.empty() ? at::empty({0, 0}, at::kFloat) : at::cat(found).contiguous();
  }

 private:
  bool has_subwords(std::string_view word) const {
    std::vector<float> row(static_cast<std::size_t>(words_.dim()));
    return words_.vectors()->row_of_subwords(word, row.data());
  }

  Words read(std::int64_t begin, std::int64_t end) const {
    const std::int64_t count = end - begin, features = words_.dim(), width = inputs_.characters;
    const WordVectors& table = *words_.vectors();
    const at::Tensor vectors = at::zeros({count, features}, at::kFloat),
                     known = at::empty({count}, at::kBool), ids = at::empty({count}, at::kLong);
    const at::Tensor characters = width > 0 ? at::empty({count, width}, at::kLong) : at::Tensor();
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string_view word = distinct_[kept_[static_cast<std::size_t>(begin + i)]];
      float* const row = vectors.mutable_data_ptr<float>() + i * features;
      const std::int32_t listed = table.words().find(word), standing = table.id(word);
      if (standing >= 0) words_.row(standing, row);
      known.mutable_data_ptr<bool>()[i] =
          listed >= 0 || (table.oov() == OutOfVocabulary::subwords && table.row_of_subwords(word, row));
      const std::int32_t id = ids_.words.find(word);
      ids.mutable_data_ptr<std::int64_t>()[i] = id == StringTable::kMissing ? ids_.unknown : id;
      if (width > 0) {
        alphabet_(word,
                  {characters.mutable_data_ptr<std::int64_t>() + i * width, static_cast<std::size_t>(width)});
      }
    }
    const at::Device device = computed_.device();
    return {vectors.to(computed_), known.to(device), ids.to(device),
            width > 0 ? characters.to(device) : at::Tensor()};
  }

  const WeightedWords& words_;
  const WordIds& ids_;
  SentenceNetwork& network_;
  WordInputs inputs_;
  Alphabet alphabet_;
  at::TensorOptions computed_;
  StringTable distinct_;
  std::vector<std::int32_t> places_, kept_;  // [distinct]; which of them have places
};

/// Sentences of one batch, and the length of its longest.
struct Cut {
  std::span<const std::int64_t> sentences;
  std::int64_t longest;
};

/// Embeddings on their way from a device.
class Arriving {
 public:
  Arriving() = default;
  Arriving(at::Device device, at::IntArrayRef sizes)
      : z_(nn::empty_for(device, sizes, at::kFloat)), device_(device) {}

  /// Queues the copy.
  void copy(const at::Tensor& z, std::vector<std::int64_t> sentences) {
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

/// On a device: what words there are is copied once, and looked up there; rows come back many at a time. The
/// device is not waited for in between.
template <typename Put>
void encode_there(const NeuralEncoder& encoder, const NeuralEncoder::Read& of, const at::Tensor& end,
                  std::span<const Cut> batches, const at::TensorOptions& computed, const Put& put) {
  if (batches.empty()) return;
  const RaggedIds& ids = of.words;
  const at::Device device = computed.device();
  const std::int64_t features = encoder.width(of), ends = end.defined() ? 1 : 0;
  // Row 0 is zero, row 1 the end, then each word once, in the order in which they come.
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
  float* const at = rows.mutable_data_ptr<float>();
  std::fill_n(at, features, 0.F);
  if (ends == 1) std::copy_n(end.const_data_ptr<float>(), features, at + features);
  parallel_for(0, count, kGrain, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) {
      float* const place = at + (first + i) * features;
      std::fill_n(place, features, 0.F);
      encoder.row(of, distinct[static_cast<std::size_t>(i)], place);
    }
  });
  const at::Tensor table = rows.to(computed, /*non_blocking=*/true);
  std::int64_t cells = 0;
  for (const auto& [batch, longest] : batches) cells += std::ssize(batch) * (longest + 1);
  const at::Tensor words =
      nn::empty_for(device, {cells}, at::kLong);  // of each batch its ids [B T], lengths [B]
  auto* next = words.mutable_data_ptr<std::int64_t>();
  for (const auto& [batch, longest] : batches) {
    auto* long_as = next + std::ssize(batch) * longest;
    for (const std::int64_t i : batch) {
      std::int64_t* place = next;
      for (const std::int32_t id : ids[i]) {
        *place++ = row_of[static_cast<std::size_t>(id)];
      }
      if (ends == 1) *place++ = 1;
      *long_as++ = place - next;
      next += longest;
      std::fill(place, next, 0);
    }
    next = long_as;
  }
  const at::Tensor there = words.to(device, /*non_blocking=*/true);

  std::vector<at::Tensor> waiting;  // [B, dim] each
  std::vector<std::int64_t> theirs;
  Arriving before;  // what is copied from the device while it computes the next ones
  const auto read = [&] {
    Arriving now(device, {std::ssize(theirs), encoder.dim()});
    if (!waiting.empty()) now.copy(at::cat(waiting), std::move(theirs));
    before.wait_and(put);
    before = std::move(now);
    waiting.clear();
    theirs.clear();
  };
  const std::int64_t most = std::max<std::int64_t>(1, kBytesBack / (4 * encoder.dim()));
  std::int64_t begin = 0;
  for (const auto& [batch, longest] : batches) {
    poll_interrupt();
    const std::int64_t size = std::ssize(batch), all = size * longest;
    const at::Tensor x =
        table.index_select(0, there.narrow(0, begin, all)).view({size, longest, features});  // [B, T, E]
    const at::Tensor lengths = words.narrow(0, begin + all, size);                           // [B]
    const bool full = std::ssize(ids[batch.back()]) + ends == longest;
    const at::Tensor z = encoder.network()->encode(
        Sequences::of(x, there.narrow(0, begin + all, size), full, lengths));  // [B, dim]
    waiting.push_back(z.to(at::kFloat));
    theirs.insert(theirs.end(), batch.begin(), batch.end());
    begin += all + size;
    if (std::ssize(theirs) >= most) read();
  }
  read();
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
  ST_CHECK(words_.dim() == network_->features(), InvalidInput, "the network takes vectors of ",
           network_->features(), " numbers, those of the words have ", words_.dim());
  ST_CHECK(options_.max_words >= 1, InvalidInput, "max_words must be at least 1, got ", options_.max_words);
  ST_CHECK(options_.batch_tokens >= 1, InvalidInput, "batch_tokens must be at least 1, got ",
           options_.batch_tokens);
  const WordInputs wanted = network_->word_inputs();
  ST_CHECK(ids_.words.size() <= wanted.ids && ids_.unknown >= -1 && ids_.unknown < wanted.ids, InvalidInput,
           "ids: the network knows ", wanted.ids, ", got ", ids_.words.size(), " words, and ", ids_.unknown,
           " for all others");
}

NeuralEncoder::~NeuralEncoder() = default;

std::int64_t NeuralEncoder::dim() const { return network_->dim(); }

NeuralEncoder::Read NeuralEncoder::read(const Sentences& sentences) const {
  if (network_->word_inputs().ids == 0) return {words_.lookup(sentences, options_.max_words), {}};
  const TokenisedSentences cut(words_.tokenizer(), sentences);
  const Sentences tokens = cut.sentences();
  WordReader words(words_, ids_, *network_);
  Read found;
  for (std::int64_t i = 0; i < tokens.size(); ++i) {
    const std::int64_t first = tokens.offsets[static_cast<std::size_t>(i)],
                       last = tokens.offsets[static_cast<std::size_t>(i) + 1];
    std::int64_t room = options_.max_words;
    for (std::int64_t t = first; t < last && room > 0; ++t) {
      const std::int32_t place = words.place(tokens.pieces[static_cast<std::size_t>(t)]);
      if (place < 0) continue;
      found.words.ids.push_back(place);
      --room;
    }
    found.words.offsets.push_back(std::ssize(found.words.ids));
  }
  found.rows = words.rows();
  return found;
}

void NeuralEncoder::row(const Read& of, std::int32_t id, float* x) const {
  if (!of.rows.defined()) return words_.row(of.words, id, x);
  std::copy_n(of.rows.const_data_ptr<float>() + id * width(of), width(of), x);
}

void NeuralEncoder::encode(const Sentences& sentences, MatrixView out) const {
  ST_CHECK(out.rows() == sentences.size() && out.cols() == dim(), InvalidInput, kind_, ": out must be [",
           sentences.size(), ", ", dim(), "], got [", out.rows(), ", ", out.cols(), "]");
  const c10::InferenceMode guard;
  const nn::Evaluating evaluating;
  const at::TensorOptions computed = computed_by(*network_);
  const at::Tensor end = network_->end().defined() ? network_->end().to(at::kCPU, at::kFloat) : at::Tensor();
  const std::int64_t ends = end.defined() ? 1 : 0;

  for (std::int64_t begin = 0; begin < sentences.size(); begin += kBlock) {
    const std::int64_t count = std::min(kBlock, sentences.size() - begin);
    const Read found = read(sentences.slice(begin, begin + count));
    const RaggedIds& ids = found.words;
    const std::int64_t features = width(found);
    const auto length = [&](std::int64_t i) { return std::ssize(ids[i]); };
    std::vector<std::int64_t> order(static_cast<std::size_t>(count));  // the longest first
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return length(a) > length(b); });
    while (!order.empty() && length(order.back()) == 0) {
      out.row(begin + order.back()).setZero();
      order.pop_back();
    }
    std::vector<Cut> batches;
    for (std::size_t first = 0; first < order.size();) {
      const std::int64_t longest = length(order[first]) + ends;
      std::int64_t rows = std::min(std::max<std::int64_t>(1, options_.batch_tokens / longest),
                                   std::ssize(order) - static_cast<std::int64_t>(first));
      // Where there are enough of one length, a batch ends with it: nothing is padded then.
      const auto alike =
          std::ranges::find_if(std::span(order).subspan(first),
                               [&](std::int64_t i) { return length(i) != length(order[first]); }) -
          std::span(order).subspan(first).begin();
      if (alike < rows && alike * longest >= options_.batch_tokens / kFewer) rows = alike;
      batches.push_back({std::span(order).subspan(first, static_cast<std::size_t>(rows)), longest});
      first += static_cast<std::size_t>(rows);
    }
    const auto put = [&](std::span<const std::int64_t> those, const at::Tensor& z) {  // [n, dim]
      const float* const rows = z.const_data_ptr<float>();
      check_finite(Eigen::Map<const Matrix>(rows, std::ssize(those), dim()));
      const std::int64_t grain = std::max<std::int64_t>(1, kCopied / dim());
      parallel_for(0, std::ssize(those), grain, [&](std::int64_t from, std::int64_t to) {
        for (std::int64_t i = from; i < to; ++i) {
          std::copy_n(rows + i * dim(), dim(), out.row(begin + those[static_cast<std::size_t>(i)]).data());
        }
      });
    };
    if (!computed.device().is_cpu()) {
      encode_there(*this, found, end, batches, computed, put);
      continue;
    }
    for (const auto& [batch, longest] : batches) {
      poll_interrupt();
      const auto rows = std::ssize(batch);
      at::Tensor x = at::zeros({rows, longest, features}, at::kFloat);  // [B, T, E]
      at::Tensor lengths = at::empty({rows}, at::kLong);                // [B]
      float* const at = x.mutable_data_ptr<float>();
      auto* const long_as = lengths.mutable_data_ptr<std::int64_t>();
      parallel_for(0, rows, kGrain, [&](std::int64_t from, std::int64_t to) {
        for (std::int64_t b = from; b < to; ++b) {
          float* place = at + b * longest * features;
          for (const std::int32_t id : ids[batch[static_cast<std::size_t>(b)]]) {
            row(found, id, place);
            place += features;
          }
          if (ends == 1) std::copy_n(end.const_data_ptr<float>(), features, place);
          long_as[b] = length(batch[static_cast<std::size_t>(b)]) + ends;
        }
      });
      const bool full = length(batch.back()) + ends == longest;
      put(batch, network_->encode(Sequences::of(x.to(computed), lengths, full))
                     .to(at::kFloat)
                     .contiguous());  // [B, dim]
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
  std::vector<at::Tensor> held;  // while they are written
  for (const auto& [name, tensor] : tensors_of(*network_, head_.get())) {
    // A network may compute in other types: what is kept is what it is made with.
    held.push_back(tensor.detach().to(at::kCPU, kept_as(tensor)).contiguous());
    ST_CHECK(is_finite(held.back()), InvalidInput, kind_, ": the tensor '", name,
             "' must be finite to be saved");
    contents.tensors[name] = nn::view_of(name, held.back());
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
  std::set<std::string> known;
  for (const auto& [name, tensor] : tensors_of(*network, head.get())) {
    const auto place = saved.file->tensors().find(name);
    saved.check(place != saved.file->tensors().end(), "tensor '", name, "' is missing");
    const at::Tensor found = nn::copy_of(saved.file->source(), place->first, place->second);
    saved.check(found.sizes() == tensor.sizes() && found.scalar_type() == kept_as(tensor), "tensor '",
                place->first, "' is ", c10::toString(found.scalar_type()), " ", found.sizes(), ", expected ",
                c10::toString(kept_as(tensor)), " ", tensor.sizes());
    saved.check(is_finite(found), "tensor '", place->first, "' must be finite");
    tensor.detach().copy_(found);
    known.insert(place->first);
  }
  for (const auto& [name, tensor] : saved.file->tensors()) {
    const bool ours = name.starts_with(kNetwork) || name.starts_with(kHead);
    saved.check(!ours || known.contains(name), "tensor '", name, "' is none of the network's");
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
