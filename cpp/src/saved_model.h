// How encoders lie in a safetensors file: its metadata are
//   format "sentencode", format_version "2" ("1" without checksums), kind, config (JSON: every option,
//   unknown keys are refused) and params (whatever the wrapping layer wants back);
// tensors: weights [rows] unless all are 1; the word vectors under "vectors." unless config.vectors says
// where they are; and what the kind itself adds.
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

  /// What an encoder sees of sentences: tokenizer, vectors, weights. `path` is where the file will be.
  void add(const WeightedWords& words, SaveOptions::Vectors how, const std::string& path = {});
  void save(const std::string& path, const std::string& kind, const std::string& params) const;
  /// Without checksums: for memory, and what fingerprints are made of.
  std::string to_bytes(const std::string& kind, const std::string& params) const;

  template <typename T>
  void add(const std::string& name, RowMajor<T> values) {
    const auto& kept = keep(std::move(values));
    tensors[name] = tensor_of(kept);
  }
  void add(const std::string& name, Vector values) {
    const auto& kept = keep(std::move(values));
    tensors[name] =
        tensor_of(std::span<const float>(kept.data(), static_cast<std::size_t>(kept.size())), {kept.size()});
  }
  template <typename T>
  void add(const std::string& name, std::vector<T> values) {
    const auto& kept = keep(std::move(values));
    tensors[name] = tensor_of(std::span<const T>(kept), {std::ssize(kept)});
  }

 private:
  std::map<std::string, std::string> metadata(std::string_view version, const std::string& kind,
                                              const std::string& params) const;
  template <typename T>
  const T& keep(T values) {
    auto kept = std::make_shared<const T>(std::move(values));
    kept_.push_back(kept);
    return *kept;
  }
  std::vector<std::shared_ptr<const void>> kept_;
};

struct SavedModel {
  /// Checks the checksums of all tensors but those of the vectors, which `words` looks at.
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
  /// Calls something that judges what was read; its InvalidInput becomes a FormatError.
  template <typename Call>
  auto valid(const Call& call) const {
    try {
      return call();
    } catch (const InvalidInput& error) {
      throw FormatError(file->source() + ": " + error.what());
    }
  }

  // Options of the kind. Each is required and may be asked for once; what was not asked for is unknown.
  const nlohmann::json& option(const std::string& key) const;
  std::int64_t size_option(const std::string& key, std::int64_t least) const;
  bool flag_option(const std::string& key) const;
  template <typename Parse>
  auto named_option(const std::string& key, const Parse& parse) const {
    const nlohmann::json& value = option(key);
    check(value.is_string(), "config: ", key, " must be a string");
    return valid([&] { return parse(value.get<std::string>()); });
  }
  void finish_config() const;

  WeightedWords words() const;
  /// Tensors, checked for type and shape, and floats for being finite.
  template <typename T>
  std::span<const T> values(const std::string& name, std::initializer_list<std::int64_t> shape) const {
    const auto found = file->values<T>(name, shape);
    if constexpr (std::is_floating_point_v<T>) {
      check(Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>(found.data(), std::ssize(found)).allFinite(),
            "tensor '", name, "' must be finite");
    }
    return found;
  }
  template <typename T = float>
  RowMajor<T> matrix(const std::string& name, std::int64_t rows, std::int64_t cols) const {
    const auto found = values<T>(name, {rows, cols});
    const auto& shape = file->tensors().at(name).shape;
    return Eigen::Map<const RowMajor<T>>(found.data(), shape[0], shape[1]);
  }

 private:
  std::shared_ptr<const WordVectors> vectors(OutOfVocabulary oov) const;
  mutable std::set<std::string> asked_;
};

}  // namespace sentencode
