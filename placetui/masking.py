"""Secrets in command lines, entrypoints and scripts: masked before anybody sees, records or sends them.

What looks like a password, a key or a token by its name or by its form becomes `***`. References to variables stay, so
that a script remains readable, and so do words that only sound secret: `--eos-token`, `--input-key`, `--max-tokens`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

MASK = "***"

_NAME = r"(?<![\w$])[-+~]{0,3}[A-Za-z_][\w.@/-]*"
_QUOTED = r"(?P<quote>\\*[\"']).*?(?P=quote)"
_WORD = r"(?:[^\s\"'\\]|\\.)+"

_QUERY = re.compile(r"(?P<name>[?&][\w.-]+)(?P<sep>=)(?P<value>[^\s\"'&#]+)")
_ASSIGNMENT = re.compile(rf"(?P<name>{_NAME})(?P<sep>\\*[\"']?\s*=\s*)(?P<value>{_QUOTED}|{_WORD})", re.DOTALL)
_ITEM = re.compile(rf"(?P<name>{_NAME})(?P<sep>\\*[\"']?\s*:\s*)(?P<value>{_QUOTED}|[^\s\"',;&|)}}\]]+)", re.DOTALL)
_OPTION = re.compile(
    rf"(?P<name>(?<![\w-])--?[A-Za-z][\w.-]*)(?P<sep>(?:\s|\\\n)+)(?P<value>{_QUOTED}|{_WORD})", re.DOTALL
)
_USER_INFO = re.compile(r"(?P<scheme>[A-Za-z][\w+.-]*://)(?P<user>[^\s/@:\"']*)(?P<password>:[^\s/\"']*)?@")
_HEADER = re.compile(r"(?i)\b(?P<kind>bearer|basic)\s+(?!\$)[\w.~+/=-]{6,}")
_KNOWN_FORMS = re.compile(
    r"(?<![\w-])(?:hf_[A-Za-z0-9]{16,}|sk-[\w-]{8,}|gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{12,}|xox[a-z]-[\w-]{10,}"
    r"|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)(?![\w-])"
)

_SECRET = re.compile(
    r"passw(or)?d|passphrase|pass_phrase|secret|credential|api_?key|private_?key|_pwd$|(^|_)(pat|jwt|cookie)$|authorization"
    r"|(^|_)(access|auth|account|client|deploy|encryption|hf|hub|license|master|service|signing|ssh|storage|swanlab"
    r"|wandb)_?key$"
    r"|signature$"
)
_TOKEN = re.compile(r"token$")
_NO_SECRET_TOKEN = re.compile(
    r"(^|_)(bos|eos|pad|unk|sep|cls|mask|stop|start|end|begin|think|thinking|special|image|video|audio|max|min|num|new"
    r"|per|n|use|next|first|last|add|by|each)_token$"
)
_PERHAPS = re.compile(r"(^|_)(key|auth|sig)$")
_ABOUT_ONE = re.compile(r"_(file|path|dir|name|type|mode|env|length|len)$")
_RANDOM = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[\w+/=-]{16,}")
_NO_VALUE = re.compile(
    r"(?i)none|null|true|false|\*{3}.*|<[^<>]*>|\.\.\.|…|\$\w+|\$\{\w+(:\?[^}]*)?\}|\$\{oc\.env:\w+\}|\$\(.*\)|-{1,2}[a-z].*"
)


def mask_secrets(text: str) -> str:
    """The same text, with `***` for whatever is secret in it."""
    text = _USER_INFO.sub(_user_info, text)
    text = _HEADER.sub(lambda found: f"{found['kind']} {MASK}", text)
    for pattern in (_QUERY, _ASSIGNMENT, _ITEM, _OPTION):
        text = _mask_all(pattern, text)
    return _KNOWN_FORMS.sub(MASK, text)


def mask_words(words: Sequence[str]) -> list[str]:
    """The same of the words of a command line: each is a value as a whole, blanks included."""
    found: list[str] = []
    for before, word in zip(["", *words], words, strict=False):
        name, equals, value = word.partition("=")
        if before.startswith("-") and "=" not in before and _is_value_of(before, word):
            found.append(MASK)
        elif equals and re.fullmatch(_NAME, name) and _is_value_of(name, value):
            found.append(f"{name}={MASK}")
        else:
            found.append(mask_secrets(word))
    return found


def is_secret(name: str, value: str = "") -> bool:
    """Whether an option, variable or key of this name holds a secret; some are recognised by their value only."""
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.rpartition(".")[2])
    plain = re.sub(r"(_\d+)+$", "", re.sub(r"\W+", "_", plain).strip("_").lower())
    if _ABOUT_ONE.search(plain) or _NO_SECRET_TOKEN.search(plain):
        return False
    if _SECRET.search(plain) or _TOKEN.search(plain):
        return True
    return bool(_PERHAPS.search(plain) and _RANDOM.fullmatch(value))


def _is_value_of(name: str, value: str) -> bool:
    return bool(value) and not _NO_VALUE.fullmatch(value) and is_secret(name, value)


def _mask_all(pattern: re.Pattern[str], text: str) -> str:
    """Masked from left to right: what follows a name that is not secret may be a name itself."""
    parts, place = [], 0
    while found := pattern.search(text, place):
        name, sep, value, around = found["name"], found["sep"], found["value"], found.groupdict().get("quote") or ""
        inner = value[len(around) : len(value) - len(around)]
        parts.append(text[place : found.start()])
        if _is_value_of(name, inner):
            # In YAML a plain word must not begin with an asterisk.
            around = around or ('"' if sep.startswith(":") else "")
            parts.append(f"{name}{sep}{around}{MASK}{around}")
            place = found.end()
        else:
            parts.append(name)
            place = found.start() + len(name)
    return "".join([*parts, text[place:]])


def _user_info(found: re.Match[str]) -> str:
    user, password = found["user"], found["password"]
    if password is None:
        # `git@host` names a user, a long word is a token.
        known = not user or user.startswith("$") or len(user) < 16
        return found[0] if known else f"{found['scheme']}{MASK}@"
    return found[0] if password.startswith(":$") else f"{found['scheme']}{user}:{MASK}@"
