#include "sentencode/linear/common_directions.h"

#include <gtest/gtest.h>

#include <Eigen/SVD>
#include <cmath>
#include <limits>

#include "linear/example.h"
#include "sentencode/evaluation/metrics.h"
#include "sentencode/linear/average.h"
#include "sentencode/linear/sif.h"
#include "sentencode/linear/usif.h"
#include "temporary_folder.h"

namespace sentencode {
namespace {

/// Sentence means [n, d], word by word.
MatrixD slow_means(const Example& example, const RaggedIds& sentences, bool normalised) {
  MatrixD e = MatrixD::Zero(sentences.size(), example.vectors()->dim());
  for (std::int64_t i = 0; i < sentences.size(); ++i) {
    if (sentences[i].empty()) continue;
    const MatrixD x = example.x(sentences[i]);
    VectorD norms = VectorD::Ones(x.cols());
    if (normalised) {
      norms.setZero();
      for (const std::int32_t id : sentences[i]) {
        Vector row(x.cols());
        example.vectors()->row(id, row.data());
        norms += row.cast<double>().cwiseAbs2();
      }
      norms = norms.cwiseSqrt();
    }
    e.row(i) = x.colwise().mean().array() / norms.transpose().array();
  }
  return e;
}

/// The means without their leading directions, by a dense SVD.
MatrixD slow_removal(const MatrixD& e, const MatrixD& fitted, std::int64_t components, bool weighted) {
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(Eigen::MatrixXd(fitted), Eigen::ComputeThinV);
  const VectorD squares = svd.singularValues().head(components).cwiseAbs2();
  MatrixD result = e;
  for (std::int64_t m = 0; m < components; ++m) {
    const VectorD c = svd.matrixV().col(m);
    result -= (weighted ? squares[m] / squares.sum() : 1.0) * (e * c) * c.transpose();
  }
  return result;
}

double difference(const Matrix& a, const MatrixD& b) {
  return (a.cast<double>() - b).cwiseAbs().maxCoeff() / b.cwiseAbs().maxCoeff();
}

TEST(Average, IsTheMeanOfWeightedRows) {
  Example example(9);
  const RaggedIds ids = example.ids(3000, 0, 12);
  const Average average(example.words());
  EXPECT_EQ(average.dim(), 9);
  EXPECT_TRUE(average.fitted());
  EXPECT_LE(difference(average.encode(Texts(ids).sentences()), slow_means(example, ids, false)), 1e-6);
}

TEST(Average, DividesByNorms) {
  Example example(9);
  const Texts texts(example.ids(500, 0, 12));
  const Average average(example.words(), true);
  const Matrix means = Average(example.words()).encode(texts.sentences());
  const Matrix rows = average.encode(texts.sentences());
  for (std::int64_t i = 0; i < rows.rows(); ++i) {
    const float length = means.row(i).norm();
    EXPECT_LE((rows.row(i) * length - means.row(i)).norm(), 1e-6F * length);
    EXPECT_NEAR(rows.row(i).norm(), length > 0 ? 1 : 0, 1e-6);
  }
  const TemporaryFolder folder;
  average.save(folder.path("average"));
  const auto again = load_encoder(folder.path("average"));
  EXPECT_EQ(again->encode(texts.sentences()), rows);
  EXPECT_TRUE(dynamic_cast<const Average&>(*again).normalize());
}

TEST(Average, WritesOnlyItsRowsOfAStridedMatrix) {
  Example example(4);
  const Texts texts(example.ids(5, 1, 3));
  Matrix wide = Matrix::Constant(5, 7, 9.0F);
  Average(example.words())
      .encode(texts.sentences(), MatrixView(wide.data() + 1, 5, 4, Eigen::OuterStride<>(7)));
  EXPECT_EQ(wide.middleCols(1, 4), Average(example.words()).encode(texts.sentences()));
  EXPECT_TRUE((wide.leftCols(1).array() == 9.0F).all() && (wide.rightCols(2).array() == 9.0F).all());
}

TEST(Sif, RemovesTheLeadingDirections) {
  Example example(9);
  const RaggedIds train = example.ids(5000, 0, 12), test = example.ids(100, 0, 12);
  for (const std::int64_t components : {0, 1, 3, 9}) {
    Sif sif(example.words(), components);
    sif.partial_fit(Texts(train).sentences());
    sif.solve();
    const MatrixD fitted = slow_means(example, train, false), e = slow_means(example, test, false);
    const MatrixD expected = slow_removal(e, fitted, components, false);
    const Matrix actual = sif.encode(Texts(test).sentences());
    EXPECT_LE((actual.cast<double>() - expected).cwiseAbs().maxCoeff(), 1e-5) << components;
    if (components == 9) {
      EXPECT_EQ(actual.norm(), 0) << "nothing but rounding is left";
    }
    EXPECT_LE((product(sif.directions(), sif.directions(), Op::none, Op::transpose) -
               Matrix::Identity(components, components))
                  .norm(),
              1e-5);
  }
}

TEST(Usif, RemovesWeightedDirections) {
  Example example(9);
  const RaggedIds train = example.ids(2000, 0, 12), test = example.ids(100, 0, 12);
  for (const auto normalize : {Usif::Normalize::dimension, Usif::Normalize::none}) {
    const bool normalised = normalize == Usif::Normalize::dimension;
    for (const std::int64_t components : {0, 1, 5}) {
      Usif usif(example.words(), components, normalize);
      usif.partial_fit(Texts(train).sentences());
      usif.solve();
      const MatrixD expected = slow_removal(slow_means(example, test, normalised),
                                            slow_means(example, train, normalised), components, true);
      EXPECT_LE((usif.encode(Texts(test).sentences()).cast<double>() - expected).cwiseAbs().maxCoeff(), 1e-5);
      if (components > 0) {
        EXPECT_NEAR(usif.factors().sum(), 1, 1e-6);
      }
    }
  }
}

TEST(Usif, KeepsZeroDimensions) {
  Matrix rows(2, 3);
  rows << 1, 0, 2, -3, 0, 4;
  StringTable names;
  names.insert("a");
  names.insert("b");
  const auto vectors =
      WordVectors::from_array(names, ConstMatrixView(rows.data(), 2, 3, Eigen::OuterStride<>(3)));
  Usif usif({vectors, {.split = Split::whitespace}, {}}, 0);
  usif.partial_fit(Texts{"a b"}.sentences());
  usif.solve();
  const Matrix e = usif.encode(Texts{"a b", "a"}.sentences());
  EXPECT_FLOAT_EQ(e(0, 0), (1.0F - 3.0F) / std::sqrt(10.0F) / 2);
  EXPECT_EQ(e(0, 1), 0);
  EXPECT_FLOAT_EQ(e(0, 2), (2.0F + 4.0F) / std::sqrt(20.0F) / 2);
  EXPECT_EQ(e.row(1), (Eigen::RowVector3f(1, 0, 1)));
}

TEST(Sif, MergedPartsEqualTheWhole) {
  Example example(6);
  const RaggedIds ids = example.ids(300, 0, 9);
  const Texts all(ids);
  Sif whole(example.words(), 2), left(example.words(), 2), right(example.words(), 2);
  whole.partial_fit(all.sentences());
  left.partial_fit(all.sentences().slice(0, 100));
  right.partial_fit(all.sentences().slice(100, 300));
  left.merge(right);
  EXPECT_EQ(left.statistics()->count(), whole.statistics()->count());
  whole.solve();
  left.solve();
  EXPECT_LE((left.directions() - whole.directions()).norm(), 1e-5);
}

TEST(Sif, FurtherFittingReplacesTheParametersWhenSolved) {
  Example example(6);
  const Texts first(example.ids(50, 1, 9)), second(example.ids(50, 1, 9));
  Sif sif(example.words());
  sif.partial_fit(first.sentences());
  sif.solve();
  const Matrix before = sif.directions();
  sif.partial_fit(second.sentences());
  EXPECT_EQ(sif.directions(), before);
  sif.solve();
  EXPECT_NE(sif.directions(), before);
}

TEST(Sif, SelectEqualsEncodingWithEachNumberOfComponents) {
  Example example(7);
  const Texts train(example.ids(200, 1, 9));
  const Texts one(example.ids(60, 0, 9)), two(example.ids(60, 0, 9));
  std::vector<double> gold;
  for (int i = 0; i < 60; ++i) gold.push_back(std::sin(i * 1.7));
  Sif sif(example.words(), 2);
  sif.partial_fit(train.sentences());
  sif.solve();
  const Curve curve = sif.select(one.sentences(), two.sentences(), gold, 6);
  ASSERT_EQ(curve.pearson.size(), 7U);
  for (std::int64_t m = 0; m <= 6; ++m) {
    EXPECT_EQ(curve.settings[static_cast<std::size_t>(m)], m);
    const auto with = sif.with_components(m);
    std::vector<double> cosines(60);
    cosine_of_pairs(with->encode(one.sentences()), with->encode(two.sentences()), cosines);
    EXPECT_NEAR(curve.pearson[static_cast<std::size_t>(m)], pearson(cosines, gold), 1e-5) << m;
  }
  EXPECT_THROW_WITH(sif.select(one.sentences(), train.sentences(), gold, 2), InvalidInput,
                    "60 first sentences, 200");
  gold[3] = NAN;
  EXPECT_THROW_WITH(sif.select(one.sentences(), two.sentences(), gold, 2), InvalidInput, "scores[3]");
}

TEST(Sif, DegenerateInput) {
  Example example(5);
  Sif one(example.words(), 1);
  EXPECT_THROW_WITH(one.encode(Texts{"w1"}.sentences()), NotFitted, "SIF is not fitted yet");
  EXPECT_THROW_WITH(one.solve(), NotFitted, "SIF is not fitted yet");
  one.partial_fit(Texts{"", "unknown words"}.sentences());
  EXPECT_THROW_WITH(one.solve(), InvalidInput, "no sentence had a known word");
  one.partial_fit(Texts{"w1 w2 w3"}.sentences());
  one.solve();
  const Matrix e = one.encode(Texts{"w1 w2 w3", "", "unknown", "w3 w1 w2", "w4"}.sentences());
  EXPECT_EQ(e.topRows(3).norm(), 0);  // a sentence minus its projection on itself; empty; empty
  EXPECT_EQ(e.row(3).norm(), 0);      // the same words in another order
  EXPECT_GT(e.row(4).norm(), 0.1);
  EXPECT_EQ(e.row(4), one.encode(Texts{"w4 unknown"}.sentences()).row(0));

  Sif many(example.words(), 20);  // more components than dimensions
  many.partial_fit(Texts{"w1", "w2"}.sentences());
  many.solve();
  EXPECT_EQ(many.directions().bottomRows(18).norm(), 0);
  EXPECT_EQ(many.singular_values().tail(18).norm(), 0);
  EXPECT_GT(many.encode(Texts{"w3"}.sentences()).norm(), 0);
}

TEST(Usif, RefusesToMergeOtherMeans) {
  const Example example(5);
  Usif usif(example.words());
  EXPECT_THROW_WITH(usif.merge(Usif(example.words(), 5, Usif::Normalize::none)), InvalidInput,
                    "two USIF with different normalize");
}

TEST(Sif, RefusesInvalidArguments) {
  Example example(5), other(5, 30, 2);
  Sif sif(example.words());
  EXPECT_THROW_WITH(Sif(example.words(), -1), InvalidInput, "components must not be negative, got -1");
  EXPECT_THROW_WITH(sif.merge(Sif(other.words())), InvalidInput, "same words");
  EXPECT_THROW_WITH(sif.merge(Sif({example.vectors(), {.split = Split::whitespace}, {}})), InvalidInput,
                    "weights");
  Matrix out(2, 5);
  sif.partial_fit(Texts{"w1"}.sentences());
  sif.solve();
  EXPECT_THROW_WITH(sif.encode(Texts{"w1"}.sentences(), view(out)), InvalidInput,
                    "out must be [1, 5], got [2, 5]");
  EXPECT_THROW_WITH(WeightedWords(example.vectors(), {}, {1.0F}), InvalidInput, "weights: expected 30");
  std::vector<float> weights(30, 1.0F);
  weights[7] = NAN;
  EXPECT_THROW_WITH(WeightedWords(example.vectors(), {}, weights), InvalidInput, "weights[7] is nan");
  const std::vector<std::string_view> pieces{"w1", "w2"};
  for (const auto& [first, second] : {std::pair(-1, 1), std::pair(1, 0), std::pair(0, 3)}) {
    const std::vector<std::int64_t> offsets{first, second};
    Matrix one(1, 5);
    EXPECT_THROW_WITH(sif.encode(Sentences{pieces, offsets}, view(one)), InvalidInput,
                      "offsets must rise from 0 or more to at most 2");
    EXPECT_THROW_WITH(Average(example.words()).encode(Sentences{pieces, offsets}, view(one)), InvalidInput,
                      "offsets must rise");
  }
}

TEST(Average, IsFiniteOrAnError) {
  const Example example(5);
  std::vector<float> weights(30, std::numeric_limits<float>::max());
  const Average heavy(WeightedWords(example.vectors(), {.split = Split::whitespace}, weights));
  EXPECT_THROW_WITH(heavy.encode(Texts{"w1", "w2", "w3", "w4", "w5", "w6", "w7"}.sentences()), DivergedError,
                    "not finite");
  EXPECT_EQ(heavy.encode(Texts{"unknown"}.sentences()).norm(), 0);
}

}  // namespace
}  // namespace sentencode
