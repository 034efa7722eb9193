# A GSYM file for a target, made whenever it is linked.
#
#   find_package(GsymConvert)
#   gsym_convert(TARGET [DEPFILE] [DESTINATION DIR] [OPTIONS OPTION...])
#
# The file is that of the target with .gsym added, where `gsym lookup` finds it, and is
# installed into DIR, by default the folder of programs or of libraries. It is made after
# the link, before later commands may strip the target. With DEPFILE it has a rule of its
# own, which also runs when another file changes that the conversion read: split units, a
# debug file. OPTIONS are those of `gsym convert`; GSYM_PROGRAM is the command.

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
    set(binary "$<TARGET_FILE:${target}>")
    set(convert ${GSYM_PROGRAM} convert --quiet ${arg_OPTIONS} "${binary}")
    if(arg_DEPFILE)
        # The output of a rule cannot be named by the file of a target.
        set(output "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.gsym")
        add_custom_command(
            OUTPUT "${output}"
            COMMAND ${convert} -o "${output}" --depfile "${output}.d"
            COMMAND ${CMAKE_COMMAND} -E copy "${output}" "${binary}.gsym"
            DEPENDS ${target}
            DEPFILE "${output}.d"
            COMMENT "Converting ${target} to GSYM"
            VERBATIM)
        add_custom_target(${target}-gsym ALL DEPENDS "${output}")
    else()
        add_custom_command(
            TARGET ${target} POST_BUILD COMMAND ${convert} -o "${binary}.gsym" VERBATIM)
    endif()
    set_property(TARGET ${target} APPEND
        PROPERTY ADDITIONAL_CLEAN_FILES "${binary}.gsym")
    if(NOT arg_DESTINATION)
        get_target_property(type ${target} TYPE)
        set(arg_DESTINATION "${CMAKE_INSTALL_LIBDIR}")
        if(type STREQUAL "EXECUTABLE")
            set(arg_DESTINATION "${CMAKE_INSTALL_BINDIR}")
        endif()
    endif()
    install(FILES "${binary}.gsym" DESTINATION "${arg_DESTINATION}")
endfunction()
