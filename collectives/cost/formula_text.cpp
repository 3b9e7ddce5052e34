// SPDX-License-Identifier: Apache-2.0
//
// Formulas with numbers in the place of symbols.
#include <algorithm>
#include <cmath>
#include <utility>

#include "collectives/cost/formula.hpp"

namespace collsim {
namespace {

using Kind = FormulaNode::Kind;

// More lines of a sum are not shown one by one.
constexpr double most_terms_of_sum = 64;

std::string number_text(double value, const Units& units) {
  if (value == 0) return "0";
  if (std::isinf(value)) return "infinite";
  const std::string text = value_text(value, units);
  const bool is_quotient = units == units_bandwidth || units == units_cost_per_byte;
  return is_quotient ? "(" + text + ")" : text;
}

// A part as text, and what must be known to put it into another.
struct Written {
  enum class Level : std::uint8_t { sum, product, power, atom };
  std::string text;
  Level level = Level::atom;
  std::optional<double> known{};  // a number that may vanish
};
using Level = Written::Level;

std::string within(const Written& part, Level level) {
  return part.level < level ? "(" + part.text + ")" : part.text;
}

// Writes parts of a formula, with its symbols or with their values.
class FormulaWriter : public FormulaValues {
 public:
  FormulaWriter(const FormulaTree& tree, const FormulaSymbols& symbols)
      : tree_(&tree), symbols_(&symbols), evaluation_(tree, *this) {}

  std::optional<double> name(std::uint32_t id, FormulaEvaluation& /*evaluation*/) override {
    return symbols_->*formula_symbols()[id].value;
  }
  double value(std::uint32_t node) {
    return evaluation_.value(node).value_or(std::numeric_limits<double>::quiet_NaN());
  }
  FormulaEvaluation& evaluation() { return evaluation_; }

  // The whole of a formula or of a definition's text.
  std::string with_values(std::uint32_t node) { return whole(node, true, false); }
  // What is multiplied by 1 or added as 0, because S is 1 or adding is free, is left out, and a
  // size over a rate is the time that it is.
  std::string brief(std::uint32_t node, bool values) { return whole(node, values, true); }
  std::string summand(std::uint32_t node) {
    set(true, false);
    return within(write(node), Level::product);
  }

 private:
  void set(bool values, bool brief) {
    values_ = values;
    brief_ = brief;
  }
  std::string whole(std::uint32_t node, bool values, bool brief) {
    set(values, brief);
    outermost_ = node;
    std::string text = write(node).text;
    outermost_ = FormulaNode::none;
    return text;
  }

  Written value_of(std::uint32_t node) {
    return {.text = number_text(value(node), tree_->nodes[node].units)};
  }

  Written write(std::uint32_t number) {
    const FormulaNode& node = tree_->nodes[number];
    switch (node.kind) {
      case Kind::number: {
        const std::optional<double> known = brief_ ? std::optional(node.number) : std::nullopt;
        return {.text = std::string(tree_->text_of(node)), .known = known};
      }
      case Kind::name: return symbol(number);
      case Kind::bound: return values_ ? value_of(number) : Written{.text = tree_->bound[node.id]};
      case Kind::minimum:
      case Kind::maximum: return least_or_most(node);
      case Kind::add:
      case Kind::subtract: return sum(number);
      case Kind::multiply:
      case Kind::divide: return product(number);
      case Kind::remainder:
        return {.text = within(write(node.left), Level::atom) + " % " +
                        within(write(node.right), Level::atom),
                .level = Level::product};
      case Kind::power:
        return {.text = within(write(node.left), Level::atom) + "^" +
                        within(write(node.right), Level::power),
                .level = Level::power};
      case Kind::negate:
        return {.text = "-" + within(write(node.left), Level::power), .level = Level::sum};
      default: return values_ ? value_of(number) : called(node);
    }
  }

  Written symbol(std::uint32_t number) {
    const FormulaSymbol& symbol = formula_symbols()[tree_->nodes[number].id];
    Written written{.text = std::string(symbol.name)};
    const double value = symbols_->*symbol.value;
    if (values_) written = value_of(number);
    const bool is_one = symbol.value == &FormulaSymbols::S && value == 1;
    const bool is_nothing = symbol.value == &FormulaSymbols::gamma && value == 0;
    if (brief_ && (is_one || is_nothing)) written.known = value;
    return written;
  }

  Written called(const FormulaNode& node) {
    const bool is_defined = node.kind == Kind::defined;
    std::string text(is_defined ? tree_->definitions[node.id].name
                                : std::string(formula_function_name(node.kind)));
    if (node.kind == Kind::sum) return {.text = std::string(tree_->text_of(node))};
    if (node.left != FormulaNode::none) text += "(" + write(node.left).text;
    if (node.right != FormulaNode::none) text += ", " + write(node.right).text;
    return {.text = node.left == FormulaNode::none ? text : text + ")"};
  }

  Written least_or_most(const FormulaNode& node) {
    const Written right = write(node.right);
    std::string first = write(node.left).text;
    if (tree_->nodes[node.left].kind == node.kind)
      first = first.substr(first.find('(') + 1, first.size() - first.find('(') - 2);
    return {.text = std::string(formula_function_name(node.kind)) + "(" + first + ", " +
                    right.text + ")"};
  }

  static Written of_known(double value) {
    return {.text = value_text(value, units_none), .known = value};
  }

  Written sum(std::uint32_t number) {
    const FormulaNode& node = tree_->nodes[number];
    const bool is_outermost = number == outermost_;
    if (is_outermost && tree_->nodes[node.left].kind != Kind::negate) outermost_ = node.left;
    Written left = write(node.left), right = write(node.right);
    if (left.known && right.known) return of_known(applied(node.kind, *left.known, *right.known));
    if (right.known == 0.0) return left;
    const bool plus = node.kind == Kind::add;
    if (left.known == 0.0 && plus) return right;
    const std::string after = plus ? right.text : within(right, Level::product);
    const bool wide = is_outermost || (left.text + after).find(' ') != std::string::npos;
    const char* sign = plus ? (wide ? " + " : "+") : (wide ? " - " : "-");
    return {.text = left.text + sign + after, .level = Level::sum};
  }

  Written product(std::uint32_t number) {
    const FormulaNode& node = tree_->nodes[number];
    const auto is_amount = [&](std::uint32_t part) {
      const Units& units = tree_->nodes[part].units;
      return !units.none() && units != units_time;
    };
    Written left = write(node.left), right = write(node.right);
    const bool times = node.kind == Kind::multiply;
    if (left.known && right.known) return of_known(applied(node.kind, *left.known, *right.known));
    if (left.known == 0.0 || (times && right.known == 0.0)) return of_known(0);
    if (right.known == 1.0) return left;
    if (left.known == 1.0 && times) return right;
    if (brief_ && values_ && node.units == units_time && is_amount(node.left) &&
        is_amount(node.right))
      return value_of(number);
    return {.text = within(left, Level::product) + (times ? "*" : "/") +
                    within(right, times ? Level::product : Level::power),
            .level = Level::product};
  }

  const FormulaTree* tree_;
  const FormulaSymbols* symbols_;
  FormulaEvaluation evaluation_;
  bool values_ = true, brief_ = false;
  std::uint32_t outermost_ = FormulaNode::none;
};

// What a built-in function is, without what vanishes; of a number of bytes, with values.
std::string meaning_of(std::string_view function, const FormulaSymbols& symbols,
                       std::optional<double> bytes = std::nullopt) {
  const bool adds_nothing = function == "reduce_hop" && symbols.gamma == 0;
  FormulaLanguage language;
  const std::string use = std::string(adds_nothing ? "hop" : function) + "(N)";
  const FormulaTree tree = *FormulaParser(use, language).parse();
  const FormulaTree::Definition& called = tree.definitions[tree.nodes[tree.root.node].id];
  FormulaWriter writer(tree, symbols);
  if (bytes) writer.evaluation().bind(called.parameter, *bytes);
  return writer.brief(called.body.node, bytes.has_value());
}

// Collects what is used in a formula, the innermost first.
class FormulaCalls {
 public:
  FormulaCalls(const FormulaTree& tree, const FormulaSymbols& symbols)
      : tree_(&tree), symbols_(&symbols), writer_(tree, symbols) {}

  std::vector<FormulaTerm> all() {
    add(tree_->root.node);
    return std::move(calls_);
  }

 private:
  void add(std::uint32_t number) {
    const FormulaNode& node = tree_->nodes[number];
    if (node.kind == Kind::defined) return add_use(number);
    if (node.kind == Kind::sum) return add_sum(node);
    for (const std::uint32_t child : {node.left, node.right})
      if (child != FormulaNode::none) add(child);
  }

  void add_sum(const FormulaNode& node) {
    const auto range = writer_.evaluation().bounds(node);
    if (!range || range->second - range->first >= most_terms_of_sum) return;
    for (double index = range->first; index <= range->second; ++index) {
      writer_.evaluation().bind(node.id, index);
      add(node.term);
      writer_.evaluation().unbind();
    }
  }

  void add_use(std::uint32_t number) {
    const FormulaNode& node = tree_->nodes[number];
    const FormulaTree::Definition& definition = tree_->definitions[node.id];
    const bool is_function = node.left != FormulaNode::none;
    std::optional<double> argument;
    FormulaTerm call{.text = definition.name, .with_values = {}, .value = writer_.value(number)};
    if (is_function) {
      add(node.left);
      argument = writer_.value(node.left);
      call.text += "(" + number_text(*argument, units_size) + ")";
      writer_.evaluation().bind(definition.parameter, *argument);
    }
    add(definition.body.node);
    if (definition.indices.empty() && node.units == units_time) {
      call.with_values = is_function ? meaning_of(definition.name, *symbols_, argument)
                                     : text_with_values(definition, call.value);
      const bool known = std::any_of(calls_.begin(), calls_.end(),
                                     [&](const auto& other) { return other.text == call.text; });
      if (!known) calls_.push_back(call);
    }
    if (is_function) writer_.evaluation().unbind();
  }

  std::string text_with_values(const FormulaTree::Definition& definition, double value) {
    const FormulaPart& body = definition.body;
    std::string text = tree_->text.substr(body.begin, body.end - body.begin);
    const std::string values = writer_.with_values(body.node);
    return values == number_text(value, units_time) ? text : text + " = " + values;
  }

  const FormulaTree* tree_;
  const FormulaSymbols* symbols_;
  FormulaWriter writer_;
  std::vector<FormulaTerm> calls_;
};

void add_names(std::string_view text, std::vector<std::string>& names) {
  const auto is_of_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  std::string name;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && is_of_name(text[i]))
      name += text[i];
    else if (!name.empty())
      names.push_back(std::exchange(name, {}));
  }
}

}  // namespace

bool FormulaLegend::has(std::string_view name) const {
  return std::find(names.begin(), names.end(), name) != names.end();
}

FormulaLegend legend_of(std::string_view text, const FormulaSymbols& symbols) {
  FormulaLegend legend;
  add_names(text, legend.names);
  for (const FormulaDefinition& definition : formula_definitions()) {
    if (definition.parameter.empty() || !legend.has(definition.name)) continue;
    const std::string body = meaning_of(definition.name, symbols);
    std::string line(definition.name);
    line.append("(").append(definition.parameter).append(") = ").append(body);
    line.append(": ").append(definition.meaning);
    legend.functions.push_back(std::move(line));
    add_names(body, legend.names);
  }
  for (const auto& [name, way] : {std::pair("floor", "down"), std::pair("ceil", "up")})
    if (legend.has(name)) legend.functions.push_back(std::string(name) + "(x): x rounded " + way);
  return legend;
}

std::string Formula::with_values(const FormulaSymbols& symbols) const {
  return FormulaWriter(tree_, symbols).with_values(tree_.root.node);
}

std::vector<FormulaTerm> Formula::terms(const FormulaSymbols& symbols) const {
  FormulaWriter writer(tree_, symbols);
  std::vector<FormulaTerm> terms;
  const FormulaNode& root = tree_.nodes[tree_.root.node];
  if (root.kind == Kind::sum) {
    const auto range = writer.evaluation().bounds(root);
    if (range && range->second - range->first < most_terms_of_sum) {
      for (double index = range->first; index <= range->second; ++index) {
        writer.evaluation().bind(root.id, index);
        terms.push_back({tree_.bound[root.id] + " = " + value_text(index, units_none),
                         writer.with_values(root.term), writer.value(root.term)});
        writer.evaluation().unbind();
      }
      return terms;
    }
  }
  for (const auto& [part, subtracted] : tree_.summands) {
    const double value = writer.value(part.node);
    terms.push_back({tree_.text.substr(part.begin, part.end - part.begin),
                     writer.summand(part.node), subtracted ? -value : value});
  }
  return terms;
}

std::vector<FormulaTerm> Formula::calls(const FormulaSymbols& symbols) const {
  return FormulaCalls(tree_, symbols).all();
}

}  // namespace collsim
