// The table of all families, which `make_network`, the loader and the bindings read.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "sentencode/models/cnn_lstm_autoencoder.h"
#include "sentencode/models/cnn_lstm_context.h"
#include "sentencode/models/context.h"
#include "sentencode/models/denoising.h"
#include "sentencode/models/fast_sent.h"
#include "sentencode/models/generalized_pooling.h"
#include "sentencode/models/lstm_autoencoder.h"
#include "sentencode/models/mean_max.h"
#include "sentencode/models/skip_thoughts.h"
#include "sentencode/models/translation.h"

namespace sentencode::models {

/// A network class and its names.
template <typename Class>
struct Kind {
  using Network = Class;
  using Options = typename Class::Options;
  const char* encoder;             // the encoder in files, and its Python class
  const char* network;             // the network in files, and its Python class
  std::string_view formerly = {};  // the network in older files
};

/// Calls visit(Kind<...>) for each, sorted by the encoders' names.
template <typename Visit>
void for_networks(const Visit& visit) {
  visit(Kind<CNNLSTMAutoencoderNetwork>{"CNNLSTMAE", "CNNLSTMAutoencoderNetwork", "ConvolutionalNetwork"});
  visit(Kind<CompositeCNNNetwork>{"CompositeCNN", "CompositeCNNNetwork"});
  visit(Kind<TranslationNetwork>{"CompoundNMT", "TranslationNetwork"});
  visit(Kind<FastSentNetwork>{"FastSent", "FastSentNetwork"});
  visit(Kind<GeneralizedPoolingNetwork>{"GeneralizedPooling", "GeneralizedPoolingNetwork"});
  visit(Kind<HierarchicalCNNNetwork>{"HierarchicalCNN", "HierarchicalCNNNetwork"});
  visit(Kind<DenoisingNetwork>{"LSTMSDAE", "DenoisingNetwork"});
  visit(Kind<MeanMaxNetwork>{"MeanMaxAAE", "MeanMaxNetwork"});
  visit(Kind<LSTMAutoencoderNetwork>{"RAE", "LSTMAutoencoderNetwork", "RecurrentNetwork"});
  visit(Kind<ContextNetwork>{"RNNCNN", "ContextNetwork"});
  visit(Kind<SkipThoughtsNetwork>{"SkipThoughts", "SkipThoughtsNetwork"});
}

/// Registers a network outside the table, by the name in its config: `make` gets the whole JSON. It replaces
/// one of the same name. InvalidInput if the table has the name.
using MakeNetwork = std::function<std::shared_ptr<SentenceNetwork>(const std::string& config)>;
void register_network(const std::string& network, MakeNetwork make);

/// The current name of a network in the table, given that or its old name; empty if the table has neither.
std::string name_in_table(const std::string& network);

/// A network with the options of a config. InvalidInput for malformed JSON, and an unknown kind, key or
/// value.
std::shared_ptr<SentenceNetwork> make_network(const std::string& config);

/// The config of a network with its default options. InvalidInput for an unknown kind.
std::string default_config(const std::string& network);

/// The options of a network or head of the tables as a JSON array: name, kind ("bool", "int", "float", "str",
/// "ints"), default, choices, low, high, below, above and text of each.
std::string described_options(const std::string& name);

}  // namespace sentencode::models
