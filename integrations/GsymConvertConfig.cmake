# A GSYM file for a target, made whenever it is linked.
#
#   find_package(GsymConvert)
#   gsym_convert(TARGET [DEPFILE] [DESTINATION DIR] [OPTIONS OPTION...])
#
# The file is that of the target with .gsym added, where `gsym lookup` finds it, and is
# installed into DIR, by default the folder of programs or of libraries. It is made after
# the link, before later commands may strip the target. With DEPFILE it has a rule of its
# own, which also runs when another file changes that the conversion read: split units, a
# debug file. OPTIONS are those of `gsym convert`; GSYM_PROGRAM is the command. The target
# TARGET-gsym makes the file if it is missing.

cmake_policy(VERSION 3.20)
find_program(GSYM_PROGRAM gsym)
if(NOT GSYM_PROGRAM)
    set(GsymConvert_FOUND FALSE)
    set(GsymConvert_NOT_FOUND_MESSAGE "the command gsym is not in PATH: set GSYM_PROGRAM")
    return()
endif()

include(GNUInstallDirs)

function(gsym_convert target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "DEPFILE" "DESTINATION" "OPTIONS")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "gsym_convert: unknown: ${arg_UNPARSED_ARGUMENTS}")
    endif()
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
        message(FATAL_ERROR "gsym_convert: ${target}: convert what it is linked into")
    endif()
    set(binary "$<TARGET_FILE:${target}>")
    # The output of a rule cannot be named by the file of a target: it is made here, and
    # copied there again when it is missing.
    set(made "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}$<CONFIG>.gsym")
    set(convert ${GSYM_PROGRAM} convert --quiet ${arg_OPTIONS} "${binary}" -o "${made}")
    set(copy ${CMAKE_COMMAND} -E copy "${made}" "${binary}.gsym")
    add_custom_target(${target}-gsym ALL
        COMMAND ${CMAKE_COMMAND} -E copy_if_different "${made}" "${binary}.gsym"
        VERBATIM)
    if(arg_DEPFILE)
        list(APPEND convert --depfile "${made}.d")
        # Of a target that was stripped after the link, the better file is kept.
        add_custom_command(
            OUTPUT "${made}"
            COMMAND ${convert} --allow-empty
            COMMAND ${CMAKE_COMMAND} -E touch "${made}"
            COMMAND ${copy}
            DEPENDS ${target}
            DEPFILE "${made}.d"
            COMMENT "Converting ${target} to GSYM"
            VERBATIM)
        add_custom_target(${target}-gsym-rule DEPENDS "${made}")
        add_dependencies(${target}-gsym ${target}-gsym-rule)
    else()
        add_dependencies(${target}-gsym ${target})
    endif()
    add_custom_command(
        TARGET ${target} POST_BUILD COMMAND ${convert} COMMAND ${copy} VERBATIM)
    set_property(TARGET ${target} APPEND
        PROPERTY ADDITIONAL_CLEAN_FILES "${binary}.gsym" "${made}" "${made}.d")
    if(NOT arg_DESTINATION)
        set(arg_DESTINATION "${CMAKE_INSTALL_LIBDIR}")
        if(type STREQUAL "EXECUTABLE")
            set(arg_DESTINATION "${CMAKE_INSTALL_BINDIR}")
        endif()
    endif()
    install(FILES "${binary}.gsym" DESTINATION "${arg_DESTINATION}")
endfunction()
