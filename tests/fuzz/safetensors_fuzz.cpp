// Any bytes are a safetensors file or a FormatError; the tensors of one cover its data without hole or
// overlap; and what is written again holds the same.
#include "sentencode/io/safetensors.h"

#include <cstring>
#include <memory>
#include <numeric>
#include <string>

#include "fuzz.h"
#include "sentencode/error.h"
#include "sentencode/vectors/word_vectors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sentencode;
  // Memory of its exact size, so that a sanitizer sees every byte read too many.
  const auto memory = std::make_shared<std::vector<std::byte>>(size);
  if (size > 0) std::memcpy(memory->data(), data, size);
  std::shared_ptr<const SafeTensors> file;
  try {
    file = SafeTensors::parse(memory, *memory, "input");
  } catch (const FormatError&) {
    return 0;
  }
  std::size_t bytes = 0;
  for (const auto& [name, tensor] : file->tensors()) {
    bytes += tensor.bytes.size();
    FUZZ_REQUIRE(tensor.elements() * static_cast<std::int64_t>(dtype_size(tensor.dtype)) ==
                 static_cast<std::int64_t>(tensor.bytes.size()));
    FUZZ_REQUIRE(tensor.bytes.empty() ||
                 (tensor.bytes.data() >= memory->data() &&
                  tensor.bytes.data() + tensor.bytes.size() <= memory->data() + size));
  }
  FUZZ_REQUIRE(bytes <= size);

  const SafeTensorsPieces pieces = safetensors_pieces(file->tensors(), file->metadata());
  const auto copy = std::make_shared<std::vector<std::byte>>();
  const auto add = [&copy](std::span<const std::byte> piece) {
    copy->insert(copy->end(), piece.begin(), piece.end());
  };
  add(std::as_bytes(std::span(pieces.header)));
  for (const auto piece : pieces.data) add(piece);
  const auto again = SafeTensors::parse(copy, *copy, "copy");
  FUZZ_REQUIRE(again->metadata() == file->metadata());
  FUZZ_REQUIRE(again->tensors().size() == file->tensors().size());
  for (const auto& [name, tensor] : file->tensors()) {
    const Tensor& other = again->tensors().at(name);
    FUZZ_REQUIRE(other.dtype == tensor.dtype && other.shape == tensor.shape);
    FUZZ_REQUIRE(other.bytes.size() == tensor.bytes.size() &&
                 (tensor.bytes.empty() ||
                  std::memcmp(other.bytes.data(), tensor.bytes.data(), tensor.bytes.size()) == 0));
  }

  try {  // a table of word vectors, perhaps: whatever its arrays say, looking up and summing is safe
    const auto vectors =
        WordVectors::from_bytes({reinterpret_cast<const char*>(data), size}, OutOfVocabulary::zero);
    std::vector<float> sum(static_cast<std::size_t>(vectors->dim()));
    const std::int32_t ids[] = {vectors->id("the"), vectors->id("a"), vectors->id("")};
    vectors->sum(ids, nullptr, sum.data());
    for (std::int64_t i = 0; i < vectors->size(); ++i) vectors->id(vectors->words()[i]);
  } catch (const FormatError&) {
  } catch (const InvalidInput&) {
  }
  return 0;
}
