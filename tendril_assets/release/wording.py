"""How cards and reports write numbers, names and tables."""

from collections.abc import Iterable, Sequence
from decimal import Decimal

_NBSP = "\u00a0"
_NAMES = {
    "ndcg": "nDCG",
    "mrr": "MRR",
    "recall": "Recall",
    "p": "P",
    "judged": "Judged",
    "map": "MAP",
    "bm25": "BM25",
    "all": "All levels",
    "kappa": "Cohen's κ",
    "kappa_quadratic": "Cohen's κ, quadratic weights",
    "alpha": "Krippendorff's α",
    "graded": "0/1/2",
    "binary": "relevant or not",
    "judge_vs_curated": "judge against curated labels",
    "annotators": "human annotators among themselves",
    "annotators_and_judge": "human annotators and the judge as one more",
    "annotator_vs_curated": "annotator against curated labels",
    "annotator_vs_annotator": "two annotators",
}


def named(key: str) -> str:
    """A key of the tables in the reader's words: ``area_of_action`` is "Area of action", ``ndcg@10`` is "nDCG@10"."""
    head, at, cut = key.partition("@")
    if at:
        return f"{_NAMES.get(head, head)}@{cut}"
    if key in _NAMES:
        return _NAMES[key]
    text = key.replace("_", " ")
    return text[:1].upper() + text[1:]


def system_name(system: str) -> str:
    """``mini_tuned`` is "mini, fine-tuned"; ``mini_base`` is "mini, base"; ``bm25`` is "BM25"."""
    for ending, word in (("_tuned", "fine-tuned"), ("_base", "base")):
        if system.endswith(ending):
            return f"{system.removesuffix(ending)}, {word}"
    return named(system)


def plural(n: int, noun: str) -> str:
    """``1 query``, ``1,041 queries``."""
    if n == 1:
        return f"1 {noun}"
    if noun.endswith("ss"):
        return f"{n:,} {noun}es"
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{n:,} {noun[:-1]}ies"
    return f"{n:,} {noun}s"


def share(part: float, whole: float) -> str:
    """Percentage with a digit that says something: 92 %, 1.3 %, < 0.1 %; "-" of nothing. The space does not break."""
    if not whole:
        return "-"
    percent = 100 * part / whole
    if 0 < percent < 0.1:
        return f"< 0.1{_NBSP}%"
    return f"{percent:.1f}{_NBSP}%" if 0 < percent < 10 else f"{percent:.0f}{_NBSP}%"


def figure(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def signed(value: float | None, digits: int = 3) -> str:
    """Differences carry their sign, with a true minus."""
    if value is None:
        return "-"
    text = f"{abs(value):.{digits}f}"
    if float(text) == 0:
        return text
    return ("+" if value > 0 else "−") + text


def interval(low: float | None, high: float | None, digits: int = 3, *, sign: bool = False) -> str:
    """``[0.596, 0.690]``; empty where there is none."""
    if low is None or high is None:
        return ""
    write = signed if sign else figure
    return f"[{write(low, digits)}, {write(high, digits)}]"


def spread(values: Sequence[float], digits: int = 3) -> str:
    """``0.48-0.53``, or one figure where both ends are written alike."""
    low, high = figure(min(values), digits), figure(max(values), digits)
    return low if low == high else f"{low}-{high}"


def scientific(value: float) -> str:
    """Small figures as they are said: ``1e-5``, ``2.5e-6``, ``0.01``."""
    mantissa, mark, exponent = f"{value:g}".partition("e")
    return f"{mantissa}e{int(exponent)}" if mark else mantissa


def certainty(confidence: float) -> str:
    """The confidence of an interval: ``95 %``, ``99.5 %``."""
    return f"{100 * confidence:.6g} %"


def p_value(p: float | None) -> str:
    if p is None:
        return "-"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def large(n: int) -> str:
    """Counts that are read for their size: exact below a million, ``3.58 M``, ``1,204 M`` above."""
    millions = n / 1e6
    return f"{n:,}" if n < 1_000_000 else f"{millions:,.{2 if millions < 10 else 1 if millions < 100 else 0}f}{_NBSP}M"


def usd(amount: Decimal | float) -> str:
    """Money to the cent, below a dollar to the hundredth of a cent."""
    return f"USD {amount:,.2f}" if amount >= 1 or amount == 0 else f"USD {amount:.4f}"


def listed(items: Sequence[str], last: str = "and") -> str:
    """``a, b and c``."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {last} {items[-1]}"


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[object]], *, figures: bool = True) -> str:
    """A pipe table; with ``figures`` columns after the first are right-aligned. Pipes and line ends in cells are escaped."""

    def cell(value: object) -> str:
        return str(value).replace("|", "\\|").replace("\n", " ")

    lines = [
        "| " + " | ".join(header) + " |",
        "|---|" + ("---:|" if figures else "---|") * (len(header) - 1),
        *("| " + " | ".join(cell(v) for v in row) + " |" for row in rows),
    ]
    return "\n".join(lines)
