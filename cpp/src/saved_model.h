// The file format of encoders: safetensors, with the metadata
//   format "sentencode", format_version "2" ("1" without checksums), kind, config (JSON: every option,
//   unknown keys are refused) and params (a string of the wrapping layer);
// and the tensors weights [rows] unless all are 1; the word vectors under "vectors." unless config.vectors
// refers to them; and those of the kind.
#pragma once

#include <any>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sentencode/encoder.h"
#include "sentencode/error.h"
#include "sentencode/io/safetensors.h"
#include "sentencode/vectors/weighted_words.h"

namespace sentencode {

struct ModelContents {
  nlohmann::json config = nlohmann::json::object();
  std::map<std::string, Tensor> tensors;

  /// Adds tokenizer, vectors and weights. `path` is the future file.
  void add(const WeightedWords& words, SaveOptions::Vectors how, const std::string& path = {});
  void save(const std::string& path, const std::string& kind, const std::string& params) const;
  /// Without checksums, for copies in memory and for fingerprints.
  std::string to_bytes(const std::string& kind, const std::string& params) const;

  template <typename T>
  void add(const std::string& name, RowMajor<T> values) {
    tensors[name] = tensor_of(keep(std::move(values)));
  }
  void add(const std::string& name, Vector values) {
    const auto& v = keep(std::move(values));
    tensors[name] =
        tensor_of(std::span<const float>(v.data(), static_cast<std::size_t>(v.size())), {v.size()});
  }
  template <typename T>
  void add(const std::string& name, std::vector<T> values) {
    const auto& v = keep(std::move(values));
    tensors[name] = tensor_of(std::span<const T>(v), {std::ssize(v)});
  }

 private:
  std::map<std::string, std::string> metadata(std::string_view version, const std::string& kind,
                                              const std::string& params) const;
  template <typename T>
  const T& keep(T values) {
    auto shared = std::make_shared<const T>(std::move(values));
    storage_.push_back(shared);
    return *shared;
  }
  std::vector<std::shared_ptr<const void>> storage_;  // of the tensors
};

struct SavedModel {
  /// Verifies the checksums of all tensors but the vectors', which `words` verifies.
  static SavedModel open(const std::string& path, const LoadOptions& options);
  static SavedModel read(std::shared_ptr<const SafeTensors> file);

  std::shared_ptr<const SafeTensors> file;
  LoadOptions options;
  std::string kind, params;
  nlohmann::json config;

  template <typename... Parts>
  void check(bool condition, Parts&&... parts) const {
    ST_CHECK(condition, FormatError, file->source(), ": ", std::forward<Parts>(parts)...);
  }
  /// call(), whose InvalidInput becomes a FormatError that names the file.
  template <typename Call>
  auto valid(const Call& call) const {
    try {
      return call();
    } catch (const InvalidInput& error) {
      throw FormatError(file->source() + ": " + error.what());
    }
  }

  // Options of the kind, all required. finish_config refuses keys that were not read before.
  const nlohmann::json& option(const std::string& key) const;
  std::int64_t size_option(const std::string& key, std::int64_t least) const;
  bool flag_option(const std::string& key) const;
  template <NamedEnum E>
  E enum_option() const {
    const std::string key(enum_names(E{}).option);
    const nlohmann::json& value = option(key);
    check(value.is_string(), "config: ", key, " must be a string");
    return valid([&] { return parse_enum<E>(value.get<std::string>()); });
  }
  void finish_config() const;

  WeightedWords words() const;
  /// A tensor of this type and shape; floats must be finite.
  template <typename T>
  std::span<const T> values(const std::string& name, std::initializer_list<std::int64_t> shape) const {
    const auto tensor = file->values<T>(name, shape);
    if constexpr (std::is_floating_point_v<T>) {
      check(
          Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>(tensor.data(), std::ssize(tensor)).allFinite(),
          "tensor '", name, "' must be finite");
    }
    return tensor;
  }
  template <typename T = float>
  RowMajor<T> matrix(const std::string& name, std::int64_t rows, std::int64_t cols) const {
    const auto tensor = values<T>(name, {rows, cols});
    const auto& shape = file->tensors().at(name).shape;
    return Eigen::Map<const RowMajor<T>>(tensor.data(), shape[0], shape[1]);
  }

 private:
  std::shared_ptr<const WordVectors> vectors(OutOfVocabulary oov) const;
  mutable std::set<std::string> read_;  // keys
};

}  // namespace sentencode
