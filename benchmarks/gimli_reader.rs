// gimli_reader.rs - gimli's addr2line behind the interface of gsym_reader.cc.
//
// The file is mapped until the process ends; its sections must not be compressed.
use std::ffi::{c_char, CStr, OsStr};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;

use addr2line::gimli::{Dwarf, EndianSlice, LittleEndian};
use addr2line::object::{Object, ObjectSection};

type Context = addr2line::Context<EndianSlice<'static, LittleEndian>>;

fn open(path: &CStr) -> Option<Context> {
    let file = File::open(OsStr::from_bytes(path.to_bytes())).ok()?;
    let map = Box::leak(Box::new(unsafe { memmap2::Mmap::map(&file).ok()? }));
    let file = addr2line::object::File::parse(&map[..]).ok()?;
    let dwarf = Dwarf::load(|id| {
        let section = file.section_by_name(id.name());
        let data = section.and_then(|each| each.data().ok()).unwrap_or(&[]);
        Ok::<_, addr2line::gimli::Error>(EndianSlice::new(data, LittleEndian))
    });
    Context::from_dwarf(dwarf.ok()?).ok()
}

#[no_mangle]
pub unsafe extern "C" fn reader_open(path: *const c_char) -> *mut Context {
    open(CStr::from_ptr(path)).map_or(std::ptr::null_mut(), |each| Box::into_raw(Box::new(each)))
}

#[no_mangle]
pub unsafe extern "C" fn reader_lookup(context: *mut Context, address: u64) -> usize {
    let mut count = 0;
    if let Ok(mut frames) = (*context).find_frames(address) {
        while let Ok(Some(frame)) = frames.next() {
            let name = frame.function.as_ref().and_then(|each| each.raw_name().ok());
            let path = frame.location.as_ref().and_then(|each| each.file);
            count += usize::from(name.is_some() || path.is_some());
        }
    }
    count
}

#[no_mangle]
pub unsafe extern "C" fn reader_close(context: *mut Context) {
    drop(Box::from_raw(context));
}
