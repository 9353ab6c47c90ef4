// An encoder of every network: embeddings and files.
#include "sentencode/models/neural_encoder.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/autoencoders.h"
#include "sentencode/error.h"
#include "sentencode/models/networks.h"
#include "sentencode/parallel.h"
#include "temporary_folder.h"
#include "without_checksums.h"

namespace sentencode::models {
namespace {

constexpr std::int64_t kFeatures = 6;  // as in small_words()

const std::vector<std::string_view> kNames{"a", "b", "c", "d", "e"};

WeightedWords words(std::vector<float> weights = {}) {
  Matrix rows(std::ssize(kNames), kFeatures);
  for (Eigen::Index i = 0; i < rows.size(); ++i) rows.data()[i] = std::sin(1.7F * static_cast<float>(i));
  StringTable names;
  for (const std::string_view name : kNames) names.insert(name);
  const ConstMatrixView seen(rows.data(), rows.rows(), rows.cols(), Eigen::OuterStride<>(rows.cols()));
  return {WordVectors::from_array(names, seen), {.split = Split::whitespace}, std::move(weights)};
}

std::shared_ptr<Autoencoder> network(const std::string& kind) {
  at::manual_seed(3);
  const LayerOptions layers{.hidden = 8, .inner = 10, .heads = 2};
  std::shared_ptr<Autoencoder> made;
  if (kind == "MeanMaxAAE") made = std::make_shared<MeanMaxNetwork>(MeanMaxOptions{small_words(), layers});
  if (kind == "RAE") {
    made = std::make_shared<LSTMAutoencoderNetwork>(LSTMAutoencoderOptions{small_words(), layers});
  }
  if (kind == "LSTMSDAE") {
    made = std::make_shared<DenoisingNetwork>(DenoisingOptions{.words = small_words(), .hidden = 8});
  }
  if (kind == "CNNLSTMAE") {
    made = std::make_shared<CNNLSTMAutoencoderNetwork>(
        CNNLSTMAutoencoderOptions{small_words(), {.hidden = 8, .filters = 3, .windows = {1, 3}}});
  }
  const at::NoGradGuard guard;
  for (const at::Tensor& parameter : made->parameters()) parameter.normal_(0, 0.4);
  return made;
}

const std::vector<std::string_view> kTexts{"a b c d e a", "", "e", "who knows", "b who b", "d c b a d c b a"};

Matrix rows_of(const Encoder& encoder, std::span<const std::string_view> texts = kTexts) {
  return encoder.encode({.pieces = texts, .offsets = {}});
}

class NeuralEncoderTest : public testing::TestWithParam<const char*> {
 protected:
  NeuralEncoder encoder(std::vector<float> weights = {}, NeuralOptions options = {}) const {
    return {GetParam(), words(std::move(weights)), network(GetParam()), options};
  }

  TemporaryFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(Kinds, NeuralEncoderTest,
                         testing::Values("CNNLSTMAE", "LSTMSDAE", "MeanMaxAAE", "RAE"),
                         [](const auto& kind) { return std::string(kind.param); });

TEST_P(NeuralEncoderTest, EqualsEncodingOneSentenceAtATime) {
  const std::vector<float> weights{1, 0.5, 2, 1, -1};
  const NeuralEncoder made = encoder(weights);
  const Matrix rows = rows_of(made);
  const at::NoGradGuard guard;
  made.network()->eval();
  for (std::size_t i = 0; i < kTexts.size(); ++i) {
    const RaggedIds ids = made.words().lookup({.pieces = std::span(kTexts).subspan(i, 1), .offsets = {}});
    const auto row = rows.row(static_cast<Eigen::Index>(i));
    if (ids.ids.empty()) {
      EXPECT_EQ(row.norm(), 0);
      continue;
    }
    std::vector<at::Tensor> x;
    for (const std::int32_t id : ids.ids) {
      x.push_back(at::empty({kFeatures}));
      made.words().row(id, x.back().mutable_data_ptr<float>());
    }
    x.push_back(made.network()->end());
    const at::Tensor lengths = at::tensor({std::ssize(x)}, at::kLong);
    const at::Tensor z = made.network()->encode(Sequences::of(at::stack(x).unsqueeze(0), lengths))[0];
    for (std::int64_t k = 0; k < made.dim(); ++k) EXPECT_NEAR(row[k], z[k].item<float>(), 1e-6);
  }
}

TEST_P(NeuralEncoderTest, DoesNotDependOnBatchesOrThreads) {
  std::mt19937 random(5);
  std::vector<std::string_view> known = kNames;
  known.push_back("unknown");
  std::vector<std::string> texts(300);
  for (std::string& text : texts) {
    for (std::size_t i = random() % 12; i > 0; --i) text.append(known[random() % known.size()]) += ' ';
  }
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  const int before = num_threads();
  const NeuralEncoder usual = encoder(), narrow = encoder({}, {.batch_tokens = 1});
  const Matrix expected = rows_of(usual, views);
  for (const int threads : {1, 4}) {
    set_num_threads(threads);
    EXPECT_LT((rows_of(usual, views) - expected).cwiseAbs().maxCoeff(), 1e-6);
    EXPECT_LT((rows_of(narrow, views) - expected).cwiseAbs().maxCoeff(), 1e-6);  // one at a time
  }
  set_num_threads(before);
}

TEST_P(NeuralEncoderTest, EncodesWithoutNoiseAndChangesNothing) {
  const NeuralEncoder made = encoder();
  made.network()->eval();
  const Matrix expected = rows_of(made);
  const auto parts = made.network()->modules();
  made.network()->train();
  parts.back()->eval();
  EXPECT_EQ(rows_of(made), expected);
  for (const auto& part : parts) EXPECT_EQ(part->is_training(), part != parts.back());
  made.network()->to(at::kDouble);
  EXPECT_LT((rows_of(made) - expected).cwiseAbs().maxCoeff(), 1e-5);
}

TEST_P(NeuralEncoderTest, RoundTripsThroughAFile) {
  register_encoders();
  NeuralEncoder made = encoder({1, 2, 3, 4, 5}, {.max_words = 4});
  made.set_params("{\"what\": \"a wrapper says\"}");
  const std::string path = folder_.path("model");
  made.save(path);
  const std::unique_ptr<Encoder> loaded = load_encoder(path);
  EXPECT_EQ(loaded->kind(), GetParam());
  EXPECT_EQ(loaded->dim(), made.dim());
  EXPECT_EQ(rows_of(*loaded), rows_of(made));
  const auto& again = dynamic_cast<const NeuralEncoder&>(*loaded);
  EXPECT_EQ(again.params(), made.params());
  EXPECT_EQ(again.options().max_words, 4);
  EXPECT_EQ(again.network()->config(), made.network()->config());
  again.save(folder_.path("again"));
  EXPECT_EQ(rows_of(*load_encoder(folder_.path("again"))), rows_of(made));
}

TEST(NeuralEncoderFileTest, ErrorsNameTheProblem) {
  const TemporaryFolder folder;
  NeuralEncoder("MeanMaxAAE", words(), network("MeanMaxAAE")).save(folder.path("model"));
  const std::string whole = without_checksums(folder.path("model"));
  // Replacements have the length of the original, so that the header's length stays the same.
  for (const auto& [from, to, why] : std::vector<std::array<std::string, 3>>{
           {R"(\"heads\":2)", R"(\"beads\":2)", "heads is missing"},
           {R"(\"heads\":2)", R"(\"heads\":3)", "heads"},
           {R"(\"heads\":2)", R"(\"heads\":0)", "heads"},
           {R"(\"hidden\":8)", R"(\"hidden\":4)", "expected Float [11, 4]"},
           {R"(\"words\":11)", R"(\"words\":12)", "expected Float [12, 6]"},
           {R"(\"words\":11)", R"(\"words\":99)", "the file has too little data"},
           {R"(\"output_projection\":false)", R"(\"output_projection\":0    )",
            "output_projection cannot be 0"},
           {R"(\"pooling\":\"mean_max\")", R"(\"pooling\":\"mean_min\")", "mean_min"},
           {R"(\"network\":\"MeanMaxNetwork\")", R"(\"network\":\"MeanMinNetwork\")", "unknown kind"},
           {R"(\"max_words\":512)", R"(\"max_turns\":512)", "max_words is missing"},
           {R"(\"batch_tokens\":4096)", R"(\"batch_tokens\":0   )", "batch_tokens"},
           {R"("network.softmax.bias")", R"("network.softmax.mass")", "is missing"},
       }) {
    std::string content = whole;
    const std::size_t place = content.find(from);
    ASSERT_NE(place, std::string::npos) << from;
    const std::string changed = folder.write("changed", content.replace(place, from.size(), to));
    EXPECT_THROW_WITH(NeuralEncoder::load(changed), FormatError, why);
    EXPECT_THROW_WITH(NeuralEncoder::load(changed), FormatError, changed);
  }
}

TEST(NeuralEncoderFileTest, DetectsDamage) {
  register_encoders();
  const TemporaryFolder folder;
  NeuralEncoder("RAE", words(), network("RAE")).save(folder.path("model"));
  const std::string whole = without_checksums(folder.path("model"));
  std::mt19937 random(9);
  int refused = 0;
  for (int trial = 0; trial < 300; ++trial) {
    std::string content = whole;
    if (trial % 10 == 0) content.resize(random() % content.size());
    if (!content.empty()) content[random() % content.size()] = static_cast<char>(random() % 256);
    try {
      rows_of(*load_encoder(folder.write("damaged", content)));
    } catch (const FormatError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 100);
}

TEST(NeuralEncoderFileTest, RefusesToSaveNaN) {
  const TemporaryFolder folder;
  const auto made = network("LSTMSDAE");
  const at::NoGradGuard guard;
  made->parameters().back().fill_(std::nan(""));
  EXPECT_THROW(NeuralEncoder("LSTMSDAE", words(), made).save(folder.path("model")), InvalidInput);
}

/// Its word rows are its inputs: the first dimension of the vector, `known`, the id and the characters. The
/// embedding of a sentence is their sum.
class InputsNetwork : public SentenceNetwork {
 public:
  explicit InputsNetwork(WordInputs inputs) : SentenceNetwork("InputsNetwork"), inputs_(std::move(inputs)) {
    register_parameter("weight", at::ones({1}));
  }
  std::int64_t features() const override { return kFeatures; }
  std::int64_t dim() const override { return 3 + inputs_.characters; }
  WordInputs word_inputs() const override { return inputs_; }
  at::Tensor word_rows(const Words& words) override {
    seen_ += words.ids.size(0);
    std::vector<at::Tensor> inputs{words.vectors.slice(1, 0, 1), words.known.unsqueeze(1).to(at::kFloat),
                                   words.ids.unsqueeze(1).to(at::kFloat)};
    if (words.characters.defined()) inputs.push_back(words.characters.to(at::kFloat));
    return at::cat(inputs, 1);
  }
  at::Tensor encode(const Sequences& sentences) override { return sentences.x.sum(1); }
  training::Loss loss(const training::TensorBatch&) override { return {}; }
  std::int64_t seen() const { return seen_; }

 private:
  WordInputs inputs_;
  std::int64_t seen_ = 0;
};

TEST(WordRowsTest, ReadsEachWordOnceWithIdAndCharacters) {
  const auto made =
      std::make_shared<InputsNetwork>(WordInputs{.ids = 4, .characters = 3, .alphabet = "dbe\u0301"});
  WordIds ids{.unknown = 2};
  for (const std::string_view word : {"b", "new"}) ids.words.insert(word);
  const NeuralEncoder encoder("Inputs", words(), made, {}, std::move(ids));
  const std::vector<std::string_view> texts{"b", "new", "d", "who", "d new b b who"};
  const Matrix rows = rows_of(encoder, texts);
  EXPECT_EQ(made->seen(), 3);
  Vector b(6), unseen(6), d(6);
  b << std::sin(1.7F * kFeatures), 1, 0, 3, 0, 0;  // its vector, id and character, then padding
  unseen << 0, 0, 1, 1, 4, 1;                      // only an id
  d << std::sin(1.7F * 3 * kFeatures), 1, 2, 2, 0, 0;
  EXPECT_LT((rows.row(0).transpose() - b).cwiseAbs().maxCoeff(), 1e-6);
  EXPECT_EQ(rows.row(1).transpose(), unseen);
  EXPECT_LT((rows.row(2).transpose() - d).cwiseAbs().maxCoeff(), 1e-5);
  EXPECT_EQ(rows.row(3).norm(), 0);  // neither vector nor id
  EXPECT_LT((rows.row(4).transpose() - (d + unseen + 2 * b)).cwiseAbs().maxCoeff(), 1e-5);
}

TEST(WordRowsTest, RefusesIdsOutOfRange) {
  const auto made = std::make_shared<InputsNetwork>(WordInputs{.ids = 2});
  EXPECT_THROW_WITH(NeuralEncoder("Told", words(), made, {}, {.unknown = 2}), InvalidInput, "has 2 word ids");
  EXPECT_THROW(
      NeuralEncoder("Told", words(), std::make_shared<InputsNetwork>(WordInputs{}), {}, {.unknown = 0}),
      InvalidInput);
  const auto twice =
      std::make_shared<InputsNetwork>(WordInputs{.ids = 2, .characters = 1, .alphabet = "aba"});
  EXPECT_THROW_WITH(rows_of(NeuralEncoder("Told", words(), twice)), InvalidInput, "occurs twice");
}

TEST(NeuralEncoderArgumentsTest, RefusesInvalidArguments) {
  EXPECT_THROW(NeuralEncoder("RAE", words(), nullptr), InvalidInput);
  EXPECT_THROW(NeuralEncoder("RAE", words(), network("RAE"), {.max_words = 0}), InvalidInput);
  EXPECT_THROW(NeuralEncoder("RAE", words(), network("RAE"), {.batch_tokens = 0}), InvalidInput);
  AutoencoderOptions wider = small_words();
  wider.features = 7;
  const auto made = std::make_shared<DenoisingNetwork>(DenoisingOptions{.words = wider, .hidden = 8});
  EXPECT_THROW(NeuralEncoder("LSTMSDAE", words(), made), InvalidInput);
}

TEST(MakeNetworkTest, RoundTripsConfigs) {
  for (const char* kind : {"CNNLSTMAE", "LSTMSDAE", "MeanMaxAAE", "RAE"}) {
    const auto made = network(kind);
    EXPECT_EQ(make_network(made->config())->config(), made->config());
  }
  EXPECT_NE(default_config("MeanMaxNetwork").find("\"heads\":8"), std::string::npos);
  EXPECT_THROW(default_config("RecurrentNetwork"), InvalidInput);  // only older files have this name
  EXPECT_THROW(make_network("nothing"), InvalidInput);
  EXPECT_THROW(make_network("{}"), InvalidInput);
  EXPECT_THROW(make_network(R"({"network": "LSTMAutoencoderNetwork"})"), InvalidInput);
  std::string config = network("RAE")->config();
  config.back() = ',';
  EXPECT_THROW(make_network(config + R"("colour": "red"})"), InvalidInput);
}

}  // namespace
}  // namespace sentencode::models
