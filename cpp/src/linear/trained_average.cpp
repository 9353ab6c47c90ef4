#include "sentencode/linear/trained_average.h"

#include "saved_model.h"
#include "sentencode/error.h"

namespace sentencode {

TrainedAverage::TrainedAverage(WeightedWords words, TableHead head, bool normalize)
    : LinearEncoder(std::move(words)), head_(std::move(head)), normalize_(normalize) {
  ST_CHECK(head_.options().dim == dim(), InvalidInput, "the head is for embeddings of ", head_.options().dim,
           " dimensions, the vectors have ", dim());
}

void TrainedAverage::partial_fit(const Sentences&) {
  throw Unsupported("TrainedAverage is not fitted in parts");
}

void TrainedAverage::write(ModelContents& contents, const SaveOptions&) const {
  const TableHeadOptions& o = head_.options();
  contents.config["normalize"] = normalize_;
  contents.config["head"] = name_of(o.kind);
  contents.config["sides"] = o.sides;
  contents.config["outputs"] = o.outputs;
  contents.config["unit"] = o.unit;
  contents.config["scale"] = o.scale;
  if (o.kind == HeadKind::triplet) {
    contents.config["margin"] = o.margin;
    contents.config["distance"] = name_of(o.distance);
  }
  if (o.pair_scale != 1) contents.config["pair_scale"] = o.pair_scale;
  if (o.has_weights()) contents.add("head", Vector(head_.weights()));
}

std::unique_ptr<TrainedAverage> TrainedAverage::load(const SavedModel& saved) {
  const auto number = [&](const char* key) {
    const nlohmann::json& value = saved.option(key);
    saved.check(value.is_number(), "config: ", key, " must be a number");
    return value.get<double>();
  };
  const bool normalize = saved.flag_option("normalize");
  TableHeadOptions options{.kind = saved.enum_option<HeadKind>(),
                           .sides = saved.size_option("sides", 1),
                           .outputs = saved.size_option("outputs", 0),
                           .unit = number("unit"),
                           .scale = number("scale"),
                           .pair_scale = saved.config.contains("pair_scale") ? number("pair_scale") : 1};
  if (options.kind == HeadKind::triplet) {
    options.margin = number("margin");
    options.distance = saved.enum_option<Distance>();
  }
  saved.finish_config();
  WeightedWords words = saved.words();
  options.dim = words.dim();
  // The size is checked before memory is allocated.
  const std::span<const float> weights =
      options.has_weights() ? saved.values<float>("head", {options.size()}) : std::span<const float>();
  TableHead head(options);
  head.weights() = Eigen::Map<const Vector>(weights.data(), std::ssize(weights));
  return std::make_unique<TrainedAverage>(std::move(words), std::move(head), normalize);
}

}  // namespace sentencode
