#include "sentencode/io/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "temporary_folder.h"

namespace sentencode {
namespace {

/// A file with this header and `bytes` bytes of data.
std::string file_of(std::string_view header, std::size_t data = 0) {
  const std::uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes.append(header).append(data, '\1');
}

TEST(SafeTensors, MatchesTheFormat) {
  const std::vector<std::int8_t> small{1, -1, 3};
  const std::vector<float> large{0.5F, -2.0F};
  const auto pieces = safetensors_pieces(
      {{"a", tensor_of(std::span(small), {3})}, {"b", tensor_of(std::span(large), {2, 1})}},
      {{"kind", "test"}});
  const std::string header =
      R"({"__metadata__":{"kind":"test"},"b":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
      R"("a":{"dtype":"I8","shape":[3],"data_offsets":[8,11]}})";
  const std::string padded = header + std::string(64 - (8 + header.size()) % 64, ' ');
  std::string expected = file_of(padded);
  ASSERT_EQ(expected.size() % 64, 0U);
  expected.append(reinterpret_cast<const char*>(large.data()), 8).append("\x01\xff\x03");
  std::string actual = pieces.header;
  for (const auto bytes : pieces.data)
    actual.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  EXPECT_EQ(actual, expected);
}

TEST(SafeTensors, DetectsEveryFlippedBit) {
  const TemporaryFolder folder;
  const std::vector<std::int8_t> small{1, -1, 3};
  const std::vector<float> large{0.5F, -2.0F};
  const std::map<std::string, Tensor> tensors{{"a", tensor_of(std::span(small), {3})},
                                              {"b", tensor_of(std::span(large), {2, 1})}};
  write_safetensors(folder.path("file"), tensors, {{"kind", "test"}});
  const std::string whole = folder.read("file");
  const auto same = [&](const std::string& path) {
    const auto file = SafeTensors::open(path);
    if (!file->has_checksums()) return true;  // the flipped bit was in its key; callers require checksums
    for (const auto& [name, tensor] : tensors) {
      file->verify(name);
      const auto actual = file->tensors().at(name).bytes;
      if (!std::equal(actual.begin(), actual.end(), tensor.bytes.begin(), tensor.bytes.end())) return false;
    }
    return file->metadata().at("kind") == "test";
  };
  EXPECT_TRUE(same(folder.path("file")));
  EXPECT_TRUE(SafeTensors::open(folder.path("file"))->has_checksums());
  std::size_t refused = 0;
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] ^= static_cast<char>(1 << bit % 8);
    try {
      EXPECT_TRUE(same(folder.write("flipped", flipped))) << "bit " << bit;
    } catch (const FormatError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 7 * whole.size());
}

TEST(SafeTensors, RoundTrips) {
  const TemporaryFolder folder;
  const Matrix m = Matrix::Random(5, 3);
  const MatrixD d = MatrixD::Random(2, 2);
  const std::vector<std::int64_t> numbers{1, -5, std::int64_t{1} << 60};
  const std::string text = "words";
  write_safetensors(folder.path("file"),
                    {{"m", tensor_of(m)},
                     {"d", tensor_of(d)},
                     {"numbers", tensor_of(std::span<const std::int64_t>(numbers), {3})},
                     {"text", tensor_of(std::span<const char>(text), {5})},
                     {"empty", tensor_of(std::span<const float>(), {0, 7})}},
                    {{"key", "value \"quoted\" \xc3\xa9"}, {"", ""}});
  const auto file = SafeTensors::open(folder.path("file"));
  EXPECT_EQ(file->metadata().at("key"), "value \"quoted\" \xc3\xa9");
  EXPECT_EQ(file->tensors().size(), 5U);
  EXPECT_EQ(file->matrix("m", -1, 3), m);
  EXPECT_EQ(file->matrix("empty", 0, -1).cols(), 7);
  const auto values = file->values<std::int64_t>("numbers", {-1});
  EXPECT_TRUE(std::equal(values.begin(), values.end(), numbers.begin(), numbers.end()));
  EXPECT_EQ(file->values<double>("d", {2, 2})[3], d(1, 1));
  EXPECT_EQ(file->values<char>("text", {5})[0], 'w');

  EXPECT_THROW_WITH(file->matrix("absent", -1, -1), FormatError, "has no tensor 'absent'");
  EXPECT_THROW_WITH(file->matrix("m", -1, 4), FormatError, "'m' must be F32 [*, 4], is F32 [5, 3]");
  EXPECT_THROW_WITH(file->matrix("d", -1, -1), FormatError, "is F64 [2, 2]");
  EXPECT_THROW_WITH(file->values<float>("m", {15}), FormatError, "[15]");
}

TEST(SafeTensors, AlignsTheLargestTensorToCacheLines) {
  const TemporaryFolder folder;
  for (const std::size_t before : {1, 2, 7}) {
    const std::vector<std::int64_t> numbers(before);
    const std::vector<std::int8_t> large(1000);
    write_safetensors(folder.path("file"),
                      {{"large", tensor_of(std::span(large), {1000})},
                       {"numbers", tensor_of(std::span(numbers), {static_cast<std::int64_t>(before)})}},
                      {});
    const auto file = SafeTensors::open(folder.path("file"));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file->values<std::int8_t>("large", {1000}).data()) % 64, 0U);
    EXPECT_EQ(file->values<std::int64_t>("numbers", {-1}).size(), before);
  }
}

TEST(SafeTensors, WritesAnEmptyFile) {
  const TemporaryFolder folder;
  write_safetensors(folder.path("file"), {}, {});
  EXPECT_TRUE(SafeTensors::open(folder.path("file"))->tensors().empty());
}

TEST(SafeTensors, RefusesInvalidMetadata) {
  const TemporaryFolder folder;
  const Tensor none = tensor_of(std::span<const float>(), {0});
  EXPECT_THROW_WITH(write_safetensors(folder.path("file"), {{"__metadata__", none}}, {}), InvalidInput,
                    "__metadata__");
  EXPECT_THROW_WITH(write_safetensors(folder.path("file"), {}, {{"key", "\xff"}}), InvalidInput, "UTF-8");
  EXPECT_EQ(folder.files(), 0U);
}

struct Bad {
  std::string content;
  const char* message;
};

TEST(SafeTensors, RefusesInvalidHeaders) {
  const std::string entry = R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  std::string deep = R"({"a":)";
  for (int i = 0; i < 100'000; ++i) deep += '[';
  std::string long_shape = R"({"a":{"dtype":"U8","data_offsets":[0,1],"shape":[1)";
  for (int i = 0; i < 40; ++i) long_shape += ",1";
  const std::vector<Bad> cases{
      {"", "only 0 bytes"},
      {"1234567", "only 7 bytes"},
      {std::string(8, '\0'), "no '{' at byte 8"},
      {std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10), "a header of 18446744073709551615 bytes"},
      {std::string("\x03\0\0\0\0\0\0\0{}", 10), "a header of 3 bytes in a file of 10"},
      {file_of(" {}"), "no '{'"},
      {file_of("{"), "not JSON at byte"},
      {file_of("{}x"), "not JSON at byte 11"},
      {file_of("{'a':1}"), "not JSON"},
      {file_of("{\"\xff\":1}"), "not JSON"},
      {file_of("[]"), "no '{'"},
      {file_of("{\"a\":1}"), "'a': unexpected a number"},
      {file_of("{\"a\":null}"), "unexpected null"},
      {file_of(deep), "'a': unexpected a list"},
      {file_of(R"({"a":{"dtype":{"x":1}}})"), "unexpected an object for 'dtype'"},
      {file_of("{" + entry + "," + entry + "}", 4), "duplicate key 'a'"},
      {file_of(R"({"__metadata__":{"a":"b","a":"c"}})"), "'__metadata__': duplicate key 'a'"},
      {file_of(R"({"__metadata__":{},"__metadata__":{}})"), "duplicate key"},
      {file_of(R"({"__metadata__":{"a":1}})"), "unexpected a number for 'a'"},
      {file_of(R"({"__metadata__":{"a":{}}})"), "unexpected an object"},
      {file_of(R"({"__metadata__":3})"), "unexpected a number"},
      {file_of(R"({"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1),
       "duplicate key 'dtype'"},
      {file_of(R"({"a":{"dtype":"U8","shape":[1]}})", 1), "needs dtype, shape and data_offsets"},
      {file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1}})", 1), "unknown key 'x'"},
      {file_of(R"({"a":{"dtype":"U7","shape":[1],"data_offsets":[0,1]}})", 1), "unknown dtype 'U7'"},
      {file_of(R"({"a":{"dtype":"U8","shape":["1"],"data_offsets":[0,1]}})", 1), "unexpected a text"},
      {file_of(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", 1),
       "unexpected a negative number"},
      {file_of(R"({"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}})", 1), "unexpected the number 1.0"},
      {file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,18446744073709551616]}})", 1),
       "unexpected the number"},
      {file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0]}})", 1),
       "data_offsets must be two numbers"},
      {file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}})", 1),
       "data_offsets must be two numbers"},
      {file_of(long_shape + "]}}", 1), "'shape' is too long"},
      {file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}})", 1), "data_offsets [1, 0]"},
      {file_of(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", 1),
       "data_offsets [0, 2] in 1 bytes of data"},
      {file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,3]}})", 3), "do not hold its shape"},
      {file_of(R"({"a":{"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]}})"),
       "do not hold its shape"},
      {file_of(R"({"a":{"dtype":"U8","shape":[9223372036854775808,0],"data_offsets":[0,0]}})"),
       "an extent is too large"},
      {file_of("{" + entry + "}", 5), "1 bytes too many"},
      {file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", 2), "leave a hole"},
      {file_of("{" + entry + R"(,"b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})", 6), "overlap"},
      {file_of("{" + entry + R"(,"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4), "overlap"},
  };
  const TemporaryFolder folder;
  for (const auto& bad : cases) {
    const std::string path = folder.write("file", bad.content);
    SCOPED_TRACE(bad.content.substr(0, 200));
    EXPECT_THROW_WITH(SafeTensors::open(path), FormatError, bad.message);
  }
}

TEST(SafeTensors, RequiresAlignmentOnlyForViews) {
  const TemporaryFolder folder;
  const auto file = SafeTensors::open(
      folder.write("file", file_of(R"({"a":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]}} )", 4)));
  EXPECT_THROW_WITH(file->values<float>("a", {1, 1}), FormatError, "does not lie at a multiple of 4");
  EXPECT_EQ(file->matrix("a", 1, 1).size(), 1);
}

TEST(SafeTensors, SurvivesTruncationAndFlippedBits) {
  const TemporaryFolder folder;
  const Matrix m = Matrix::Random(2, 3);
  write_safetensors(folder.path("file"), {{"m", tensor_of(m)}, {"n", tensor_of(m)}}, {{"k", "v"}});
  const std::string whole = folder.read("file");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THROW(SafeTensors::open(folder.write("truncated", whole.substr(0, length))), FormatError)
        << length;
  }
  std::mt19937 random(3);
  int opened = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string flipped = whole;
    for (int n = 0; n < 1 + i % 3; ++n) flipped[random() % 220] ^= static_cast<char>(1 << random() % 8);
    try {  // a changed name or value may be valid: the file must be refused or consistent
      const auto file = SafeTensors::open(folder.write("flipped", flipped));
      for (const auto& [name, tensor] : file->tensors()) {
        EXPECT_EQ(static_cast<std::size_t>(tensor.elements()) * dtype_size(tensor.dtype),
                  tensor.bytes.size());
      }
      ++opened;
    } catch (const FormatError&) {
    }
  }
  EXPECT_LT(opened, 1500);
}

}  // namespace
}  // namespace sentencode
