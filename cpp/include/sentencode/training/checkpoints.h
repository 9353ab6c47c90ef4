#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sentencode::training {

/// All of a training that its next step depends on.
struct Checkpoint {
  std::int64_t step = 0;
  std::string state = "{}";  // JSON; whoever trains knows what it means
  std::map<std::string, at::Tensor> tensors;

  /// A safetensors file, there whole or not at all. Tensors may lie on any device.
  void write(const std::string& path) const;
  /// FormatError where it is none, or damaged. Tensors are copies, on the CPU.
  static Checkpoint read(const std::string& path);

  /// Tensors whose names begin with prefix and a dot, without these.
  std::map<std::string, at::Tensor> part(const std::string& prefix) const;
  void add(const std::string& prefix, const std::vector<std::pair<std::string, at::Tensor>>& part);
};

/// A folder of them: step-000000123.safetensors, and best.safetensors.
class CheckpointFolder {
 public:
  /// Makes the folder, if need be. Of the last steps, so many are kept.
  explicit CheckpointFolder(std::string path, std::int64_t keep_last = 2);

  const std::string& path() const { return path_; }
  void save(const Checkpoint& checkpoint) const;
  void save_best(const Checkpoint& checkpoint) const;
  /// The last that can be read: a process that was killed, or a full disk, costs one. Nothing where there is
  /// none; FormatError where none of them can be read.
  std::optional<Checkpoint> last() const;
  std::optional<Checkpoint> best() const;
  std::vector<std::int64_t> steps() const;  // rising

 private:
  std::string file_of(std::int64_t step) const;

  std::string path_;
  std::int64_t keep_last_;
};

}  // namespace sentencode::training
