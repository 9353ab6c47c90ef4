#include "sentencode/training/checkpoints.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "sentencode/error.h"
#include "temporary_folder.h"
#include "without_checksums.h"

namespace sentencode::training {
namespace {

namespace fs = std::filesystem;

Checkpoint some(std::int64_t step) {
  Checkpoint checkpoint;
  checkpoint.step = step;
  checkpoint.state = R"({"epoch": 3})";
  checkpoint.tensors = {{"model.weight", at::arange(6, at::kFloat).view({2, 3}).t()},
                        {"model.bias", at::ones({2}, at::kBFloat16)},
                        {"optimizer.step.weight", at::scalar_tensor(step, at::kLong)},
                        {"random.cpu", at::zeros({5}, at::kByte)}};
  return checkpoint;
}

TEST(Checkpoint, RoundTrips) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.safetensors");
  some(7).write(path);
  const Checkpoint again = Checkpoint::read(path);
  EXPECT_EQ(again.step, 7);
  EXPECT_EQ(again.state, R"({"epoch": 3})");
  ASSERT_EQ(again.tensors.size(), 4U);
  for (const auto& [name, tensor] : some(7).tensors) {
    const at::Tensor& read = again.tensors.at(name);
    EXPECT_EQ(read.scalar_type(), tensor.scalar_type()) << name;
    EXPECT_TRUE(at::equal(read, tensor)) << name;
  }
  const auto model = again.part("model");
  ASSERT_EQ(model.size(), 2U);
  EXPECT_TRUE(model.contains("weight"));
}

TEST(Checkpoint, RefusesOtherFiles) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.safetensors");
  std::ofstream(path) << "nonsense";
  EXPECT_THROW(Checkpoint::read(path), FormatError);
  EXPECT_THROW(Checkpoint::read(folder.path("absent")), IoError);
  Checkpoint deep = some(7);
  deep.state = std::string(1000, '[') + std::string(1000, ']');
  deep.write(path);
  EXPECT_THROW_WITH(Checkpoint::read(path), FormatError, "state: its values are nested more than 512 times");
}

/// A copy of the file in which `from` is replaced by `to`, which has the same length.
std::string changed(const TemporaryFolder& folder, const std::string& path, const std::string& from,
                    const std::string& to) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const auto position = bytes.find(from);
  EXPECT_NE(position, std::string::npos) << from;
  bytes.replace(position, from.size(), to);
  const std::string other = folder.path("changed");
  std::ofstream(other, std::ios::binary) << bytes;
  return other;
}

TEST(Checkpoint, RefusesChangedBytes) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.safetensors");
  some(7).write(path);
  const float three = 3, other = 1e6F;
  const auto bytes = [](const float& value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  };
  for (const auto& [from, to] : {std::pair{bytes(three), bytes(other)},
                                 {"epoch", "epics"},
                                 {"\"7\"", "\"8\""},
                                 {"model.bias", "model.bios"},
                                 {"[3,2]", "[2,3]"}}) {
    try {
      Checkpoint::read(changed(folder, path, from, to));
      ADD_FAILURE() << from;
    } catch (const FormatError& error) {
      EXPECT_NE(std::string(error.what()).find("is damaged"), std::string::npos) << error.what();
    }
  }
  EXPECT_EQ(Checkpoint::read(path).step, 7);
}

TEST(Checkpoint, RefusesOtherVersions) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.safetensors");
  some(7).write(path);
  try {
    Checkpoint::read(folder.write("old", without_checksums(path)));
    FAIL();
  } catch (const FormatError& error) {
    EXPECT_NE(std::string(error.what()).find("version '1'; this library can only resume from version 4"),
              std::string::npos)
        << error.what();
  }
}

TEST(CheckpointFolder, KeepsTheLast) {
  const TemporaryFolder folder;
  const CheckpointFolder checkpoints(folder.path("run"), 2);
  EXPECT_FALSE(checkpoints.last().has_value());
  EXPECT_FALSE(checkpoints.best().has_value());
  for (const std::int64_t step : {5, 10, 1000000000}) checkpoints.save(some(step));
  checkpoints.save_best(some(5));
  EXPECT_EQ(checkpoints.steps(), (std::vector<std::int64_t>{10, 1000000000}));
  EXPECT_EQ(checkpoints.last()->step, 1000000000);
  EXPECT_EQ(checkpoints.best()->step, 5);
}

TEST(CheckpointFolder, SkipsDamagedCheckpoints) {
  const TemporaryFolder folder;
  const CheckpointFolder checkpoints(folder.path("run"), 3);
  for (const std::int64_t step : {5, 10}) checkpoints.save(some(step));
  const fs::path last = fs::path(checkpoints.path()) / "step-000000010.safetensors";
  fs::resize_file(last, fs::file_size(last) - 1);
  EXPECT_EQ(checkpoints.last()->step, 5);
  fs::resize_file(fs::path(checkpoints.path()) / "step-000000005.safetensors", 3);
  EXPECT_THROW_WITH(checkpoints.last(), FormatError, "remove them to train from the beginning");
}

TEST(CheckpointFolder, KeepsTheBestForASavedStep) {
  const TemporaryFolder folder;
  const CheckpointFolder checkpoints(folder.path("run"), 2);
  const auto best_of = [&](std::int64_t step) {
    const std::string path = checkpoints.find_best([&](const Checkpoint& head) { return head.step == step; });
    return path.empty() ? path : fs::path(path).filename().string();
  };
  checkpoints.save_best(some(3));
  checkpoints.save(some(4));
  EXPECT_EQ(best_of(3), "best.safetensors");
  checkpoints.save_best(some(5));
  EXPECT_EQ(best_of(3), "best-000000004.safetensors");
  checkpoints.save_best(some(6));
  EXPECT_EQ(best_of(3), "best-000000004.safetensors");  // step 4 still needs it
  checkpoints.restore_best(checkpoints.find_best([](const Checkpoint& head) { return head.step == 3; }));
  EXPECT_EQ(checkpoints.best()->step, 3);
  checkpoints.save_best(some(6));
  checkpoints.save(some(6));
  checkpoints.save_best(some(7));
  EXPECT_EQ(best_of(6), "step-000000006.safetensors");  // no second copy of the same file
  EXPECT_FALSE(fs::exists(folder.path("run") + "/best-000000006.safetensors"));
  checkpoints.save(some(8));
  checkpoints.save(some(9));
  EXPECT_EQ(best_of(3), "");
  EXPECT_EQ(best_of(7), "best.safetensors");
  checkpoints.save_best(some(10), /*planned=*/false);
  EXPECT_EQ(checkpoints.steps(), (std::vector<std::int64_t>{8, 9}));
  for (const char* name : {"8", "9", "10"})
    EXPECT_TRUE(fs::exists(folder.path("run") + "/best-" + std::string(9 - std::strlen(name), '0') + name +
                           ".safetensors"))
        << name;
  EXPECT_EQ(checkpoints.last_head()->step, 9);
}

TEST(CheckpointFolder, HasOneLock) {
  const TemporaryFolder folder;
  const CheckpointFolder checkpoints(folder.path("run"));
  const std::string path = folder.path("run") + "/training.lock";
  std::ofstream(path) << "process 1 on another, since then";  // left by a process that was killed
  for (int i = 0; i < 2; ++i) {
    const auto owner = checkpoints.lock();
    try {
      checkpoints.lock();
      FAIL();
    } catch (const IoError& error) {
      EXPECT_EQ(error.error_number(), EWOULDBLOCK);
      EXPECT_NE(std::string(error.what()).find(concat("process ", ::getpid(), " on ")), std::string::npos)
          << error.what();
    }
    EXPECT_TRUE(fs::exists(path));
  }
  EXPECT_FALSE(fs::exists(path));
  std::ofstream(folder.path("elsewhere")) << "text";
  fs::create_symlink(folder.path("elsewhere"), path);
  EXPECT_NE(checkpoints.lock(), nullptr);  // the link is replaced
  EXPECT_EQ(fs::file_size(folder.path("elsewhere")), 4U);
}

TEST(CheckpointFolder, IsAFolder) {
  const TemporaryFolder folder;
  std::ofstream(folder.path("a")) << "a file";
  EXPECT_THROW(CheckpointFolder(folder.path("a")), IoError);
  EXPECT_THROW(CheckpointFolder(folder.path("b"), 0), InvalidInput);
}

}  // namespace
}  // namespace sentencode::training
