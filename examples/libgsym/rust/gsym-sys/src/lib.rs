//! What `gsym/libgsym.h` declares for reading and converting; its comments hold here.
#![allow(non_camel_case_types)]

use std::mem::size_of;
use std::os::raw::{c_char, c_int};

pub type gsym_status = c_int;
pub const GSYM_OK: gsym_status = 0;
pub const GSYM_E_NO_MEMORY: gsym_status = 1;
pub const GSYM_E_FORMAT: gsym_status = 2;
pub const GSYM_E_UNSUPPORTED: gsym_status = 3;
pub const GSYM_E_SYSTEM: gsym_status = 8;

#[repr(C)]
pub struct gsym_error {
    pub status: gsym_status,
    pub offset: u64,
    pub path: *const c_char,
    pub what: [c_char; 240],
}

#[repr(C)]
pub struct gsym_file {
    _private: [u8; 0],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct gsym_symbol {
    pub name: *const c_char,
    pub address: u64,
    pub size: u64,
    pub entry: u32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct gsym_location {
    pub function: *const c_char,
    pub directory: *const c_char,
    pub filename: *const c_char,
    pub offset: u64,
    pub line: u32,
    pub inlined: u32,
}

#[repr(C)]
pub struct gsym_convert_options {
    pub flags: u32,
    pub version: u32,
    pub thread_count: u32,
    pub split_file_count: u32,
    pub debug_file: *const c_char,
    pub supplementary_file: *const c_char,
    pub split_files: *const *const c_char,
    pub path_map: *const *const c_char,
    pub path_map_count: usize,
    pub reserved: [u64; 4],
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct gsym_convert_report {
    pub functions: u64,
    pub functions_debug_info: u64,
    pub functions_symbol_table: u64,
    pub file_size: u64,
    pub warnings: u64,
    pub missing_split_units: u64,
    pub reserved: [u64; 4],
}

// The sizes in tests/golden/libgsym.abi, on machines of 64 bits.
const _: () = assert!(size_of::<usize>() != 8 || size_of::<gsym_error>() == 264);
const _: () = assert!(size_of::<usize>() != 8 || size_of::<gsym_symbol>() == 32);
const _: () = assert!(size_of::<usize>() != 8 || size_of::<gsym_location>() == 40);
const _: () = assert!(size_of::<usize>() != 8 || size_of::<gsym_convert_options>() == 88);
const _: () = assert!(size_of::<gsym_convert_report>() == 80);

extern "C" {
    pub fn gsym_version() -> *const c_char;
    pub fn gsym_file_open(
        path: *const c_char,
        file_ret: *mut *mut gsym_file,
        error: *mut gsym_error,
    ) -> gsym_status;
    pub fn gsym_file_close(file: *mut gsym_file);
    pub fn gsym_file_base_address(file: *const gsym_file) -> u64;
    pub fn gsym_file_uuid(file: *const gsym_file, size_ret: *mut usize) -> *const u8;
    pub fn gsym_file_entry_count(file: *const gsym_file) -> u32;
    pub fn gsym_file_lookup(
        file: *const gsym_file,
        address: u64,
        locations: *mut gsym_location,
        capacity: usize,
        count_ret: *mut usize,
        symbol_ret: *mut gsym_symbol,
        error: *mut gsym_error,
    ) -> gsym_status;
    pub fn gsym_file_symbols(
        file: *const gsym_file,
        entry: u32,
        symbols: *mut gsym_symbol,
        capacity: usize,
        count_ret: *mut usize,
        error: *mut gsym_error,
    ) -> gsym_status;
    pub fn gsym_file_find(
        file: *const gsym_file,
        name: *const c_char,
        symbols: *mut gsym_symbol,
        capacity: usize,
        count_ret: *mut usize,
        error: *mut gsym_error,
    ) -> gsym_status;
    pub fn gsym_convert(
        input: *const c_char,
        output: *const c_char,
        options: *const gsym_convert_options,
        report_ret: *mut gsym_convert_report,
        error: *mut gsym_error,
    ) -> gsym_status;
}
