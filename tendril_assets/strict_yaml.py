"""Loading YAML in which a key given twice is a mistake: YAML itself would silently keep the last."""

from typing import Any

import yaml
import yaml.constructor

# libyaml where PyYAML was built with it: a hundred areas take a tenth of a second instead of a whole one.
_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class StrictLoader(_SafeLoader):
    """A safe loader; a mapping that names a key twice raises ``yaml.constructor.ConstructorError`` at its place."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{key.value!r} occurs twice", key.start_mark)
            seen.add(key.value if isinstance(key.value, str) else str(key.value))
        return super().construct_mapping(node, deep=deep)
