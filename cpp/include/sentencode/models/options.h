// The options of every network by name: the one list that files, bindings and this library read and write by.
#pragma once

#include <concepts>
#include <string_view>
#include <type_traits>

#include "sentencode/models/convolutional.h"
#include "sentencode/models/denoising.h"
#include "sentencode/models/mean_max.h"
#include "sentencode/models/recurrent_autoencoder.h"

namespace sentencode::models {

/// Calls visit(name, member) for each option.
template <typename Options, typename Visit>
requires std::same_as<std::remove_const_t<Options>, AutoencoderOptions>
void for_options(Options& of, const Visit& visit) {
  visit("words", of.words);
  visit("features", of.features);
  visit("begin", of.begin);
  visit("end", of.end);
  visit("trainable_words", of.trainable_words);
  visit("label_smoothing", of.label_smoothing);
  visit("sampled_words", of.sampled_words);
}

template <typename Options, typename Visit>
requires std::same_as<std::remove_const_t<Options>, LayerOptions>
void for_options(Options& of, const Visit& visit) {
  visit("hidden", of.hidden);
  visit("inner", of.inner);
  visit("heads", of.heads);
  visit("dropout", of.dropout);
  visit("dropout_place", of.dropout_place);
  visit("projection", of.projection);
  visit("projection_bias", of.projection_bias);
  visit("output_projection", of.output_projection);
  visit("epsilon", of.epsilon);
}

template <typename Options, typename Visit>
requires std::same_as<std::remove_const_t<Options>, MeanMaxOptions>
void for_options(Options& of, const Visit& visit) {
  for_options(of.layers, visit);
  visit("pooling", of.pooling);
  visit("positions", of.positions);
  visit("places", of.places);
}

template <typename Options, typename Visit>
requires std::same_as<std::remove_const_t<Options>, RecurrentAutoencoderOptions>
void for_options(Options& of, const Visit& visit) {
  for_options(of.layers, visit);
  visit("pooling", of.pooling);
}

template <typename Options, typename Visit>
requires std::same_as<std::remove_const_t<Options>, DenoisingOptions>
void for_options(Options& of, const Visit& visit) {
  visit("hidden", of.hidden);
  visit("dropout", of.dropout);
  visit("drop_words", of.drop_words);
  visit("swap_words", of.swap_words);
}

template <typename Options, typename Visit>
requires std::same_as<std::remove_const_t<Options>, ConvolutionalOptions>
void for_options(Options& of, const Visit& visit) {
  visit("hidden", of.hidden);
  visit("filters", of.filters);
  visit("windows", of.windows);
  visit("dropout", of.dropout);
}

// Choices have names.
inline void parse(std::string_view name, nn::Pooling& choice) { choice = nn::parse_pooling(name); }
inline void parse(std::string_view name, nn::Activation& choice) { choice = nn::parse_activation(name); }
inline void parse(std::string_view name, DropoutPlace& choice) { choice = parse_dropout_place(name); }
inline std::string_view name_of(nn::Pooling choice) { return nn::pooling_name(choice); }
inline std::string_view name_of(nn::Activation choice) { return nn::activation_name(choice); }
inline std::string_view name_of(DropoutPlace choice) {
  return choice == DropoutPlace::weights ? "weights" : "sublayers";
}

}  // namespace sentencode::models
