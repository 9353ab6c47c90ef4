#include "training/made_field.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "sentencode/error.h"
#include "sentencode/io/sha256.h"

namespace sentencode {

using nlohmann::json;

namespace {

std::string digest_of(const Vocabulary& vocabulary) {
  Sha256 hash;
  hash.update(std::as_bytes(vocabulary.words().offsets()));
  hash.update(std::as_bytes(vocabulary.words().bytes()));
  return hash.hex();
}

}  // namespace

json config_of(const FieldOptions& options, const std::string& digest) {
  const auto text = [](const std::string& symbol) { return symbol.empty() ? json() : json(symbol); };
  const bool has_unknown = options.unknown_words == UnknownWords::symbol;
  return {{"name", options.name},
          {"vocabulary", digest},
          {"words", options.vocabulary->size()},
          {"tokenizer", json::parse(options.tokenizer.to_json())},
          {"begin", text(options.begin)},
          {"end", text(options.end)},
          {"unknown", has_unknown ? json(options.unknown) : json()},
          {"unknown_words", name_of(options.unknown_words)},
          {"min_length", options.min_length},
          {"max_length", options.max_length},
          {"too_long", name_of(options.too_long)}};
}

std::vector<MadeField> fields_of(const ExampleOptions& options) {
  ST_CHECK(!options.fields.empty(), InvalidInput, "examples: expected at least one field");
  ST_CHECK(options.neighbours.empty() || options.fields.size() == 1, InvalidInput,
           "examples: neighbours require a single field, got ", options.fields.size());
  ST_CHECK(options.shard_examples >= 1, InvalidInput, "examples: shard_examples must be at least 1, got ",
           options.shard_examples);
  std::vector<MadeField> fields;
  for (const FieldOptions& field : options.fields) fields.emplace_back().options = field;
  for (const Neighbour& neighbour : options.neighbours) {
    const std::string& name = neighbour.field.name;
    ST_CHECK(neighbour.words >= 0, InvalidInput, "examples: neighbour '", name,
             "': words must not be negative, got ", neighbour.words);
    ST_CHECK(neighbour.words == 0 ? neighbour.offset != 0 : neighbour.offset >= 1, InvalidInput,
             "examples: neighbour '", name, "': offset must be ",
             neighbour.words == 0 ? "other than 0" : "at least 1 where words are counted", ", got ",
             neighbour.offset);
    fields.emplace_back().options = neighbour.field;
    fields.back().options.tokenizer = options.fields[0].tokenizer;
    fields.back().options.vocabulary = options.fields[0].vocabulary;
    if (neighbour.words > 0) fields.back().options.max_length = 0;
  }
  std::set<std::string> names;
  std::map<const Vocabulary*, std::string> digests;
  std::map<std::string, std::map<std::string, std::int32_t>> symbols;  // by vocabulary
  std::map<std::string, std::int64_t> sizes;                           // with symbols
  for (MadeField& field : fields) {
    const FieldOptions& o = field.options;
    ST_CHECK(!o.name.empty() && names.insert(o.name).second, InvalidInput,
             "examples: fields must have unique names; got '", o.name, "'");
    ST_CHECK(o.vocabulary != nullptr && o.vocabulary->size() > 0, InvalidInput, "examples: field '", o.name,
             "' has a vocabulary without words");
    ST_CHECK(o.min_length >= 0, InvalidInput, "examples: field '", o.name,
             "': min_length must not be negative, got ", o.min_length);
    ST_CHECK(o.max_length == 0 || o.max_length >= o.min_length, InvalidInput, "examples: field '", o.name,
             "': max_length must be at least min_length (", o.min_length, "), got ", o.max_length);
    std::string& digest = digests[o.vocabulary.get()];
    if (digest.empty()) digest = digest_of(*o.vocabulary);
    field.digest = digest;
    std::int64_t& size = sizes.try_emplace(digest, o.vocabulary->size()).first->second;
    const auto id_of = [&](const std::string& symbol) {
      if (symbol.empty()) return kUnknownId;
      std::int32_t& id = symbols[digest].try_emplace(symbol, o.vocabulary->find(symbol)).first->second;
      if (id == kUnknownId) {
        ST_CHECK(size < std::numeric_limits<std::int32_t>::max(), InvalidInput,
                 "examples: the vocabulary is too large");
        id = static_cast<std::int32_t>(size++);
      }
      return id;
    };
    field.begin = id_of(o.begin);
    field.end = id_of(o.end);
    if (o.unknown_words == UnknownWords::symbol) {
      ST_CHECK(!o.unknown.empty(), InvalidInput, "examples: field '", o.name,
               "': unknown_words 'symbol' requires the symbol `unknown`");
      field.unknown = id_of(o.unknown);
    }
  }
  for (MadeField& field : fields) {
    field.vocabulary_size = sizes.at(field.digest);
    field.symbols = symbols[field.digest];
  }
  return fields;
}

}  // namespace sentencode
