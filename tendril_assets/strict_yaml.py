"""Loading YAML in which a key given twice is a mistake: YAML itself would silently keep the last."""

from pathlib import Path
from typing import Any

import yaml
import yaml.constructor
import yaml.parser
import yaml.reader
import yaml.scanner

# libyaml where PyYAML was built with it: a hundred areas take a tenth of a second instead of a whole one.
_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


# The tag of ``<<``, which stands for keys and is none itself.
_MERGE = "tag:yaml.org,2002:merge"


class StrictLoader(_SafeLoader):
    """A safe loader; a mapping that names a key twice or has a key that is no plain value, and a date that is none, raise
    ``yaml.constructor.ConstructorError`` at their place."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep=deep)
        except ValueError as error:  # from Python's own date or number, without the place
            raise yaml.constructor.ConstructorError(None, None, f"{node.value}: {error}", node.start_mark) from error
        except (LookupError, AttributeError) as error:  # what PyYAML trips over where a tag such as !!int forces a type
            problem = f"{node.value!r} is no {node.tag.rpartition(':')[2]}"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark) from error

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(None, None, "a key must be a plain value", key.start_mark)
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{key.value!r} occurs twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


class TextKeysLoader(StrictLoader):
    """A strict loader for files whose keys are texts: a bare ``on``, ``no`` or ``1`` is read as something else, and raises
    ``yaml.constructor.ConstructorError`` at its place."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        for key, _ in node.value:
            is_read = isinstance(key, yaml.ScalarNode) and key.tag != _MERGE
            read = self.construct_object(key) if is_read else ""
            if not isinstance(read, str):
                problem = f"the key {key.value} is read as {read!r}, which is no text: put it in quotes"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
        return super().construct_mapping(node, deep=deep)


def yaml_problem(error: yaml.YAMLError, text: str) -> str:
    """Where in ``text`` and what, in one line, without a name for the file: ``line 3, column 5: 'a' occurs twice``."""
    if isinstance(error, yaml.reader.ReaderError):
        character = error.character if isinstance(error.character, str) else chr(error.character)
        # Its position counts bytes with libyaml and characters without; the first such character is where reading ended.
        at = _place_after(text[: text.index(character)])
        return f"{at}: the character U+{ord(character):04X} must not stand in YAML: {error.reason}"
    if not isinstance(error, yaml.MarkedYAMLError):
        return " ".join(str(error).split())
    mark = error.problem_mark or error.context_mark
    at = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    begun = f" from line {error.context_mark.line + 1}" if error.context_mark else ""
    context = f" ({error.context}{begun})" if error.context and error.problem else ""
    hint = "; look at the indentation, and for a missing colon or bracket" if _is_syntax(error) else ""
    return f"{at}{error.problem or error.context}{context}{hint}"


def _place_after(text: str) -> str:
    """The place of what follows ``text`` at the beginning of a file."""
    lines = text.split("\n")
    return f"line {len(lines)}, column {len(lines[-1]) + 1}"


def _is_syntax(error: yaml.YAMLError) -> bool:
    return isinstance(error, yaml.parser.ParserError | yaml.scanner.ScannerError)


def load_text_keys(path: Path) -> Any:
    """The content of a file whose keys are texts.

    Raises:
        OSError: the file cannot be opened.
        ValueError: it is no UTF-8 or no YAML, or names a key twice; the message begins with line and column.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        at = _place_after(error.object[: error.start].decode("utf-8"))
        raise ValueError(f"{at}: no UTF-8; save the file as UTF-8") from error
    try:
        return yaml.load(text, TextKeysLoader)
    except yaml.YAMLError as error:
        raise ValueError(yaml_problem(error, text)) from error
