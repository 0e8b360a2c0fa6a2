"""SQL in a Python program: the texts that the program passes to ``sql``, ``execute`` and similar methods.

The analysis is static. A text is known if it is a constant, or made of constants by names, ``+``, f-strings,
``strip`` and ``dedent``. A name has the value of its last assignment; the value is unknown if it depends on a
condition, a loop or the caller.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

#: Methods whose first argument is SQL, and the keywords of this argument.
_RUNS: Final = frozenset({"sql", "execute", "executemany", "prepare"})
_TEXT: Final = frozenset({"sqlQuery", "operation", "text"})
#: Keywords of these methods other than ``{name}`` frames; among them the keywords for arguments.
_ARGUMENTS: Final = frozenset({"args", "parameters"})
_OPTIONS: Final = _TEXT | _ARGUMENTS | {"timeout", "seq_of_parameters"}
#: Methods that register a name with sqlfront, or with Spark.
_REGISTERS: Final = frozenset({"register"})
_VIEWS: Final = frozenset({"createOrReplaceTempView", "createTempView", "registerTempTable", "saveAsTable"})
#: Methods of texts, and functions of one text, that leave the SQL unchanged.
_SAME_SQL: Final = frozenset({"strip", "lstrip", "rstrip", "dedent"})

_LOOPS: Final = (ast.For, ast.AsyncFor, ast.While)


class PythonText(msgspec.Struct, frozen=True):
    """A SQL text that a program passes to a method in its ``line``. ``text`` None: the text is unknown, for
    the reason ``why``. ``lines``: whether the lines of the text are lines of the program, so that the text's
    first line is ``line``. ``arguments``: the known values of the text's parameters, by position or name."""

    line: int
    text: str | None
    why: str = ""
    lines: bool = False
    arguments: Mapping[int | str, object] = msgspec.field(default_factory=dict)


class PythonTexts(msgspec.Struct, frozen=True):
    """The SQL texts of a program, in the order of their lines, and the names of relations that the program
    makes by Python code: ``registered`` are views registered with sqlfront, ``views`` are views and tables of
    Spark."""

    texts: tuple[PythonText, ...]
    registered: frozenset[str]
    views: frozenset[str]


def python_texts(source: str) -> PythonTexts:
    r"""Return the SQL texts that a Python program runs, and the names of the relations that it makes. Raises
    SyntaxError if ``source`` is no Python program.

    >>> found = python_texts("q = 'SELECT 1'\nspark.sql(q)\nspark.sql(f'SELECT {x}')")
    >>> [(text.line, text.text) for text in found.texts]
    [(2, 'SELECT 1'), (3, None)]
    """
    tree = ast.parse(source)
    looking = _Program(tree)
    looking.block(tree.body, {})
    texts = tuple(sorted(looking.texts, key=lambda text: text.line))
    return PythonTexts(texts, frozenset(looking.registered), frozenset(looking.views))


class _Known(msgspec.Struct, frozen=True):
    """The known text of an expression. ``lines``: whether the text is a literal whose lines are lines of the
    program."""

    text: str
    lines: bool = False


#: The known texts of a scope's names; other names are unknown.
_Names = dict[str, _Known]


class _Program:
    """The analysis of a program, statement by statement, which collects the texts and names of
    :class:`PythonTexts`."""

    def __init__(self, tree: ast.Module) -> None:
        self.texts: list[PythonText] = []
        self.registered: set[str] = set()
        self.views: set[str] = set()
        #: Module names that are assigned once: functions may rely on the value.
        counts: dict[str, int] = {}
        for node in ast.walk(tree):
            for name in _targets(node):
                counts[name] = counts.get(name, 0) + 1
        self._constants: _Names = {}
        for statement in tree.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if counts[name] == 1:
                    known = self.text_of(value, self._constants)
                    if isinstance(known, _Known):
                        self._constants[name] = known
                case _:
                    pass
        self._sql = any(
            isinstance(node, ast.ImportFrom)
            and node.module == "sqlfront"
            and any(alias.name == "sql" and alias.asname is None for alias in node.names)
            for node in ast.walk(tree)
        )

    # ---- statements

    def block(self, statements: Sequence[ast.stmt], names: _Names) -> None:
        """Analyse ``statements`` one after another. ``names`` are the texts of the variables in this scope
        whose values are known; assignments change ``names``."""
        for statement in statements:
            self.statement(statement, names)

    def statement(self, statement: ast.stmt, names: _Names) -> None:
        """Collect the calls in one statement and in its inner statements, and change ``names`` by its
        assignments."""
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.block(statement.body, self._of_function(statement))
            case ast.ClassDef():
                self.block(statement.body, dict(names))
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.calls(value, names)
                _assign(names, name, self.text_of(value, names))
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self.calls(value, names)
                _assign(names, name, self.text_of(value, names))
            case _:
                self._other(statement, names)

    def _other(self, statement: ast.stmt, names: _Names) -> None:
        """Analyse a statement whose inner statements may run any number of times, such as ``if`` or ``for``.
        The variables that it assigns are unknown afterwards (except after ``with``, whose body runs once)."""
        changed = {name for node in ast.walk(statement) for name in _targets(node)}
        if isinstance(statement, _LOOPS):
            _forget(names, changed)
        for child in ast.iter_child_nodes(statement):
            if isinstance(child, ast.expr | ast.withitem):
                self.calls(child, names)
        for body in _bodies(statement):
            within = names if isinstance(statement, ast.With | ast.AsyncWith) else dict(names)
            self.block(body, within)
        if not isinstance(statement, ast.With | ast.AsyncWith):
            _forget(names, changed)

    def _of_function(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> _Names:
        """Return the texts of the variables that are known at the start of a function: the module's constants
        that no parameter hides."""
        given = function.args
        taken = {argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
        taken |= {argument.arg for argument in (given.vararg, given.kwarg) if argument is not None}
        return {name: known for name, known in self._constants.items() if name not in taken}

    # ---- expressions

    def calls(self, node: ast.AST, names: _Names) -> None:
        """Examine all calls in an expression, and collect those that run SQL. ``names``: what is known of the
        variables; a variable that the expression itself assigns, as a comprehension does, counts as
        unknown."""
        own = {name for part in ast.walk(node) for name in _targets(part)}
        names = {name: known for name, known in names.items() if name not in own} if own else names
        for part in ast.walk(node):
            if isinstance(part, ast.Call):
                self._call(part, names)

    def _call(self, call: ast.Call, names: _Names) -> None:
        match call.func:
            case ast.Attribute(attr=attribute):
                name = attribute
            case ast.Name(id="sql") if self._sql:
                name = "sql"
            case _:
                return
        if name in _REGISTERS | _VIEWS:
            for argument in call.args[:1]:
                known = self.text_of(argument, names)
                if isinstance(known, _Known):
                    (self.views if name in _VIEWS else self.registered).add(known.text)
        if name in _RUNS:
            given = [*call.args[:1], *(word.value for word in call.keywords if word.arg in _TEXT)]
            if given and not (isinstance(given[0], ast.Constant) and not isinstance(given[0].value, str)):
                self.texts.append(self._run(call, name, given[0], names))

    def _run(self, call: ast.Call, method: str, text: ast.expr, names: _Names) -> PythonText:
        known = self.text_of(text, names)
        if not isinstance(known, _Known):
            return PythonText(text.lineno, None, known)
        frames = [word.arg for word in call.keywords if word.arg not in _OPTIONS]
        if method == "sql" and frames and "{" in known.text:
            named = ", ".join("**" if name is None else f"{{{name}}}" for name in frames)
            return PythonText(text.lineno, None, f"the value of {named} isn't known before the program runs")
        return PythonText(text.lineno, known.text, lines=known.lines, arguments=_arguments(call))

    def text_of(self, node: ast.expr, names: _Names) -> "_Known | str":
        """Return the text of an expression, or the reason why the text is unknown, as a ``str``."""
        match node:
            case ast.Constant(value=str(text)):
                return _Known(text, _has_lines(node, text))
            case ast.Name(id=name) if name in names:
                return _Known(names[name].text)
            case ast.Name(id=name):
                return f"the value of `{name}` isn't known before the program runs"
            case ast.JoinedStr(values=parts):
                return self._joined(
                    parts, names, "the fields of the f-string aren't known before the program runs"
                )
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._joined(
                    [left, right], names, "a part of the text isn't known before the program runs"
                )
            case ast.Call(func=ast.Attribute(attr=name, value=text), args=[]) if name in _SAME_SQL:
                return self.text_of(text, names)
            case ast.Call(func=ast.Name(id="dedent") | ast.Attribute(attr="dedent"), args=[text]):
                return self.text_of(text, names)
            case _:
                return "the text isn't known before the program runs"

    def _joined(self, parts: Sequence[ast.expr], names: _Names, why: str) -> "_Known | str":
        texts = []
        for part in parts:
            match part:
                case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
                    known = self.text_of(value, names)
                case _:
                    known = self.text_of(part, names)
            if not isinstance(known, _Known):
                return why
            texts.append(known.text)
        return _Known("".join(texts))


def _assign(names: _Names, name: str, value: _Known | str) -> None:
    _forget(names, {name})
    if isinstance(value, _Known):
        names[name] = value


def _forget(names: _Names, changed: set[str]) -> None:
    for name in changed:
        names.pop(name, None)


def _targets(node: ast.AST) -> Iterator[str]:
    """Yield the names that the node assigns or binds, without those of inner nodes."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.alias(name=name, asname=asname):
            yield asname or name
        case ast.ExceptHandler(name=str(name)):
            yield name
        case _:
            pass


def _bodies(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the blocks of statements in a statement, such as the body and the ``else`` of a loop."""
    for field in ("body", "handlers", "orelse", "finalbody", "cases"):
        for part in (block := getattr(statement, field, [])):
            if isinstance(part, ast.ExceptHandler | ast.match_case):
                yield part.body
        if block and isinstance(block[0], ast.stmt):
            yield block


def _has_lines(node: ast.Constant, text: str) -> bool:
    """Return whether the constant spans several lines of the program, and each line of ``text`` is one of
    them."""
    return node.end_lineno is not None and node.end_lineno - node.lineno == text.count("\n") > 0


def _arguments(call: ast.Call) -> dict[int | str, object]:
    """Return the parameters' values that the call passes as constants, by position or name; other values are
    left out."""
    given = [*call.args[1:2], *(word.value for word in call.keywords if word.arg in _ARGUMENTS)]
    found: dict[int | str, object] = {}
    match given:
        case [ast.List(elts=items) | ast.Tuple(elts=items)]:
            pairs: list[tuple[object, ast.expr]] = list(enumerate(items))
        case [ast.Dict(keys=keys, values=items)]:
            pairs = [(_literal(key), item) for key, item in zip(keys, items, strict=True) if key is not None]
        case _:
            pairs = []
    for key, item in pairs:
        value = _literal(item)
        if isinstance(key, int | str) and value is not None:
            found[key] = value
    return found


def _literal(node: ast.expr) -> object:
    """Return the value of a constant expression; None for any other expression, and for the constant None."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        return None
