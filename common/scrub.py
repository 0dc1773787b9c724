"""Removes credentials from a text before it is logged, sent or stored. Does no I/O."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final
from unicodedata import category, normalize

from common.commands import REDACTED, has_command, without_passwords

__all__ = ["REDACTED", "is_secret", "is_suspicious", "scrub"]

_NAME: Final = (
    r"(?:pass(?:word|wd|phrase)|secret|token|credentials?|(?<![a-z])(?:pass|pwd|pw)"
    r"|(?:admin|bind|db|key|ldap|login|mail|require|root|smtp|sql|store|user)(?:pass|pwd|pw)"
    r"|(?:api|app|secret|private|account|access|shared[_-]?access|client|encryption|signing|master|certificate|license"
    r"|subscription|functions|jwt|hmac|deploy|unseal)[_ -]?key(?:_base)?)"
    r"(?:-data)?"
)
"""Names of secrets, with any prefix, for example AWS_SECRET_ACCESS_KEY or MYSQL_PWD."""
_EXACT: Final = (
    r"(?:(?<![a-z])(?:auth|identitytoken|(?:set-)?cookies?2?|session|connect\.sid)"
    r"|(?:jsession|phpsess|session_?|_session_)id|_session)"
)
"""Names that are secrets only if a value is assigned to them, for example in a Docker configuration."""
_OPAQUE: Final = re.compile(
    r"(?<![\w-])(?:eyJ(?:[\w-]{8,}(?:\.[\w-]*){1,4}|[\w+/-]{24,}={0,2})"  # JSON web tokens; JSON as base64
    r"|(?:eyAi|ewog|ew0K)[\w+/-]{24,}={0,2})"  # the same with white space
    r"|LS0tLS1CRUdJTi[\w+/-]+={0,2}|(?<![\w-])(?:ZXlK|ops_eyJ)[\w+/-]{24,}={0,2}"  # PEM, tokens in base64
    r"|(?<![\w-])(?:gh[oprsu]_|github_pat_|gl(?:pat|dt|rt|wt|soat|cbt|ft|ffct|imt|agent|ptt|oas)-|xox[a-z]-|xoxe\.xox[a-z]-"
    r"|xapp-|hf_|npm_|pypi-A|dop_v1_|hv[bsr]\.|ya29\.|gl(?:sa|c)_|dckr_[op]at_|gsk_|xai-|pplx-|GOCSPX-|sq0[a-z]{3}-|NRAK-"
    r"|lin_api_|figd_|whsec_|nvapi-|tskey-|pul-[0-9a-f]{24}|shp(?:at|ss|ca|pa)_|1//0)"
    r"[\w.-]{16,}"  # GitHub, GitLab, Slack, Hugging Face, npm, PyPI, DigitalOcean, Vault, Google, Grafana, Docker ...
    r"|(?<!\w)(?:GR1348941[\w-]{16,}|ABSK[\w+/]{20,}={0,2}|AT[ABC][A-Z]{1,2}[0-9]?x[\w-]{16,}={0,2}|dapi[0-9a-f]{32}(?!\w))"
    r"|(?<!\w)SK[0-9a-f]{32}(?!\w)|(?<![\w-])key-[0-9a-f]{32}(?!\w)"  # Twilio, Mailgun
    r"|(?<![\w-])(?:sk|rk|pk)_(?:live|test)_\w{8,}"  # Stripe
    r"|(?<![\w-])sk-(?:(?=[\w-]*[A-Z])(?=[\w-]*\d)[\w-]{16,}|(?:or-v1-)?[0-9a-f]{32,}(?!\w))"  # OpenAI, Anthropic
    r"|(?<![\w-])SG\.[\w-]{16,}\.[\w-]{16,}"  # SendGrid
    r"|(?<!\w)\w{10,20}\.atlasv1\.[\w-]{16,}"  # Terraform
    r"|(?<![\w.])s\.(?=\w*[a-z])(?=\w*[A-Z])(?=\w*[0-9])\w{24}(?!\w)"  # Vault until 1.9
    r"|(?<![\w-])AIza[\w-]{35}|(?<!\w)GOOG1[A-Z0-9]{56}"  # Google
    r"|AGE-SECRET-KEY-1[A-Z0-9]{16,}"
    r"|(?<![0-9])[0-9]{8,10}:AA[\w-]{30,}"  # Telegram
    r"|\$(?:2[abxy]|[156y]|apr1)\$[^\s:\"',;]+|\$argon2\w{1,3}\$[^\s:\"';]+(?<!,)"  # hashes of passwords
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|(?<![\w+/])(?:IQoJb3JpZ2lu|F[wQ]oGZXIvYXdz)[\w+/%]{16,}={0,2}"  # AWS
    r"|(?<![\w~.-])[\w~.-]{3}[78]Q~[\w~.-]{31,34}|(?<!\w)\w{20,84}JQQJ99\w{10,}"  # Azure
    r"|-----BEGIN [A-Z0-9 ]{1,40}-----.*?(?:-----END [A-Z0-9 ]{1,40}-----|\Z)"  # PEM, or its beginning
    r"|(?<![\w+/=])(?:[\w+/=]{48,76}\s{1,8}){0,64}[\w+/=]{16,}\s{0,4}-----END [A-Z0-9 ]{1,40}-----",  # or its end
    re.DOTALL,
)
"""Texts that are recognised as secrets by their form alone."""
_OPAQUE_LEAST: Final = 20
"""A word without spaces and with fewer characters than this is not searched."""
_VARIABLE: Final = rf"[\w.-]{{0,60}}{_NAME}"
_QUOTED: Final = r"(?P<{0}>\\*[\"'])(?:(?!(?P={0}))(?:\\.|.))+"
"""A quoted value, up to the same quote; a quote inside has a backslash."""
_STALE: Final = r"(?!(?<![\w\"'-])(?:session|cookies?):\s?\\*[\"'][a-z -]{1,40}\\*[\"'])"
"""Refuses words in quotes after a session or cookies: no digit, so they describe it."""
_COUNT: Final = (
    r"(?!(?-i:(?<=[\s,;(](?:pass|PASS):)|(?<=\A(?:pass|PASS):)|(?<=[\s,;(](?:pass|PASS): )|(?<=\A(?:pass|PASS): ))"
    r"[0-9]{1,5}(?:\.[0-9]{1,3})?%?(?:[\s,;)/\"'\\\].]|\Z))"
)
"""Refuses the number or percentage of tests that pass; Go's fields are capitalised."""
_OF_OBJECTS: Final = (
    r"(?!(?-i:(?<=\ssecret:)(?<!client secret:)|(?<=\Asecret:))(?-i:[a-z0-9.,-]+)(?:\Z|[,;)]|\s(?!\w+:\S)))"
)
"""Refuses names of Secrets in a sentence; in Go's text another field follows."""
_SECRET: Final = re.compile(
    r"(?P<url>(?P<slashes>://|%3A%2F%2F)(?:(?:(?<=amqp://)|(?<=iadb://)|(?<=odb://)|(?<=res://)|(?<=sql://)|(?<=srv://))"
    r"[^\s\"'@:]{1,200}:[^\s\"']{1,200}@|(?<=//)[^/\s\"'?#]+@|[^/\s\"'?#]{1,2000}@|[^/\s\"'?#%]{1,200}%3A[^/\s\"'?#%]{1,200}%40"
    r"|[^/\s\"'?#@:]{0,200}:(?![0-9]{1,5}/)[^\s\"@]{1,200}@(?=[\w\[])))"
    r"|(?P<user>(?:(?<![\w/:.@%+-])|(?<=//))[\w.%+-]{1,60}:)[^\s\"'@/:]+@(?!sha[0-9])(?=[\w(\[])"
    r"|(?P<header>\bauthorization(?:\\*[\"'])?\s{0,8}[:=]\s{0,8}\[?(?:\\*[\"'])?"
    r"(?:(?:bearer|basic|token|negotiate|ntlm|(?:api-?|genie-?|shared-?)?key(?:lite)?|splunk|bot|dpop"
    r"|(?:digest|oauth|hawk|aws4-[\w-]{1,30})(?=(?P<digest>)))\s{1,8}))"
    r"(?(digest)[^\r\n]+|[^\s\"',;]+)"
    r"|(?P<bare>\bauthorization(?:\\*[\"'])?\s{0,8}[:=]\s{0,8}\[?(?:\\*[\"'])?)"
    r"(?!\[redacted|\d{1,3}(?:\.\d{1,3}){3})(?=[^\s\"',;\]]*[0-9])[^\s\"',;\]]{14,}"
    r"|(?P<scheme>\b(?:bearer|basic)\s{1,8})(?:(?=[a-z._~+/-]*[0-9=]|(?-i:[A-Za-z._~+/-]*[a-z][A-Z]))[a-z0-9._~+/=-]{8,}|[a-z0-9._~+/=-]{20,})"
    r"|(?P<cookies>(?<![\w./-])(?:set-)?cookie2? ?: ?(?:\\*[\"'](?=[^\s;=\"']{1,200}=))?)(?!\[redacted)"
    r"(?=[^\s;=]{1,200}=|(?<=: )(?=[^\s;\"'\[]{0,60}[0-9])[^\s;\"'\[]{8})"
    r"(?:[^\r\n\"']|(?<==)(?P<crumb>[\"'])[^\r\n\"']*(?P=crumb)(?=[;\s\"']|\Z))+"
    r"|(?P<crumbs>\bcookies?(?:\\*[\"'])?\s?[:=]\s?[{(\[])(?!\[?redacted)"
    r"(?=[^{}()\[\]\r\n]{0,400}?[=:]|(?=[^\s\d]{0,60}\d)[^\s{}()\[\]]{8})[^{}()\[\]\r\n]+"
    r"|(?P<jar>--cookie[ =](?P<jarred>[\"'])?)(?=[^\s;=]{1,200}=)(?(jarred)[^\r\n\"']+|[^\s\"']+)"
    r"|(?P<oracle>(?:\bsqlplus\b[^\n|;/]{0,99}[ \"']|"
    r"\bjdbc:oracle:\w{1,5}:)[\w$#]{1,60}/)(?!\[redacted)[^\s\"'@/]+(?=@)"
    rf"|(?P<env>\bname:{_VARIABLE},? ?value:)(?!\[redacted)"
    r"(?:(?!value(?:from)?:)[^\r\n]){1,4000}?(?=,? ?valuefrom:)"
    rf"|(?P<printed>\{{{_VARIABLE} )(?!\[redacted)[^{{}}\r\n]{{1,4000}}?(?= (?:<nil>|0x[0-9a-f]+)\}})"
    r"|(?P<http>\bcookie\{name:(?:[^\s,]{1,200}),? ?value:)(?!\[redacted)[^\s,}]+"
    rf"|(?P<pair>\bname(?:\\*[\"'])?\s{{0,8}}[:=]\s{{0,8}}(?:\\*[\"'])?[\w.-]{{0,60}}{_NAME}(?:\\*[\"'])?,?\s{{0,40}}"
    r"(?:\\*[\"'])?value(?:\\*[\"'])?\s{0,8}[:=]\s{0,8}(?P<paired>\\*[\"'])?)(?!\[redacted)"
    r"(?(paired)(?:(?!(?P=paired)).)+|[^\s\"',}\]]+)"
    r"|(?P<sql>\b(?:identified (?:with \w{1,40} )?(?:by|as)(?: password)?|password) (?P<told>\\*[\"']))(?!\[redacted)"
    r"(?:(?!(?P=told)).)+(?=(?P=told))"
    rf"|(?P<set>{_STALE}(?:{_NAME}|{_EXACT})(?:\\*[\"'])?\s*(?:=>|:=|[:=])\s*(?:\[\]string\{{|\[)?){_QUOTED.format('quote')}"
    rf"|(?P<name>(?:{_NAME}|{_EXACT}(?!\s*=\s*[{{(\[])|signature|(?<![a-z])sig)\s*=\s*(?:\\*[\"'])?)(?!(?:none|null|nil|true|false)\b)"
    r"(?:[^\s&\"',;]|[,;&](?![\w-]{0,40}[=:]|[\s\"']|\Z)|'(?=\w))+"
    rf"|(?P<block>^[ \t]*(?:- )?[\w.-]{{0,40}}{_NAME}:[ \t]*[|>][+-]?[ \t]*\r?\n(?P<indent>[ \t]+))[^\r\n]*"
    r"(?:\r?\n(?P=indent)[^\r\n]*)*"
    rf"|(?P<line>(?<=\n)[ \t]*(?:- )?[\w.-]{{0,40}}{_NAME}:[ \t]+)(?![|>\[\"'])[^\r\n\"']+"
    rf"|(?P<tag><[\w:.-]{{0,40}}{_NAME}>)[^<]+"
    rf"|(?P<member>(?<![\w/:.@\"'-])[a-z_]{{0,40}}{_NAME}:)(?=[^\s:/])(?!\[redacted)"
    rf"(?:(?<=pass:){_COUNT}|(?<=password:)|(?<=passwd:)|(?<=passphrase:)|(?<=pwd:)|(?!v?[0-9]+(?:\.|\b)){_OF_OBJECTS})"
    r"(?:[^\s\]},;\"'\\]|,(?=[^\s\]},;:\"'\\]+[\s\]},]))+"
    rf"|(?P<flag>(?:(?<![\w-])--?[a-z0-9_-]{{0,40}}{_NAME}|\bconfig(?:ure)? set \S{{0,60}}{_NAME}"
    r"|\b(?:requirepass|masterauth)) (?:\\*[\"'])?)(?![-=:\[]|stdin\b)[^\s\"',;]+"
    r"|(?P<login>(?<![^\s\"'])(?:-[a-z]{0,4}u|--(?:proxy-)?user|--(?:src-|dest-)?creds)"
    r"(?:[ =]|[\"'],? ?)?(?P<opened>[\"'])?(?![0-9]+:[0-9]+\b|\+%|jdbc:)[^\s\"':,]{1,200}:(?!/[a-z/]))(?!\[redacted)"
    r"(?(opened)(?:(?:(?!(?P=opened))[^\r\n]){1,200}(?=(?P=opened))|[^\s\"']+)|[^\s\"']+)"
    r"|(?P<netrc>\blogin \S{1,200} password )[^\s\"']+"
    r"|(?P<said>(?<![\w.=/-])(?:password|passwd|passphrase)(?: is| was| ->)? [\"']?)"
    r"(?=[^\s\"']*[0-9])(?=[^\s\"']*[a-z])[^\s\"',;]+"
    rf"|(?P<prose>{_NAME}(?:\\*[\"'])?: ){_COUNT}(?![a-z]+(?:[ ,;:]|\.(?!\w))|[\"'\[(<{{])[^\s\"',;]+",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)
"""Finds a URL's user info, headers, and values that a query, an assignment, JSON, YAML, XML, a Go struct or a flag
calls a secret. In prose such as "cannot fetch token: not found", a lower-case word with more words after it is not a
secret.
"""
_MAY_BE_FLAG: Final = re.compile(r"-(?<![^\s\"']-)(?:[PpawU]|[a-z]{0,4}u|-(?:proxy-|src-|dest-)?(?:user|creds))")
_RANDOM: Final = re.compile(
    r"(?<![\w+])(?=\w*[a-z])(?=\w*[A-Z])(?=(?:[a-zA-Z_+]*\d){3})[\w+]{32,}={0,2}"
    r"|(?<![\w+/.-])(?=[\w+/]*[a-z])(?=[\w+/]*\d)(?![\w+/]*[a-z]{8})(?=(?:[a-z0-9+/]*[A-Z]){8})[a-zA-Z0-9+/]{40}(?![\w+/.-])"
    r"|(?<!\w)S[UAONCX][A-Z2-7]{56}(?!\w)",  # the secret of a key of AWS; a seed of NATS
    re.ASCII,
)
"""Finds random texts without a known form; only sentences are searched.

Kubernetes writes no text of this length that mixes cases and digits: uids, digests and names of pods have lower-case
letters only.
"""
_RANDOM_LEAST: Final = 32
_ADDRESS: Final = re.compile(r"(https?://[^\s\"'\\/?#]*)([^\s\"'\\?#]*)([?#][^\s\"'\\]*)?", re.IGNORECASE)
"""Finds an HTTP address: its host, its path, and its query or fragment."""
_SECRET_SEGMENT: Final = re.compile(
    r"(?<=/)(?=[^/]*[a-z])(?=[^/]*[A-Z])(?=[^/]*[0-9])[^/]{10,}"  # a key, as in the path of a webhook
    r"|(?<=/services/)[^/]+/[^/]+/[^/]+|(?<=/bot)[0-9]+:[^/]+|(?<=/webhookb2/).+"  # Slack, Telegram, Teams
)
"""Finds a secret segment of a path.

Names, uids and digests of Kubernetes and registries have lower-case letters only.
"""
_SECRET_VALUE: Final = re.compile(
    r"(?<=[?#&;=])(?!\[(?:redacted|withheld))"
    r"(?![A-Za-z_.-]{1,20}=|[a-z_-]{1,12}(?:[&;#]|$)|[0-9]{1,6}[a-z]{0,2}(?:[&;#]|$))[^&;=#]+"
    r"|(?<=[?&;]key=)[^&;#\[]+|(?<=[?&;]auth=)[^&;#\[]+|(?<=[?&;]code=)[^&;#\[]+"
)
"""Finds a secret after a path: it is called a key, or is not a lower-case word, a small number or a duration."""
_BEGINS: Final = (
    *("user", "header", "bare", "scheme", "cookies", "set", "name", "block", "line", "tag", "member", "flag"),
    *("login", "netrc", "said", "prose", "jar", "oracle", "pair", "sql", "crumbs", "env", "printed", "http"),
)
"""Groups of `_SECRET` that are kept before the redacted part. A new alternative needs its group here."""
_UNSEEN: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\xad]")
_IS_NAME: Final = re.compile(rf"(?:{_NAME}|^{_EXACT})$", re.IGNORECASE)
_LAST_WORDS: Final = (
    *("password", "passwd", "passphrase", "pass", "pwd", "pw", "secret", "token", "credential", "credentials"),
    *("key", "data", "auth", "cookie", "cookies", "cookie2", "session", "sessionid", "session_id", "sessid"),
    "connect.sid",
)
"""Last words of the secret names, for the quick tests."""
_WORDS: Final = (
    "pass",
    "pwd",
    "pw",
    "secret",
    "token",
    "credential",
    "key",
    "bearer",
    "basic",
    "auth",
    "cookie",
    "sess",
    "connect.sid",
    "identified ",
    "sig",
)
_SAID: Final = (
    *("bearer ", "basic ", "password ", "passwd ", "passphrase ", "pass ", "masterauth ", "identified "),
    *("config set ", "configure set ", "<nil>}", " 0x"),
)
"""Substrings that show a possible secret in a document without any of the other marks."""
_SAID_IN_A_WORD: Final = ("authorization", '\\"value', "value:", "bearer\\", "basic\\")
"""Further substrings, without a space: most documents have no space."""


def _behind(texts: Iterable[str]) -> str:
    return "|".join(f"(?<={re.escape(each)})" for each in texts)


_GITLAB: Final = ("pat", "dt", "rt", "wt", "ffct", "soat", "cbt", "ft", "imt", "agent", "ptt")
# searches begin with one character, because Python finds that fastest
_DASH: Final = re.compile(
    rf"-(?<=[KXiklpstxy \"'(\[{{=,;:]-)(?:(?<=t-)(?:{_behind(f'gl{each}-' for each in _GITLAB)})"
    r"|(?<=k-)(?<=sk-)|(?<=p-)(?:(?<=xapp-)|(?<=sq0[a-z]{2}p-))|(?<=i-)(?:(?<=pypi-)|(?<=xai-)|(?<=nvapi-))|(?<=s-)(?<=gloas-)"
    r"|(?<=x-)(?<=pplx-)|(?<=X-)(?<=GOCSPX-)|(?<=y-)(?<=key-)|(?<=K-)(?<=NRAK-)|(?<=l-)(?<=pul-)"
    r"|(?<=[ \"'(\[{=,;:]-)(?=-|[PpawUu]|[a-z]{1,4}u|[a-z]{1,20}(?:pass|word|token|secret) ))"
)
_SLACK: Final = re.compile(r"xox[a-z]-")
_DOT: Final = re.compile(r"\.(?:(?<=hv[bsr]\.)|(?<=ya29\.)|(?<=SG\.)|(?=atlasv1\.)|(?<=s\.)(?=\w{24}(?!\w)))")
_UNDERSCORE: Final = re.compile(
    rf"_(?:(?<=gh[oprsu]_)|(?<=shp[a-z]{{2}}_)"
    rf"|{_behind(('github_pat_', 'hf_', 'npm_', 'dop_v1_', 'k_live_', 'k_test_', 'glsa_', 'glc_', 'dckr_pat_'))}"
    rf"|{_behind(('dckr_oat_', 'gsk_', 'lin_api_', 'figd_', 'whsec_'))})"
)
_WITH_K: Final = ("AKIA", "AGE-SECRET-KEY-1", "ew0K", "ZXlK")
_WITH_Q: Final = ("IQoJb3JpZ2lu", "JQQJ99", "Q~")
_WITH_G: Final = ("-----BEGIN ", "oGZXIvYXdz", "GR1348941", "GOOG1")
_MARKS: Final = ("dapi", "1//0", "eyAi", "ewog", "-----END ")
_COLON: Final = re.compile(
    rf":(?<=[a-z0-9]:)(?:(?<=[a-z]:)(?:{_behind(f'{each}:' for each in _LAST_WORDS)})|(?<=[0-9]:)(?=aa[\w-]{{30}}))"
)


_ESCAPES: Final = ("\\u", "\\b", "\\f", "\\n-", "\\r-", "\\t-")
"""Escapes in JSON of characters that can hide a name, and of white space before a flag."""
_BREAK: Final = re.compile(r"[\n\t]")
_KEY_ID: Final = re.compile(r"SK[0-9a-f]{32}")
_ATLASSIAN: Final = re.compile(r"AT[ABC][A-Z]{1,2}[0-9]?x")


def scrub(text: str) -> str:
    """Return the text with everything that looks like a credential redacted, even if invisible or wide characters
    hide it.
    """
    cleaned = _scrub(text)
    if text.isascii() and text.isprintable():
        return cleaned
    bare = "".join(each for each in normalize("NFKC", _UNSEEN.sub("", text)) if category(each) != "Cf")
    if bare == text:
        return cleaned
    without = _scrub(bare)
    return cleaned if without == bare else without


def _scrub(text: str) -> str:
    if " " not in text and '"' not in text and "@" not in text and "=" not in text and not _BREAK.search(text):
        # a single word, like almost all texts, is not a sentence
        opaque = len(text) >= _OPAQUE_LEAST and _may_be_opaque(text)
        text = _OPAQUE.sub(REDACTED, text) if opaque else text
        return _without_named(text) if ":" in text or ">" in text or "%" in text else text
    if _may_be_opaque(text):
        text = _OPAQUE.sub(REDACTED, text)
    text = _without_named(text)
    return _RANDOM.sub(REDACTED, text) if len(text) >= _RANDOM_LEAST else text


def _without_named(text: str) -> str:
    has_flag = _MAY_BE_FLAG.search(text) is not None
    if has_flag or "@" in text or "%40" in text or _has_word(text.lower()):
        text = _SECRET.sub(_without_secret, text)
    if has_flag or has_command(text):
        text = without_passwords(text)
    return _without_keys_of_addresses(text)


def is_suspicious(document: str) -> bool:
    """Tell whether `scrub` may change a text in a JSON document, which has no white space between its tokens.

    It is much faster than `scrub`. It does not look for random texts in sentences: those are in messages, which are
    always scrubbed.
    """
    return (
        "@" in document
        or _may_be_opaque(document)
        or not document.isascii()
        or "\x7f" in document
        or ("\\" in document and _is_suspicious_escape(document))
        or ("%" in document and "%40" in document)
        or _without_keys_of_addresses(document) != document
        or _may_name_secret(document.lower())
    )


def _may_name_secret(folded: str) -> bool:
    """Tell whether a text in a document may name a secret.

    In JSON a field's name has a quotation mark before the colon.
    """
    return (
        _COLON.search(folded) is not None
        or ("=" in folded and _has_word(folded))
        or (">" in folded and _has_secret_name_before(folded, ">"))
        or ("'" in folded and _has_secret_name_before(folded, "':"))
        or (" " in folded and any(map(folded.__contains__, _SAID)))
        or any(map(folded.__contains__, _SAID_IN_A_WORD))
        or has_command(folded)
    )


def _is_suspicious_escape(document: str) -> bool:
    return any(map(document.__contains__, _ESCAPES)) or (
        '\\":' in document and _has_secret_name_before(document.lower(), '\\":')
    )


def _has_word(folded: str) -> bool:
    return any(map(folded.__contains__, _WORDS))


def _has_secret_name_before(folded: str, separator: str) -> bool:
    return any(part[-20:].rstrip("\\\"'").endswith(_LAST_WORDS) for part in folded.split(separator)[:-1])


@lru_cache(4096)
def is_secret(name: str) -> bool:
    """Tell whether a field of this name holds a secret."""
    return _IS_NAME.search(name) is not None


def _may_be_opaque(text: str) -> bool:
    """Return False only if `_OPAQUE` finds nothing. A new form there needs its mark here.

    A letter that a document rarely has is looked for before the marks with it.
    """
    return (
        ("J" in text and ("eyJ" in text or "LS0tLS1CRUdJTi" in text))
        or ("K" in text and any(map(text.__contains__, _WITH_K)))
        or ("Q" in text and any(map(text.__contains__, _WITH_Q)))
        or ("G" in text and any(map(text.__contains__, _WITH_G)))
        or "$" in text
        or "ASIA" in text
        or "AIza" in text
        or _DASH.search(text) is not None
        or ("xox" in text and _SLACK.search(text) is not None)
        or _DOT.search(text) is not None
        or ("_" in text and _UNDERSCORE.search(text) is not None)
        or ":AA" in text
        or ("SK" in text and ("ABSK" in text or _KEY_ID.search(text) is not None))
        or ("AT" in text and "x" in text and _ATLASSIAN.search(text) is not None)
        or any(map(text.__contains__, _MARKS))
    )


def _without_keys_of_addresses(text: str) -> str:
    return _ADDRESS.sub(_without_secret_path, text) if "://" in text else text


def _without_secret_path(found: re.Match[str]) -> str:
    return found[1] + _SECRET_SEGMENT.sub(REDACTED, found[2]) + _SECRET_VALUE.sub(REDACTED, found[3] or "")


def _without_secret(found: re.Match[str]) -> str:
    if found["url"]:
        return f"{found['slashes']}{REDACTED}{'@' if found[0].endswith('@') else found[0][-3:]}"
    prefix = next(filter(None, (found[name] for name in _BEGINS)))
    return f"{prefix}{found['quote'] or ''}{REDACTED}{'@' if found['user'] else ''}"
