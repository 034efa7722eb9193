"""The API key of a server: where a user has it, and never shown."""

from __future__ import annotations

from gsym.cli.options import Option, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gsym.cli.options import Values

API_KEY_VARIABLE = "GSYM_API_KEY"
API_KEY_OPTIONS = (
    Option(
        "--api-key",
        f"API key of the server; who lists processes can read it, so rather set "
        f"{API_KEY_VARIABLE} or have it in a file",
        metavar="KEY",
    ),
    Option("--api-key-file", "file with the API key", metavar="FILE"),
)
_MOST_CHARACTERS = 8192


def read_api_key(values: Values, environment: Mapping[str, str]) -> str:
    """The key that a command line or the environment gives; "" for none.

    Raises:
        OSError: The file of the key cannot be read.
        UsageError: It is no key, which the text does not repeat.
    """
    key, path = values.text("--api-key"), values.text("--api-key-file")
    origin = "option '--api-key'"
    if key is not None and path is not None:
        raise UsageError("option '--api-key' excludes '--api-key-file'")
    if path is not None:
        origin = path
        with open(path, encoding="latin-1") as file:
            key = file.read(_MOST_CHARACTERS + 1)
    elif key is None:
        origin, key = API_KEY_VARIABLE, environment.get(API_KEY_VARIABLE, "")
        if not key:
            return ""
    key = key.strip()
    is_key = key.isascii() and key.isprintable() and " " not in key
    if not key or not is_key or len(key) > _MOST_CHARACTERS:
        raise UsageError(f"{origin}: this is no API key, which is one word of ASCII")
    return key
