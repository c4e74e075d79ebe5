"""Checksums of account and insurance numbers. Each gets a text and the place of the number in it, blanks included."""

import re


def digits_of(text: str, start: int, end: int) -> str:
    return re.sub(r"\D", "", text[start:end])


def iban_ok(text: str, start: int, end: int) -> bool:
    """ISO 13616: the first four characters moved to the end, letters as 10 to 35, the number is 1 modulo 97."""
    value = re.sub(r"[\s-]", "", text[start:end])
    if not 15 <= len(value) <= 34:
        return False
    return int("".join(str(int(c, 36)) for c in value[4:] + value[:4])) % 97 == 1


_RECURSIVE = (0, 9, 4, 6, 8, 2, 7, 1, 3, 5)


def recursive_ok(text: str, start: int, end: int) -> bool:
    """Modulo 10, recursive: the check digit of Swiss payment references (and of postal accounts written with all zeros)."""
    carry = 0
    digits = digits_of(text, start, end)
    for digit in digits[:-1]:
        carry = _RECURSIVE[(carry + int(digit)) % 10]
    return digits[-1:] == str((10 - carry) % 10)


def ahv_ok(text: str, start: int, end: int) -> bool:
    """EAN-13: weights 1 and 3 in turn, the sum is a multiple of ten."""
    digits = digits_of(text, start, end)
    return len(digits) == 13 and sum(int(d) * (3 if i % 2 else 1) for i, d in enumerate(digits)) % 10 == 0
