#include "sentencode/io/safetensors.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "sentencode/io/atomic_file.h"
#include "sentencode/io/mapped_file.h"
#include "sentencode/parallel.h"

namespace sentencode {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the format is little-endian, and so are our mapped rows");

constexpr std::uint64_t kMaxHeader = 100'000'000;  // limit of the format
constexpr std::size_t kLengthBytes = 8;            // of the header's length, which comes first
constexpr std::size_t kDataAlignment = 64;

struct DTypeInfo {
  DType dtype;
  std::string_view name;
  std::size_t size;
};
constexpr DTypeInfo kDTypes[] = {{DType::boolean, "BOOL", 1}, {DType::u8, "U8", 1},   {DType::i8, "I8", 1},
                                 {DType::u16, "U16", 2},      {DType::i16, "I16", 2}, {DType::f16, "F16", 2},
                                 {DType::bf16, "BF16", 2},    {DType::u32, "U32", 4}, {DType::i32, "I32", 4},
                                 {DType::f32, "F32", 4},      {DType::u64, "U64", 8}, {DType::i64, "I64", 8},
                                 {DType::f64, "F64", 8}};

const DTypeInfo& info_of(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)]; }

/// Header entry of a tensor.
struct Entry {
  std::string dtype;
  std::vector<std::uint64_t> shape, data_offsets;
};

/// A SAX handler of the header that refuses everything outside of the format:
///   {"__metadata__": {text: text}, name: {"dtype": text, "shape": [n, ...], "data_offsets": [begin, end]},
///   ...}
/// Without a tree, depth, duplicates and excessive numbers of entries are refused before they cost memory.
class HeaderReader {
 public:
  std::map<std::string, std::string> metadata;
  std::map<std::string, Entry> entries;
  std::string error;

  bool start_object(std::size_t) {
    switch (state_) {
      case State::start:
        return enter(State::top);
      case State::top:
        return enter(key_ == kMetadata ? State::metadata : State::tensor);
      default:
        return unexpected("an object");
    }
  }
  bool key(std::string& name) {
    if (state_ == State::top) {
      field_.clear();
      key_ = name;
      if (name == kMetadata) return !std::exchange(has_metadata_, true) || duplicate(name);
      const auto [entry, is_new] = entries.try_emplace(name);
      entry_ = &entry->second;
      fields_ = 0;
      return is_new || duplicate(name);
    }
    field_ = name;
    if (state_ == State::metadata) return !metadata.contains(name) || duplicate(name);
    const unsigned bit = name == "dtype" ? 1 : name == "shape" ? 2 : name == "data_offsets" ? 4 : 0;
    if (bit == 0) return refuse("unknown key '" + name + "'");
    return (std::exchange(fields_, fields_ | bit) & bit) == 0 || duplicate(name);
  }
  bool end_object() {
    if (state_ == State::tensor && fields_ != 7) return refuse("needs dtype, shape and data_offsets");
    return enter(state_ == State::top ? State::end : State::top);
  }
  bool start_array(std::size_t) {
    if (state_ != State::tensor || field_ == "dtype") return unexpected("a list");
    return enter(State::list);
  }
  bool end_array() { return enter(State::tensor); }
  bool string(std::string& text) {
    if (state_ == State::metadata) return metadata.emplace(field_, std::move(text)), true;
    if (state_ != State::tensor || field_ != "dtype") return unexpected("a text");
    return entry_->dtype = std::move(text), true;
  }
  bool number_unsigned(std::uint64_t value) {
    if (state_ != State::list) return unexpected("a number");
    auto& list = field_ == "shape" ? entry_->shape : entry_->data_offsets;
    if (list.size() == kMaxRank) return refuse("'" + field_ + "' is too long");
    return list.push_back(value), true;
  }
  bool number_integer(std::int64_t) { return unexpected("a negative number"); }
  bool number_float(double, const std::string& text) { return unexpected("the number " + text); }
  bool null() { return unexpected("null"); }
  bool boolean(bool) { return unexpected("a boolean"); }
  bool binary(std::vector<std::uint8_t>&) { return unexpected("binary data"); }
  bool parse_error(std::size_t position, const std::string& token, const nlohmann::json::exception&) {
    return error = concat("not JSON at byte ", kLengthBytes + position, ", near '", token.substr(0, 40), "'"),
           false;
  }

 private:
  enum class State { start, top, metadata, tensor, list, end };
  static constexpr std::string_view kMetadata = "__metadata__";
  static constexpr std::size_t kMaxRank = 32;

  bool enter(State state) { return state_ = state, true; }
  bool refuse(const std::string& why) {
    return error = key_.empty() ? why : concat("'", key_, "': ", why), false;
  }
  bool duplicate(const std::string& name) { return refuse("duplicate key '" + name + "'"); }
  bool unexpected(const std::string& what) {
    return refuse(field_.empty() ? concat("unexpected ", what)
                                 : concat("unexpected ", what, " for '", field_, "'"));
  }

  State state_ = State::start;
  std::string key_, field_;
  Entry* entry_ = nullptr;
  unsigned fields_ = 0;  // those of the entry that were read, one bit each
  bool has_metadata_ = false;
};

/// Bytes of an array; nullopt on overflow.
std::optional<std::uint64_t> bytes_of(const std::vector<std::uint64_t>& shape, std::size_t element) {
  std::uint64_t bytes = element;
  for (const auto extent : shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return std::nullopt;
  }
  return bytes;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (const auto extent : shape)
    text += (text.size() > 1 ? ", " : "") + (extent < 0 ? "*" : std::to_string(extent));
  return text + "]";
}

std::uint64_t size_of(const Tensor& tensor) {
  const std::vector<std::uint64_t> shape(tensor.shape.begin(), tensor.shape.end());
  ST_INVARIANT(bytes_of(shape, dtype_size(tensor.dtype)) == tensor.bytes.size());
  return tensor.bytes.size();
}

std::uint64_t size_of(const StreamedTensor& tensor) {
  const auto bytes = bytes_of({tensor.shape.begin(), tensor.shape.end()}, dtype_size(tensor.dtype));
  ST_INVARIANT(bytes.has_value());
  return *bytes;
}

template <typename T>
std::vector<const std::pair<const std::string, T>*> in_file_order(const std::map<std::string, T>& tensors) {
  std::vector<const std::pair<const std::string, T>*> order;
  for (const auto& item : tensors) order.push_back(&item);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return dtype_size(a->second.dtype) > dtype_size(b->second.dtype);
  });
  return order;
}

// --- checksums: metadata entries of eight hexadecimal digits

constexpr std::string_view kTensorSum = "checksum.tensor.", kBlockSums = "checksum.blocks.",
                           kHeaderSum = "checksum.header";
constexpr std::size_t kBlock = std::size_t{1} << 20, kDigits = 8;

uLong crc32_of(std::span<const std::byte> bytes, uLong sum = 0) {
  return ::crc32_z(sum, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
}

std::string sum_text(uLong sum) {
  std::string text;
  for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[sum >> shift & 15];
  return text;
}

/// zlib's CRC-32, which detects every change of up to 32 adjacent bits, and any other with probability
/// 1 - 2^-32. Can be interrupted.
std::string crc32_text(std::span<const std::byte> bytes) {
  constexpr std::size_t kPiece = std::size_t{1} << 26;
  uLong sum = 0;
  while (!bytes.empty()) {
    poll_interrupt();
    const auto piece = bytes.first(std::min(kPiece, bytes.size()));
    sum = crc32_of(piece, sum);
    bytes = bytes.subspan(piece.size());
  }
  return sum_text(sum);
}

/// Checksum of a header's content, independent of its JSON formatting: strings, each followed by a zero byte.
class HeaderSum {
 public:
  explicit HeaderSum(const std::map<std::string, std::string>& metadata) {
    for (const auto& [key, value] : metadata) {
      if (key == kHeaderSum) continue;
      add(key);
      add(value);
    }
  }
  /// Tensors must be added in the order of their names.
  template <typename T>
  void add(const std::string& name, const T& tensor, std::uint64_t begin) {
    add(name);
    add(dtype_name(tensor.dtype));
    for (const auto extent : tensor.shape) add(std::to_string(extent));
    add(std::to_string(begin));
    add(std::to_string(begin + size_of(tensor)));
  }
  std::string text() const { return crc32_text(std::as_bytes(std::span(text_))); }

 private:
  void add(std::string_view text) { text_.append(text) += '\0'; }
  std::string text_;
};

/// The metadata with the checksum of the header.
template <typename T>
std::map<std::string, std::string> with_header_sum(const std::map<std::string, T>& tensors,
                                                   std::map<std::string, std::string> metadata) {
  std::map<const T*, std::uint64_t> begins;
  std::uint64_t end = 0;
  for (const auto* item : in_file_order(tensors))
    begins[&item->second] = std::exchange(end, end + size_of(item->second));
  HeaderSum sum(metadata);
  for (const auto& [name, tensor] : tensors) sum.add(name, tensor, begins[&tensor]);
  metadata[std::string(kHeaderSum)] = sum.text();
  return metadata;
}

/// The metadata with checksums of the header and of each tensor.
std::map<std::string, std::string> with_checksums(const std::map<std::string, Tensor>& tensors,
                                                  std::map<std::string, std::string> metadata) {
  for (const auto& [name, tensor] : tensors)
    metadata[std::string(kTensorSum) + name] = crc32_text(tensor.bytes);
  return with_header_sum(tensors, std::move(metadata));
}

/// Layout of a file: its header, prefixed by its length, and the tensors in order.
template <typename T>
struct Layout {
  std::string header;
  std::vector<const std::pair<const std::string, T>*> order;
};

template <typename T>
Layout<T> layout_of(const std::map<std::string, T>& tensors,
                    const std::map<std::string, std::string>& metadata) {
  Layout<T> layout;
  auto& order = layout.order = in_file_order(tensors);

  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t end = 0, largest = 0, before_largest = 0;
  for (const auto* item : order) {
    const auto& [name, tensor] = *item;
    ST_CHECK(name != "__metadata__", InvalidInput, "no tensor can have the name __metadata__");
    const std::vector<std::uint64_t> shape(tensor.shape.begin(), tensor.shape.end());
    const std::uint64_t begin = std::exchange(end, end + size_of(tensor));
    header[name] = {{"dtype", dtype_name(tensor.dtype)}, {"shape", shape}, {"data_offsets", {begin, end}}};
    if (end - begin > largest) {
      largest = end - begin;
      before_largest = begin;
    }
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::exception&) {
    throw InvalidInput("names and metadata of a safetensors file must be UTF-8");
  }
  // The padding is a multiple of 8, which keeps the tensors before the largest one aligned.
  const std::uint64_t aligned = before_largest % kLengthBytes == 0 ? before_largest : 0;
  text.append((kDataAlignment - (kLengthBytes + text.size() + aligned) % kDataAlignment) % kDataAlignment,
              ' ');
  ST_CHECK(text.size() <= kMaxHeader, InvalidInput,
           "too many or too large entries for the header of a safetensors file");

  const std::uint64_t length = text.size();
  layout.header.assign(reinterpret_cast<const char*>(&length), kLengthBytes).append(text);
  return layout;
}

}  // namespace

std::string_view dtype_name(DType dtype) { return info_of(dtype).name; }
std::size_t dtype_size(DType dtype) { return info_of(dtype).size; }

std::int64_t Tensor::elements() const { return static_cast<std::int64_t>(bytes.size() / dtype_size(dtype)); }

std::shared_ptr<const SafeTensors> SafeTensors::open(const std::string& path) {
  auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  return parse(std::move(file), bytes, path, path);
}

std::shared_ptr<const SafeTensors> SafeTensors::parse(std::shared_ptr<const void> keep,
                                                      std::span<const std::byte> bytes, std::string source,
                                                      std::string path) {
  std::shared_ptr<SafeTensors> result(new SafeTensors);
  result->keep_ = std::move(keep);
  result->start_ = bytes.data();

  ST_CHECK(bytes.size() >= kLengthBytes, FormatError, source, ": not a safetensors file: only ", bytes.size(),
           " bytes");
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  ST_CHECK(length <= kMaxHeader && length <= bytes.size() - kLengthBytes, FormatError, source,
           ": not a safetensors file: a header of ", length, " bytes in a file of ", bytes.size(),
           " (at most ", kMaxHeader, ")");
  const std::string_view header(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, length);
  ST_CHECK(header.starts_with('{'), FormatError, source, ": not a safetensors file: no '{' at byte ",
           kLengthBytes);

  HeaderReader reader;
  ST_CHECK(nlohmann::json::sax_parse(header, &reader), FormatError, source, ": bad header: ", reader.error);
  result->metadata_ = std::move(reader.metadata);

  const auto data = bytes.subspan(kLengthBytes + length);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> extents;
  for (auto& item : reader.entries) {
    const std::string& name = item.first;  // not a structured binding: clang 14 cannot capture those
    auto& entry = item.second;
    const auto fail = [&](const auto&... why) {
      throw FormatError(concat(source, ": tensor '", name, "': ", why...));
    };
    const auto* info = std::find_if(std::begin(kDTypes), std::end(kDTypes),
                                    [&](const DTypeInfo& d) { return d.name == entry.dtype; });
    if (info == std::end(kDTypes)) fail("unknown dtype '", entry.dtype, "'");
    if (entry.data_offsets.size() != 2)
      fail("data_offsets must be two numbers, has ", entry.data_offsets.size());
    const auto begin = entry.data_offsets[0], end = entry.data_offsets[1];
    if (begin > end || end > data.size()) {
      fail("data_offsets [", begin, ", ", end, "] in ", data.size(), " bytes of data");
    }
    const auto needed = bytes_of(entry.shape, info->size);
    if (needed != end - begin) {
      fail("data_offsets [", begin, ", ", end, "] do not hold its shape of ", info->name);
    }
    if (std::any_of(entry.shape.begin(), entry.shape.end(), [](auto n) { return n >> 63 != 0; })) {
      fail("an extent is too large");
    }
    extents.emplace_back(begin, end);
    result->tensors_[name] = {
        info->dtype, {entry.shape.begin(), entry.shape.end()}, data.subspan(begin, end - begin)};
  }

  std::sort(extents.begin(), extents.end());
  std::uint64_t covered = 0;
  for (const auto& [begin, end] : extents) {
    ST_CHECK(begin == covered, FormatError, source, ": tensors ",
             begin < covered ? "overlap" : "leave a hole", " at byte ",
             kLengthBytes + length + std::min(begin, covered));
    covered = end;
  }
  ST_CHECK(covered == data.size(), FormatError, source, ": ", data.size() - covered,
           " bytes too many at the end");
  if (const auto sum = result->metadata_.find(std::string(kHeaderSum)); sum != result->metadata_.end()) {
    HeaderSum actual(result->metadata_);
    for (const auto& [name, tensor] : result->tensors_)
      actual.add(name, tensor, static_cast<std::uint64_t>(tensor.bytes.data() - data.data()));
    ST_CHECK(actual.text() == sum->second, FormatError, source, ": is damaged: the header's checksum is ",
             actual.text(), ", and was ", sum->second, " when it was written");
    result->has_checksums_ = true;
  }
  result->source_ = std::move(source);
  result->path_ = std::move(path);
  return result;
}

void SafeTensors::verify_blocks(const std::string& name, std::span<const std::byte> bytes,
                                const std::string& sums) const {
  const std::size_t blocks = (bytes.size() + kBlock - 1) / kBlock;
  ST_CHECK(sums.size() == blocks * kDigits, FormatError, source(), ": has ", sums.size() / kDigits,
           " checksums of the ", blocks, " blocks of tensor '", name, "'");
  parallel_for(0, static_cast<std::int64_t>(blocks), 1, [&](std::int64_t first, std::int64_t) {
    const std::size_t begin = static_cast<std::size_t>(first) * kBlock;
    const auto block = bytes.subspan(begin, std::min(kBlock, bytes.size() - begin));
    const std::string actual = sum_text(crc32_of(block));
    const std::string_view written = std::string_view(sums).substr(begin / kBlock * kDigits, kDigits);
    ST_CHECK(actual == written, FormatError, source(), ": is damaged: the checksum of bytes ",
             block.data() - start_, " to ", block.data() - start_ + std::ssize(block), ", of tensor '", name,
             "', is ", actual, ", and was ", written, " when it was written");
  });
}

void SafeTensors::verify(const std::string& name) const {
  const auto entry = tensors_.find(name);
  if (!has_checksums_ || entry == tensors_.end()) return;
  if (const auto sums = metadata_.find(std::string(kBlockSums) + name); sums != metadata_.end()) {
    verify_blocks(name, entry->second.bytes, sums->second);
    return;
  }
  const auto sum = metadata_.find(std::string(kTensorSum) + name);
  ST_CHECK(sum != metadata_.end(), FormatError, source(), ": has no checksum of tensor '", name, "'");
  const std::string actual = crc32_text(entry->second.bytes);
  ST_CHECK(actual == sum->second, FormatError, source(), ": is damaged: the checksum of tensor '", name,
           "' is ", actual, ", and was ", sum->second, " when it was written");
}

const Tensor& SafeTensors::tensor(const std::string& name, DType dtype,
                                  std::span<const std::int64_t> shape) const {
  const auto entry = tensors_.find(name);
  ST_CHECK(entry != tensors_.end(), FormatError, source(), ": has no tensor '", name, "'");
  const Tensor& tensor = entry->second;
  const bool same_shape = std::equal(shape.begin(), shape.end(), tensor.shape.begin(), tensor.shape.end(),
                                     [](auto wanted, auto is) { return wanted < 0 || wanted == is; });
  ST_CHECK(tensor.dtype == dtype && same_shape, FormatError, source(), ": tensor '", name, "' must be ",
           dtype_name(dtype), " ", shape_text(shape), ", is ", dtype_name(tensor.dtype), " ",
           shape_text(tensor.shape));
  return tensor;
}

Matrix SafeTensors::matrix(const std::string& name, std::int64_t rows, std::int64_t cols) const {
  const Tensor& stored = tensor(name, DType::f32, std::array{rows, cols});
  Matrix result(stored.shape[0], stored.shape[1]);
  if (!stored.bytes.empty()) std::memcpy(result.data(), stored.bytes.data(), stored.bytes.size());
  return result;
}

SafeTensorsPieces safetensors_pieces(const std::map<std::string, Tensor>& tensors,
                                     const std::map<std::string, std::string>& metadata) {
  auto [header, order] = layout_of(tensors, metadata);
  SafeTensorsPieces pieces;
  pieces.header = std::move(header);
  for (const auto* item : order) pieces.data.push_back(item->second.bytes);
  return pieces;
}

void write_safetensors(const std::string& path, const std::map<std::string, Tensor>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  const SafeTensorsPieces pieces = safetensors_pieces(tensors, with_checksums(tensors, metadata));
  AtomicFile file(path);
  file.write(pieces.header);
  for (const auto bytes : pieces.data) file.write(bytes);
  file.commit();
}

std::map<std::string, std::string> block_checksums(const std::map<std::string, StreamedTensor>& tensors,
                                                   const ByteSink& also) {
  std::map<std::string, std::string> sums;
  for (const auto& [name, tensor] : tensors) {
    std::string& text = sums[std::string(kBlockSums) + name];
    uLong sum = 0;
    std::size_t summed = 0;  // bytes of the current block
    tensor.write([&](std::span<const std::byte> bytes) {
      poll_interrupt();
      if (also) also(bytes);
      while (!bytes.empty()) {
        const auto piece = bytes.first(std::min(kBlock - summed, bytes.size()));
        sum = crc32_of(piece, sum);
        bytes = bytes.subspan(piece.size());
        if ((summed += piece.size()) == kBlock) {
          text += sum_text(std::exchange(sum, 0));
          summed = 0;
        }
      }
    });
    if (summed > 0) text += sum_text(sum);
  }
  return sums;
}

void stream_safetensors(const std::string& path, const std::map<std::string, StreamedTensor>& tensors,
                        const std::map<std::string, std::string>& metadata) {
  const bool checked =
      std::ranges::any_of(metadata, [](const auto& item) { return item.first.starts_with(kBlockSums); });
  const auto layout = layout_of(tensors, checked ? with_header_sum(tensors, metadata) : metadata);
  AtomicFile file(path);
  file.write(layout.header);
  for (const auto* item : layout.order) {
    std::uint64_t written = 0;
    item->second.write([&](std::span<const std::byte> bytes) {
      file.write(bytes);
      written += bytes.size();
    });
    ST_INVARIANT(written == size_of(item->second));
  }
  file.commit();
}

}  // namespace sentencode
