# SPDX-License-Identifier: Apache-2.0
"""Just enough understanding of C++ for the lints: comments, strings, and where functions begin and end."""

import re

_TOKENS = re.compile(
    r"""
    (?P<line_comment>//[^\n]*)
  | (?P<block_comment>/\*.*?\*/)
  | (?P<raw_string>\b(?:u8|[uUL])?R"(?P<fence>[^()\\\s]{0,16})\(.*?\)(?P=fence)")
  | (?P<number>\b\d(?:'?[\w.])*)
  | (?P<string>"(?:\\.|[^"\\\n])*")
  | (?P<character>'(?:\\.|[^'\\\n])*')
    """,
    re.VERBOSE | re.DOTALL,
)


def without_comments_and_strings(text):
    """The same text, same line numbers, with comments, strings and characters emptied."""

    def blank(match):
        if match.lastgroup == "number":
            return match.group()
        lines = "\n" * match.group().count("\n")
        return {"string": '""', "character": "''"}.get(match.lastgroup, " ") + lines

    return _TOKENS.sub(blank, text)


def without_raw_strings(text):
    """The same text, same line numbers, with raw strings emptied: their lines are as long as they are."""

    def blank(match):
        return "\n" * match.group().count("\n") if match.lastgroup == "raw_string" else match.group()

    return _TOKENS.sub(blank, text)


def without_preprocessor(code):
    """Directives emptied, continued lines too: a macro's braces need not balance."""
    return re.sub(
        r"^[ \t]*#(?:\\\n|[^\n])*", lambda match: "\n" * match.group().count("\n"), code, flags=re.M
    )


_SCOPE = re.compile(r"^(?:inline\s+)?(?:namespace|class|struct|union|enum|extern)\b")


def _without_template_lists(head):
    while match := re.match(r"\s*template\s*<", head):
        depth, end = 1, match.end()
        while end < len(head) and depth:
            depth += {"<": 1, ">": -1}.get(head[end], 0)
            end += 1
        head = head[end:]
    return head


def _at_top_level(head):
    """The head without what stands in round brackets, which are left empty."""
    depth, kept = 0, []
    for character in head:
        depth -= character == ")"
        if depth == 0:
            kept.append(character)
        depth += character == "("
    return "".join(kept)


def _kind(head):
    """What the block after this text is: 'scope' (of more declarations), 'function' or 'data'."""
    head = re.sub(r"\[\[.*?\]\]|\balignas\s*\([^)]*\)", " ", head, flags=re.S)
    head = _without_template_lists(head).strip()
    outside = _at_top_level(head)
    if _SCOPE.match(head) and "(" not in outside:
        return "scope"
    if "(" not in outside or "=" in re.sub(r"\boperator\s*[^\s\w(]+", "", outside):
        return "data"
    return "function"


def functions(text):
    """(name, first line, last line) of every function defined in a source, lambdas inside included in theirs."""
    code = without_preprocessor(without_comments_and_strings(text))
    line, head, head_line = 1, "", None
    inner = 0  # depth inside a function or a table
    found, pending = [], None
    index = 0
    while index < len(code):
        character = code[index]
        index += 1
        if character == "\n":
            line += 1
        if inner:
            inner += {"{": 1, "}": -1}.get(character, 0)
            if inner == 0:
                # `Class() : a_{1}, b_{2} {`: the head goes on after a member's initial value.
                if re.match(r"\s*(?:\.\.\.\s*)?[,{]", code[index:]):
                    continue
                if pending:
                    found.append((pending[0], pending[1], line))
                head, head_line, pending = "", None, None
            continue
        if character == "{":
            kind = _kind(head)
            if kind == "scope":
                head, head_line = "", None
                continue
            if kind == "function" and pending is None:
                name = re.search(r"([~\w:]+|operator\s*\S+?)\s*\(", head)
                pending = (name.group(1) if name else "?", head_line)
            inner = 1
        elif character in ";}" and head.count("(") <= head.count(")"):
            head, head_line, pending = "", None, None
        elif character == ":" and re.fullmatch(r"\s*(?:public|private|protected)\s*", head):
            head, head_line = "", None
        else:
            head += character
            if head_line is None and not character.isspace():
                head_line = line
    return found
