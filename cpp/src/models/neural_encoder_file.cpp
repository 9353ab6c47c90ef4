// Files of encoders with networks.
#include <ATen/Functions.h>
#include <c10/util/Exception.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "nn/parameters.h"
#include "nn/saved_tensors.h"
#include "saved_model.h"
#include "sentencode/error.h"
#include "sentencode/models/heads.h"
#include "sentencode/models/networks.h"
#include "sentencode/models/neural_encoder.h"

namespace sentencode::models {
namespace {

constexpr char kNetwork[] = "network.";  // prefixes of a file's tensors
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

/// Sizes of the papers, which options that a network does not use may have.
constexpr std::int64_t kUsual = 4096;

/// Guards against damaged files that would allocate huge tensors: an integer option may exceed neither the
/// numbers in the file nor, if that is larger, its default or `kUsual`.
void check_options(const SavedModel& saved, const char* what, const nlohmann::json& config,
                   std::int64_t numbers, const nlohmann::json& defaults) {
  for (const auto& [name, value] : config.items()) {
    const bool has = defaults.contains(name) && defaults[name].is_number_integer();
    const std::int64_t bound = std::max({numbers, has ? defaults[name].get<std::int64_t>() : 0, kUsual});
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

}  // namespace

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
