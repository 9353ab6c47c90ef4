// Heads, their files, and their training on a network.
#include "sentencode/models/heads.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sentencode/error.h"
#include "sentencode/models/networks.h"
#include "sentencode/models/neural_encoder.h"
#include "sentencode/models/supervised.h"
#include "sentencode/text/alphabet.h"
#include "temporary_folder.h"

namespace sentencode::models {
namespace {

using at::Tensor;

const std::vector<std::string_view> kSentences{"the dog", "dog zork the", "zork"};

WeightedWords some_words() {
  Matrix rows(2, 3);
  rows << 1, 2, 3, -1, 0.5, 2;
  StringTable names;
  names.insert("the");
  names.insert("dog");
  const ConstMatrixView view(rows.data(), rows.rows(), rows.cols(), Eigen::OuterStride<>(rows.cols()));
  return {WordVectors::from_array(names, view), {.split = Split::whitespace}, {}};
}

std::shared_ptr<GeneralizedPoolingNetwork> pooling_network() {
  at::manual_seed(5);
  return std::make_shared<GeneralizedPoolingNetwork>(GeneralizedPoolingOptions{.words = 1,
                                                                               .features = 3,
                                                                               .character_features = 2,
                                                                               .character_filters = 2,
                                                                               .hidden = 3,
                                                                               .layers = 2,
                                                                               .heads = 2,
                                                                               .attention_hidden = 4});
}

std::shared_ptr<Head> classifier(std::int64_t features) {
  return std::make_shared<Classifier>(
      ClassifierOptions{.features = features, .sentences = 2, .classes = 3, .hidden = 4});
}

TEST(Heads, RoundTripThroughConfigs) {
  for (const std::string config : {
           R"({"head":"CosineRegression","high":5.0,"low":0.0})",
           R"({"head":"MultipleNegatives","scale":20.0})",
           R"({"distance":"cosine","head":"Triplet","margin":0.5})",
           R"({"distance":"euclidean","features":3,"head":"RowRegression","projection":true,"targets":2})",
       }) {
    EXPECT_EQ(make_head(config)->config(), config);
  }
  const auto head = classifier(6);
  EXPECT_EQ(make_head(head->config())->config(), head->config());
  auto earlier = nlohmann::json::parse(head->config());
  earlier.erase("pair_scale");
  EXPECT_EQ(make_head(earlier.dump())->config(), head->config());
}

TEST(Heads, RefuseInvalidConfigs) {
  for (const std::string config :
       {"{}", "[1]", R"({"head":"Some"})", R"({"head":"Triplet","margin":1.0})",
        R"({"head":"Triplet","margin":1.0,"distance":"far"})", R"({"head":"MultipleNegatives","scale":0})",
        R"({"head":"MultipleNegatives","scale":1,"more":2})"}) {
    EXPECT_THROW(make_head(config), InvalidInput) << config;
  }
}

TEST(Heads, RefuseExamplesOfOtherSizes) {
  const Tensor z = at::ones({2, 6});
  EXPECT_THROW(classifier(6)->predict({z}), c10::ValueError);
  EXPECT_THROW(classifier(5)->predict({z, z}), c10::ValueError);
  EXPECT_THROW(classifier(6)->loss({z, z}, at::ones({2})), c10::ValueError);
  EXPECT_THROW(make_head(R"({"head":"Triplet","margin":1.0,"distance":"cosine"})")->predict({z, z}),
               c10::ValueError);
}

TEST(Heads, AreSavedWithTheEncoder) {
  const TemporaryFolder folder;
  const auto network = pooling_network();
  const auto head = classifier(network->dim());
  head->eval();
  const NeuralEncoder encoder("GeneralizedPooling", some_words(), network, {}, {}, head);
  encoder.save(folder.path("model"));
  const auto again = NeuralEncoder::load(folder.path("model"));
  ASSERT_NE(again->head(), nullptr);
  EXPECT_EQ(again->head()->config(), head->config());
  const Matrix rows = encoder.encode({.pieces = kSentences, .offsets = {}});
  EXPECT_EQ(again->encode({.pieces = kSentences, .offsets = {}}), rows);
  const at::NoGradGuard guard;
  const Tensor z = at::randn({4, network->dim()});
  EXPECT_TRUE(at::equal(again->head()->predict({z, -z}), head->predict({z, -z})));

  const NeuralEncoder bare("GeneralizedPooling", some_words(), network);
  bare.save(folder.path("bare"));
  EXPECT_EQ(NeuralEncoder::load(folder.path("bare"))->head(), nullptr);
}

TEST(Heads, TrainingReadsWordsAsEncodingDoes) {
  const auto network = pooling_network();
  network->eval();
  const WeightedWords words = some_words();
  const NeuralEncoder encoder("GeneralizedPooling", words, network);
  const std::vector<std::string_view> pieces{"the", "dog"};
  const std::vector<std::int64_t> offsets{0, 1, 2};
  const auto read = encoder.read({.pieces = pieces, .offsets = offsets});

  const Tensor vectors = at::tensor({1.F, 2.F, 3.F, -1.F, 0.5F, 2.F}).view({2, 3});
  const Alphabet alphabet(network->word_inputs().alphabet);
  Tensor characters = at::empty({2, 20}, at::kLong);
  for (std::int64_t i = 0; i < 2; ++i) {
    alphabet(pieces[static_cast<std::size_t>(i)], {characters[i].mutable_data_ptr<std::int64_t>(), 20});
  }
  SupervisedModel model(network, std::make_shared<CosineRegression>(CosineRegressionOptions{}),
                        {vectors, at::ones({2}, at::kBool), at::zeros({2}, at::kLong), characters});
  model.eval();
  training::TensorBatch batch;
  batch.size = 1;
  const auto field = [](std::vector<std::int64_t> ids) {
    const auto count = std::ssize(ids);
    return training::TokenTensors{at::tensor(ids).view({1, count}), at::tensor({count}),
                                  at::ones({1, count}, at::kBool), count, true};
  };
  batch.fields = {field({0, 1}), field({1})};
  batch.labels = at::zeros({1});
  const std::vector<std::string_view> texts{"the dog", "dog"};
  const Matrix rows = encoder.encode({.pieces = texts, .offsets = {}});
  const float cosine = rows.row(0).dot(rows.row(1)) / (rows.row(0).norm() * rows.row(1).norm());
  EXPECT_NEAR(model.loss(batch).sum.item<double>(), cosine * cosine, 1e-5);
  EXPECT_EQ(encoder.width(read), 3 + 6);
  for (const auto& [name, tensor] : model.parameter_tensors()) {
    EXPECT_TRUE(name.starts_with("network.") || name.starts_with("head.")) << name;
  }
}

/// Embeds a sentence as the sum of its vectors, and keeps what it has read.
class SumNetwork : public SentenceNetwork {
 public:
  SumNetwork() : SentenceNetwork("SumNetwork") {}
  std::int64_t features() const override { return 1; }
  std::int64_t dim() const override { return 1; }
  Tensor encode(const Sequences& sentences) override {
    read = sentences;
    return sentences.x.sum(1);
  }
  training::Loss loss(const training::TensorBatch& /*batch*/) override { return {}; }

  Sequences read;
};

TEST(Heads, WordDropoutLeavesAWordOutOfAllSentencesOfAnExample) {
  constexpr std::int64_t kExamples = 4000;
  const auto network = std::make_shared<SumNetwork>();
  SupervisedModel model(
      network, std::make_shared<Triplet>(TripletOptions{}),
      {at::tensor({1.F, 2.F, 4.F}).view({3, 1}), at::ones({3}, at::kBool), at::zeros({3}, at::kLong), {}},
      0.25);
  const auto field = [](std::vector<std::int64_t> ids) {
    const auto count = std::ssize(ids);
    return training::TokenTensors{at::tensor(ids).repeat({kExamples, 1}), at::full({kExamples}, count),
                                  at::ones({kExamples, count}, at::kBool), kExamples * count, true};
  };
  const training::TensorBatch batch{{field({0, 1, 2, 1}), field({2, 0}), field({1})}, {}, kExamples};
  const auto words_read = [&] {
    model.loss(batch);
    return network->read.x.squeeze(2).view({3, kExamples, 4});  // the fields' sentences
  };
  model.eval();
  EXPECT_TRUE(at::equal(words_read()[0], at::tensor({1.F, 2.F, 4.F, 2.F}).repeat({kExamples, 1})));

  model.train();
  at::manual_seed(0);
  const Tensor read = words_read();
  const Tensor lengths = network->read.lengths.view({3, kExamples});
  std::array<std::int64_t, 3> left_out{};
  for (std::int64_t i = 0; i < kExamples; ++i) {
    const auto keeps = [&](std::int64_t id) { return (read[0][i] == std::exp2(id)).any().item<bool>(); };
    const auto check = [&](std::int64_t side, const std::vector<std::int64_t>& ids) {
      std::vector<float> words;
      for (const std::int64_t id : ids) {
        if (keeps(id)) words.push_back(static_cast<float>(1 << id));
      }
      EXPECT_FALSE(words.empty());
      EXPECT_EQ(lengths[side][i].item<std::int64_t>(), std::ssize(words));
      const Tensor row = read[side][i].slice(0, 0, std::ssize(words));
      EXPECT_TRUE(at::equal(row, at::tensor(words))) << row;
    };
    check(0, {0, 1, 2, 1});
    check(1, {2, 0});
    check(2, {1});
    for (const std::size_t id : {0, 1, 2}) left_out[id] += !keeps(static_cast<std::int64_t>(id));
  }
  // Of the words 0 and 2 one remains: (p - p^2) / (1 - p^2).
  EXPECT_NEAR(static_cast<double>(left_out[0]) / kExamples, 0.2, 0.03);
  EXPECT_EQ(left_out[1], 0);
  EXPECT_NEAR(static_cast<double>(left_out[2]) / kExamples, 0.2, 0.03);
  EXPECT_FALSE(at::equal(words_read(), read));  // of the next step
}

}  // namespace
}  // namespace sentencode::models
