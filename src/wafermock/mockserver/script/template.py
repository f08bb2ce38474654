"""Templates: texts made of a request, in a part of Jinja2 that can neither harm nor hang.

A sandbox that lets templates call the methods of Python's own objects is a list of holes to be
closed. Here a template is of a small language, checked when a script is read: it sees JSON data
only, calls a few named functions and filters, and cannot reach an attribute of an object. What it
costs is counted as it runs: steps of loops, and characters and items that are made or gone over.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from .budget import Budget, TemplateError

# Characters of a template, and of what it may come to.
LONGEST_TEMPLATE = 65_536
LONGEST_OUTCOME = 262_144
# What grows beyond this number is an error, not minutes of arithmetic.
LARGEST_NUMBER = 10**15

_FILE = "<template>"
# Names with spaces in them: no template can write them.
_BUDGET = "the budget of this rendering"
_SYNTAX = "syntax: "


class Template:
    """A template, checked. Raises TemplateError for one that says what templates cannot say.

    `names` are those that a template may use; `render` gives them their values.
    """

    def __init__(self, source: str, names: Iterable[str]) -> None:
        self.source = source
        self._compiled = _compile(source, frozenset(names))

    def render(self, variables: Mapping[str, Any], words: Callable[[int], list[str]]) -> str:
        """Fill the template in. `words(n)` gives so many words. Raises TemplateError."""
        from jinja2 import TemplateError as JinjaError

        from .filters import whole

        budget = Budget()

        def drawn(count: Any = 1) -> str:
            return " ".join(words(max(budget.steps(whole(count)), 0)))

        made: list[str] = []
        length = 0
        try:
            for piece in self._compiled.generate({**variables, "words": drawn, _BUDGET: budget}):
                length += len(piece)
                if length > LONGEST_OUTCOME:
                    raise TemplateError(f"it comes to more than {LONGEST_OUTCOME} characters")
                made.append(piece)
        except TemplateError as error:
            raise TemplateError(error.message, _line(error)) from None
        except RecursionError:
            raise TemplateError("it goes too deep") from None
        except (JinjaError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise TemplateError(_sentence(error), _line(error)) from None
        return "".join(made)


def _line(error: BaseException) -> int | None:
    """Return the line of the template that an error comes from.

    Jinja2 rewrites the traceback so that the template's own lines stand in it.
    """
    line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == _FILE:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _sentence(error: BaseException) -> str:
    text = " ".join(str(getattr(error, "message", None) or error).split())
    return text[:500] or type(error).__name__


# ---------------------------------------------------------------------- the language

# What a template may be made of, by the names of Jinja2's nodes.
_ALLOWED = frozenset(
    """
    Template Output TemplateData For If Assign Name Const List Tuple Dict Pair Keyword
    Getattr Getitem Slice Filter Test Call Compare Operand And Or Not Neg Pos CondExpr Concat
    Add Sub Mul Div FloorDiv Mod
    """.split()  # noqa: SIM905 - a list of thirty quotes reads worse
)
_WORDS = {
    "AssignBlock": "{% set %} with a block; write {% set name = value %}",
    "Block": "blocks",
    "CallBlock": "{% call %}",
    "Extends": "{% extends %}",
    "FilterBlock": "{% filter %}; write {{ value | filter }}",
    "FromImport": "{% from %}",
    "Import": "{% import %}",
    "Include": "{% include %}",
    "Macro": "macros",
    "NSRef": "namespaces",
    "Pow": "powers",
    "Scope": "{% autoescape %}",
    "With": "{% with %}; write {% set name = value %}",
}
_LOOP = frozenset({"index", "index0", "first", "last", "length", "revindex", "revindex0"})


@cache
def _environment() -> Any:
    """Return the environment of all templates: JSON data, named filters, nothing else."""
    from jinja2 import StrictUndefined
    from jinja2.runtime import LoopContext
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    from .filters import FILTERS, FUNCTIONS, SYNTAX, TESTS, kind

    class Environment(ImmutableSandboxedEnvironment):
        """Data are JSON's: a name is a key, an item is an element, and no object has attributes."""

        intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%", "**"})

        def getattr(self, obj: Any, attribute: str) -> Any:
            return self.getitem(obj, attribute)

        def getitem(self, obj: Any, argument: Any) -> Any:
            if isinstance(obj, dict) and isinstance(argument, str) and argument in obj:
                return obj[argument]
            if isinstance(obj, list | tuple | str) and type(argument) is int:
                if -len(obj) <= argument < len(obj):
                    return obj[argument]
            elif type(obj) is LoopContext and argument in _LOOP:
                return getattr(obj, argument)
            if isinstance(obj, StrictUndefined):
                return obj  # what is missing is what was missing first
            return self.undefined(obj=obj, name=argument)

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            if operator == "+" and type(left) is type(right) and type(left) in (str, list):
                context[_BUDGET].work(left, right)
                return left + right
            for value in (left, right):
                if isinstance(value, bool) or not isinstance(value, int | float):
                    str(value)  # an undefined one says so
                    raise TypeError(f"{operator} takes numbers, not {kind(value)}")
            made = self.binop_table[operator](left, right)
            if abs(made) > LARGEST_NUMBER:
                raise TypeError(f"{operator} comes to more than {LARGEST_NUMBER}")
            return made

    class Missing(StrictUndefined):
        """What is not there; whoever uses it is told how to write what may be missing."""

        @property
        def _undefined_message(self) -> str:
            obj, name = self._undefined_obj, self._undefined_name
            if isinstance(obj, dict) and isinstance(name, str):
                hint = "`is defined` asks for it, `| default(…)` stands in"
                return f"there is no {name!r} in the mapping; {hint}"
            if isinstance(obj, list | tuple | str) and isinstance(name, int):
                return f"there is no item {name} in {kind(obj)} of {len(obj)}"
            return str(super()._undefined_message)

    environment = Environment(undefined=Missing, optimized=False, autoescape=False)
    environment.filters = {name: _counted(f, name) for name, f in FILTERS.items()}
    environment.filters |= {_SYNTAX + name: _counted(f) for name, f in SYNTAX.items()}
    environment.tests = dict(TESTS)
    environment.globals = {name: _counted(f) for name, f in FUNCTIONS.items()}
    return environment


def _counted(function: Callable[..., Any], name: str = "") -> Callable[..., Any]:
    """Give a filter or function the budget of the rendering it is called in."""
    from jinja2 import Undefined, pass_context

    @pass_context
    def called(context: Any, *arguments: Any, **named: Any) -> Any:
        if name != "default":  # what is not defined raises an error that says so
            arguments = tuple(str(a) if isinstance(a, Undefined) else a for a in arguments)
        return function(context[_BUDGET], *arguments, **named)

    return called


def _compile(source: str, names: frozenset[str]) -> Any:
    from jinja2 import TemplateSyntaxError

    if len(source) > LONGEST_TEMPLATE:
        raise TemplateError(f"longer than {LONGEST_TEMPLATE} characters")
    environment = _environment()
    try:
        tree = environment.parse(source)
        _check(tree, environment)
        _check_names(tree, names)
        code = environment.compile(_bounded(tree), filename=_FILE)
        return environment.template_class.from_code(environment, code, dict(environment.globals))
    except TemplateSyntaxError as error:
        raise TemplateError(_sentence(error), error.lineno) from None
    except (RecursionError, MemoryError):
        raise TemplateError("nested too deep") from None
    except (SyntaxError, ValueError, OverflowError) as error:  # of the Python it is compiled to
        raise TemplateError(f"not a template that can be compiled: {_sentence(error)}") from None


def _check(tree: Any, environment: Any) -> None:
    """Refuse what is not of the language."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        wrong = _wrong(node, environment)
        if wrong:
            raise TemplateError(wrong, node.lineno)
        waiting.extend(node.iter_child_nodes())


def _check_names(tree: Any, names: frozenset[str]) -> None:
    """Refuse names that neither the request nor the template gives a value."""
    from jinja2 import nodes
    from jinja2.meta import find_undeclared_variables

    known = {*names, "words", *_environment().globals}
    undeclared = find_undeclared_variables(tree) - known
    for node in tree.find_all(nodes.Name):
        if node.name in undeclared:
            raise TemplateError(_unknown("name", node.name, known), node.lineno)


def _wrong(node: Any, environment: Any) -> str:
    """Say what is wrong with a part of a template; empty where nothing is."""
    from jinja2 import nodes

    kind = type(node).__name__
    if kind not in _ALLOWED:
        return f"templates have no {_WORDS.get(kind, kind)}"
    if isinstance(node, nodes.For) and node.recursive:
        return "templates have no recursive loops"
    if isinstance(node, nodes.Filter | nodes.Test | nodes.Call) and (
        node.dyn_args is not None or node.dyn_kwargs is not None
    ):
        return "templates have no * and ** arguments"
    if isinstance(node, nodes.Filter):
        return _unknown("filter", node.name, environment.filters)
    if isinstance(node, nodes.Test):
        return _unknown("test", node.name, environment.tests)
    if isinstance(node, nodes.Call):
        if not isinstance(node.node, nodes.Name):
            return "templates have no methods; use a filter, as {{ text | upper }}"
        return _unknown("function", node.node.name, [*environment.globals, "words"])
    return ""


def _unknown(what: str, name: str, known: Iterable[str]) -> str:
    if name in known:
        return ""
    from .names import unknown

    return unknown(what, name, [k for k in known if not k.startswith(_SYNTAX)])


def _bounded(tree: Any) -> Any:
    """Put what counts the cost into a tree: loops, slices, comparisons, joined and shown values.

    Jinja2 compiles these to Python's own, past the environment.
    """
    from jinja2 import nodes
    from jinja2.visitor import NodeTransformer

    def counted(name: str, *arguments: Any) -> Any:
        filter = nodes.Filter(arguments[0], _SYNTAX + name, list(arguments[1:]), [], None, None)
        return filter.set_lineno(arguments[0].lineno)

    class Bounding(NodeTransformer):
        def visit_For(self, node: Any) -> Any:
            self.generic_visit(node)
            node.iter = counted("over", node.iter)
            return node

        def visit_Getitem(self, node: Any) -> Any:
            self.generic_visit(node)
            if not isinstance(node.arg, nodes.Slice):
                return node
            ends = (node.arg.start, node.arg.stop, node.arg.step)
            return counted("slice", node.node, *(end or nodes.Const(None) for end in ends))

        def visit_Concat(self, node: Any) -> Any:
            self.generic_visit(node)
            return counted("concat", nodes.List(node.nodes, lineno=node.lineno))

        def visit_Compare(self, node: Any) -> Any:
            self.generic_visit(node)
            node.expr = counted("seen", node.expr)
            for operand in node.ops:
                operand.expr = counted("seen", operand.expr)
            return node

        def visit_Output(self, node: Any) -> Any:
            self.generic_visit(node)
            node.nodes = [
                part if isinstance(part, nodes.TemplateData) else counted("shown", part)
                for part in node.nodes
            ]
            return node

    bounded = Bounding().visit(tree)
    bounded.set_environment(_environment())
    return bounded
