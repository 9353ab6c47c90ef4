// Construction of word vectors from arrays and other tables.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <utility>

#include "large_pages.h"
#include "sentencode/error.h"
#include "sentencode/parallel.h"
#include "vectors/word_vectors_shared.h"

namespace sentencode {
namespace {

/// The memory of a table that is not mapped.
struct Owned {
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte[], Free> rows;
  std::vector<float> scales;
  std::vector<std::int64_t> counts;
};

/// Rows of subwords, and the owner of the table that they are added to.
struct WithSubwords {
  std::shared_ptr<const void> table;
  Owned rows;
};

/// A copy that owns its memory, unlike a frozen table, which may be a view of a file.
StringTable copy_of(const StringTable& words) {
  if (!words.frozen()) return words;
  StringTable copy;
  copy.reserve(words.size(), static_cast<std::int64_t>(words.bytes().size()));
  for (std::int64_t i = 0; i < words.size(); ++i) copy.insert(words[i]);
  return copy;
}

/// A table whose rows are written by fill(first, last, rows, scales), called on all threads.
template <typename Fill>
WordVectors::Parts make_parts(StringTable words, std::int64_t dim, Storage storage,
                              std::span<const std::int64_t> counts, OutOfVocabulary oov, const Fill& fill) {
  const auto n = static_cast<std::size_t>(words.size());
  const std::size_t row_bytes = static_cast<std::size_t>(dim) * element_bytes(storage);
  auto memory = std::make_shared<Owned>();
  memory->rows.reset(static_cast<std::byte*>(allocate_large(n * row_bytes)));
  if (storage == Storage::int8) memory->scales.resize(n);
  memory->counts.assign(counts.begin(), counts.end());
  parallel_for(0, words.size(), kRowsPerPiece, [&](std::int64_t begin, std::int64_t end) {
    fill(begin, end, memory->rows.get() + static_cast<std::size_t>(begin) * row_bytes,
         memory->scales.empty() ? nullptr : memory->scales.data() + begin);
  });

  WordVectors::Parts parts;
  parts.rows = {memory->rows.get(), n * row_bytes};
  parts.scales = memory->scales;
  parts.counts = memory->counts;
  parts.keep = std::move(memory);
  parts.words = std::move(words);
  parts.dim = dim;
  parts.storage = storage;
  parts.oov = oov;
  return parts;
}

/// Adds rows of subwords, written by row(i, out), to a table.
template <typename Row>
void add_subwords(WordVectors::Parts& parts, std::array<std::int32_t, 2> lengths, std::int64_t buckets,
                  const Row& row) {
  const std::size_t row_bytes = static_cast<std::size_t>(parts.dim) * element_bytes(parts.storage);
  const auto n = static_cast<std::size_t>(buckets);
  auto both = std::make_shared<WithSubwords>();
  both->table = std::move(parts.keep);
  both->rows.rows.reset(static_cast<std::byte*>(allocate_large(n * row_bytes)));
  if (parts.storage == Storage::int8) both->rows.scales.resize(n);
  parallel_for(0, buckets, kRowsPerPiece, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> values(static_cast<std::size_t>(parts.dim));
    for (std::int64_t i = begin; i < end; ++i) {
      row(i, values.data());
      const auto at = static_cast<std::size_t>(i);
      store_checked(values, parts.storage, both->rows.rows.get() + at * row_bytes,
                    both->rows.scales.empty() ? nullptr : &both->rows.scales[at], concat("subword ", i));
    }
  });
  parts.subwords = {lengths, buckets, {both->rows.rows.get(), n * row_bytes}, both->rows.scales};
  parts.keep = std::move(both);
}

}  // namespace

std::shared_ptr<const WordVectors> WordVectors::from_array(const StringTable& words, ConstMatrixView rows,
                                                           std::span<const std::int64_t> counts,
                                                           Storage storage, OutOfVocabulary oov) {
  ST_CHECK(rows.rows() == words.size(), InvalidInput, "word vectors: ", rows.rows(), " rows for ",
           words.size(), " words");
  ST_CHECK(rows.cols() >= 1, InvalidInput, "word vectors: dim must be at least 1, got ", rows.cols());
  const std::int64_t dim = rows.cols();
  const std::size_t row_bytes = static_cast<std::size_t>(dim) * element_bytes(storage);
  return std::make_shared<WordVectors>(
      make_parts(copy_of(words), dim, storage, counts, oov,
                 [&](std::int64_t begin, std::int64_t end, std::byte* out, float* scales) {
                   for (std::int64_t i = begin; i < end; ++i, out += row_bytes) {
                     store_checked({rows.row(i).data(), static_cast<std::size_t>(dim)}, storage, out,
                                   scales == nullptr ? nullptr : scales++, words[i]);
                   }
                 }));
}

std::shared_ptr<const WordVectors> WordVectors::from_matrix(std::shared_ptr<const SafeTensors> file,
                                                            const std::string& name, StringTable words,
                                                            std::span<const std::int64_t> mapping,
                                                            std::int64_t columns,
                                                            std::shared_ptr<const void> owner) {
  if (owner == nullptr) words = copy_of(words);
  const auto check = [&](bool condition, const auto&... why) {
    ST_CHECK(condition, FormatError, file->source(), ": tensor '", name, "' ", why...);
  };
  check(file->has(name), "is missing");
  const Tensor& tensor = file->tensors().at(name);
  const DType type = tensor.dtype;
  const bool converted = type == DType::f64 || type == DType::bf16;
  check(converted || type == DType::f32 || type == DType::f16 || type == DType::i8, "has the type ",
        dtype_name(type), ", expected floating-point numbers or I8");
  check(tensor.shape.size() == 2 && tensor.shape[1] >= 1, "must be a matrix [words, dim]");
  const std::int64_t n = tensor.shape[0], width = tensor.shape[1];
  ST_CHECK(columns >= 0 && columns <= width, InvalidInput, file->source(), ": cannot take ", columns,
           " columns of ", width, " of tensor '", name, "'");
  if (columns == 0) columns = width;
  if (mapping.empty()) {
    check(n >= words.size(), "has ", n, " rows for ", words.size(), " tokens");
  } else {
    ST_CHECK(std::ssize(mapping) >= words.size(), FormatError, file->source(), ": the mapping has ",
             mapping.size(), " rows for ", words.size(), " tokens");
    const auto bad = std::ranges::find_if(mapping, [n](std::int64_t row) { return row < 0 || row >= n; });
    check(bad == mapping.end(), "has ", n, " rows, but row ", bad == mapping.end() ? 0 : *bad,
          " is that of token ", bad - mapping.begin());
  }

  const std::size_t element = dtype_size(type);
  const Storage storage = type == DType::f16  ? Storage::float16
                          : type == DType::i8 ? Storage::int8
                                              : Storage::float32;
  Parts parts;
  if (converted || !mapping.empty() || columns < width) {
    const auto copy = [&](std::int64_t begin, std::int64_t end, std::byte* out, float* scales) {
      if (scales != nullptr) std::fill_n(scales, end - begin, 1.0F);
      const auto bytes = static_cast<std::size_t>(columns) * element_bytes(storage);
      for (std::int64_t i = begin; i < end; ++i, out += bytes) {
        const std::int64_t from = mapping.empty() ? i : mapping[static_cast<std::size_t>(i)];
        const std::byte* row = tensor.bytes.data() + static_cast<std::size_t>(from * width) * element;
        if (!converted) {
          std::memcpy(out, row, bytes);
          continue;
        }
        for (std::int64_t c = 0; c < columns; ++c, row += element) {
          float value = 0;
          if (type == DType::f64) {
            double wide = 0;
            std::memcpy(&wide, row, sizeof wide);
            value = static_cast<float>(wide);
          } else {  // the upper half of a float32; memory is little-endian
            std::memcpy(reinterpret_cast<std::byte*>(&value) + 2, row, 2);
          }
          std::memcpy(out + static_cast<std::size_t>(c) * sizeof value, &value, sizeof value);
        }
      }
    };
    parts = make_parts(std::move(words), columns, storage, {}, OutOfVocabulary::skip, copy);
  } else {
    auto memory = std::make_shared<std::pair<std::shared_ptr<const SafeTensors>, std::vector<float>>>();
    memory->first = file;
    if (storage == Storage::int8) memory->second.assign(static_cast<std::size_t>(words.size()), 1.0F);
    parts.dim = width;
    parts.storage = storage;
    parts.rows = tensor.bytes.first(static_cast<std::size_t>(words.size() * width) * element);
    parts.words = std::move(words);
    parts.scales = memory->second;
    parts.keep = std::move(memory);
  }
  if (owner != nullptr) {
    using Owners = std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>;
    parts.keep = std::make_shared<Owners>(std::move(parts.keep), std::move(owner));
  }
  auto result = std::make_shared<WordVectors>(std::move(parts));
  result->check_finite(concat(file->source(), ": tensor '", name, '\''));
  return result;
}

std::shared_ptr<const WordVectors> WordVectors::with_oov(OutOfVocabulary oov) const {
  Parts parts = parts_;
  parts.oov = oov;
  auto vectors = std::make_shared<WordVectors>(std::move(parts));
  vectors->lazy_ = lazy_;
  return vectors;
}

std::shared_ptr<const WordVectors> WordVectors::with_storage(Storage storage) const {
  const auto columns = static_cast<std::size_t>(dim());
  Parts parts =
      make_parts(copy_of(words()), dim(), storage, counts(), OutOfVocabulary::skip,
                 [&](std::int64_t begin, std::int64_t end, std::byte* out, float* scales) {
                   std::vector<float> values(columns);
                   for (std::int64_t i = begin; i < end; ++i, out += columns * element_bytes(storage)) {
                     row(static_cast<std::int32_t>(i), values.data());
                     store_checked(values, storage, out, scales == nullptr ? nullptr : scales++, words()[i]);
                   }
                 });
  const Subwords& pieces = subwords();
  if (pieces.buckets > 0) {
    const SumRows kernel = row_kernels().sum[static_cast<std::size_t>(this->storage())];
    add_subwords(parts, pieces.lengths, pieces.buckets, [&](std::int64_t i, float* out) {
      const std::byte* row = pieces.rows.data() + static_cast<std::size_t>(i) * row_bytes();
      kernel(&row, pieces.scales.empty() ? nullptr : &pieces.scales[static_cast<std::size_t>(i)], 1, dim(),
             out);
    });
  }
  parts.oov = oov();
  return std::make_shared<WordVectors>(std::move(parts));
}

std::shared_ptr<const WordVectors> WordVectors::with_subwords(std::array<std::int32_t, 2> lengths,
                                                              ConstMatrixView rows) const {
  ST_CHECK(rows.cols() == dim(), InvalidInput, "subwords: rows of ", rows.cols(),
           " dimensions, those of words have ", dim());
  Parts parts = parts_;
  parts.path.clear();
  add_subwords(parts, lengths, rows.rows(),
               [&](std::int64_t i, float* out) { std::copy_n(rows.row(i).data(), dim(), out); });
  return std::make_shared<WordVectors>(std::move(parts));
}

std::shared_ptr<const WordVectors> WordVectors::select(std::span<const std::int32_t> ids) const {
  StringTable chosen;
  std::vector<std::int64_t> chosen_counts;
  for (const std::int32_t id : ids) {
    chosen.insert(words()[id]);
    if (!counts().empty()) chosen_counts.push_back(counts()[static_cast<std::size_t>(id)]);
  }
  Parts parts = make_parts(std::move(chosen), dim(), storage(), chosen_counts, oov(),
                           [&](std::int64_t begin, std::int64_t end, std::byte* out, float* scales) {
                             for (std::int64_t i = begin; i < end; ++i, out += row_bytes()) {
                               const std::int32_t id = ids[static_cast<std::size_t>(i)];
                               std::memcpy(out, row_of(kNoneMade, id), row_bytes());
                               if (scales != nullptr) *scales++ = scale_of(kNoneMade, id);
                             }
                           });
  if (subwords().buckets > 0) {  // shared, not copied
    parts.subwords = subwords();
    parts.keep = std::make_shared<std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>>(
        std::move(parts.keep), parts_.keep);
  }
  return std::make_shared<WordVectors>(std::move(parts));
}

std::shared_ptr<const WordVectors> WordVectors::only(const StringTable& keep) const {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < size(); ++i) {
    if (keep.find(words()[i]) != StringTable::kMissing) ids.push_back(static_cast<std::int32_t>(i));
  }
  return select(ids);
}

std::shared_ptr<const WordVectors> WordVectors::first(std::int64_t count) const {
  ST_CHECK(count >= 0, InvalidInput, "word vectors: cannot keep ", count, " words");
  std::vector<std::int32_t> ids(static_cast<std::size_t>(std::min(count, size())));
  std::iota(ids.begin(), ids.end(), 0);
  return select(ids);
}

}  // namespace sentencode
