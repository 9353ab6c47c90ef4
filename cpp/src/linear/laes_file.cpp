// Files of LAES.
#include <algorithm>
#include <utility>

#include "linear/laes_shared.h"
#include "saved_model.h"
#include "sentencode/error.h"
#include "sentencode/linear/laes.h"

namespace sentencode {
namespace {

constexpr std::int64_t kUnits = 4096;  // hidden units that any file may have

PrefixGram::State read_statistics(const SavedModel& saved, const std::string& prefix, Reading reading,
                                  std::int64_t n, std::int64_t max_length) {
  const auto vector = [&]<typename T>(const char* name, T) {
    const auto stored = saved.values<T>(prefix + name, {-1});
    return std::vector<T>(stored.begin(), stored.end());
  };
  const auto totals = saved.values<std::int64_t>(prefix + "seen", {2});
  return {.reading = reading,
          .dim = n,
          .max_length = max_length,
          .sentences = totals[0],
          .tokens = totals[1],
          .gram = saved.matrix<double>(prefix + "gram", -1, n),
          .sums = saved.matrix<double>(prefix + "sums", -1, n),
          .counts = vector("counts", std::int64_t{}),
          .waiting = {vector("waiting.ids", std::int32_t{}), vector("waiting.offsets", std::int64_t{})}};
}

}  // namespace

void Laes::write(ModelContents& contents, const SaveOptions& save) const {
  auto& config = contents.config;
  config["hidden"] = options_.hidden;
  config["mode"] = name_of(options_.mode);
  config["direction"] = name_of(options_.direction);
  config["combine"] = name_of(options_.combine);
  config["center"] = options_.center;
  config["state"] = name_of(options_.state);
  config["max_length"] = options_.max_length;
  std::shared_ptr<const Fitted> fitted;
  Grams sums;
  {
    const std::lock_guard lock(mutex_);
    const bool stale = changes_ != solved_;
    ST_CHECK(fitted_ || (stale && save.statistics), NotFitted,
             "LAES is not fitted yet: there is nothing to save");
    if (save.statistics) sums = statistics_;
    // Outdated parameters are not saved with newer statistics.
    if (!stale || !save.statistics) fitted = fitted_;
  }
  const auto directions = readings();
  for (std::size_t d = 0; d < directions.size() && fitted; ++d) {
    const Autoencoder& m = (*fitted)[d].parameters();
    const std::string prefix = concat(name_of(directions[d]), '.');
    contents.add(prefix + "a", m.a);
    contents.add(prefix + "b", m.b);
    contents.add(prefix + "singular_values", m.singular_values);
    contents.add(prefix + "longest", std::vector<std::int64_t>{m.longest});
    contents.add(prefix + "rank", std::vector<std::int64_t>{m.rank});
    if (options_.center) contents.add(prefix + "centre", m.centre);
    if (options_.state == State::projection) contents.add(prefix + "u", m.u);
  }
  for (const PrefixGram& gram : sums) {
    PrefixGram::State state = gram.state();
    const std::string prefix = concat("statistics.", name_of(state.reading), '.');
    contents.add(prefix + "gram", std::move(state.gram));
    contents.add(prefix + "sums", std::move(state.sums));
    contents.add(prefix + "counts", std::move(state.counts));
    contents.add(prefix + "seen", std::vector<std::int64_t>{state.sentences, state.tokens});
    contents.add(prefix + "waiting.ids", std::move(state.waiting.ids));
    contents.add(prefix + "waiting.offsets", std::move(state.waiting.offsets));
  }
}

std::unique_ptr<Laes> Laes::load(const SavedModel& saved) {
  LaesOptions options;
  options.hidden = saved.size_option("hidden", 1);
  options.mode = saved.enum_option<LaesOptions::Mode>();
  options.direction = saved.enum_option<LaesOptions::Direction>();
  options.combine = saved.enum_option<LaesOptions::Combine>();
  options.center = saved.flag_option("center");
  options.state = saved.enum_option<LaesOptions::State>();
  options.max_length = saved.size_option("max_length", 1);
  saved.finish_config();

  auto result = std::make_unique<Laes>(saved.words(), options);
  const std::int64_t p = options.hidden, n = result->words().dim();
  auto fitted = std::make_shared<Fitted>();
  std::vector<PrefixGram::State> states;
  for (const Reading reading : result->readings()) {
    const std::string name(name_of(reading));
    const std::string prefix = "statistics." + name + ".";
    const bool has_statistics = saved.file->has(prefix + "gram");
    if (has_statistics) states.push_back(read_statistics(saved, prefix, reading, n, options.max_length));
    if (has_statistics && !saved.file->has(name + ".a")) continue;
    Autoencoder m;
    m.a = saved.matrix(name + ".a", p, n);
    m.b = saved.matrix(name + ".b", p, p);
    const auto values = saved.values<float>(name + ".singular_values", {p});
    m.singular_values = Eigen::Map<const Vector>(values.data(), p);
    m.longest = saved.values<std::int64_t>(name + ".longest", {1})[0];
    m.rank = saved.values<std::int64_t>(name + ".rank", {1})[0];
    saved.check(m.longest >= 1 && m.longest <= options.max_length, name, ".longest is ", m.longest,
                ", max_length is ", options.max_length);
    saved.check(m.rank >= 0 && m.rank <= p, name, ".rank is ", m.rank, " of ", p);
    if (options.center) {
      const auto centre = saved.values<float>(name + ".centre", {n});
      m.centre = Eigen::Map<const Vector>(centre.data(), n);
    }
    if (options.state == State::projection) m.u = saved.matrix(name + ".u", p, m.longest * n);
    fitted->emplace_back(std::move(m));
  }
  const std::size_t directions = result->readings().size();
  saved.check(states.empty() || states.size() == directions, "statistics of one direction are missing");
  saved.check(fitted->empty() || fitted->size() == directions, "parameters of one direction are missing");
  if (states.empty()) {
    result->statistics_.clear();
  } else {
    result->set_statistics(std::move(states));
  }
  if (fitted->empty()) {
    // The parameters will be computed: limit their size by the statistics, not by a number in a file.
    const PrefixGram& gram = result->statistics_.front();
    const std::int64_t most = std::min(gram.longest() * n, gram.tokens());
    saved.check(p <= std::max(most, kUnits), "config: hidden is ", p, "; statistics of ", gram.tokens(),
                " words allow at most ", most);
  } else {
    result->solved_ = result->changes_;
    result->fitted_ = std::move(fitted);
  }
  return result;
}

}  // namespace sentencode
