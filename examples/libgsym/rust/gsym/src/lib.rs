//! GSYM files, by libgsym.
//!
//! ```no_run
//! let file = gsym::File::open("app.gsym")?;
//! for frame in file.lookup(0x1139)? {
//!     println!("{} line {}", frame.function.to_string_lossy(), frame.line);
//! }
//! # Ok::<(), gsym::Error>(())
//! ```
use std::ffi::{CStr, CString};
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::os::raw::c_char;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use gsym_sys as sys;
pub use gsym_sys::gsym_convert_report as Report;

/// Why a call failed.
#[derive(Debug)]
pub struct Error {
    /// A `GSYM_E_` constant of gsym-sys.
    pub status: sys::gsym_status,
    /// In the file, in bytes; errno for `GSYM_E_SYSTEM`.
    pub offset: u64,
    /// The file, "" for none.
    pub path: String,
    pub reason: String,
}

impl fmt::Display for Error {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(to, "{}: ", self.path)?;
        }
        write!(to, "{}", self.reason)?;
        match self.status {
            sys::GSYM_E_FORMAT | sys::GSYM_E_UNSUPPORTED => {
                write!(to, " at offset {}", self.offset)
            }
            _ => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

/// A frame: a function or an inlined call; unknown strings are empty.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    pub function: &'a CStr,
    pub directory: &'a CStr,
    pub filename: &'a CStr,
    /// From the start of the function or inlined code.
    pub offset: u64,
    /// 0: unknown.
    pub line: u32,
    /// Whether the next frame is its caller.
    pub inlined: bool,
}

/// A function.
#[derive(Clone, Copy, Debug)]
pub struct Symbol<'a> {
    pub name: &'a CStr,
    pub address: u64,
    /// 0: unknown.
    pub size: u64,
    pub entry: u32,
}

/// An open GSYM file, or a binary that contains one.
pub struct File {
    handle: ptr::NonNull<sys::gsym_file>,
    owned: PhantomData<sys::gsym_file>,
}

// An open file does not change, and may be used by any number of threads.
unsafe impl Send for File {}
unsafe impl Sync for File {}

impl File {
    pub fn open(path: impl AsRef<Path>) -> Result<File, Error> {
        let path = path_string(path.as_ref())?;
        let mut handle = ptr::null_mut();
        call(|error| unsafe { sys::gsym_file_open(path.as_ptr(), &mut handle, error) })?;
        let handle = ptr::NonNull::new(handle).expect("an open file");
        Ok(File {
            handle,
            owned: PhantomData,
        })
    }

    /// Where the first byte of the binary is at link time.
    pub fn base_address(&self) -> u64 {
        unsafe { sys::gsym_file_base_address(self.handle.as_ptr()) }
    }

    /// The build id of the binary; empty if unknown.
    pub fn uuid(&self) -> &[u8] {
        let mut size = 0;
        unsafe {
            let bytes = sys::gsym_file_uuid(self.handle.as_ptr(), &mut size);
            std::slice::from_raw_parts(bytes, size)
        }
    }

    pub fn entry_count(&self) -> u32 {
        unsafe { sys::gsym_file_entry_count(self.handle.as_ptr()) }
    }

    /// The frames at a link-time address, innermost first; none if nothing covers it.
    pub fn lookup(&self, address: u64) -> Result<Vec<Frame<'_>>, Error> {
        let file = self.handle.as_ptr();
        let found = filled(|frames, capacity, count, error| unsafe {
            let symbol = ptr::null_mut();
            sys::gsym_file_lookup(file, address, frames, capacity, count, symbol, error)
        })?;
        Ok(found.iter().map(|frame| self.frame(frame)).collect())
    }

    /// The functions of an entry: itself, then those folded into it.
    pub fn symbols(&self, entry: u32) -> Result<Vec<Symbol<'_>>, Error> {
        let file = self.handle.as_ptr();
        let found = filled(|symbols, capacity, count, error| unsafe {
            sys::gsym_file_symbols(file, entry, symbols, capacity, count, error)
        })?;
        Ok(found.iter().map(|symbol| self.symbol(symbol)).collect())
    }

    /// The functions of a linkage name.
    pub fn find(&self, name: &CStr) -> Result<Vec<Symbol<'_>>, Error> {
        let file = self.handle.as_ptr();
        let found = filled(|symbols, capacity, count, error| unsafe {
            sys::gsym_file_find(file, name.as_ptr(), symbols, capacity, count, error)
        })?;
        Ok(found.iter().map(|symbol| self.symbol(symbol)).collect())
    }

    // Strings of the file live as long as it does.
    fn text(&self, text: *const c_char) -> &CStr {
        unsafe { CStr::from_ptr(text) }
    }

    fn frame(&self, from: &sys::gsym_location) -> Frame<'_> {
        Frame {
            function: self.text(from.function),
            directory: self.text(from.directory),
            filename: self.text(from.filename),
            offset: from.offset,
            line: from.line,
            inlined: from.inlined != 0,
        }
    }

    fn symbol(&self, from: &sys::gsym_symbol) -> Symbol<'_> {
        Symbol {
            name: self.text(from.name),
            address: from.address,
            size: from.size,
            entry: from.entry,
        }
    }
}

impl Drop for File {
    fn drop(&mut self) {
        unsafe { sys::gsym_file_close(self.handle.as_ptr()) }
    }
}

/// Convert a binary or a Breakpad file to a GSYM file.
pub fn convert(input: impl AsRef<Path>, output: impl AsRef<Path>) -> Result<Report, Error> {
    let (input, output) = (path_string(input.as_ref())?, path_string(output.as_ref())?);
    let mut report = Report::default();
    call(|error| unsafe {
        sys::gsym_convert(
            input.as_ptr(),
            output.as_ptr(),
            ptr::null(),
            &mut report,
            error,
        )
    })?;
    Ok(report)
}

fn path_string(path: &Path) -> Result<CString, Error> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| Error {
        status: sys::GSYM_E_SYSTEM,
        offset: 0,
        path: path.display().to_string(),
        reason: "the path has a NUL".to_owned(),
    })
}

/// What a call writes to an array; called again if there is more than fits.
fn filled<T: Copy>(
    mut function: impl FnMut(*mut T, usize, *mut usize, *mut sys::gsym_error) -> sys::gsym_status,
) -> Result<Vec<T>, Error> {
    let mut items: Vec<T> = Vec::with_capacity(16);
    loop {
        let (capacity, mut count) = (items.capacity(), 0);
        call(|error| function(items.as_mut_ptr(), capacity, &mut count, error))?;
        if count <= capacity {
            // The call has written that many.
            unsafe { items.set_len(count) };
            return Ok(items);
        }
        items.reserve_exact(count);
    }
}

fn call(function: impl FnOnce(*mut sys::gsym_error) -> sys::gsym_status) -> Result<(), Error> {
    let mut error = MaybeUninit::zeroed(); // a short text leaves the rest of its room as it is
    if function(error.as_mut_ptr()) == sys::GSYM_OK {
        return Ok(());
    }
    // It is filled unless the status is GSYM_OK.
    let error: sys::gsym_error = unsafe { error.assume_init() };
    let text = |text| {
        unsafe { CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned()
    };
    Err(Error {
        status: error.status,
        offset: error.offset,
        path: if error.path.is_null() {
            String::new()
        } else {
            text(error.path)
        },
        reason: text(error.what.as_ptr()),
    })
}
