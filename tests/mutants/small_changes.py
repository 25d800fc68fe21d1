"""Small wrong changes of source code: where they can be made, and the text with one of them made.

A change is the kind of slip that reviewers overlook: < for <=, + for -, one more, the other axis, `not` left out. Left
out is what no test of results could notice, or need not:

- rendering: the files of `RENDERING`, and f-strings everywhere;
- the texts of errors: what stands in `raise …` (the condition before it counts), and `note(…)`;
- docstrings, type annotations, and what stands in `if TYPE_CHECKING`;
- what is only about speed: `SPEED_FILES`, `SPEED_NAMES`, and the arguments of `SPEED_CALLS`;
- models of other libraries (`ELSEWHERE`), and numbers copied out of papers (`PUBLISHED`);
- compiled kernels (`COMPILED`), unless they are asked for: a change of one compiles all of them anew, which takes
  minutes. Their plain twins, with which tests compare them to the bit, count;
- options of `@dataclass`, which say how records may be used, and `assert`, which speaks to the type checker.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

RENDERING = (
    "render/*", "charts/*", "progress.py", "pictures.py", "errors.py", "*/render*.py", "*/sentences.py",
    "report/html_*.py", "report/pages.py", "report/terminal.py", "report/table_cells.py", "report/repeats.py",
    "report/origin.py", "papers/page.py", "papers/drawing.py", "papers/write.py", "papers/labelled_points.py",
    "design/picture.py",
)  # fmt: skip
# Files that decide whether kernels are compiled, loaded from disk or given to several threads, and how data is fetched.
SPEED_FILES = (
    "memory.py", "kernels/__init__.py", "kernels/compiled.py", "kernels/jit.py", "kernels/kernel_cache.py",
    "kernels/extract_code.py", "kernels/machine_code.py", "kernels/threads.py", "kernels/fetching.py",
    "kernels/cache_folder.py", "cli/ahead.py",
)  # fmt: skip
PUBLISHED = ("papers/*/authors.py",)  # numbers copied out of papers: a test could only hold a second copy
ELSEWHERE = ("recommenders/adapters/*",)  # tested in an environment of its own (make test-adapters)
# Kernels: those of `[tool.coverage.run] omit` in pyproject.toml, where no line is seen to run either.
COMPILED = (
    "kernels/als.py", "kernels/aspects.py", "kernels/buckets.py", "kernels/draws.py", "kernels/greedy.py",
    "kernels/interest.py", "kernels/item_pairs.py", "kernels/library_order.py", "kernels/loops/*.py",
    "kernels/neighbours.py",
    "kernels/ordering.py", "kernels/ranking.py", "kernels/sampling.py", "kernels/svdpp.py", "kernels/topics.py",
    "kernels/world_fit.py",
)  # fmt: skip
# Sizes of pieces of work, and of those that files are read in; with others the same bits come out.
SPEED_NAMES = {
    "BLOCK", "_BLOCK", "_TOGETHER", "_AT_ONCE", "PIECE", "PRODUCT_ROWS", "LARGE_PRODUCT", "MOST_ROWS", "MOST_SCORES",
    "TRIED_FOR", "PART_ROWS", "_PRODUCT", "_RESAMPLES", "_WIDEST", "SMALL", "COUNTED", "LANES", "CHUNK", "GATHERED",
    "_BLOCK_BITS", "_MARKING", "SHORT", "_DEAR", "BUCKETS", "LIMIT", "_USER_BYTES",
}  # fmt: skip
SPEED_CALLS = {"blocks", "choose", "lru_cache", "load_compiler", "in_order", "user_blocks", "read"}
_QUIET_CALLS = {"note", "warn", "TypeVar", "NewType", "cast"}

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_CALCULATED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
_CALLED = {
    "min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any",
    "floor": "ceil", "ceil": "floor", "argmin": "argmax", "argmax": "argmin", "any_horizontal": "all_horizontal",
    "all_horizontal": "any_horizontal", "first": "last", "last": "first",
}  # fmt: skip


@dataclass(frozen=True)
class Change:
    """One place in a file and what stands there instead."""

    path: str  # from the folder of the package
    line: int
    begin: int  # bytes of the file
    end: int
    old: str
    new: str
    body: bool  # whether the line runs when a function is called, rather than when the module is imported

    def made(self, source: bytes) -> bytes:
        """The file with the change; the lines below keep their numbers."""
        lost = source[self.begin : self.end].count(b"\n")
        inner = self.new.encode()
        if lost:
            inner = inner[:-1] + b"\n" * lost + inner[-1:]  # inside the last parenthesis
        return source[: self.begin] + inner + source[self.end :]


def is_left_out(path: str, *, kernels: bool = False) -> bool:
    """Whether a file of the package is rendering, about speed alone, or tested in another environment.

    >>> is_left_out("charts/scatter.py"), is_left_out("online/ab/render.py"), is_left_out("online/ab/analysis.py")
    (True, True, False)
    """
    forms = (*RENDERING, *SPEED_FILES, *PUBLISHED, *ELSEWHERE, *(() if kernels else COMPILED))
    return any(fnmatch(path, form) for form in forms)


def not_counted(package: Path) -> dict[str, tuple[int, int]]:
    """By reason, how many files of a package are left out, and how many changes could be made there."""
    reasons = {
        "rendering": RENDERING, "speed alone": SPEED_FILES, "copied out of papers": PUBLISHED,
        "models of other libraries": ELSEWHERE, "compiled kernels": COMPILED,
    }  # fmt: skip
    found = dict.fromkeys(reasons, (0, 0))
    for file in sorted(package.rglob("*.py")):
        path = file.relative_to(package).as_posix()
        reason = next((why for why, forms in reasons.items() if any(fnmatch(path, form) for form in forms)), None)
        if reason:
            files, changes = found[reason]
            found[reason] = (files + 1, changes + len(changes_in(path, file.read_bytes())))
    return found


def changes_in(path: str, source: bytes) -> list[Change]:
    """All changes that can be made in a file, in the order of the text."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for node, new, body in _walk(ast.parse(source), body=False):
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        old = source[begin:end].decode()
        found.append(Change(path, node.lineno, begin, end, old, new, body))
    return sorted(found, key=lambda change: (change.begin, change.end, change.new))


def all_changes(package: Path, *, kernels: bool = False) -> list[Change]:
    """The changes of all files that are not left out."""
    found = []
    for file in sorted(package.rglob("*.py")):
        path = file.relative_to(package).as_posix()
        if not is_left_out(path, kernels=kernels):
            found += changes_in(path, file.read_bytes())
    return found


def sample(changes: list[Change], number: int, seed: int) -> list[Change]:
    """Some of the changes, each place as likely as any other."""
    return random.Random(f"small changes {seed}").sample(changes, min(number, len(changes)))


def _walk(node: ast.AST, *, body: bool) -> Iterator[tuple[ast.expr | ast.stmt, str, bool]]:
    """Every node that can be changed, with its new text."""
    if isinstance(node, ast.expr | ast.stmt):
        for new in _altered(node):
            yield node, new, body
    inside = body or isinstance(node, ast.Lambda)
    for child, in_body in _children(node, inside):
        yield from _walk(child, body=in_body)


def _children(node: ast.AST, body: bool) -> Iterator[tuple[ast.AST, bool]]:
    """What is looked at inside a node, and whether it runs when a function is called."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        for part in (*node.decorator_list, *node.args.defaults, *(d for d in node.args.kw_defaults if d)):
            yield part, body
        for part in node.body:
            yield part, True
    elif isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom):
        return
    elif isinstance(node, ast.AnnAssign):
        if node.value and not _is_speed(node.target):
            yield node.value, body
    elif isinstance(node, ast.Assign) and any(_is_speed(target) for target in node.targets):
        return
    elif isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "__name__ == '__main__'"):
        for part in node.orelse:
            yield part, body
    elif isinstance(node, ast.ClassDef):
        for part in (*node.decorator_list, *node.body):
            if not ast.unparse(part).startswith("dataclass"):
                yield part, body
    elif isinstance(node, ast.Call) and _name(node.func) in SPEED_CALLS | _QUIET_CALLS:
        return
    elif isinstance(node, ast.Call) and _name(node.func) in ("isinstance", "issubclass"):
        yield node.args[0], body
    elif isinstance(node, ast.keyword) and node.arg == "repr":
        return
    else:
        for part in ast.iter_child_nodes(node):
            yield part, body


def _is_speed(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) and target.id in SPEED_NAMES


def _name(function: ast.expr) -> str:
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


def _altered(node: ast.expr | ast.stmt) -> Iterator[str]:
    """The texts that a node can be replaced by; expressions in parentheses, so that they stay one."""
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            operators = [*node.ops[:place], _COMPARED[type(operator)](), *node.ops[place + 1 :]]
            yield _text(ast.Compare(node.left, operators, node.comparators))
    elif isinstance(node, ast.BinOp):
        if type(node.op) in _CALCULATED and not (_is_text(node.left) or _is_text(node.right)):
            yield _text(ast.BinOp(node.left, _CALCULATED[type(node.op)](), node.right))
    elif isinstance(node, ast.BoolOp):
        other = ast.And if isinstance(node.op, ast.Or) else ast.Or
        yield _text(ast.BoolOp(other(), node.values))
    elif isinstance(node, ast.UnaryOp) and not isinstance(node.operand, ast.Constant):
        if isinstance(node.op, ast.Not | ast.USub | ast.Invert):
            yield _text(node.operand)
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield str(not node.value)
        elif isinstance(node.value, int):
            yield str(1 - node.value if node.value in (0, 1) else node.value + 1)
            if node.value == 1:
                yield "2"
        elif isinstance(node.value, float):
            yield repr(node.value * 2 if node.value else 1.0)
    elif isinstance(node, ast.Call):
        function = node.func
        if isinstance(function, ast.Name) and function.id in _CALLED:
            yield _text(ast.Call(ast.Name(_CALLED[function.id]), node.args, node.keywords))
        elif isinstance(function, ast.Attribute) and function.attr in _CALLED:
            yield _text(ast.Call(ast.Attribute(function.value, _CALLED[function.attr]), node.args, node.keywords))
        for place, option in enumerate(node.keywords):
            side = option.value
            if option.arg == "side" and isinstance(side, ast.Constant) and side.value in ("left", "right"):
                other_side = ast.keyword("side", ast.Constant("left" if side.value == "right" else "right"))
                keywords = [*node.keywords[:place], other_side, *node.keywords[place + 1 :]]
                yield _text(ast.Call(function, node.args, keywords))
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        cut = node.slice
        if cut.upper and not isinstance(cut.upper, ast.Constant | ast.UnaryOp):
            less = ast.Slice(cut.lower, ast.BinOp(cut.upper, ast.Sub(), ast.Constant(1)), cut.step)
            yield _text(ast.Subscript(node.value, less))
    elif isinstance(node, ast.AugAssign):
        if type(node.op) in _CALCULATED and not _is_text(node.value):
            yield ast.unparse(ast.AugAssign(node.target, _CALCULATED[type(node.op)](), node.value))
    elif isinstance(node, ast.Break):
        yield "continue"
    elif isinstance(node, ast.Continue):
        yield "break"


def _text(node: ast.expr) -> str:
    return f"({ast.unparse(node)})"


def _is_text(node: ast.expr) -> bool:
    """Texts, lists and types cannot be subtracted: the change would stop at once, and say nothing about tests."""
    constant = isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, str))
    if isinstance(node, ast.Name) and node.id in ("int", "float", "str", "bool", "list", "tuple", "dict", "bytes"):
        return True
    return constant or isinstance(node, ast.JoinedStr | ast.List | ast.Tuple | ast.ListComp | ast.Set | ast.Dict)
