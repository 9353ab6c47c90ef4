#include "saved_model.h"

#include <filesystem>

namespace sentencode {
namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "sentencode", kVersion = "1";
}  // namespace

SavedModel SavedModel::read(std::shared_ptr<const SafeTensors> file) {
  SavedModel result;
  result.file = std::move(file);
  const auto& metadata = result.file->metadata();
  const auto value = [&](const char* key) {
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::string() : found->second;
  };
  result.check(value("format") == kFormat, "a safetensors file, but no encoder of Sentencode's");
  result.check(value("format_version") == kVersion, "format version '", value("format_version"),
               "'; this library reads version ", kVersion);
  result.kind = value("kind");
  result.params = value("params");
  result.config = json::parse(value("config"), nullptr, false);
  result.check(result.config.is_object(), "config is not a JSON object");
  return result;
}

const json& SavedModel::option(const std::string& key) const {
  const auto found = config.find(key);
  check(found != config.end(), "config: ", key, " is missing");
  asked_.insert(key);
  return *found;
}

std::int64_t SavedModel::size_option(const std::string& key, std::int64_t least) const {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  const json& value = option(key);
  check(value.is_number_integer() && value >= least && value <= kMost, "config: ", key,
        " must be a whole number of at least ", least, ", got ", value.dump());
  return value.get<std::int64_t>();
}

bool SavedModel::flag_option(const std::string& key) const {
  const json& value = option(key);
  check(value.is_boolean(), "config: ", key, " must be true or false, got ", value.dump());
  return value.get<bool>();
}

void SavedModel::finish_config() const {
  static const std::set<std::string> common{"oov", "tokenizer", "vectors"};
  for (const auto& [key, value] : config.items()) {
    check(asked_.contains(key) || common.contains(key), "config: unknown key '", key, "'");
  }
}

WeightedWords SavedModel::words() const {
  const auto oov = named_option("oov", oov_named);
  const Tokenizer tokenizer = valid([&] { return Tokenizer::from_json(option("tokenizer").dump()); });
  std::shared_ptr<const WordVectors> table = vectors;
  if (const json& place = option("vectors"); place == "omitted") {
    check(table != nullptr, "holds no word vectors");
    check(table->oov() == oov, "was made with the policy '", name_of(oov), "' for unknown words, not '",
          name_of(table->oov()), "'");
  } else if (place == "embedded") {
    table = WordVectors::from_tensors(file, "vectors.", oov);
  } else {
    const auto text = [&](const char* key) {
      check(place.is_object() && place.size() == 3 && place.contains(key) && place[key].is_string(),
            "config: vectors must be 'embedded' or 'omitted', or have path, prefix and fingerprint");
      return place[key].get<std::string>();
    };
    const std::string path = text("path"), prefix = text("prefix");
    table = prefix.empty() ? WordVectors::open(path, oov)
                           : WordVectors::from_tensors(SafeTensors::open(path), prefix, oov);
    check(table->fingerprint() == text("fingerprint"), "was made with other word vectors than ", path,
          " now holds");
  }
  std::vector<float> weights;
  if (file->has("weights")) {
    const auto found = values<float>("weights", {table->rows()});
    weights.assign(found.begin(), found.end());
  }
  return valid([&] { return WeightedWords(table, tokenizer, std::move(weights)); });
}

void ModelContents::add(const WeightedWords& words, SaveOptions::Vectors how) {
  using Vectors = SaveOptions::Vectors;
  const WordVectors& vectors = *words.vectors();
  config["oov"] = name_of(vectors.oov());
  config["tokenizer"] = json::parse(words.tokenizer().to_json());
  config["vectors"] = how == Vectors::embedded ? "embedded" : "omitted";
  if (how == Vectors::embedded) {
    vectors.add_to(tensors, "vectors.");
  } else if (how == Vectors::referred_to) {
    ST_CHECK(!vectors.path().empty(), InvalidInput,
             "only vectors that were opened from a native file can be left out of a saved encoder");
    config["vectors"] = {{"path", std::filesystem::absolute(vectors.path()).string()},
                         {"prefix", vectors.prefix()},
                         {"fingerprint", vectors.fingerprint()}};
  }
  if (!words.weights().empty()) {
    add("weights", std::vector<float>(words.weights().begin(), words.weights().end()));
  }
}

std::map<std::string, std::string> ModelContents::metadata(const std::string& kind,
                                                           const std::string& params) const {
  return {{"format", std::string(kFormat)},
          {"format_version", std::string(kVersion)},
          {"kind", kind},
          {"config", config.dump()},
          {"params", params}};
}

}  // namespace sentencode
