// The same as vectors_text for word2vec's binary format, which is asked for.
#include "sentencode/error.h"
#include "vectors_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sentencode;
  if (size < 1) return 0;
  fuzz_vectors(std::string_view(reinterpret_cast<const char*>(data) + 1, size - 1),
               VectorFormat::word2vec_binary, data[0]);
  return 0;
}
