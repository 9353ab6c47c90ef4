#include "sentencode/training/example_key.h"

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "sentencode/error.h"
#include "sentencode/parallel.h"
#include "training/made_field.h"

namespace sentencode {

using nlohmann::json;

namespace {

// Increase when the same sources and options give other ids.
constexpr int kContentVersion = 1;

}  // namespace

std::string examples_key(const ExampleOptions& options, const std::string& sources) {
  json all = {{"version", kContentVersion},
              {"sources", sources},
              {"labels", name_of(options.labels)},
              {"fields", json::array()},
              {"neighbours", json::array()}};
  for (const MadeField& field : fields_of(options))
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
    json hashes = json::array();
    for (const std::string& path : field) {
      const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                                 &std::fclose);
      ST_CHECK(file != nullptr, IoError, "cannot open ", path);
      Sha256 hash;
      while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
        poll_interrupt();
        hash.update(std::as_bytes(std::span(buffer).first(count)));
      }
      ST_CHECK(std::ferror(file.get()) == 0, IoError, "cannot read ", path);
      hashes.push_back(hash.hex());
    }
    digests.push_back(hashes);
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

}  // namespace sentencode
