#include "sentencode/linear/laes_on_device.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "linear/laes_shared.h"
#include "sentencode/error.h"
#include "sentencode/linear/fit_autoencoder.h"
#include "sentencode/linear/prefix_gram.h"
#include "sentencode/parallel.h"

namespace sentencode {
namespace {

constexpr std::int64_t kSentencesPerLookup = 1 << 16;  // sentences per lookup
constexpr std::int64_t kWordsPerTransfer = 1 << 18;    // words per transfer to the device
constexpr std::int64_t kRows = 2048;        // sentences per product, which bounds float's rounding errors
constexpr std::int64_t kBytes = 256 << 20;  // of their words

/// Begin of block column j of an upper triangle, as in PrefixGram.
std::int64_t triangle(std::int64_t j) { return j * (j + 1) / 2; }

template <typename T>
at::Tensor tensor_of(std::span<const T> values, at::ScalarType type) {
  at::Tensor tensor = at::empty({std::ssize(values)}, type);
  if (!values.empty()) std::memcpy(tensor.data_ptr(), values.data(), values.size_bytes());
  return tensor;
}

/// A copy on the device.
at::Tensor tensor_of(MatrixD& matrix, at::Device device) {
  return at::from_blob(matrix.data(), {matrix.rows(), matrix.cols()}, at::kDouble)
      .to(device, at::kDouble, /*non_blocking=*/false, /*copy=*/true);
}

MatrixD matrix_of(const at::Tensor& tensor) {
  const at::Tensor host = tensor.to(at::kCPU, at::kDouble).contiguous();
  MatrixD matrix(host.size(0), host.size(1));
  if (host.numel() > 0) std::memcpy(matrix.data(), host.data_ptr(), host.nbytes());
  return matrix;
}

/// G of one direction on a device, in the layout of PrefixGram.
class DeviceGram {
 public:
  DeviceGram(Reading reading, const WeightedWords& words, std::int64_t max_length, at::Device device,
             std::int64_t others)
      : DeviceGram({.reading = reading,
                    .dim = words.dim(),
                    .max_length = max_length,
                    .gram = MatrixD(0, words.dim()),
                    .sums = MatrixD(0, words.dim()),
                    .counts = {},
                    .waiting = {}},
                   words, device, others) {}

  /// others: Number of statistics of the same size in memory.
  DeviceGram(PrefixGram::State state, const WeightedWords& words, at::Device device, std::int64_t others)
      : n_(state.dim),
        others_(others),
        words_(words),
        gram_(tensor_of(state.gram, device)),
        parts_(tensor_of(state.sums, device)),
        state_(std::move(state)) {
    state_.gram.resize(0, 0);
    state_.sums.resize(0, 0);
    const RaggedIds waiting = std::exchange(state_.waiting, {});
    state_.sentences -= waiting.size();
    state_.tokens -= std::ssize(waiting.ids);
    add(waiting);
  }

  void add(const RaggedIds& sentences) {
    std::vector<std::span<const std::int32_t>> batch;
    for (std::int64_t i = 0, tokens = 0; i < sentences.size(); ++i) {
      const auto sentence = sentences[i];
      const auto length = std::min(std::ssize(sentence), state_.max_length);
      if (length > 0) batch.push_back(sentence.first(static_cast<std::size_t>(length)));
      tokens += length;
      if (tokens >= kWordsPerTransfer || i + 1 == sentences.size()) {
        add(std::exchange(batch, {}));
        tokens = 0;
      }
    }
  }

  PrefixGram::State state() const {
    PrefixGram::State state = state_;
    state.gram = matrix_of(gram_);
    state.sums = matrix_of(parts_);
    return state;
  }

  /// The leading p eigenpairs of C. Frees the sums.
  Spectrum<double> leading(std::int64_t p, const std::optional<VectorD>& centre) && {
    at::Tensor c = covariance(centre);
    gram_.reset();
    parts_.reset();
    const auto [values, vectors] = at::linalg_eigh(std::exchange(c, {}));  // ascending; columns
    const std::int64_t width = vectors.size(0), pairs = std::min(p, width);
    at::Tensor rows = vectors.narrow(1, width - pairs, pairs).t().flip(0);  // [pairs, L n]
    rows =
        rows * rows.gather(1, rows.abs().argmax(1, /*keepdim=*/true)).sign();  // signs as of top_eigenpairs
    const MatrixD descending = matrix_of(values.narrow(0, width - pairs, pairs).flip(0).unsqueeze(1));
    return {.values = descending.col(0), .vectors = matrix_of(rows)};
  }

 private:
  void add(std::vector<std::span<const std::int32_t>> sentences) {
    if (sentences.empty()) return;
    poll_interrupt();
    // Longest first, so that sentences longer than j are the first rows.
    std::stable_sort(sentences.begin(), sentences.end(),
                     [](const auto& a, const auto& b) { return a.size() > b.size(); });
    grow(std::ssize(sentences.front()));
    std::vector<std::int32_t> distinct;
    for (const auto sentence : sentences) {
      ++state_.counts[sentence.size() - 1];
      ++state_.sentences;
      state_.tokens += std::ssize(sentence);
      distinct.insert(distinct.end(), sentence.begin(), sentence.end());
    }
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    const at::Tensor table = rows_of(distinct);

    const auto element = static_cast<std::int64_t>(table.element_size());
    for (std::span<const std::span<const std::int32_t>> rest = sentences; !rest.empty();) {
      const std::int64_t fitting = kBytes / (std::ssize(rest.front()) * n_ * element);
      const auto rows = rest.first(static_cast<std::size_t>(
          std::clamp<std::int64_t>(fitting, 1, std::min<std::int64_t>(kRows, std::ssize(rest)))));
      add_products(rows, distinct, table);
      rest = rest.subspan(rows.size());
    }
  }

  void grow(std::int64_t length) {
    const std::int64_t old = std::ssize(state_.counts);
    if (length <= old) return;
    PrefixGram::check_memory(length, n_, others_);  // for the copy on the host
    state_.counts.resize(static_cast<std::size_t>(length));
    const auto resized = [](const at::Tensor& from, std::int64_t rows) {
      at::Tensor to = at::zeros({rows, from.size(1)}, from.options());
      to.narrow(0, 0, from.size(0)).copy_(from);
      return to;
    };
    gram_ = resized(gram_, triangle(length) * n_);
    parts_ = resized(parts_, triangle(length));
  }

  /// The rows of these words on the device, followed by a row of zeros [distinct + 1, n].
  at::Tensor rows_of(std::span<const std::int32_t> ids) const {
    at::Tensor rows = at::zeros({std::ssize(ids) + 1, n_}, at::kFloat);
    auto* x = rows.mutable_data_ptr<float>();
    parallel_for(0, std::ssize(ids), 256, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) words_.row(ids[static_cast<std::size_t>(i)], x + i * n_);
    });
    return rows.to(gram_.device(), PrefixGram::sums_in_double(n_) ? at::kDouble : at::kFloat);
  }

  void add_products(std::span<const std::span<const std::int32_t>> rows,
                    std::span<const std::int32_t> distinct, const at::Tensor& table) {
    const std::int64_t count = std::ssize(rows), longest = std::ssize(rows.front());
    std::vector<std::int64_t> indices(static_cast<std::size_t>(count * longest), std::ssize(distinct));
    std::vector<std::int64_t> longer(static_cast<std::size_t>(longest));  // rows of length > j
    for (std::int64_t r = 0; r < count; ++r) {
      const auto ids = rows[static_cast<std::size_t>(r)];
      for (std::int64_t i = 0; i < std::ssize(ids); ++i) {
        const auto t = state_.reading == Reading::forward ? std::ssize(ids) - 1 - i : i;
        const auto word =
            std::lower_bound(distinct.begin(), distinct.end(), ids[static_cast<std::size_t>(t)]);
        indices[static_cast<std::size_t>(r * longest + i)] = word - distinct.begin();
        longer[static_cast<std::size_t>(i)] = r + 1;
      }
    }
    // Right-aligned: block i of a row is x_(l-i), and zero beyond the sentence.
    const at::Tensor z = table.index_select(0, tensor_of<std::int64_t>(indices, at::kLong).to(table.device()))
                             .view({count, longest * n_});
    for (std::int64_t j = 0; j < longest; ++j) {
      const at::Tensor all =
          z.narrow(0, 0, longer[static_cast<std::size_t>(j)]);  // [rows longer than j, L n]
      const at::Tensor panel = all.narrow(1, 0, (j + 1) * n_).t().mm(all.narrow(1, j * n_, n_));
      gram_.narrow(0, triangle(j) * n_, (j + 1) * n_).add_(panel);
    }
    for (std::int64_t begin = 0, end = 0; begin < count; begin = end) {  // ranges of equal length
      const std::int64_t l = std::ssize(rows[static_cast<std::size_t>(begin)]);
      end = longer[static_cast<std::size_t>(l - 1)];
      const at::Tensor run = z.narrow(0, begin, end - begin).narrow(1, 0, l * n_);
      parts_.narrow(0, triangle(l - 1), l).add_(run.sum(0, /*keepdim=*/false, at::kDouble).view({l, n_}));
    }
  }

  /// C [L n, L n], block column by block column: C_ij = G_ij + C_(i+1)(j+1), where G_ij is of x minus centre.
  at::Tensor covariance(const std::optional<VectorD>& centre) const {
    const std::int64_t length = std::ssize(state_.counts), width = length * n_;
    at::Tensor c = at::empty({width, width}, gram_.options()), column, sums, m;
    if (centre)
      m = tensor_of<double>({centre->data(), static_cast<std::size_t>(n_)}, at::kDouble).to(c.device());
    std::int64_t longer = 0;  // sentences of more than j words
    for (std::int64_t j = length - 1; j >= 0; --j) {
      const std::int64_t height = (j + 1) * n_;
      at::Tensor next = gram_.narrow(0, triangle(j) * n_, height).clone();  // [(j + 1) n, n]
      if (centre) {  // sum of (x_(l-i) - m)(x_(l-j) - m)^T, multiplied out
        longer += state_.counts[static_cast<std::size_t>(j)];
        at::Tensor next_sums = parts_.narrow(0, triangle(j), j + 1).clone();  // sums of x_(l-i) [j + 1, n]
        if (sums.defined()) next_sums.add_(sums.narrow(0, 0, j + 1));
        sums = next_sums;
        next.addr_((sums - static_cast<double>(longer) * m).flatten(), m, 1, -1);
        next.addr_(m.repeat({j + 1}), sums[j], 1, -1);
      }
      if (column.defined()) next.add_(column.narrow(0, n_, height));
      column = next;
      c.narrow(0, 0, height).narrow(1, j * n_, n_).copy_(column);
      c.narrow(0, j * n_, n_).narrow(1, 0, height).copy_(column.t());
    }
    return c;
  }

  std::int64_t n_, others_;
  const WeightedWords& words_;
  at::Tensor gram_, parts_;  // [L (L + 1) / 2 n, n], [L (L + 1) / 2, n]
  PrefixGram::State state_;  // the rest; no sentences are waiting
};

at::Device checked_device(const std::string& name) {
  try {
    const at::Device device(name);
    // Not all devices have double, which sums need; some (such as "meta") have no data at all.
    at::zeros({1}, at::TensorOptions(device).dtype(at::kDouble)).cpu();
    return device;
  } catch (const c10::Error& error) {
    throw InvalidInput(concat("LAES: device='", name, "' cannot be used: ", error.what_without_backtrace()));
  }
}

/// work() without autograd, TF32 and autocast. Running out of memory becomes InvalidInput.
template <typename Work>
auto on_device(const std::string& device, const Work& work) {
  const at::NoGradGuard no_grad;
  const at::NoTF32Guard no_tf32;
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  try {
    return work();
  } catch (const c10::OutOfMemoryError& error) {
    throw InvalidInput(concat("LAES: the memory of ", device,
                              " is not large enough: use a smaller max_length (",
                              error.what_without_backtrace(), ")"));
  }
}

}  // namespace

struct LaesOnDevice::Sums {
  at::Device device;
  std::vector<DeviceGram> grams{};  // one for each direction, forward first
};

LaesOnDevice::LaesOnDevice(std::shared_ptr<const Laes> like, const std::string& device)
    : like_(std::move(like)), sums_(std::make_unique<Sums>(Sums{.device = checked_device(device)})) {
  on_device(device, [&] {
    for (const Reading reading : like_->readings()) {
      sums_->grams.emplace_back(reading, like_->words(), like_->options().max_length, sums_->device,
                                std::ssize(like_->readings()) - 1);
    }
  });
}

LaesOnDevice::~LaesOnDevice() = default;

void LaesOnDevice::add(const Sentences& sentences) {
  on_device(sums_->device.str(), [&] {
    const std::int64_t most = like_->options().max_length;
    for (std::int64_t begin = 0, end = 0; begin < sentences.size(); begin = end) {
      end = run_end(sentences, begin, kSentencesPerLookup, most);
      const RaggedIds ids = like_->words().lookup_listed(sentences.slice(begin, end), most);
      for (DeviceGram& gram : sums_->grams) gram.add(ids);
    }
  });
}

void LaesOnDevice::merge_into(Laes& encoder) const {
  Laes other(like_->words(), like_->options());
  std::vector<PrefixGram::State> states;
  for (const DeviceGram& gram : sums_->grams) states.push_back(gram.state());
  other.set_statistics(std::move(states));
  encoder.merge(other);
}

void solve_on_device(Laes& encoder, const std::string& device) {
  const at::Device target = checked_device(device);
  const LaesOptions& options = encoder.options();
  const bool keep_u = options.state == LaesOptions::State::projection;
  const std::int64_t others = std::ssize(encoder.readings()) - 1;
  const auto fit = [&](const PrefixGram& gram) {
    return on_device(device, [&] {
      ST_CHECK(gram.tokens() > 0, InvalidInput, "there is nothing to fit to: no sentence had a known word");
      std::optional<VectorD> centre;
      if (options.center) centre = gram.mean(encoder.words());
      DeviceGram sums(gram.state(), encoder.words(), target, others);
      Autoencoder result = autoencoder_of(std::move(sums).leading(options.hidden, centre), gram.dim(),
                                          options.hidden, gram.sums_in_double(), keep_u);
      if (centre) result.centre = centre->cast<float>();
      return result;
    });
  };
  encoder.solve_by(fit, others);
}

}  // namespace sentencode
