"""The words of a response file, which stands for them on a command line as `@FILE`."""

from __future__ import annotations


def split_words(text: str) -> list[str]:
    """Words between white space; quotes join, a backslash quotes.

    As libiberty and LLVM read the response files of GNU's style.
    """
    words: list[str] = []
    word: list[str] | None = None
    quote = ""
    characters = iter(text)
    for character in characters:
        if not quote and character.isspace():
            if word is not None:
                words.append("".join(word))
            word = None
            continue
        word = [] if word is None else word
        if character == "\\":
            word.append(next(characters, ""))
        elif character == quote:
            quote = ""
        elif not quote and character in "'\"":
            quote = character
        else:
            word.append(character)
    if word is not None:
        words.append("".join(word))
    return words
