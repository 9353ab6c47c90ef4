#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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
  /// The same without tensors, of which nothing is read.
  static Checkpoint read_head(const std::string& path);

  /// Tensors whose names begin with prefix and a dot, without these.
  std::map<std::string, at::Tensor> part(const std::string& prefix) const;
  void add(const std::string& prefix, const std::vector<std::pair<std::string, at::Tensor>>& part);
};

/// A folder of them: step-000000123.safetensors, and best.safetensors. A run that was killed resumes from the
/// last step; if best.safetensors was replaced after that, the one before it is there as
/// best-000000123.safetensors, for as long as that step's checkpoint is.
class CheckpointFolder {
 public:
  /// Makes the folder, if need be. Of the last steps, so many are kept.
  explicit CheckpointFolder(std::string path, std::int64_t keep_last = 2);

  const std::string& path() const { return path_; }
  /// Who writes to it holds what this returns: IoError (EWOULDBLOCK) that names the process if another one
  /// does. The system takes it from a process that dies. Nothing where the file system has no locks.
  std::shared_ptr<const void> own() const;
  void save(const Checkpoint& checkpoint) const;
  /// `planned`: whether a run that resumes from this step counts the validation. If not, it still needs the
  /// best one before.
  void save_best(const Checkpoint& checkpoint, bool planned = true) const;
  /// The last that can be read: a process that was killed, or a full disk, costs one. Nothing where there is
  /// none; FormatError where none of them can be read.
  std::optional<Checkpoint> last() const;
  std::optional<Checkpoint> last_head() const;
  std::optional<Checkpoint> best() const;
  std::string best_path() const;
  /// The file whose head is `wanted`, best.safetensors first; empty where there is none.
  std::string find_best(const std::function<bool(const Checkpoint& head)>& wanted) const;
  /// Makes what find_best found best.safetensors.
  void restore_best(const std::string& path) const;
  std::vector<std::int64_t> steps() const;  // rising

 private:
  std::vector<std::int64_t> numbers(std::string_view begin) const;
  std::string file_of(std::string_view begin, std::int64_t step) const;
  void keep_best_of(std::int64_t step, const Checkpoint& best) const;

  std::string path_;
  std::int64_t keep_last_;
};

}  // namespace sentencode::training
