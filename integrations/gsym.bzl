"""GSYM files of programs and libraries, made again when these change.

    load("//:gsym.bzl", "gsym_file")

    cc_binary(name = "app", srcs = ["app.c"])
    gsym_file(name = "app_gsym", binary = ":app")
"""

def _gsym_file_impl(context):
    binary = context.file.binary
    output = context.actions.declare_file(binary.basename + ".gsym")
    arguments = context.actions.args()
    arguments.add_all([binary, "-o", output])
    arguments.add_all(context.attr.options)
    context.actions.run_shell(
        inputs = [binary],
        outputs = [output],
        arguments = [arguments],
        command = context.attr.gsym + ' convert --quiet "$@"',
        use_default_shell_env = True,
        mnemonic = "GsymConvert",
    )
    return [DefaultInfo(files = depset([output]))]

gsym_file = rule(
    implementation = _gsym_file_impl,
    attrs = {
        "binary": attr.label(mandatory = True, allow_single_file = True),
        "gsym": attr.string(default = "gsym", doc = "the command, else found in PATH"),
        "options": attr.string_list(doc = "of `gsym convert`"),
    },
)
