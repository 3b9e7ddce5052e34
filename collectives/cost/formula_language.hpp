// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collectives/cost/units.hpp"

namespace collsim {

// The language of formulas: "(K-1)*(alpha + N/B)".
//
//   formula    = sum ("," name "=" sum)*        definitions, in any order; each is evaluated where
//                                               it is used, under the index of a sum around its use
//   sum        = product (("+" | "-") product)*
//   product    = signed (("*" | "/" | "%") signed)*      a % b is in [0, b)
//   signed     = ("+" | "-") signed | power
//   power      = primary ("^" signed)?          2^3^2 = 2^9, -2^2 = -4
//   primary    = number | name | function "(" ... ")" | "(" sum ")"
//
//   functions    min max (two or more arguments), ceil floor log2 (of plain numbers), sqrt abs
//                log(x, base)                   log2 and log are exact for whole powers
//                sum(i = a..b, term)            a and b whole; 0 when b < a
//   definitions  those of formula.hpp
//
// Every part has units, which are checked before anything is evaluated: + - min max need the same
// unit on both sides (a bare 0 fits all), an exponent is a plain number, and a constant when the
// base has a unit.
//
// A language on top of this one (app/expression) adds names, units of numbers and functions.
//
// Stated limits: 4,096 bytes, nesting of 100; a value takes at most 1,000,000 uses of definitions
// and terms of sums.
inline constexpr std::size_t max_formula_bytes = 4096;
inline constexpr int max_formula_depth = 100;
inline constexpr std::size_t max_formula_work = 1'000'000;

// A mistake in a formula, at these bytes of it.
struct FormulaError {
  std::string code;  // syntax, unknown-name, dimension, too-long, or one of the language's
  std::string message;
  std::string suggestion;
  std::string hint;
  std::size_t begin = 0, end = 0;
};

struct FormulaToken {
  enum class Kind : std::uint8_t { number, name, symbol, end } kind = Kind::end;
  std::size_t begin = 0, end = 0;
  std::string_view text;
  // Of a number.
  double value = 0;
  Units units{};
  bool percent = false;

  [[nodiscard]] bool is(std::string_view wanted) const {
    return kind == Kind::symbol && text == wanted;
  }
};

// A part of a formula that has been read.
struct FormulaPart {
  std::uint32_t node = 0;
  std::size_t begin = 0, end = 0;
  Units units{};
  bool zero = false;              // a bare 0
  bool percent = false;           // just "5%"
  bool word = false;              // of the language: no number, so that nothing is done with it
  std::optional<double> value{};  // of a constant
};

struct FormulaNode {
  enum class Kind : std::uint8_t {
    number,
    name,     // of the language; `id` is its own
    bound,    // the index of a sum, or a function's parameter
    defined,  // the value of a definition; `left`: its argument
    negate,
    add,
    subtract,
    multiply,
    divide,
    remainder,
    power,
    minimum,
    maximum,
    logarithm,  // of left to the base right
    ceil,
    floor,
    sqrt,
    log2,
    abs,
    sum,     // of `term`, bound `id` from left to right
    special  // a function of the language; `id` is its own, left an argument, if it has one
  };
  static constexpr std::uint32_t none = UINT32_MAX;

  Kind kind = Kind::number;
  double number = 0;
  std::uint32_t id = 0;
  std::uint32_t left = none, right = none, term = none;
  Units units{};
  std::uint32_t source = 0;          // which text: 0 the formula's, else 1 + number of a definition
  std::uint32_t begin = 0, end = 0;  // the part of it, without brackets around it
};

// Quotes a text for messages: "a \"b\"", not longer than a line.
using FormulaQuote = std::string (*)(std::string_view);

// A formula that has been read.
struct FormulaTree {
  struct Definition {
    std::string name;
    std::optional<std::size_t> built_in{};        // which of formula_definitions()
    std::uint32_t parameter = FormulaNode::none;  // bound, of a built-in function
    FormulaPart body{};
    std::size_t name_begin = 0, begin = 0, end = 0;  // of its text
    std::vector<std::uint32_t> indices{};            // of sums around its use that it needs
    enum class State : std::uint8_t { unread, being_read, read } state = State::unread;
  };

  std::string text;
  FormulaPart root;
  std::vector<FormulaNode> nodes;
  std::vector<Definition> definitions;  // the formula's own, then those built in that it uses
  std::vector<std::string> bound;       // names of indices and parameters
  std::vector<std::pair<FormulaPart, bool>> summands;  // of the whole; true: subtracted
  FormulaQuote quoted = nullptr;

  [[nodiscard]] std::string_view text_of(const FormulaNode& node) const;

  // Calls look(node) for `node` and, where it returns true, for what the node is made of and the
  // definition it uses; goes through a definition once, however often it is used.
  template <class Look>
  void visit(std::uint32_t node, const Look& look) const {
    std::vector<bool> seen(definitions.size());
    visit(node, look, seen);
  }

 private:
  template <class Look>
  void visit(std::uint32_t node, const Look& look, std::vector<bool>& seen) const {
    const FormulaNode& it = nodes[node];
    if (!look(it)) return;
    for (const std::uint32_t child : {it.left, it.right, it.term})
      if (child != FormulaNode::none) visit(child, look, seen);
    if (it.kind != FormulaNode::Kind::defined || seen[it.id]) return;
    seen[it.id] = true;
    visit(definitions[it.id].body.node, look, seen);
  }
};

class FormulaParser;

struct FormulaName {
  std::uint32_t id = 0;  // the language's own
  Units units{};
};

// What names, numbers and functions there are besides those of the header above.  By itself: the
// symbols of formula.hpp, and nothing else.
class FormulaLanguage {
 public:
  virtual ~FormulaLanguage() = default;

  [[nodiscard]] virtual bool knows(std::string_view word) const;
  // Where nothing is found, these call parser.fail().
  [[nodiscard]] virtual FormulaName name(FormulaParser& parser, const FormulaToken& token);
  // A function; the next token is its "(".
  [[nodiscard]] virtual FormulaPart call(FormulaParser& parser, const FormulaToken& name);
  // What stands behind the digits of a number: its unit.
  virtual void number(FormulaParser& parser, FormulaToken& token);
  [[nodiscard]] virtual FormulaQuote quoted() const;
};

// The functions of this language, for lists of what there is.
[[nodiscard]] std::vector<std::string_view> formula_functions();
[[nodiscard]] std::optional<FormulaNode::Kind> formula_function(std::string_view name);
[[nodiscard]] std::string_view formula_function_name(FormulaNode::Kind kind);  // empty: none
// For a formula that mixes these units as if gamma were bytes per second; empty for others.
[[nodiscard]] std::string hint_about_gamma(std::string_view text, const Units& a, const Units& b);

// Recursive descent; checks units.  After a mistake there are no more tokens, so that it ends soon.
class FormulaParser {
 public:
  // Any bytes at all.  Both must outlive the parser.
  FormulaParser(std::string_view text, FormulaLanguage& language);
  // Nothing: error() says why.
  [[nodiscard]] std::optional<FormulaTree> parse();
  [[nodiscard]] const FormulaError& error() const { return error_; }

  // For languages.
  [[nodiscard]] const FormulaToken& token() const { return at_.token; }
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] const FormulaTree& tree() const { return tree_; }  // as far as it was read
  void advance();
  [[nodiscard]] FormulaPart sum();
  void close_call();  // takes the ")"
  // All up to the next of these characters or the end, without blanks around it, for what is no
  // formula (a path); the next token is the one after that.
  [[nodiscard]] FormulaToken raw_until(std::string_view stops);
  // What stands behind a number that is being read.
  [[nodiscard]] std::string_view rest_from(std::size_t position) const;
  [[nodiscard]] bool is_defined(std::string_view name) const;
  void extend_number(FormulaToken& token, std::size_t end);
  [[nodiscard]] FormulaPart add_special(std::uint32_t id, FormulaPart part);
  void must_be_number(const FormulaPart& part);
  // Only the first mistake counts.
  void fail(std::size_t begin, std::size_t end, std::string code, std::string message,
            std::string suggestion = {}, std::string hint = {});
  void unexpected(std::string_view wanted);
  [[nodiscard]] std::string quote(const FormulaPart& part) const;
  [[nodiscard]] std::string quote(std::string_view text) const;

 private:
  using Kind = FormulaNode::Kind;
  using Definition = FormulaTree::Definition;
  struct Bound {
    std::uint32_t id = 0;
    Units units{};
  };
  // Where it reads.
  struct Cursor {
    std::string_view text;
    std::size_t position = 0, end = 0;
    FormulaToken token{};
    std::uint32_t source = 0;  // as in FormulaNode
    std::size_t scope = 0;     // the first bound name that can be seen
  };

  [[nodiscard]] FormulaPart product();
  [[nodiscard]] FormulaPart signed_part();
  [[nodiscard]] FormulaPart power();
  [[nodiscard]] FormulaPart primary();
  [[nodiscard]] FormulaPart number();
  [[nodiscard]] FormulaPart name();
  [[nodiscard]] FormulaPart call(const FormulaToken& name);
  [[nodiscard]] FormulaPart min_or_max(Kind kind, const FormulaToken& name);
  [[nodiscard]] FormulaPart of_one(Kind kind, const FormulaToken& name);
  [[nodiscard]] FormulaPart logarithm(const FormulaToken& name);
  [[nodiscard]] FormulaPart sum_over(const FormulaToken& name);
  [[nodiscard]] FormulaPart bound_name(std::size_t position, const FormulaToken& token);
  [[nodiscard]] FormulaPart use_of(std::uint32_t definition, const FormulaToken& token,
                                   std::uint32_t argument = FormulaNode::none);
  [[nodiscard]] FormulaPart built_in(std::size_t number, const FormulaToken& token);

  void find_definitions();
  void check_definitions();
  void read_own(std::uint32_t definition);
  void read_built_in(std::uint32_t definition, const FormulaToken& token);
  void read_body(std::uint32_t definition, const Cursor& from);
  void must_be_free(std::string_view name, std::size_t begin);
  [[nodiscard]] std::optional<std::uint32_t> own(std::string_view name) const;
  [[nodiscard]] std::optional<std::size_t> bound_at(std::string_view name) const;
  [[nodiscard]] std::uint32_t id_of_bound(std::string_view name);
  void note_use(std::size_t position);

  [[nodiscard]] FormulaToken next();
  [[nodiscard]] FormulaToken digits();
  void skip_blanks();
  void unexpected_character();
  [[nodiscard]] bool enter();  // one level of nesting; false: one too many
  void must_be_plain(std::string_view function, const FormulaPart& part);

  FormulaPart emit(Kind kind, FormulaPart part, std::uint32_t left = FormulaNode::none,
                   std::uint32_t right = FormulaNode::none, std::uint32_t id = 0);
  [[nodiscard]] FormulaPart joined(Kind kind, const FormulaPart& left, const FormulaPart& right,
                                   const Units& units);
  [[nodiscard]] FormulaPart combined(Kind kind, const FormulaPart& left, const FormulaPart& right);
  [[nodiscard]] FormulaPart raised(const FormulaPart& base, const FormulaPart& exponent);
  [[nodiscard]] std::string_view part_of_text(std::size_t begin, std::size_t end) const;

  FormulaLanguage* language_;
  FormulaTree tree_;
  Cursor at_;
  std::vector<Bound> scope_;  // innermost last
  // Definitions that are being read, and how many names were bound around them.
  std::vector<std::pair<std::uint32_t, std::size_t>> being_read_;
  std::optional<FormulaToken> blamed_;  // the use of what is built in, whose text is not the user's
  FormulaError error_;
  bool failed_ = false;
  int depth_ = 0;
};

class FormulaEvaluation;

// The values of a language's names and functions.
class FormulaValues {
 public:
  virtual ~FormulaValues() = default;

  // Nothing: they called evaluation.fail().
  [[nodiscard]] virtual std::optional<double> name(std::uint32_t id,
                                                   FormulaEvaluation& evaluation) = 0;
  [[nodiscard]] virtual std::optional<double> call(const FormulaNode& node,
                                                   FormulaEvaluation& evaluation);
};

// Evaluates a formula.  Total: a finite number, or a reason.
class FormulaEvaluation {
 public:
  // Both must outlive this.
  FormulaEvaluation(const FormulaTree& tree, FormulaValues& values)
      : tree_(&tree), values_(&values) {}

  [[nodiscard]] std::optional<double> operator()();
  // Of a part, under the indices that are bound now.
  [[nodiscard]] std::optional<double> value(std::uint32_t node);
  // `division by zero in "N/(S-1)"`, or what fail() was told.
  [[nodiscard]] const std::string& why_not() const { return why_not_; }
  void fail(std::string why_not) { why_not_ = std::move(why_not); }
  // Indices are bound: the same part may have another value the next time.
  [[nodiscard]] bool in_sum() const { return !bound_.empty(); }
  // Counts what takes time; false, and a reason, when it was too much.
  [[nodiscard]] bool spend(std::size_t amount);
  // Gives an index or a parameter a value, until it is taken back.
  void bind(std::uint32_t id, double value) { bound_.emplace_back(id, value); }
  void unbind() { bound_.pop_back(); }
  // The bounds of a sum.
  [[nodiscard]] std::optional<std::pair<double, double>> bounds(const FormulaNode& sum);

 private:
  [[nodiscard]] std::optional<double> of_operands(const FormulaNode& node);
  [[nodiscard]] std::optional<double> defined(const FormulaNode& node);
  [[nodiscard]] std::optional<double> sum(const FormulaNode& node);

  const FormulaTree* tree_;
  FormulaValues* values_;
  std::vector<std::pair<std::uint32_t, double>> bound_;
  std::string why_not_;
  std::size_t spent_ = 0;
};

// What a part makes of two numbers (of one: the left); may be infinite or NaN.
[[nodiscard]] double applied(FormulaNode::Kind kind, double left, double right = 0);

}  // namespace collsim
