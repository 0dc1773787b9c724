"""Removes the passwords in shell commands. Does no I/O."""

import re
from bisect import bisect_left
from typing import Final

REDACTED: Final = "[redacted]"

_GAP: Final = r"(?:[ \t]{1,8}|\\{0,4}[\"'],? ?\\{0,4}[\"'])"
"""Separator of two words of a command, or of its list in JSON. It is bounded, because searches begin with it."""
_WORD: Final = r"\\*[\"']?(?![-\[])[^\s\"'\\|;]{1,200}(?:\\*[\"'](?=\s))?"
_PORT: Final = r"(?:[0-9.]{7,15}:)?[0-9]{1,5}(?::[0-9]{1,5})?(?:/[a-z]{3,4})?(?![^\s\"'\],\\])"
_FLAGS: Final = rf"(?>(?:{_GAP}-(?:\w{{0,7}}[Cr]{_GAP}[0-9]{{1,9}}|\w{{1,8}})){{1,6}})"
_SPACE: Final = r"(?:[ \t]|\\t){1,8}"
"""White space in a line, also of a text in JSON."""
_ECHO: Final = rf"(?:\b|\\[nrt])(?:echo|printf|yes)(?:{_SPACE}-[neE]{{1,3}}){{0,2}}{_SPACE}"
_READS: Final = (
    r"(?:-stdin\b|\b(?:ch|smb)?passwd\b|(?<![\w-])su[ \t]|\bsudo[ \t]{1,8}-\w{0,3}[sS]\b|-fd[ =]0\b"
    r"|\b(?:kinit|cryptsetup|login)\b|\bsecrets?[ \t]{1,8}(?:add|create|generic|put|set|versions)\b"
    r"|\bpass[ \t]{1,8}insert\b|--with-token\b"
    r"|--from-file\S{0,80}/stdin\b|-pass\w{0,4} stdin\b"
    r"|\bxargs\b[^\n|;]{0,80}?[ \t]"
    r"(?:mysql\w{0,10}|mariadb\w{0,10}|sshpass|mongo\w{0,10}|cqlsh|beeline|rabbitmqadmin)\b"
    r"[^\n|;]{0,80}?[ \t]-p(?![a-z]))"
)
"""Finds a command that reads a password, from a terminal or a pipe."""
_SHORT_FLAG: Final = re.compile(
    r"((?:\b(?:mysql\w{0,10}|mariadb\w{0,10})\b[^\n|;]{0,200}?"
    rf"{_GAP}-p(?!(?:id|ort|rofile)\b)(?:{_GAP}(?!{_PORT})|=|(?!{_GAP}|=))"
    r"|\b(?:sshpass|mongo\w{0,10}|cqlsh|beeline|rabbitmqadmin|login)\b[^\n|;]{0,200}?"
    rf"{_GAP}-p(?!(?:id|ort|rofile)\b)(?:{_GAP}|=|(?!{_GAP}|=))"
    rf"|\b(?:redis|valkey|keydb)-cli\b[^\n|;]{{0,200}}?{_GAP}-a{_GAP}"
    rf"|\b(?:sqlcmd|[ot]sql|bcp|(?:un)?zip|ipmitool|mosquitto_[a-z]{{1,5}})\b[^\n|;]{{0,200}}?{_GAP}-P(?:{_GAP}|(?!{_GAP}))"
    rf"|\bldap[a-z]{{3,10}}\b[^\n|;]{{0,200}}?{_GAP}-w{_GAP}"
    rf"|{_GAP}-U(?:{_GAP}|(?!{_GAP}))[\w.\\-]{{1,60}}%"
    rf"|\b(?:add_user|authenticate_user|change_password){_GAP}[\w.-]{{1,60}}{_GAP}"
    rf"|\b(?:htpasswd|mosquitto_passwd)(?=[^\n|;]{{0,80}}?{_GAP}-\w{{0,8}}b)"
    rf"(?:(?=[^\n|;]{{0,80}}?{_GAP}-\w{{0,8}}n){_FLAGS}|{_FLAGS}{_GAP}{_WORD}){_GAP}{_WORD}{_GAP}"
    rf"|\bopenssl{_GAP}(?:enc|dgst|(?:aes|aria|bf|camellia|cast|chacha|des|idea|rc|seed|sm4)[\w-]{{0,20}})"
    rf"\b[^\n|;&]{{0,200}}?{_GAP}-(?:[kK]|hmac){_GAP}"
    rf"|\bopenssl\b[^\n|;]{{0,200}}?{_GAP}-pass(?:in|out|word)?{_GAP}pass:"
    rf"|\bopenssl{_GAP}passwd(?:{_GAP}-(?:salt{_GAP}{_WORD}|(?!salt)\w{{1,8}})){{1,6}}{_GAP}"
    r"|\bsecret\b(?:\\\r?\n|[^\n|;]){0,400}?(?:[ \t]|\\{0,4}[\"'],? ?|(?<=\n))(?P<around>\\{0,4}[\"'])?"
    r"--from-literal(?:=|[ \t]{0,8}\\\r?\n[ \t]{0,8}|[ \t]{1,8}|\\{0,4}[\"'],? ?)"
    r"(?P<within>\\{0,4}[\"'])?[\w.-]{1,100}="
    rf"|\bmc{_GAP}alias{_GAP}set(?:{_GAP}{_WORD}){{3}}{_GAP}"
    rf"|\bcurl\b[^\n|;]{{0,200}}?{_GAP}-b(?:{_GAP}|(?!{_GAP}))(?=[\"']?[^\s\"'=;]{{1,200}}=)"
    rf"|{_READS}[^\n|;<]{{0,200}}?(?:<<<[ \t]{{0,8}}|<[ \t]{{0,8}}<\([ \t]{{0,8}}{_ECHO})"
    rf"|{_GAP}-p(?:{_GAP}|=)(?=[^\s\"']*[A-Za-z])(?=[^\s\"']*[0-9!#%^*?])(?=[^\s\"']*[A-Z!#%^*?])(?![{{$])))"
    r"(?!\[redacted|[-/<>&\s])(?(within)(?:(?!(?P=within))[\s\S])+|(?(around)(?:(?!(?P=around))[\s\S])+"
    r"|(?:(?P<quote>\\*[\"'])(?![\],])(?:(?!(?P=quote)).)+|[^\s\"'\]]+)))"
)
"""Finds the password of a program that takes it after a short flag or a name, and a mixed word after `-p` of any
program.

A mixed word has both cases and digits, or punctuation that no path, port or protocol has. MySQL's clients take no
password after `-p` and a space, so a number there is a port.
"""
_FILTER: Final = (
    r"(?:(?:sudo|xargs(?:[ \t]{1,8}-\w{1,20}(?:[ \t]{1,8}[0-9]{1,5})?){0,3}|[A-Z_]{1,20}=\S{0,40})[ \t]{1,8}){0,4}"
    r"(?:[\w./-]{0,60}/)?"
    r"(?:(?:[efz]|rip)?grep|rg|[gmn]?awk|sed|cut|head|tail|wc|sort|uniq|less|more|tee(?![^\n|;]{0,200}>\())(?![\w-])"
)
"""Finds a command that only filters or copies text: the words after it are patterns and files."""
_READER: Final = re.compile(
    r"(?P<quote>\\{0,4}[\"'])?[ \t]{0,8}(?:\\\r?\n[ \t]{0,8})?(?<!\|)\|(?!\|)"
    rf"(?>(?:\s|\\\r?\n){{0,20}})(?!{_FILTER})(?:\\\r?\n|[^\n|;]){{0,200}}?{_READS}"
)
"""Finds a pipe into a program that reads a password, from the end of the piped text."""
_HERE: Final = re.compile(
    r"(?<!<)<<-?(?!<)[ \t]{0,8}\\{0,4}[\"']?(?P<end>[A-Za-z_]\w{0,60})(?=[\s\"'\\|&;<>)])"
    r"(?:(?!\\{1,4}n)[^\n]){0,400}(?:\n|\\{1,4}n)"
)
"""Finds the beginning of a text for a command, up to the end of its line."""
_END: Final = re.compile(r"(?:^|\\n)(?:[ \t]|\\t){0,20}([A-Za-z_]\w{0,60})(?=[\s\"'\\|&;<>),\]}]|\Z)", re.MULTILINE)
"""Finds a line that can end such a text."""
_HAS_READ: Final = re.compile(_READS)
_SAYS: Final = re.compile(_ECHO + r"(?=[^\s|])")
_LONGEST_ECHO: Final = 40
_COMMANDS: Final = ("_user", "passw", "openssl", "from-literal", "alias", "curl", "<<", "<(")
"""Parts of commands that `_MAY_BE_FLAG` of `common.scrub` does not find."""


def has_command(text: str) -> bool:
    """Return False only if `without_passwords` changes nothing, short flags apart."""
    return any(each in text for each in _COMMANDS) or ("|" in text and _SAYS.search(text) is not None)


def without_passwords(text: str) -> str:
    """Redact passwords until nothing changes, because a command can begin within the match of the one before it."""
    text = _without_piped(text) if "|" in text else text
    text = _without_here(text) if "<<" in text else text
    while (left := _SHORT_FLAG.sub(lambda found: f"{found[1]}{found['quote'] or ''}{REDACTED}", text)) != text:
        text = left
    return text


def _without_piped(text: str) -> str:
    """Redact what a line pipes into a program, from its first `echo` or `printf`, or from the one inside quotes.

    A backslash continues a line. Each text is searched only once, so the time stays linear.
    """
    pieces, at, searched = list[str](), 0, 0
    for reader in _READER.finditer(text):
        end, quote = reader.start(), reader["quote"] or ""
        begins = _SAYS.search(text, _line_start(text, max(at, searched), end), end)
        if quote and (opened := text.rfind(quote, at, end)) >= 0:
            said = _SAYS.finditer(text, max(at, opened - _LONGEST_ECHO), opened + 1)
            quoted = next((each for each in said if each.end() == opened), None)
            begins = min(filter(None, (begins, quoted)), key=re.Match.start, default=None)
        if begins is not None:
            pieces += text[at : begins.end()], REDACTED
            at = end + len(quote)
        searched = max(at, end - _LONGEST_ECHO)
    return "".join(pieces) + text[at:]


def _line_start(text: str, least: int, end: int) -> int:
    """Return where the line that ends at `end` begins, but not before `least`."""
    start = end
    while (start := text.rfind("\n", least, start)) >= 0:
        if not text[max(start - 2, 0) : start].rstrip("\r").endswith("\\"):
            return start + 1
    return least


def _without_here(text: str) -> str:
    """Redact the lines that follow a command that reads a password, if their end is in the text.

    All ends are found before, so the time stays linear.
    """
    pieces, at, searched = list[str](), 0, 0
    ends: dict[str, list[re.Match[str]]] = {}
    for end in _END.finditer(text):
        ends.setdefault(end[1], []).append(end)
    for here in _HERE.finditer(text):
        line = _line_start(text, max(at, searched), here.start())
        searched = here.end()
        if here.start() < at or not _HAS_READ.search(text, line, here.end()):
            continue
        later = ends.get(here["end"], [])
        first = bisect_left(later, here.end(), key=re.Match.start)
        if first < len(later):
            start = later[first].start()
            pieces += text[at : here.end()], REDACTED, "" if text[start] == "\\" else "\n"
            at = start
    return "".join(pieces) + text[at:]
