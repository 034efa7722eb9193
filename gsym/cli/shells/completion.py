"""Completion of command lines in bash and zsh.

A script holds all that it offers, so that a key press starts no process.
"""

from __future__ import annotations

from gsym.cli.shells import programs

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gsym.cli.grammar import Option

    Texts = Iterator[str]

# Readline splits words at `=`, and completes file names where nothing is offered.
_BASH = """\
_@f_declared() {
    verbs= options= choices=
    case $1 in
@body    esac
}

_@f() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local path=${COMP_WORDS[0]##*/} verbs options choices words word index is_value=
    if [[ $previous == = ]]; then
        is_value=1 previous=${COMP_WORDS[COMP_CWORD - 2]}
    elif [[ $current == = ]]; then
        is_value=1 current=
    fi
    _@f_declared "$path"
    for ((index = 1; index < COMP_CWORD && ${#verbs}; index++)); do
        [[ ${COMP_WORDS[index]} == help ]] && continue
        path+=" ${COMP_WORDS[index]}"
        _@f_declared "$path"
    done
    words=$verbs
    [[ $current == -* ]] && words=$options
    [[ $is_value ]] && words=
    for word in $choices; do
        [[ ${word%%=*} == "$previous" ]] && words=${word#*=}
    done
    COMPREPLY=($(compgen -W "${words//,/ }" -- "$current"))
}

complete -o bashdefault -o default -F _@f @command
"""

_ZSH = """\
#compdef @command

_@f_of() {
    if [[ $words[2] == help ]] && ((CURRENT > 2)); then
        shift words
        ((CURRENT--))
    fi
    if ((CURRENT == 2)); then
        _describe verb verbs
        return
    fi
    local next=$1-$words[2]
    shift words
    ((CURRENT--))
    (($+functions[$next])) && $next
}

@bodyif [[ $funcstack[1] == _@command ]]; then
    _@f_of_@command
else
    compdef _@f_of_@command @command
fi
"""


def script(shell: str, command: str) -> str:
    """The completion of *command* for bash or zsh."""
    template, body_of, _ = SHELLS[shell]
    body = "".join(
        text for each in programs.programs_of(command) for text in body_of(each)
    )
    for name, text in (("@f", _stem(command)), ("@command", command), ("@body", body)):
        template = template.replace(name, text)
    return template


def _stem(command: str) -> str:
    return command.replace("-", "_")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _bash_case(program: programs.Program) -> Texts:
    names = [name for each in program.options for name in programs.names_of(each)]
    choices = [
        f"{name}={','.join(programs.choices_of(each))}"
        for each in program.options
        if programs.choices_of(each)
        for name in programs.names_of(each)
    ]
    yield f"    '{program.name}')\n"
    fields = {"verbs": program.next_words, "options": names, "choices": choices}
    for field, words in fields.items():
        if words:
            yield f"        {field}='{' '.join(words)}'\n"
    yield "        ;;\n"


# ---- zsh

_NEXT_LINE = " \\\n        "


def _zsh_function(program: programs.Program) -> Texts:
    stem = f"_{_stem(program.name.partition(' ')[0])}_of"
    name = f"{stem}_{program.page}"
    yield f"{name}() {{\n"
    if program.verbs:
        verbs = (_quoted(f"{verb}:{text}") for verb, text in program.verbs.items())
        yield f"    local -a verbs=({_NEXT_LINE.join(verbs)})\n"
        yield f"    {stem} {name}\n"
    else:
        specs = [spec for each in program.options for spec in _zsh_option(each)]
        for number, each in enumerate(program.operands, 1):
            position = "*" if each.many else number
            value = _zsh_value(each.name, programs.alternatives(each.name))
            specs.append(f"{position}{value}")
        yield f"    {_NEXT_LINE.join(['_arguments -S', *map(_quoted, specs)])}\n"
    yield "}\n\n"


def _zsh_option(option: Option) -> Texts:
    names = programs.names_of(option)
    text = _zsh_text(" ".join(option.help.split()))
    value = ""
    if option.metavar:
        value = ":" if option.optional is not None else ""
        value += _zsh_value(option.metavar, programs.choices_of(option))
    for name in names:
        others = "*" if option.repeatable else f"({' '.join(names)})"
        yield f"{others}{name}{_zsh_joint(option, name)}[{text}]{value}"


def _zsh_joint(option: Option, name: str) -> str:
    """Mark of a value: `=` or `+`, also in the next word; `-`, only joined."""
    if not option.metavar or (name[1] != "-" and len(name) > 2):  # noqa: PLR2004
        return ""
    at_once = "-" if option.optional is not None else ""
    return "=" + at_once if name[1] == "-" else at_once or "+"


def _zsh_value(name: str, choices: tuple[str, ...]) -> str:
    return f":{_zsh_text(name)}:" + (f"({' '.join(choices)})" if choices else "_files")


def _zsh_text(text: str) -> str:
    return "".join(f"\\{letter}" if letter in "\\[]:" else letter for letter in text)


# Shell -> its script, what the script has of a program, its place below share/.
SHELLS: dict[str, tuple[str, Callable[[programs.Program], Texts], str]] = {
    "bash": (_BASH, _bash_case, "bash-completion/completions/{}"),
    "zsh": (_ZSH, _zsh_function, "zsh/site-functions/_{}"),
}
