"""YAML that says two things at once, or not what its writer meant, is refused at its place."""

import pytest
import yaml
import yaml.constructor
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.strict_yaml import StrictLoader, TextKeysLoader, load_text_keys


@pytest.mark.parametrize("loader", [StrictLoader, TextKeysLoader])
@pytest.mark.parametrize(
    ("text", "complaint", "line"),
    [
        ("a: 1\nb: 2\na: 3\n", "'a' occurs twice", 3),
        ("x:\n  a: 1\n  'a': 2\n", "'a' occurs twice", 3),
        ("? [a]\n: 1\n", "a key must be a plain value", 1),
        ("x:\n  ? {a: 1}\n  : 1\n", "a key must be a plain value", 2),
    ],
)
def test_a_key_given_twice_or_of_several_values_is_refused_at_its_place(loader, text, complaint, line):
    with pytest.raises(yaml.constructor.ConstructorError, match=complaint) as raised:
        yaml.load(text, loader)
    assert raised.value.problem_mark.line + 1 == line


@pytest.mark.parametrize("bare", ["on", "no", "yes", "1", "1.5", "~", "2026-11-30"])
def test_a_bare_word_that_yaml_reads_as_something_else_is_no_text_key(bare):
    text = f"rule:\n  a: 0\n  {bare}: 1\n"
    assert len(yaml.load(text, StrictLoader)["rule"]) == 2
    with pytest.raises(
        yaml.constructor.ConstructorError, match=f"the key {bare} is read as .*put it in quotes"
    ) as raised:
        yaml.load(text, TextKeysLoader)
    assert raised.value.problem_mark.line == 2
    assert yaml.load(text.replace(f"{bare}:", f"'{bare}':"), TextKeysLoader) == {"rule": {"a": 0, bare: 1}}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"a: 1\nb: 2\na: 3\n", r"line 3, column 1: 'a' occurs twice"),
        (b"a: 1\nday: 2024-17-01\n", r"line 2, column 6: 2024-17-01: month must be in 1"),
        (
            b"a:\n  b: 1\n c: 2\n",
            r"line 3, column 2: did not find expected key \(while parsing a block mapping from line 1\); ",
        ),
        ("ä: b\nö: ".encode() + b"\xff\n", "^line 2, column 4: no UTF-8"),
        # Behind seven letters of two bytes each.
        ("ä: öööööö\nb: x\x07\n".encode(), r"^line 2, column 5: the character U\+0007 must not stand in YAML"),
        (b"a: 1\nb: !!int ''\n", r"^line 2, column 4: '' is no int$"),
        (b"a: !!float ''\n", r"^line 1, column 4: '' is no float$"),
        (b"a:\n  - !!bool x\n", r"^line 2, column 5: 'x' is no bool$"),
        (b"!!timestamp foo: 1\n", r"^line 1, column 1: 'foo' is no timestamp$"),
    ],
)
def test_what_cannot_be_read_is_told_by_its_place_alone(tmp_path, content, told):
    (tmp_path / "file.yaml").write_bytes(content)
    with pytest.raises(ValueError, match=told) as raised:
        load_text_keys(tmp_path / "file.yaml")
    assert "\n" not in str(raised.value)
    assert "unicode string" not in str(raised.value)


def test_merged_keys_stay_possible():
    text = "base: &base {a: 1, b: 2}\nmore:\n  <<: *base\n  b: 3\n"
    for loader in (StrictLoader, TextKeysLoader):
        assert yaml.load(text, loader)["more"] == {"a": 1, "b": 3}


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS, lambda inner: st.dictionaries(TEXTS, inner), max_leaves=8
)


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(TEXTS, VALUES))
def test_what_yaml_writes_with_text_keys_is_read_as_it_is(content):
    written = yaml.safe_dump(content, allow_unicode=True)
    assert yaml.load(written, StrictLoader) == yaml.load(written, TextKeysLoader) == content
