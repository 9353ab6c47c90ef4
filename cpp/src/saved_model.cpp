#include "saved_model.h"

#include <filesystem>

#include "json_depth.h"
#include "sentencode/text/utf8.h"

namespace sentencode {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kFormat = "sentencode", kVersion = "2", kWithoutChecksums = "1";
constexpr std::string_view kVectors = "vectors.";
constexpr std::string_view kElsewhere =
    ", which is not in its folder: give them as vectors=, or allow it with trust_vectors=True";

fs::path folder_of(const std::string& path) { return fs::absolute(path).lexically_normal().parent_path(); }

/// Whether a path stays inside the folder that it starts from.
bool goes_down(const fs::path& path) {
  return path.is_relative() && !path.empty() && *path.lexically_normal().begin() != "..";
}

/// Path of the vectors relative to the folder of the encoder's file, or absolute if they are outside of it.
std::string reference_to(const std::string& vectors, const std::string& file) {
  const fs::path there = fs::absolute(vectors).lexically_normal(),
                 from_here = there.lexically_relative(folder_of(file));
  std::string reference = (goes_down(from_here) ? from_here : there).string();
  ST_CHECK(repair_utf8(reference) == reference, InvalidInput, "the name of ", vectors,
           " is not UTF-8, and cannot be written into a saved encoder");
  return reference;
}
}  // namespace

SavedModel SavedModel::open(const std::string& path, const LoadOptions& options) {
  SavedModel result = read(SafeTensors::open(path));
  result.options = options;
  for (const auto& [name, tensor] : result.file->tensors()) {
    if (!name.starts_with(kVectors)) result.file->verify(name);
  }
  return result;
}

SavedModel SavedModel::read(std::shared_ptr<const SafeTensors> file) {
  SavedModel result;
  result.file = std::move(file);
  const auto& metadata = result.file->metadata();
  const auto value = [&](const char* key) {
    const auto entry = metadata.find(key);
    return entry == metadata.end() ? std::string() : entry->second;
  };
  result.check(value("format") == kFormat, "a safetensors file, but not an encoder of Sentencode");
  const std::string version = value("format_version");
  result.check(version == kVersion || version == kWithoutChecksums, "format version '", version,
               "'; this library reads versions ", kWithoutChecksums, " and ", kVersion);
  result.check(version == kWithoutChecksums || result.file->has_checksums(), "has no checksums");
  result.kind = value("kind");
  result.params = value("params");
  const std::string config = value("config");
  check_json_depth(config, concat(result.file->source(), ": config"));
  result.config = json::parse(config, nullptr, false);
  result.check(result.config.is_object(), "config is not a JSON object");
  return result;
}

const json& SavedModel::option(const std::string& key) const {
  const auto entry = config.find(key);
  check(entry != config.end(), "config: ", key, " is missing");
  read_.insert(key);
  return *entry;
}

std::int64_t SavedModel::size_option(const std::string& key, std::int64_t least) const {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  const json& value = option(key);
  check(value.is_number_integer() && value >= least && value <= kMost, "config: ", key,
        " must be an integer of at least ", least, ", got ", value.dump());
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
    check(read_.contains(key) || common.contains(key), "config: unknown key '", key, "'");
  }
}

WeightedWords SavedModel::words() const {
  const auto oov = enum_option<OutOfVocabulary>();
  const Tokenizer tokenizer = valid([&] { return Tokenizer::from_json(option("tokenizer").dump()); });
  const std::shared_ptr<const WordVectors> table = vectors(oov);
  std::vector<float> weights;
  if (file->has("weights")) {
    const auto stored = values<float>("weights", {table->rows()});
    weights.assign(stored.begin(), stored.end());
  }
  return valid([&] { return WeightedWords(table, tokenizer, std::move(weights)); });
}

std::shared_ptr<const WordVectors> SavedModel::vectors(OutOfVocabulary oov) const {
  const std::shared_ptr<const WordVectors>& passed = options.vectors;
  const json& reference = option("vectors");
  if (reference == "omitted") {
    check(passed != nullptr, "holds no word vectors");
    check(passed->oov() == oov, "was made with the policy '", name_of(oov), "' for unknown words, not '",
          name_of(passed->oov()), "'");
    return passed;
  }
  if (reference == "embedded") {
    ST_CHECK(passed == nullptr, InvalidInput, "has its own word vectors, and takes no others");
    return WordVectors::from_tensors(file, std::string(kVectors), oov, options.verify);
  }
  const auto text = [&](const char* key) {
    check(reference.is_object() && reference.size() == 3 && reference.contains(key) &&
              reference[key].is_string(),
          "config: vectors must be 'embedded' or 'omitted', or have path, prefix and fingerprint");
    return reference[key].get<std::string>();
  };
  const std::string named = text("path"), prefix = text("prefix"), fingerprint = text("fingerprint");
  if (passed != nullptr) {
    check(passed->fingerprint() == fingerprint, "was made with other word vectors than those given");
    return passed->oov() == oov ? passed : passed->with_oov(oov);
  }
  const fs::path folder = folder_of(file->path());
  const std::string path = (folder / named).lexically_normal().string();
  check(named.find('\0') == named.npos, "config: the path of the vectors has an embedded null byte");
  if (!options.trust_vectors) {
    // The name, and what its links lead to. A file that is not there is reported where it is opened.
    std::error_code error;
    const fs::path inside = fs::canonical(folder, error), target = fs::weakly_canonical(path, error);
    check(goes_down(fs::path(path).lexically_relative(folder)), "its word vectors are ", path, kElsewhere);
    check(!error && goes_down(target.lexically_relative(inside)), "its word vectors are ", path,
          ", by a symbolic link ", target.string(), kElsewhere);
  }
  const auto table = prefix.empty()
                         ? WordVectors::open(path, oov, options.verify)
                         : WordVectors::from_tensors(SafeTensors::open(path), prefix, oov, options.verify);
  check(table->fingerprint() == fingerprint, "was made with other word vectors than ", path, " now holds");
  return table;
}

void ModelContents::add(const WeightedWords& words, SaveOptions::Vectors how, const std::string& path) {
  using Vectors = SaveOptions::Vectors;
  const WordVectors& vectors = *words.vectors();
  config["oov"] = name_of(vectors.oov());
  config["tokenizer"] = json::parse(words.tokenizer().to_json());
  config["vectors"] = how == Vectors::embedded ? "embedded" : "omitted";
  if (how == Vectors::embedded) {
    vectors.add_to(tensors, std::string(kVectors));
  } else if (how == Vectors::referred_to) {
    ST_CHECK(!vectors.path().empty(), InvalidInput,
             "only vectors that were opened from a native file can be left out of a saved encoder");
    config["vectors"] = {{"path", reference_to(vectors.path(), path)},
                         {"prefix", vectors.prefix()},
                         {"fingerprint", vectors.fingerprint()}};
  }
  if (!words.weights().empty()) {
    add("weights", std::vector<float>(words.weights().begin(), words.weights().end()));
  }
}

void ModelContents::save(const std::string& path, const std::string& kind, const std::string& params) const {
  write_safetensors(path, tensors, metadata(kVersion, kind, params));
}

std::string ModelContents::to_bytes(const std::string& kind, const std::string& params) const {
  const SafeTensorsPieces pieces = safetensors_pieces(tensors, metadata(kWithoutChecksums, kind, params));
  std::string bytes = pieces.header;
  for (const auto piece : pieces.data)
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  return bytes;
}

std::map<std::string, std::string> ModelContents::metadata(std::string_view version, const std::string& kind,
                                                           const std::string& params) const {
  return {{"format", std::string(kFormat)},
          {"format_version", std::string(version)},
          {"kind", kind},
          {"config", config.dump()},
          {"params", params}};
}

}  // namespace sentencode
