#include "sentencode/training/example_builder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "io/file_lock.h"
#include "sentencode/error.h"
#include "sentencode/parallel.h"
#include "sentencode/text/corpus.h"
#include "sentencode/vectors/word_vectors.h"

namespace sentencode {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Part of every key: raised when the same sources and options give other ids than before.
constexpr int kContentVersion = 1;
constexpr std::int64_t kReadAtOnce = 16384;     // rows
constexpr std::int64_t kGrain = 512;            // rows that a thread takes at once
constexpr std::int64_t kMaxShardIds = 1 << 26;  // a quarter of a gigabyte, however long examples are
constexpr std::int32_t kUnknown = StringTable::kMissing;
constexpr std::string_view kUnknownNames[] = {"symbol", "drop_word", "drop_example"};
constexpr std::string_view kTooLongNames[] = {"drop", "truncate"};

template <typename E, std::size_t n>
E value_named(std::string_view name, std::string_view what, const std::string_view (&names)[n]) {
  std::string expected;
  for (std::size_t i = 0; i < n; ++i) {
    if (names[i] == name) return static_cast<E>(i);
    expected += concat(expected.empty() ? "'" : ", '", names[i], "'");
  }
  throw InvalidInput(concat(what, ": expected one of ", expected, ", got '", name, "'"));
}

std::string digest_of(const Vocabulary& vocabulary) {
  Sha256 hash;
  hash.update(std::as_bytes(vocabulary.words().offsets()));
  hash.update(std::as_bytes(vocabulary.words().bytes()));
  return hash.hex();
}

/// One field on its way into a file.
struct Field {
  FieldOptions options;
  std::string digest;  // of the vocabulary
  std::int64_t vocabulary_size = 0;
  std::map<std::string, std::int32_t> symbols;
  std::int32_t begin = kUnknown, end = kUnknown, unknown = kUnknown;  // ids; kUnknown: there is none
  std::vector<std::int32_t> ids;                                      // of the shard that is being made
  std::vector<std::int64_t> offsets{0};
};

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

/// All fields of the file: those that are read, then those that neighbours make. Checks the options.
std::vector<Field> fields_of(const ExampleOptions& options) {
  ST_CHECK(!options.fields.empty(), InvalidInput, "examples: expected at least one field");
  ST_CHECK(options.neighbours.empty() || options.fields.size() == 1, InvalidInput,
           "examples: neighbours are made of a single field, but there are ", options.fields.size());
  ST_CHECK(options.shard_examples >= 1, InvalidInput, "examples: shard_examples must be at least 1, got ",
           options.shard_examples);
  std::vector<Field> fields;
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
  }
  std::set<std::string> names;
  std::map<const Vocabulary*, std::string> digests;
  std::map<std::string, std::map<std::string, std::int32_t>> symbols;  // by vocabulary
  std::map<std::string, std::int64_t> sizes;                           // with symbols
  for (Field& field : fields) {
    const FieldOptions& o = field.options;
    ST_CHECK(!o.name.empty() && names.insert(o.name).second, InvalidInput,
             "examples: fields need names, each its own; got '", o.name, "'");
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
      if (symbol.empty()) return kUnknown;
      const auto [place, is_new] = symbols[digest].try_emplace(symbol, o.vocabulary->find(symbol));
      if (place->second == kUnknown) {
        ST_CHECK(size < std::numeric_limits<std::int32_t>::max(), InvalidInput,
                 "examples: the vocabulary is too large");
        place->second = static_cast<std::int32_t>(size++);
      }
      return place->second;
    };
    field.begin = id_of(o.begin);
    field.end = id_of(o.end);
    if (o.unknown_words == UnknownWords::symbol) {
      ST_CHECK(!o.unknown.empty(), InvalidInput, "examples: field '", o.name,
               "': unknown words become a symbol, which needs a name");
      field.unknown = id_of(o.unknown);
    }
  }
  for (Field& field : fields) {
    field.vocabulary_size = sizes.at(field.digest);
    field.symbols = symbols[field.digest];
  }
  return fields;
}

/// Appends the ids of rows [begin, end), kUnknown where a word is not in the vocabulary.
void look_up(const FieldOptions& field, const Sentences& sentences, std::int64_t begin, std::int64_t end,
             std::int64_t first_row, RaggedIds& out) {
  // Words of some sentences are looked up together: while memory brings one, others are asked for.
  constexpr std::int64_t kTogether = 8;
  constexpr std::size_t kWords = 128;
  constexpr auto kAll = [] {
    std::array<std::uint8_t, kWords> all{};
    for (std::size_t i = 0; i < kWords; ++i) all[i] = static_cast<std::uint8_t>(i);
    return all;
  }();
  std::array<std::uint64_t, kWords> hashes{};
  const StringTable& words = field.vocabulary->words();
  Tokens tokens;
  const auto before = static_cast<std::int64_t>(out.ids.size());
  std::int64_t done = before;
  for (std::int64_t i = begin; i < end;) {
    tokens.clear();
    for (const std::int64_t last = std::min(i + kTogether, end); i < last; ++i) {
      try {
        if (sentences.tokenised()) {
          field.tokenizer(sentences, i, tokens);
        } else {
          field.tokenizer(sentences.pieces[static_cast<std::size_t>(i)], tokens);
        }
      } catch (const InvalidInput& error) {
        throw InvalidInput(concat("field '", field.name, "', row ", first_row + i, ": ", error.what()));
      }
      out.offsets.push_back(done + static_cast<std::int64_t>(tokens.size()));
    }
    const std::span texts(tokens.views());
    out.ids.resize(static_cast<std::size_t>(done) + texts.size());
    const std::span ids = std::span(out.ids).subspan(static_cast<std::size_t>(done));
    for (std::size_t at = 0; at < texts.size(); at += kWords) {
      const std::size_t count = std::min(kWords, texts.size() - at);
      words.find(texts.subspan(at, count), std::span(kAll).first(count), hashes, ids.subspan(at, count));
    }
    done += static_cast<std::int64_t>(texts.size());
  }
}

void append(RaggedIds& to, const RaggedIds& from) {
  const std::int64_t before = to.offsets.back();
  to.ids.insert(to.ids.end(), from.ids.begin(), from.ids.end());
  for (std::size_t i = 1; i < from.offsets.size(); ++i) to.offsets.push_back(before + from.offsets[i]);
}

void drop_front(RaggedIds& rows, std::int64_t count) {
  const std::int64_t ids = rows.offsets[static_cast<std::size_t>(count)];
  rows.ids.erase(rows.ids.begin(), rows.ids.begin() + ids);
  rows.offsets.erase(rows.offsets.begin(), rows.offsets.begin() + count);
  for (std::int64_t& offset : rows.offsets) offset -= ids;
}

template <typename T>
void drop_front(std::vector<T>& values, std::int64_t count) {
  values.erase(values.begin(), values.begin() + count);
}

/// Examples by length, equally long ones by their number.
std::vector<std::uint32_t> sorted_by_length(const std::vector<std::int64_t>& offsets) {
  const std::size_t n = offsets.size() - 1;
  std::int64_t longest = 0;
  for (std::size_t i = 0; i < n; ++i) longest = std::max(longest, offsets[i + 1] - offsets[i]);
  std::vector<std::uint32_t> places(static_cast<std::size_t>(longest) + 2);
  const auto length = [&](std::size_t i) { return static_cast<std::size_t>(offsets[i + 1] - offsets[i]); };
  for (std::size_t i = 0; i < n; ++i) ++places[length(i) + 1];
  std::partial_sum(places.begin(), places.end(), places.begin());
  std::vector<std::uint32_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[places[length(i)]++] = static_cast<std::uint32_t>(i);
  return order;
}

template <typename T>
StreamedTensor streamed(const std::vector<T>& values) {
  return {dtype_of<T>(), {std::ssize(values)}, [&values](const ByteSink& sink) {
            sink(std::as_bytes(std::span(values)));
          }};
}

/// Hands out what comes one by one in larger pieces.
template <typename T>
class Pieces {
 public:
  explicit Pieces(const ByteSink& sink) : sink_(sink) { values_.reserve(kPiece); }
  void push(T value) {
    values_.push_back(value);
    if (values_.size() == kPiece) flush();
  }
  void flush() {
    sink_(std::as_bytes(std::span<const T>(values_)));
    values_.clear();
  }

 private:
  static constexpr std::size_t kPiece = 1 << 13;
  const ByteSink& sink_;
  std::vector<T> values_;
};

using Shards = std::vector<std::shared_ptr<const ExampleFile>>;

std::int64_t examples_in(const Shards& shards) {
  std::int64_t n = 0;
  for (const auto& shard : shards) n += shard->size();
  return n;
}

void stream_offsets(const Shards& shards, std::size_t field, const ByteSink& sink) {
  Pieces<std::int64_t> out(sink);
  std::int64_t before = 0;
  out.push(0);
  for (const auto& shard : shards) {
    const auto offsets = shard->fields()[field].offsets;
    for (const std::int64_t offset : offsets.subspan(1)) out.push(before + offset);
    before += offsets.back();
  }
  out.flush();
}

/// Each shard is in order: of every length, the examples of one shard come after those of the one before.
void stream_by_length(const Shards& shards, const ByteSink& sink) {
  Pieces<std::uint32_t> out(sink);
  std::vector<std::size_t> places(shards.size(), 0);
  for (;;) {
    std::optional<std::int64_t> length;
    for (std::size_t s = 0; s < shards.size(); ++s) {
      const auto order = shards[s]->by_length();
      if (places[s] == order.size()) continue;
      const std::int64_t its = shards[s]->fields()[0].length(order[places[s]]);
      length = length ? std::min(*length, its) : its;
    }
    if (!length) break;
    std::int64_t before = 0;
    for (std::size_t s = 0; s < shards.size(); ++s) {
      const auto order = shards[s]->by_length();
      const ExampleField& primary = shards[s]->fields()[0];
      for (; places[s] < order.size() && primary.length(order[places[s]]) == *length; ++places[s]) {
        out.push(static_cast<std::uint32_t>(before + order[places[s]]));
      }
      before += shards[s]->size();
    }
  }
  out.flush();
}

}  // namespace

std::string_view name_of(UnknownWords unknown) { return kUnknownNames[static_cast<std::size_t>(unknown)]; }
std::string_view name_of(TooLong too_long) { return kTooLongNames[static_cast<std::size_t>(too_long)]; }
UnknownWords unknown_words_named(std::string_view name) {
  return value_named<UnknownWords>(name, "unknown_words", kUnknownNames);
}
TooLong too_long_named(std::string_view name) {
  return value_named<TooLong>(name, "too_long", kTooLongNames);
}

std::string examples_key(const ExampleOptions& options, const std::string& sources) {
  json all = {{"version", kContentVersion},
              {"sources", sources},
              {"labels", name_of(options.labels)},
              {"fields", json::array()},
              {"neighbours", json::array()}};
  for (const Field& field : fields_of(options))
    all["fields"].push_back(config_of(field.options, field.digest));
  for (const Neighbour& neighbour : options.neighbours) {
    all["neighbours"].push_back({neighbour.offset, neighbour.words});
  }
  const std::string text = all.dump(-1, ' ', false, json::error_handler_t::replace);
  return sha256(std::as_bytes(std::span(text)));
}

std::string digest_of_files(const std::vector<std::vector<std::string>>& files) {
  std::vector<char> buffer(1 << 20);
  json digests = json::array();
  for (const auto& field : files) {
    json of_field = json::array();
    for (const std::string& path : field) {
      const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                                 &std::fclose);
      ST_CHECK(file != nullptr, IoError, "cannot open ", path);
      Sha256 hash;
      while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
        poll_interrupt();
        hash.update(std::as_bytes(std::span(buffer).first(got)));
      }
      ST_CHECK(std::ferror(file.get()) == 0, IoError, "cannot read ", path);
      of_field.push_back(hash.hex());
    }
    digests.push_back(of_field);
  }
  const std::string text = digests.dump();
  return sha256(std::as_bytes(std::span(text)));
}

void ContentDigest::add(const Sentences& sentences) {
  const auto number = [&](std::int64_t value) { hash_.update(std::as_bytes(std::span(&value, 1))); };
  const auto text = [&](std::string_view piece) {
    number(static_cast<std::int64_t>(piece.size()));
    hash_.update(std::as_bytes(std::span(piece)));
  };
  for (std::size_t i = 0; i < static_cast<std::size_t>(sentences.size()); ++i) {
    if (!sentences.tokenised()) {
      number(-1);
      text(sentences.pieces[i]);
      continue;
    }
    const std::int64_t begin = sentences.offsets[i], end = sentences.offsets[i + 1];
    number(end - begin);
    for (auto t = begin; t < end; ++t) text(sentences.pieces[static_cast<std::size_t>(t)]);
  }
}

void ContentDigest::add(std::span<const std::byte> bytes) { hash_.update(bytes); }

struct ExampleBuilder::State {
  std::string path, folder, key;
  ExampleOptions options;
  std::vector<Field> fields;
  std::int64_t lookback = 0;
  std::shared_ptr<const ExampleFile> file;  // once it is there
  std::optional<FileLock> lock;
  Shards shards;

  // Rows that are read but whose examples, or whose neighbours' examples, are not all made.
  std::vector<RaggedIds> rows;           // for each field that is read
  std::vector<std::int64_t> documents;   // to which each belongs
  std::vector<std::int64_t> int_labels;  // theirs
  std::vector<float> float_labels;
  std::int64_t first = 0;     // which row of the input is the first of them
  std::int64_t next = 0;      // and of which the next example is made
  std::int64_t document = 0;  // the last one
  bool finished = false;      // no rows follow

  // The shard that is being made; its ids are in the fields.
  std::vector<std::int64_t> made_int_labels;
  std::vector<float> made_float_labels;

  enum Outcome : std::uint8_t { kept, too_short, too_long, unknown, no_neighbour, waits };
  static constexpr const char* kOutcomes[] = {"examples", "too_short", "too_long", "unknown", "no_neighbour"};
  std::array<std::int64_t, 5> outcomes{};  // of rows

  std::int64_t end() const { return first + static_cast<std::int64_t>(documents.size()); }
  std::int64_t examples() const { return std::ssize(fields[0].offsets) - 1; }
  std::size_t at(std::int64_t row) const { return static_cast<std::size_t>(row - first); }
  std::span<const std::int32_t> row(std::size_t field, std::int64_t number) const {
    return rows[field][static_cast<std::int64_t>(at(number))];
  }
  /// Whether a document may go on behind what was read.
  bool open_ended(std::int64_t of_document) const { return !finished && documents.back() == of_document; }

  std::string shard_path(std::size_t index) const {
    std::array<char, 32> name{};
    std::snprintf(name.data(), name.size(), "/%06zu.examples", index);
    return folder + name.data();
  }
  bool find();
  json config() const;
  void take_up();
  void emit();
  Outcome make(std::int64_t number);
  static Outcome take(Field& field, std::span<const std::int32_t> ids);
  Outcome take_neighbour(Field& field, const Neighbour& neighbour, std::int64_t number);
  Outcome take_words(Field& field, std::int64_t from, std::int64_t of_document, std::int64_t words);
  void write_shard();
  void merge() const;
};

/// Finds the file itself, whole and of the same key. What else lies there is made again.
bool ExampleBuilder::State::find() {
  std::error_code ignored;
  if (key.empty() || !fs::exists(path, ignored)) return false;
  try {
    auto there = ExampleFile::open(path);
    if (there->key() == key) file = std::move(there);
  } catch (const FormatError&) {
    return false;
  }
  return file != nullptr;
}

json ExampleBuilder::State::config() const {
  json result = {{"fields", json::array()}, {"labels", name_of(options.labels)}, {"source", options.source}};
  for (const Field& field : fields) {
    json config = config_of(field.options, field.digest);
    config["vocabulary_size"] = field.vocabulary_size;
    config["symbols"] = field.symbols;
    result["fields"].push_back(config);
  }
  for (std::size_t i = 0; i < options.neighbours.size(); ++i) {
    json& config = result["fields"][options.fields.size() + i];
    config["offset"] = options.neighbours[i].offset;
    config["window_words"] = options.neighbours[i].words;
  }
  json& rows_config = result["rows"];
  rows_config["read"] = next;
  for (std::size_t i = 0; i < outcomes.size(); ++i) rows_config[kOutcomes[i]] = outcomes[i];
  return result;
}

/// Finds the shards that a builder before this one has finished, and removes all else.
void ExampleBuilder::State::take_up() {
  while (!key.empty()) {
    const std::string shard = shard_path(shards.size());
    if (!fs::exists(shard)) break;
    try {
      auto found = ExampleFile::open(shard);
      found->verify();
      const json config = json::parse(found->config());
      if (found->key() != key || config.at("shard") != shards.size()) break;
      const json& its = config.at("rows");
      next = its.at("read").get<std::int64_t>();
      for (std::size_t i = 0; i < outcomes.size(); ++i)
        outcomes[i] = its.at(kOutcomes[i]).get<std::int64_t>();
      shards.push_back(std::move(found));
    } catch (const FormatError&) {
      break;
    } catch (const json::exception&) {
      break;
    }
  }
  first = std::max<std::int64_t>(0, next - lookback);
  std::set<std::string> keep{folder + "/lock"};
  for (const auto& shard : shards) keep.insert(shard->path());
  std::vector<fs::path> others;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!keep.contains(entry.path().string())) others.push_back(entry.path());
  }
  for (const auto& other : others) fs::remove_all(other);
}

/// The ids of a whole row.
ExampleBuilder::State::Outcome ExampleBuilder::State::take(Field& field, std::span<const std::int32_t> ids) {
  const FieldOptions& o = field.options;
  if (field.begin != kUnknown) field.ids.push_back(field.begin);
  std::int64_t length = 0;
  for (std::int32_t id : ids) {
    if (id == kUnknown) {
      if (o.unknown_words == UnknownWords::drop_example) return unknown;
      if (o.unknown_words == UnknownWords::drop_word) continue;
      id = field.unknown;
    }
    if (o.max_length > 0 && length == o.max_length) {
      if (o.too_long == TooLong::drop) return too_long;
      if (o.unknown_words != UnknownWords::drop_example) break;
      continue;  // an unknown word may follow
    }
    field.ids.push_back(id);
    ++length;
  }
  if (length < o.min_length) return too_short;
  if (field.end != kUnknown) field.ids.push_back(field.end);
  return kept;
}

ExampleBuilder::State::Outcome ExampleBuilder::State::take_words(Field& field, std::int64_t from,
                                                                 std::int64_t of_document,
                                                                 std::int64_t words) {
  const FieldOptions& o = field.options;
  if (field.begin != kUnknown) field.ids.push_back(field.begin);
  std::int64_t length = 0;
  for (std::int64_t number = from; length < words; ++number) {
    if (number >= end()) {
      if (open_ended(of_document)) return waits;
      break;
    }
    if (documents[at(number)] != of_document) break;
    for (std::int32_t id : row(0, number)) {
      if (length == words) break;
      if (id == kUnknown) {
        if (o.unknown_words == UnknownWords::drop_example) return unknown;
        if (o.unknown_words == UnknownWords::drop_word) continue;
        id = field.unknown;
      }
      field.ids.push_back(id);
      ++length;
    }
  }
  if (length == 0) return no_neighbour;
  if (length < o.min_length) return too_short;
  if (field.end != kUnknown) field.ids.push_back(field.end);
  return kept;
}

ExampleBuilder::State::Outcome ExampleBuilder::State::take_neighbour(Field& field, const Neighbour& neighbour,
                                                                     std::int64_t number) {
  const std::int64_t of_document = documents[at(number)], other = number + neighbour.offset;
  if (neighbour.words > 0) return take_words(field, other, of_document, neighbour.words);
  if (other >= end()) return open_ended(of_document) ? waits : no_neighbour;
  if (other < first || documents[at(other)] != of_document) return no_neighbour;
  return take(field, row(0, other));
}

/// Makes the example of a row, or nothing.
ExampleBuilder::State::Outcome ExampleBuilder::State::make(std::int64_t number) {
  Outcome outcome = kept;
  for (std::size_t f = 0; f < fields.size() && outcome == kept; ++f) {
    outcome = f < rows.size() ? take(fields[f], row(f, number))
                              : take_neighbour(fields[f], options.neighbours[f - rows.size()], number);
  }
  for (Field& field : fields) {
    if (outcome == kept) {
      field.offsets.push_back(std::ssize(field.ids));
    } else {
      field.ids.resize(static_cast<std::size_t>(field.offsets.back()));
    }
  }
  if (outcome == kept && !int_labels.empty()) made_int_labels.push_back(int_labels[at(number)]);
  if (outcome == kept && !float_labels.empty()) made_float_labels.push_back(float_labels[at(number)]);
  return outcome;
}

void ExampleBuilder::State::emit() {
  for (; next < end(); ++next) {
    const Outcome outcome = make(next);
    if (outcome == waits) break;
    ++outcomes[outcome];
  }
  const std::int64_t count = std::clamp<std::int64_t>(next - lookback - first, 0, end() - first);
  for (RaggedIds& of_field : rows) drop_front(of_field, count);
  drop_front(documents, count);
  if (!int_labels.empty()) drop_front(int_labels, count);
  if (!float_labels.empty()) drop_front(float_labels, count);
  first += count;
  std::int64_t ids = 0;
  for (const Field& field : fields) ids += std::ssize(field.ids);
  if (examples() >= options.shard_examples || ids >= kMaxShardIds) write_shard();
}

void ExampleBuilder::State::write_shard() {
  ST_CHECK(examples_in(shards) + examples() <= ExampleFile::kMaxExamples, InvalidInput,
           "examples: more than ", ExampleFile::kMaxExamples, "; make several files of them");
  std::map<std::string, StreamedTensor> tensors;
  for (const Field& field : fields) {
    tensors[field.options.name + ".ids"] = streamed(field.ids);
    tensors[field.options.name + ".offsets"] = streamed(field.offsets);
  }
  if (options.labels == Labels::int64) tensors["labels"] = streamed(made_int_labels);
  if (options.labels == Labels::float32) tensors["labels"] = streamed(made_float_labels);
  const std::vector<std::uint32_t> by_length = sorted_by_length(fields[0].offsets);
  tensors["by_length"] = streamed(by_length);
  json with_place = config();
  with_place["shard"] = shards.size();
  const std::string shard = shard_path(shards.size());
  write_examples(shard, tensors, with_place.dump(), key);
  shards.push_back(ExampleFile::open(shard));
  for (Field& field : fields) {
    field.ids.clear();
    field.offsets.assign(1, 0);
  }
  made_int_labels.clear();
  made_float_labels.clear();
}

void ExampleBuilder::State::merge() const {
  const std::int64_t n = examples_in(shards);
  std::map<std::string, StreamedTensor> tensors;
  for (std::size_t f = 0; f < fields.size(); ++f) {
    std::int64_t ids = 0;
    for (const auto& shard : shards) ids += std::ssize(shard->fields()[f].ids);
    const std::string& name = fields[f].options.name;
    tensors[name + ".ids"] = {DType::i32, {ids}, [this, f](const ByteSink& sink) {
                                for (const auto& shard : shards) sink(std::as_bytes(shard->fields()[f].ids));
                              }};
    tensors[name + ".offsets"] = {
        DType::i64, {n + 1}, [this, f](const ByteSink& sink) { stream_offsets(shards, f, sink); }};
  }
  if (options.labels != Labels::none) {
    const bool whole = options.labels == Labels::int64;
    tensors["labels"] = {
        whole ? DType::i64 : DType::f32, {n}, [this, whole](const ByteSink& sink) {
          for (const auto& shard : shards) {
            sink(whole ? std::as_bytes(shard->int_labels()) : std::as_bytes(shard->float_labels()));
          }
        }};
  }
  tensors["by_length"] = {DType::u32, {n}, [this](const ByteSink& sink) { stream_by_length(shards, sink); }};
  write_examples(path, tensors, config().dump(), key);
}

ExampleBuilder::ExampleBuilder(std::string path, ExampleOptions options, std::string key)
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.fields = fields_of(options);
  for (const Neighbour& neighbour : options.neighbours) s.lookback = std::max(s.lookback, -neighbour.offset);
  s.rows.resize(options.fields.size());
  s.options = std::move(options);
  s.folder = path + ".parts";
  s.path = std::move(path);
  s.key = std::move(key);
  if (s.find()) return;
  s.lock.emplace(s.folder + "/lock");
  if (s.find()) return;  // whoever had the lock has made it
  try {
    s.take_up();
  } catch (const fs::filesystem_error& error) {
    throw IoError(error.what(), error.code().value());
  }
}

ExampleBuilder::~ExampleBuilder() {
  if (!state_->lock) return;
  if (state_->file != nullptr || state_->shards.empty()) {
    std::error_code ignored;
    fs::remove_all(state_->folder, ignored);
  }
}

bool ExampleBuilder::done() const { return state_->file != nullptr; }
std::int64_t ExampleBuilder::first_row() const { return state_->first; }

void ExampleBuilder::add(const Rows& given, const std::function<void()>& meanwhile) {
  State& s = *state_;
  ST_CHECK(s.file == nullptr && !s.finished, InvalidInput, "examples: the file is finished already");
  const std::size_t fields = s.rows.size();
  ST_CHECK(given.fields.size() == fields, InvalidInput, "examples: expected ", fields, " fields, got ",
           given.fields.size());
  const std::int64_t n = given.fields[0].size();
  for (std::size_t f = 0; f < fields; ++f) {
    ST_CHECK(given.fields[f].size() == n, InvalidInput, "examples: field '", s.fields[f].options.name,
             "' has ", given.fields[f].size(), " rows, field '", s.fields[0].options.name, "' has ", n);
  }
  const auto labels = [&](Labels kind, std::int64_t count) {
    const std::int64_t expected = s.options.labels == kind ? n : 0;
    ST_CHECK(count == expected, InvalidInput, "examples: expected ", expected, " labels of type ",
             name_of(kind), ", got ", count);
  };
  labels(Labels::int64, std::ssize(given.int_labels));
  labels(Labels::float32, std::ssize(given.float_labels));
  ST_CHECK(given.starts_document == nullptr || std::ssize(*given.starts_document) == n, InvalidInput,
           "examples: expected ", n, " marks of documents, got ", given.starts_document->size());

  const std::int64_t pieces = (n + kGrain - 1) / kGrain, all = pieces * static_cast<std::int64_t>(fields);
  std::vector<RaggedIds> found(static_cast<std::size_t>(all));
  parallel_for(-1, all, 1, [&](std::int64_t item, std::int64_t) {
    if (item < 0) {
      if (meanwhile) meanwhile();
      return;
    }
    const auto field = static_cast<std::size_t>(item / pieces);
    const std::int64_t begin = item % pieces * kGrain;
    look_up(s.fields[field].options, given.fields[field], begin, std::min(begin + kGrain, n), s.end(),
            found[static_cast<std::size_t>(item)]);
  });
  for (std::int64_t item = 0; item < all; ++item) {
    append(s.rows[static_cast<std::size_t>(item / pieces)], found[static_cast<std::size_t>(item)]);
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    if (given.starts_document != nullptr && (*given.starts_document)[i]) ++s.document;
    s.documents.push_back(s.document);
  }
  s.int_labels.insert(s.int_labels.end(), given.int_labels.begin(), given.int_labels.end());
  s.float_labels.insert(s.float_labels.end(), given.float_labels.begin(), given.float_labels.end());
  s.emit();
}

std::shared_ptr<const ExampleFile> ExampleBuilder::finish() {
  State& s = *state_;
  if (s.file == nullptr) {
    s.finished = true;
    s.emit();
    if (s.examples() > 0) s.write_shard();
    const auto& counts = s.outcomes;
    ST_CHECK(!s.shards.empty(), InvalidInput, "examples: none is left of ", s.next,
             " rows: ", counts[State::too_short], " are too short, ", counts[State::too_long], " too long, ",
             counts[State::unknown], " have unknown words, ", counts[State::no_neighbour],
             " have no neighbours");
    s.merge();
    s.file = ExampleFile::open(s.path);
    s.shards.clear();
  }
  return s.file;
}

std::shared_ptr<const ExampleFile> build_examples(const std::string& path,
                                                  const std::vector<std::vector<std::string>>& files,
                                                  const ExampleOptions& options, const std::string& key,
                                                  const BuildProgress& progress) {
  ST_CHECK(files.size() == options.fields.size(), InvalidInput, "examples: expected files for ",
           options.fields.size(), " fields, got them for ", files.size());
  ST_CHECK(options.labels == Labels::none, InvalidInput, "examples: text files hold no labels");
  ExampleBuilder builder(path, options, key);
  if (builder.done()) return builder.finish();

  const bool rows_belong_together = files.size() > 1;
  std::vector<CorpusReader> readers;
  for (const auto& of_field : files) readers.emplace_back(of_field, CorpusOptions{rows_belong_together});
  using Batches = std::vector<SentenceBatch>;
  const auto read = [&](Batches& out, std::int64_t most) {
    for (std::size_t f = 0; f < readers.size(); ++f) {
      readers[f].next(most, out[f]);
      ST_CHECK(out[f].size() == out[0].size(), FormatError, "the files of field '", options.fields[0].name,
               "' have ", out[f].size() < out[0].size() ? "more" : "fewer", " lines than those of field '",
               options.fields[f].name, "', which must belong to them line by line: ",
               std::min(readers[f].sentences_read(), readers[0].sentences_read()), " in ",
               files[out[f].size() < out[0].size() ? f : 0].back());
    }
    return out[0].size();
  };
  const auto tell = [&] {
    if (!progress) return;
    std::int64_t done = 0, total = 0;
    for (const CorpusReader& reader : readers) {
      done += reader.bytes_read();
      total += reader.bytes_total();
    }
    progress(done, total);
  };

  Batches now(files.size()), ahead(files.size());
  for (std::int64_t left = builder.first_row(); left > 0;) {
    const std::int64_t skipped = read(now, std::min(left, kReadAtOnce));
    if (skipped == 0) break;
    left -= skipped;
    tell();
  }
  for (std::int64_t count = read(now, kReadAtOnce); count > 0;) {
    ExampleBuilder::Rows rows;
    for (const SentenceBatch& batch : now) rows.fields.push_back(batch.sentences());
    rows.starts_document = &now[0].starts_document();
    builder.add(rows, [&] { count = read(ahead, kReadAtOnce); });
    tell();
    std::swap(now, ahead);
  }
  return builder.finish();
}

}  // namespace sentencode
