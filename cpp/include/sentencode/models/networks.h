// All families: the one table that loader, `make_network` and bindings go through.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "sentencode/models/cnn_lstm_autoencoder.h"
#include "sentencode/models/context.h"
#include "sentencode/models/denoising.h"
#include "sentencode/models/generalized_pooling.h"
#include "sentencode/models/lstm_autoencoder.h"
#include "sentencode/models/mean_max.h"
#include "sentencode/models/skip_thoughts.h"
#include "sentencode/models/translation.h"

namespace sentencode::models {

/// A network's class, which has `Options` and is made of them, and its names.
template <typename Class>
struct Kind {
  using Network = Class;
  using Options = typename Class::Options;
  const char* encoder;             // what files call the encoder, and Python's class is called
  const char* network;             // the like of the network
  std::string_view formerly = {};  // what older files call the network
};

/// Calls visit(Kind<...>) for each, sorted by the encoders' names.
template <typename Visit>
void for_networks(const Visit& visit) {
  visit(Kind<CNNLSTMAutoencoderNetwork>{"CNNLSTMAE", "CNNLSTMAutoencoderNetwork", "ConvolutionalNetwork"});
  visit(Kind<TranslationNetwork>{"CompoundNMT", "TranslationNetwork"});
  visit(Kind<GeneralizedPoolingNetwork>{"GeneralizedPooling", "GeneralizedPoolingNetwork"});
  visit(Kind<DenoisingNetwork>{"LSTMSDAE", "DenoisingNetwork"});
  visit(Kind<MeanMaxNetwork>{"MeanMaxAAE", "MeanMaxNetwork"});
  visit(Kind<LSTMAutoencoderNetwork>{"RAE", "LSTMAutoencoderNetwork", "RecurrentNetwork"});
  visit(Kind<ContextNetwork>{"RNNCNN", "ContextNetwork"});
  visit(Kind<SkipThoughtsNetwork>{"SkipThoughts", "SkipThoughtsNetwork"});
}

/// Networks that are written elsewhere, by the name that their configs have: `make` gets the whole JSON. What
/// was registered before by that name is replaced; InvalidInput where it is one of the table.
using MakeNetwork = std::function<std::shared_ptr<SentenceNetwork>(const std::string& config)>;
void register_network(const std::string& network, MakeNetwork make);

/// The name that a network has in the table, be this its former one; empty if it is none of the table.
std::string name_in_table(const std::string& network);

/// A network as its config says. InvalidInput where the JSON is none, or has an unknown kind, key or value.
std::shared_ptr<SentenceNetwork> make_network(const std::string& config);

/// The config of a network with all its options as they are by default. InvalidInput for an unknown kind.
std::string default_config(const std::string& network);

}  // namespace sentencode::models
