#include "sentencode/models/sentence_network.h"

#include <ATen/Functions.h>

#include <cstddef>
#include <functional>
#include <map>
#include <utility>

#include "models/config.h"
#include "sentencode/error.h"

namespace sentencode::models {
namespace {

using at::Tensor;
using nlohmann::json;

/// Takes options out of JSON: every one has to be there, and nothing else.
class Reader {
 public:
  explicit Reader(const json& config) : left_(config) { left_.erase("network"); }

  template <typename T>
  void operator()(const char* name, T& value) const {
    const auto place = left_.find(name);
    ST_CHECK(place != left_.end(), InvalidInput, "network: ", name, " is missing");
    try {
      if constexpr (std::is_enum_v<T>) {
        parse(place->template get<std::string>(), value);
      } else {
        // JSON would make a truth of a number, and a whole number of any.
        const bool fits = !std::is_arithmetic_v<T> || place->is_boolean() == std::is_same_v<T, bool>;
        ST_CHECK(fits && (!std::is_integral_v<T> || !place->is_number_float()), InvalidInput,
                 "network: ", name, " cannot be ", place->dump());
        value = place->template get<T>();
      }
    } catch (const json::exception&) {
      throw InvalidInput(concat("network: ", name, " cannot be ", place->dump()));
    }
    left_.erase(place);
  }

  void finish() const {
    ST_CHECK(left_.empty(), InvalidInput, "network: unknown option '", left_.begin().key(), "'");
  }

 private:
  mutable json left_;
};

template <typename Network, typename Options>
std::shared_ptr<SentenceNetwork> make(const json& config) {
  const Reader read(config);
  AutoencoderOptions words;
  Options own;
  for_options(words, read);
  for_options(own, read);
  read.finish();
  return std::make_shared<Network>(words, own);
}

const std::map<std::string, std::function<std::shared_ptr<SentenceNetwork>(const json&)>> kNetworks{
    {"ConvolutionalNetwork", make<ConvolutionalNetwork, ConvolutionalOptions>},
    {"DenoisingNetwork", make<DenoisingNetwork, DenoisingOptions>},
    {"MeanMaxNetwork", make<MeanMaxNetwork, MeanMaxOptions>},
    {"RecurrentNetwork", make<RecurrentNetwork, RecurrentAutoencoderOptions>}};

}  // namespace

Sequences Sequences::of(const Tensor& x, const Tensor& lengths) {
  TORCH_CHECK_VALUE(x.dim() == 3 && x.is_floating_point(),
                    "sentences must be floating point [batch, time, features], got ", x.dtype(), " ",
                    x.sizes());
  TORCH_CHECK_VALUE(lengths.scalar_type() == at::kLong && lengths.dim() == 1 && lengths.size(0) == x.size(0),
                    "lengths must be int64 [", x.size(0), "], got ", lengths.dtype(), " ", lengths.sizes());
  if (!lengths.is_cuda() && lengths.numel() > 0) {  // a GPU would have to be waited for
    const auto [least, most] = lengths.aminmax();
    const auto low = least.item<std::int64_t>(), high = most.item<std::int64_t>();
    TORCH_CHECK_VALUE(low >= 0 && high <= x.size(1), "lengths must be from 0 to ", x.size(1), ", got ",
                      low < 0 ? low : high);
  }
  const Tensor places = at::arange(x.size(1), x.options().dtype(at::kLong));      // [T]
  const Tensor mask = places.unsqueeze(0) < lengths.to(x.device()).unsqueeze(1);  // [B, T]
  // Even without a weight, what is no number would be none in a sum, and in a gradient.
  return {x.masked_fill(mask.logical_not().unsqueeze(2), 0), lengths, mask};
}

std::shared_ptr<SentenceNetwork> make_network(const std::string& config) {
  const json read = json::parse(config, nullptr, /*allow_exceptions=*/false);
  ST_CHECK(read.is_object() && read.contains("network") && read["network"].is_string(), InvalidInput,
           "network must be a JSON object with the name of one, got ", config.substr(0, 60));
  const auto found = kNetworks.find(read["network"].get<std::string>());
  ST_CHECK(found != kNetworks.end(), InvalidInput, "network: unknown kind ", read["network"].dump());
  return found->second(read);
}

}  // namespace sentencode::models
