"""What counts as a definition in each language tree-sitter reads here; sectioner_code.py says how a file is cut."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from rag_pipeline.errors import MissingExtra

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


@dataclass(frozen=True, slots=True)
class Grammar:
    module: str
    """Python module of the grammar."""
    definitions: frozenset[str]
    """Node types that are sections of their own."""
    containers: frozenset[str] = frozenset()
    """Definitions whose body holds definitions: classes, namespaces."""
    wrappers: frozenset[str] = frozenset()
    """Nodes that stand around a definition: decorators, `export`, an SQL statement."""
    passages: frozenset[str] = frozenset()
    """Nodes that are only a way to the next level: YAML's stream and document."""
    entry: str = "language"
    name: Callable[["Node"], str] = lambda node: _field(node, "name")


def _field(node: "Node", name: str) -> str:
    found = node.child_by_field_name(name)
    return _text(found) if found is not None else ""


def _text(node: "Node") -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _declared(node: "Node") -> str:
    """`const name = () => ...` has its name one level down."""
    own = _field(node, "name")
    if own:
        return own
    return next((_field(c, "name") for c in node.named_children if c.type == "variable_declarator"), "")


def _created(node: "Node") -> str:
    """`CREATE TABLE a.b`: the statement's keywords up to the name it creates."""
    words = []
    for child in node.children:
        if child.type.startswith("keyword_"):
            word = _text(child).upper()
            if word not in ("OR", "REPLACE", "IF", "NOT", "EXISTS"):
                words.append(word)
        elif child.type in ("object_reference", "identifier"):
            return " ".join([*words, _text(child)])
    return " ".join(words)


def _key(node: "Node") -> str:
    return _field(node, "key")


_SCRIPT = Grammar(
    "tree_sitter_javascript",
    frozenset(
        {
            "function_declaration",
            "generator_function_declaration",
            "class_declaration",
            "abstract_class_declaration",
            "method_definition",
            "lexical_declaration",
            "interface_declaration",
            "type_alias_declaration",
            "enum_declaration",
            "internal_module",
            "module",
        }
    ),
    containers=frozenset({"class_declaration", "abstract_class_declaration", "internal_module", "module"}),
    wrappers=frozenset({"export_statement", "ambient_declaration", "expression_statement"}),
    name=_declared,
)
_SQL_CREATES = ("table", "view", "materialized_view", "function", "procedure", "index", "trigger", "type", "schema")

GRAMMARS: dict[str, Grammar] = {
    "python": Grammar(
        "tree_sitter_python",
        frozenset({"function_definition", "class_definition"}),
        containers=frozenset({"class_definition"}),
        wrappers=frozenset({"decorated_definition"}),
    ),
    "javascript": _SCRIPT,
    "typescript": Grammar(
        "tree_sitter_typescript",
        _SCRIPT.definitions,
        _SCRIPT.containers,
        _SCRIPT.wrappers,
        entry="language_typescript",
        name=_declared,
    ),
    "tsx": Grammar(
        "tree_sitter_typescript",
        _SCRIPT.definitions,
        _SCRIPT.containers,
        _SCRIPT.wrappers,
        entry="language_tsx",
        name=_declared,
    ),
    "bash": Grammar("tree_sitter_bash", frozenset({"function_definition"})),
    "sql": Grammar(
        "tree_sitter_sql",
        frozenset(f"create_{what}" for what in _SQL_CREATES),
        wrappers=frozenset({"statement"}),
        name=_created,
    ),
    "yaml": Grammar(
        "tree_sitter_yaml",
        frozenset({"block_mapping_pair"}),
        passages=frozenset({"stream", "document", "block_node", "block_mapping"}),
        name=_key,
    ),
}


@cache
def code_parser(language: str) -> "Parser":
    """Raises MissingExtra where tree-sitter or the grammar is not installed."""
    grammar = GRAMMARS[language]
    try:
        from tree_sitter import Language, Parser

        module = import_module(grammar.module)
    except ImportError:
        raise MissingExtra(grammar.module.replace("_", "-"), "build") from None
    return Parser(Language(getattr(module, grammar.entry)()))
