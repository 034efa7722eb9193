"""Numbers of the DWARF standard, named as the standard names them."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Tag(IntEnum):
    array_type = 0x01
    class_type = 0x02
    entry_point = 0x03
    enumeration_type = 0x04
    formal_parameter = 0x05
    imported_declaration = 0x08
    label = 0x0A
    lexical_block = 0x0B
    member = 0x0D
    compile_unit = 0x11
    structure_type = 0x13
    typedef = 0x16
    union_type = 0x17
    inlined_subroutine = 0x1D
    module = 0x1E
    with_stmt = 0x22
    base_type = 0x24
    catch_block = 0x25
    enumerator = 0x28
    subprogram = 0x2E
    template_type_parameter = 0x2F
    thrown_type = 0x31
    try_block = 0x32
    variable = 0x34
    interface_type = 0x38
    namespace = 0x39
    imported_module = 0x3A
    partial_unit = 0x3C
    imported_unit = 0x3D
    type_unit = 0x41
    call_site = 0x48
    call_site_parameter = 0x49
    skeleton_unit = 0x4A
    GNU_call_site = 0x4109
    GNU_call_site_parameter = 0x410A


class At:
    sibling = 0x01
    location = 0x02
    name = 0x03
    byte_size = 0x0B
    stmt_list = 0x10
    low_pc = 0x11
    high_pc = 0x12
    language = 0x13
    comp_dir = 0x1B
    const_value = 0x1C
    containing_type = 0x1D
    inline = 0x20
    producer = 0x25
    abstract_origin = 0x31
    decl_column = 0x39
    decl_file = 0x3A
    decl_line = 0x3B
    declaration = 0x3C
    external = 0x3F
    frame_base = 0x40
    specification = 0x47
    type = 0x49
    import_ = 0x18
    entry_pc = 0x52
    ranges = 0x55
    call_column = 0x57
    call_file = 0x58
    call_line = 0x59
    signature = 0x69
    linkage_name = 0x6E
    str_offsets_base = 0x72
    addr_base = 0x73
    rnglists_base = 0x74
    dwo_name = 0x76
    call_all_calls = 0x7A
    call_return_pc = 0x7D
    call_value = 0x7E
    call_origin = 0x7F
    language_name = 0x90
    call_parameter = 0x80
    call_pc = 0x81
    call_tail_call = 0x82
    call_target = 0x83
    loclists_base = 0x8C
    MIPS_linkage_name = 0x2007
    GNU_dwo_name = 0x2130
    GNU_dwo_id = 0x2131
    GNU_ranges_base = 0x2132
    GNU_addr_base = 0x2133
    LLVM_stmt_sequence = 0x3E0C


class Value(NamedTuple):
    """An attribute's value in the form that was chosen for it."""

    form: int
    value: object


class Form(IntEnum):
    """`Form.strp("main")` is the value "main" stored in that form."""

    addr = 0x01
    block2 = 0x03
    block4 = 0x04
    data2 = 0x05
    data4 = 0x06
    data8 = 0x07
    string = 0x08
    block = 0x09
    block1 = 0x0A
    data1 = 0x0B
    flag = 0x0C
    sdata = 0x0D
    strp = 0x0E
    udata = 0x0F
    ref_addr = 0x10
    ref1 = 0x11
    ref2 = 0x12
    ref4 = 0x13
    ref8 = 0x14
    ref_udata = 0x15
    indirect = 0x16
    sec_offset = 0x17
    exprloc = 0x18
    flag_present = 0x19
    strx = 0x1A
    addrx = 0x1B
    ref_sup4 = 0x1C
    strp_sup = 0x1D
    data16 = 0x1E
    line_strp = 0x1F
    ref_sig8 = 0x20
    implicit_const = 0x21
    loclistx = 0x22
    rnglistx = 0x23
    ref_sup8 = 0x24
    strx1 = 0x25
    strx2 = 0x26
    strx3 = 0x27
    strx4 = 0x28
    addrx1 = 0x29
    addrx2 = 0x2A
    addrx3 = 0x2B
    addrx4 = 0x2C
    GNU_addr_index = 0x1F01
    GNU_str_index = 0x1F02
    GNU_ref_alt = 0x1F20
    GNU_strp_alt = 0x1F21

    def __call__(self, value: object = 0) -> Value:
        return Value(self, value)


class Lang(IntEnum):
    C89 = 0x01
    C = 0x02
    Ada83 = 0x03
    C_plus_plus = 0x04
    Fortran77 = 0x07
    Fortran90 = 0x08
    Pascal83 = 0x09
    Java = 0x0B
    C99 = 0x0C
    Ada95 = 0x0D
    Fortran95 = 0x0E
    ObjC = 0x10
    ObjC_plus_plus = 0x11
    D = 0x13
    Python = 0x14
    Go = 0x16
    Haskell = 0x18
    C_plus_plus_03 = 0x19
    C_plus_plus_11 = 0x1A
    OCaml = 0x1B
    Rust = 0x1C
    C11 = 0x1D
    Swift = 0x1E
    Julia = 0x1F
    C_plus_plus_14 = 0x21
    Fortran08 = 0x23
    Zig = 0x27
    Crystal = 0x28
    C_plus_plus_17 = 0x2A
    C_plus_plus_20 = 0x2B
    C17 = 0x2C
    Ada2005 = 0x2E
    Ada2012 = 0x2F
    HIP = 0x30
    Assembly = 0x31
    Mojo = 0x33
    C_plus_plus_23 = 0x3A
    C23 = 0x3E
    Mips_Assembler = 0x8001


class UnitType(IntEnum):
    compile = 0x01
    type = 0x02
    partial = 0x03
    skeleton = 0x04
    split_compile = 0x05
    split_type = 0x06


class Content(IntEnum):
    """DW_LNCT: what a column of a version 5 directory or file table holds."""

    path = 1
    directory_index = 2
    timestamp = 3
    size = 4
    MD5 = 5
    LLVM_source = 0x2001
