// Runs a fuzz target over files, and over each of them cut short and with bytes changed: a test for machines
// without libFuzzer.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <vector>

#include "fuzz.h"

namespace {

using Bytes = std::vector<std::uint8_t>;

std::size_t replay(const Bytes& original) {
  const auto run = [](const Bytes& bytes) {
    // Of exactly this size, so that AddressSanitizer sees a read past the end.
    const Bytes exact(bytes);
    LLVMFuzzerTestOneInput(exact.data(), exact.size());
  };
  constexpr std::size_t kVariants = 64;
  run(original);
  if (original.empty()) return 1;
  std::mt19937 random(20181111);  // NOLINT(cert-msc51-cpp): the same every time
  for (std::size_t i = 0; i < kVariants; ++i) {
    run(Bytes(original.begin(), original.begin() + static_cast<std::ptrdiff_t>(random() % original.size())));
    Bytes changed = original;
    for (std::size_t changes = 1 + random() % 4; changes > 0; --changes) {
      changed[random() % changed.size()] = static_cast<std::uint8_t>(random());
    }
    run(changed);
  }
  return 1 + 2 * kVariants;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t files = 0, inputs = 0;
  for (int i = 1; i < argc; ++i) {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    for (const auto& path : paths) {
      std::ifstream file(path, std::ios::binary);
      inputs += replay(Bytes(std::istreambuf_iterator<char>(file), {}));
      ++files;
    }
  }
  std::cout << files << " files, " << inputs << " inputs\n";
  return files > 0 ? 0 : 1;
}
