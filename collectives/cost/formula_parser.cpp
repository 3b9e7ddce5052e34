// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iterator>

#include "collectives/cost/formula.hpp"
#include "topo/error.hpp"

namespace collsim {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

std::string_view name_at(std::string_view text) {
  if (text.empty() || !starts_name(text[0])) return {};
  std::size_t length = 1;
  while (length < text.size() && (starts_name(text[length]) || is_digit(text[length]))) ++length;
  return text.substr(0, length);
}

std::size_t blanks_at(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && is_blank(text[length])) ++length;
  return length;
}

std::size_t digits_at(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && is_digit(text[length])) ++length;
  return length;
}

// "1", "1.5", "1.", "1e-3", but of "1..3" only the 1.
std::size_t number_length(std::string_view text) {
  std::size_t length = digits_at(text);
  if (text.substr(length).starts_with('.') && !text.substr(length).starts_with(".."))
    length += 1 + digits_at(text.substr(length + 1));
  const std::string_view rest = text.substr(length);
  if (!rest.starts_with('e') && !rest.starts_with('E')) return length;
  const std::size_t sign = rest.size() > 1 && (rest[1] == '+' || rest[1] == '-') ? 1 : 0;
  const std::size_t exponent = digits_at(rest.substr(1 + sign));
  return exponent == 0 ? length : length + 1 + sign + exponent;
}

std::size_t character_length(std::string_view text) {
  std::size_t length = 1;
  while (length < text.size() && (static_cast<unsigned char>(text[length]) & 0xC0U) == 0x80U)
    ++length;
  return length;
}

// What people write for what a formula has another sign for.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> other_signs{
    {{"\u03b1", "alpha"},
     {"\u03b3", "gamma"},
     {"\u03b2", "B"},
     {"\u00d7", "*"},
     {"\u00b7", "*"},
     {"\u2212", "-"},
     {"\u2013", "-"},
     {"\u00f7", "/"},
     {"\u221a", "sqrt"},
     {"\u00b2", "^2"}}};

std::optional<std::size_t> find_built_in(std::string_view word) {
  const auto all = formula_definitions();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].name == word) return i;
  return std::nullopt;
}

}  // namespace

// --- characters ---------------------------------------------------------------------------------

FormulaParser::FormulaParser(std::string_view text, FormulaLanguage& language)
    : language_(&language) {
  tree_.text = std::string(text);
  tree_.quoted = language.quoted();
  at_.text = text;
  at_.end = text.size();
}

std::string_view FormulaParser::rest_from(std::size_t position) const {
  return at_.text.substr(position, at_.end - position);
}

void FormulaParser::skip_blanks() {
  at_.position += blanks_at(rest_from(at_.position));
}

void FormulaParser::advance() {
  at_.token = next();
  if (failed_) at_.token = {.begin = at_.end, .end = at_.end, .text = {}};
}

FormulaToken FormulaParser::next() {
  skip_blanks();
  const std::size_t begin = at_.position;
  const std::string_view rest = rest_from(begin);
  FormulaToken token{.begin = begin, .end = begin, .text = {}};
  if (failed_ || rest.empty()) return token;
  if (is_digit(rest[0])) return digits();
  token.text = name_at(rest);
  token.kind = FormulaToken::Kind::name;
  if (token.text.empty()) {
    const std::size_t length = rest.starts_with("..") ? 2 : 1;
    if (length == 1 && std::string_view("+-*/%^(),=").find(rest[0]) == std::string_view::npos) {
      unexpected_character();
      return token;
    }
    token.kind = FormulaToken::Kind::symbol;
    token.text = rest.substr(0, length);
  }
  at_.position = token.end = begin + token.text.size();
  return token;
}

FormulaToken FormulaParser::digits() {
  FormulaToken token{.kind = FormulaToken::Kind::number, .begin = at_.position, .text = {}};
  extend_number(token, at_.position + number_length(rest_from(at_.position)));
  token.value = std::strtod(std::string(token.text).c_str(), nullptr);
  const std::string_view mantissa = token.text.substr(0, token.text.find_first_of("eE"));
  const bool vanished =
      token.value == 0 && mantissa.find_first_of("123456789") != std::string_view::npos;
  if (vanished || std::isinf(token.value)) {
    fail(token.begin, token.end, "overflow",
         quote(token.text) + " is too large or too small for a number");
    return token;
  }
  const std::string_view rest = rest_from(token.end);
  const std::size_t blank = rest.starts_with(' ') ? 1 : 0;
  const std::string_view name = name_at(rest.substr(blank));
  const bool is_name = is_defined(name) || formula_function(name);
  if (is_name)
    fail(token.begin, token.end + blank + name.size(), "syntax",
         "an operator is missing between " + quote(token.text) + " and " + quote(name),
         std::string(token.text) + "*" + std::string(name));
  else
    language_->number(*this, token);
  return token;
}

void FormulaParser::extend_number(FormulaToken& token, std::size_t end) {
  at_.position = token.end = end;
  token.text = at_.text.substr(token.begin, end - token.begin);
}

FormulaToken FormulaParser::raw_until(std::string_view stops) {
  const std::size_t begin = std::min(at_.token.end + blanks_at(rest_from(at_.token.end)), at_.end);
  const std::string_view rest = rest_from(begin);
  std::string_view raw = rest.substr(0, rest.find_first_of(stops));
  at_.position = begin + raw.size();
  while (!raw.empty() && is_blank(raw.back())) raw.remove_suffix(1);
  advance();
  return {.kind = FormulaToken::Kind::name, .begin = begin, .end = begin + raw.size(), .text = raw};
}

void FormulaParser::unexpected_character() {
  const std::size_t begin = at_.position;
  const std::string_view rest = rest_from(begin);
  const std::string_view character = rest.substr(0, character_length(rest));
  std::string message = quote(character) + " has no meaning in an expression";
  std::string suggestion, hint = "operators are + - * / % ^ and parentheses";
  for (const auto& [theirs, ours] : other_signs)
    if (rest.starts_with(theirs)) suggestion = ours;
  if (character == "." && rest.size() > 1 && is_digit(rest[1])) {
    message = "a number begins with a digit";
    hint = "write 0.5, not .5";
  }
  fail(begin, begin + character.size(), "syntax", message, suggestion, hint);
}

// --- definitions --------------------------------------------------------------------------------

void FormulaParser::find_definitions() {
  const std::string_view text = at_.text;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += (text[i] == '(' ? 1 : 0) - (text[i] == ')' ? 1 : 0);
    if (text[i] != ',' || depth != 0) continue;
    const std::size_t name_begin = i + 1 + blanks_at(text.substr(i + 1));
    const std::string_view name = name_at(text.substr(name_begin));
    std::size_t equals = name_begin + name.size();
    equals += blanks_at(text.substr(equals));
    if (name.empty() || !text.substr(equals).starts_with('=')) continue;
    auto& all = tree_.definitions;
    (all.empty() ? at_.end : all.back().end) = i;
    all.push_back({.name = std::string(name),
                   .name_begin = name_begin,
                   .begin = equals + 1,
                   .end = text.size()});
  }
}

void FormulaParser::check_definitions() {
  for (std::uint32_t i = 0; i < tree_.definitions.size() && !tree_.definitions[i].built_in; ++i) {
    const std::string name = tree_.definitions[i].name;
    const std::size_t begin = tree_.definitions[i].name_begin;
    const char* problem = own(name) == i ? " is defined, but not used" : " is defined twice";
    if (tree_.definitions[i].state == Definition::State::unread)
      fail(begin, begin + name.size(), "syntax", quote(name) + problem);
  }
}

std::optional<std::uint32_t> FormulaParser::own(std::string_view name) const {
  for (std::uint32_t i = 0; i < tree_.definitions.size() && !tree_.definitions[i].built_in; ++i)
    if (tree_.definitions[i].name == name) return i;
  return std::nullopt;
}

std::optional<std::size_t> FormulaParser::bound_at(std::string_view name) const {
  for (std::size_t i = scope_.size(); i-- > at_.scope;)
    if (tree_.bound[scope_[i].id] == name) return i;
  return std::nullopt;
}

bool FormulaParser::is_defined(std::string_view name) const {
  return own(name) || bound_at(name) || find_built_in(name);
}

// A name that is about to get a meaning has none yet.
void FormulaParser::must_be_free(std::string_view name, std::size_t begin) {
  const std::optional<std::uint32_t> definition = own(name);
  const bool is_other = definition && tree_.definitions[*definition].name_begin != begin;
  if (is_other || bound_at(name) || find_built_in(name) || formula_function(name) ||
      language_->knows(name))
    fail(begin, begin + name.size(), "syntax", quote(name) + " has a meaning already", {},
         "choose another name");
}

std::uint32_t FormulaParser::id_of_bound(std::string_view name) {
  const auto found = std::find(tree_.bound.begin(), tree_.bound.end(), name);
  const auto id = static_cast<std::uint32_t>(std::distance(tree_.bound.begin(), found));
  if (found == tree_.bound.end()) tree_.bound.emplace_back(name);
  return id;
}

// Definitions that are being read need what was bound around them.
void FormulaParser::note_use(std::size_t position) {
  const std::uint32_t id = scope_[position].id;
  for (const auto& [definition, bound_before] : being_read_) {
    auto& indices = tree_.definitions[definition].indices;
    if (position < bound_before && std::find(indices.begin(), indices.end(), id) == indices.end())
      indices.push_back(id);
  }
}

FormulaPart FormulaParser::bound_name(std::size_t position, const FormulaToken& token) {
  note_use(position);
  const Bound& bound = scope_[position];
  return emit(Kind::bound, {.begin = token.begin, .end = token.end, .units = bound.units},
              FormulaNode::none, FormulaNode::none, bound.id);
}

FormulaPart FormulaParser::use_of(std::uint32_t definition, const FormulaToken& token,
                                  std::uint32_t argument) {
  const std::string name = tree_.definitions[definition].name;
  if (tree_.definitions[definition].state == Definition::State::being_read)
    fail(token.begin, token.end, "syntax", quote(name) + " is defined by itself");
  if (tree_.definitions[definition].state == Definition::State::unread) {
    if (tree_.definitions[definition].built_in)
      read_built_in(definition, token);
    else
      read_own(definition);
  }
  for (const std::uint32_t id : tree_.definitions[definition].indices) {
    const std::string index = tree_.bound[id];
    const std::optional<std::size_t> position = bound_at(index);
    if (position)
      note_use(*position);
    else
      fail(token.begin, token.end, "syntax",
           quote(name) + " needs the index " + quote(index) + " of a sum around it");
  }
  FormulaPart part = tree_.definitions[definition].body;
  part.begin = token.begin;
  part.end = argument == FormulaNode::none ? token.end : at_.token.end;
  if (argument != FormulaNode::none) part.value.reset();
  return emit(Kind::defined, part, argument, FormulaNode::none, definition);
}

void FormulaParser::read_own(std::uint32_t definition) {
  Cursor from = at_;
  from.position = tree_.definitions[definition].begin;
  from.end = tree_.definitions[definition].end;
  must_be_free(tree_.definitions[definition].name, tree_.definitions[definition].name_begin);
  being_read_.emplace_back(definition, scope_.size());
  read_body(definition, from);
  being_read_.pop_back();
}

void FormulaParser::read_built_in(std::uint32_t definition, const FormulaToken& token) {
  const FormulaDefinition& from = formula_definitions()[*tree_.definitions[definition].built_in];
  const bool is_first = !blamed_;
  if (is_first) blamed_ = token;
  const std::size_t bound_before = scope_.size();
  if (!from.parameter.empty()) {
    tree_.definitions[definition].parameter = id_of_bound(from.parameter);
    scope_.push_back({tree_.definitions[definition].parameter, units_size});
  }
  const auto source = static_cast<std::uint32_t>(*tree_.definitions[definition].built_in + 1);
  read_body(definition,
            {.text = from.text, .end = from.text.size(), .source = source, .scope = bound_before});
  scope_.resize(bound_before);
  if (is_first) blamed_.reset();
}

void FormulaParser::read_body(std::uint32_t definition, const Cursor& from) {
  const Cursor before = std::exchange(at_, from);
  tree_.definitions[definition].state = Definition::State::being_read;
  advance();
  const FormulaPart body = sum();
  if (at_.token.kind != FormulaToken::Kind::end) unexpected("an operator");
  tree_.definitions[definition].body = body;
  tree_.definitions[definition].state = Definition::State::read;
  at_ = before;
  if (failed_) advance();
}

FormulaPart FormulaParser::built_in(std::size_t number, const FormulaToken& token) {
  const FormulaDefinition& called = formula_definitions()[number];
  std::uint32_t definition = 0;
  while (definition < tree_.definitions.size() && tree_.definitions[definition].built_in != number)
    ++definition;
  if (definition == tree_.definitions.size())
    tree_.definitions.push_back({.name = std::string(called.name), .built_in = number});
  if (called.parameter.empty()) return use_of(definition, token);
  advance();
  const FormulaPart argument = sum();
  must_be_number(argument);
  if (argument.units != units_size && !argument.zero)
    fail(argument.begin, argument.end, "dimension",
         std::string(token.text) + " takes a size, but " + quote(argument) + " is " +
             argument.units.description());
  if (!at_.token.is(")")) unexpected("\")\"");
  const FormulaPart part = use_of(definition, token, argument.node);
  advance();
  return part;
}

// --- the grammar --------------------------------------------------------------------------------

std::optional<FormulaTree> FormulaParser::parse() {
  const std::size_t size = at_.text.size();
  if (size > max_formula_bytes)
    fail(0, size, "too-long",
         concat("an expression has at most ", max_formula_bytes, " characters, this one has ",
                size));
  find_definitions();
  advance();
  if (at_.token.kind == FormulaToken::Kind::end) fail(0, size, "syntax", "the expression is empty");
  const FormulaPart all = sum();
  if (at_.token.is(")"))
    fail(at_.token.begin, at_.token.end, "syntax", "there is no \"(\" for this \")\"");
  if (at_.token.kind != FormulaToken::Kind::end) unexpected("an operator");
  check_definitions();
  if (failed_) return std::nullopt;
  tree_.root = all;
  return std::move(tree_);
}

bool FormulaParser::enter() {
  if (++depth_ <= max_formula_depth) return true;
  fail(at_.token.begin, at_.token.end, "too-long",
       concat("more than ", max_formula_depth, " levels of nesting"));
  return false;
}

FormulaPart FormulaParser::sum() {
  const bool is_whole = depth_ == 0;
  FormulaPart left{};
  if (enter()) {
    left = product();
    if (is_whole) tree_.summands.emplace_back(left, false);
    while (at_.token.is("+") || at_.token.is("-")) {
      const Kind kind = at_.token.is("+") ? Kind::add : Kind::subtract;
      advance();
      const FormulaPart right = product();
      if (is_whole) tree_.summands.emplace_back(right, kind == Kind::subtract);
      left = combined(kind, left, right);
    }
  }
  --depth_;
  return left;
}

FormulaPart FormulaParser::product() {
  FormulaPart left = signed_part();
  while (at_.token.is("*") || at_.token.is("/") || at_.token.is("%")) {
    if (at_.token.is("%")) {
      advance();
      left = combined(Kind::remainder, left, signed_part());
      continue;
    }
    const bool times = at_.token.is("*");
    advance();
    if (times && at_.token.is("*"))
      fail(at_.token.begin - 1, at_.token.end, "syntax", "a power is written ^", "^");
    const FormulaPart right = signed_part();
    must_be_number(left);
    must_be_number(right);
    const auto units = times ? left.units.times(right.units) : left.units.over(right.units);
    if (!units)
      fail(left.begin, right.end, "dimension",
           "the unit of " + quote(part_of_text(left.begin, right.end)) + " has too high a power");
    left = joined(times ? Kind::multiply : Kind::divide, left, right, units.value_or(Units{}));
  }
  return left;
}

FormulaPart FormulaParser::signed_part() {
  if (!at_.token.is("-") && !at_.token.is("+")) return power();
  const FormulaToken sign = at_.token;
  FormulaPart part{};
  if (enter()) {
    advance();
    part = signed_part();
    must_be_number(part);
    part.begin = sign.begin;
    if (sign.is("-")) {
      if (part.value) part.value = -*part.value;
      part = emit(Kind::negate, part, part.node);
    }
  }
  --depth_;
  return part;
}

FormulaPart FormulaParser::power() {
  FormulaPart base = primary();
  if (!at_.token.is("^")) return base;
  if (enter()) {
    advance();
    const FormulaPart exponent = signed_part();
    base = raised(base, exponent);
  }
  --depth_;
  return base;
}

FormulaPart FormulaParser::raised(const FormulaPart& base, const FormulaPart& exponent) {
  must_be_number(base);
  must_be_number(exponent);
  if (!exponent.units.none())
    fail(exponent.begin, exponent.end, "dimension",
         "the exponent " + quote(exponent) + " must be a plain number, but is " +
             exponent.units.description());
  Units units{};
  if (!base.units.none()) {
    if (!exponent.value) {
      fail(exponent.begin, exponent.end, "dimension",
           "the exponent of " + quote(base) + ", which is " + base.units.description() +
               ", must be a constant",
           {}, "otherwise the unit of the power would differ from row to row");
      return {};
    }
    const auto fraction = Exponent::from(*exponent.value);
    const auto power = fraction ? base.units.power(*fraction) : std::nullopt;
    if (!power)
      fail(exponent.begin, exponent.end, "dimension",
           "the exponent of " + quote(base) + ", which is " + base.units.description() +
               ", must be a simple number such as 2, -1 or 1/2");
    units = power.value_or(Units{});
  }
  return joined(Kind::power, base, exponent, units);
}

FormulaPart FormulaParser::primary() {
  if (at_.token.kind == FormulaToken::Kind::number) return number();
  if (at_.token.kind == FormulaToken::Kind::name) return name();
  if (!at_.token.is("(")) unexpected("a number, a name or \"(\"");
  const FormulaToken open = at_.token;
  advance();
  FormulaPart inner = sum();
  if (at_.token.kind == FormulaToken::Kind::end)
    fail(open.begin, open.end, "syntax", "there is no \")\" for this \"(\"");
  if (!at_.token.is(")")) unexpected("an operator or \")\"");
  inner.begin = open.begin;
  inner.end = at_.token.end;
  advance();
  return inner;
}

FormulaPart FormulaParser::number() {
  const FormulaToken token = at_.token;
  const FormulaPart part = emit(Kind::number, {.begin = token.begin,
                                               .end = token.end,
                                               .units = token.units,
                                               .zero = token.value == 0 && token.units.none(),
                                               .percent = token.percent,
                                               .value = token.value});
  advance();
  return part;
}

FormulaPart FormulaParser::name() {
  const FormulaToken token = at_.token;
  advance();
  if (at_.token.is("(")) return call(token);
  if (const auto position = bound_at(token.text)) return bound_name(*position, token);
  const std::optional<std::uint32_t> definition = at_.source == 0 ? own(token.text) : std::nullopt;
  if (definition) return use_of(*definition, token);
  const std::optional<std::size_t> ours = find_built_in(token.text);
  if (formula_function(token.text) || (ours && !formula_definitions()[*ours].parameter.empty()))
    fail(token.begin, token.end, "syntax",
         quote(token.text) + " is a function and needs its arguments in parentheses");
  if (ours) return built_in(*ours, token);
  const FormulaName name = language_->name(*this, token);
  return emit(Kind::name, {.begin = token.begin, .end = token.end, .units = name.units},
              FormulaNode::none, FormulaNode::none, name.id);
}

}  // namespace collsim
