#include "sentencode/training/checkpoints.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iomanip>
#include <sstream>
#include <utility>

#include "nn/saved_tensors.h"
#include "sentencode/error.h"
#include "sentencode/io/safetensors.h"
#include "sentencode/io/sha256.h"

namespace sentencode::training {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFormat = "sentencode checkpoint", kVersion = "3";
constexpr std::string_view kBegin = "step-", kEnd = ".safetensors";

/// Of all that a checkpoint says. Tensors are cut into pieces, which threads share: a large model is hashed
/// in a fraction of the time that writing it takes. Not by our own parallel_for, which Ctrl-C ends: it is
/// after a Ctrl-C that the last checkpoint is written.
std::string checksum_of(std::string_view step, std::string_view state,
                        const std::map<std::string, Tensor>& tensors) {
  constexpr std::size_t kPiece = 1 << 20;
  std::vector<std::span<const std::byte>> pieces;
  Sha256 whole;
  const auto add = [&](std::string_view text) {
    whole.update(std::as_bytes(std::span(text)));
    whole.update(std::as_bytes(std::span("\n", 1)));
  };
  add(step);
  add(state);
  for (const auto& [name, tensor] : tensors) {
    add(name);
    add(dtype_name(tensor.dtype));
    for (const std::int64_t size : tensor.shape) add(std::to_string(size));
    for (std::size_t i = 0; i < tensor.bytes.size(); i += kPiece)
      pieces.push_back(tensor.bytes.subspan(i, std::min(kPiece, tensor.bytes.size() - i)));
  }
  std::vector<std::string> hashes(pieces.size());
  at::parallel_for(0, std::ssize(pieces), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
      hashes[i] = sha256(pieces[i]);
  });
  for (const std::string& hash : hashes) add(hash);
  return whole.hex();
}

}  // namespace

void Checkpoint::write(const std::string& path) const {
  std::vector<at::Tensor> held;  // while they are written
  std::map<std::string, Tensor> parts;
  for (const auto& [name, tensor] : tensors) {
    held.push_back(tensor.detach().cpu().contiguous());
    const at::Tensor& last = held.back();
    parts[name] = nn::view_of(name, last);
  }
  const std::string number = std::to_string(step);
  write_safetensors(path, parts,
                    {{"format", std::string(kFormat)},
                     {"format_version", std::string(kVersion)},
                     {"step", number},
                     {"state", state},
                     {"checksum", checksum_of(number, state, parts)}});
}

Checkpoint Checkpoint::read(const std::string& path) {
  const auto file = SafeTensors::open(path);
  const auto value = [&](const char* key) {
    const auto found = file->metadata().find(key);
    return found == file->metadata().end() ? std::string() : found->second;
  };
  ST_CHECK(value("format") == kFormat, FormatError, path, ": a safetensors file, but no checkpoint");
  ST_CHECK(value("format_version") == kVersion, FormatError, path, ": format version '",
           value("format_version"), "'; this library resumes from version ", kVersion, " alone");
  ST_CHECK(value("checksum") == checksum_of(value("step"), value("state"), file->tensors()), FormatError,
           path, ": is damaged: its checksum is not that of what was written");
  Checkpoint found;
  const std::string step = value("step");
  const auto [end, error] = std::from_chars(step.data(), step.data() + step.size(), found.step);
  ST_CHECK(error == std::errc() && end == step.data() + step.size() && found.step >= 0, FormatError, path,
           ": step must be a number, is '", step, "'");
  found.state = value("state");
  for (const auto& [name, tensor] : file->tensors()) found.tensors[name] = nn::copy_of(path, name, tensor);
  return found;
}

std::map<std::string, at::Tensor> Checkpoint::part(const std::string& prefix) const {
  const std::string begin = prefix + ".";
  std::map<std::string, at::Tensor> found;
  for (auto place = tensors.lower_bound(begin); place != tensors.end() && place->first.starts_with(begin);
       ++place) {
    found.emplace(place->first.substr(begin.size()), place->second);
  }
  return found;
}

void Checkpoint::add(const std::string& prefix, const std::vector<std::pair<std::string, at::Tensor>>& part) {
  for (const auto& [name, tensor] : part) tensors[prefix + "." + name] = tensor;
}

CheckpointFolder::CheckpointFolder(std::string path, std::int64_t keep_last)
    : path_(std::move(path)), keep_last_(keep_last) {
  ST_CHECK(keep_last_ >= 1, InvalidInput, "keep_last must be at least 1, got ", keep_last_);
  std::error_code error;
  fs::create_directories(path_, error);
  ST_CHECK(fs::is_directory(path_), IoError, "cannot make the folder ", path_, ": ",
           error ? error.message() : "it is a file");
}

std::string CheckpointFolder::file_of(std::int64_t step) const {
  std::ostringstream name;
  name << kBegin << std::setw(9) << std::setfill('0') << step << kEnd;
  return (fs::path(path_) / name.str()).string();
}

std::vector<std::int64_t> CheckpointFolder::steps() const {
  std::vector<std::int64_t> found;
  for (const auto& entry : fs::directory_iterator(path_)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) continue;
    const char* begin = name.data() + kBegin.size();
    const char* end = name.data() + name.size() - kEnd.size();
    std::int64_t step = 0;
    if (const auto [stop, error] = std::from_chars(begin, end, step); error == std::errc() && stop == end) {
      found.push_back(step);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

void CheckpointFolder::save(const Checkpoint& checkpoint) const {
  checkpoint.write(file_of(checkpoint.step));
  const auto there = steps();
  const std::int64_t old = std::ssize(there) - keep_last_;
  for (std::int64_t i = 0; i < old; ++i) {
    // Of a run that went further and was begun anew from an earlier step, later ones may lie here.
    const std::int64_t step = there[static_cast<std::size_t>(i)];
    if (step != checkpoint.step) fs::remove(file_of(step));
  }
}

void CheckpointFolder::save_best(const Checkpoint& checkpoint) const {
  checkpoint.write((fs::path(path_) / "best.safetensors").string());
}

std::optional<Checkpoint> CheckpointFolder::last() const {
  const auto there = steps();
  std::string wrong;
  for (auto step = there.rbegin(); step != there.rend(); ++step) {
    try {
      return Checkpoint::read(file_of(*step));
    } catch (const FormatError& error) {
      if (wrong.empty()) wrong = error.what();
    }
  }
  ST_CHECK(there.empty(), FormatError, path_, ": none of its ", there.size(),
           " checkpoints can be read: ", wrong);
  return std::nullopt;
}

std::optional<Checkpoint> CheckpointFolder::best() const {
  const std::string path = (fs::path(path_) / "best.safetensors").string();
  if (!fs::exists(path)) return std::nullopt;
  return Checkpoint::read(path);
}

}  // namespace sentencode::training
