"""Loading YAML in which a key given twice is a mistake: YAML itself would silently keep the last."""

from typing import Any

import yaml
import yaml.constructor

# libyaml where PyYAML was built with it: a hundred areas take a tenth of a second instead of a whole one.
_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


# The tag of ``<<``, which stands for keys and is none itself.
_MERGE = "tag:yaml.org,2002:merge"


class StrictLoader(_SafeLoader):
    """A safe loader; a mapping that names a key twice, or has a key that is no plain value, raises
    ``yaml.constructor.ConstructorError`` at its place."""

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
