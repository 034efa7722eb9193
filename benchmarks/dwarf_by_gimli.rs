// Frames from the DWARF of a binary by gimli's addr2line, printed as by `addr2line -fi`.
//
//     dwarf_by_gimli BINARY < ADDRESSES
//
// An address is hexadecimal. The file is mapped and its sections are not copied, as in the
// example of the crate; they must not be compressed.
use std::fs::File;
use std::io::{self, BufRead, BufWriter, Write};

use addr2line::gimli::{Dwarf, EndianSlice, LittleEndian};
use addr2line::object::{Object, ObjectSection};
use addr2line::Context;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("no BINARY")?;
    let map = unsafe { memmap2::Mmap::map(&File::open(path)?)? };
    let file = addr2line::object::File::parse(&*map)?;
    let context = Context::from_dwarf(Dwarf::load(|id| {
        let section = file.section_by_name(id.name());
        let data = section.and_then(|each| each.data().ok()).unwrap_or(&[]);
        Ok::<_, addr2line::gimli::Error>(EndianSlice::new(data, LittleEndian))
    })?)?;
    let symbols = file.symbol_map();
    let mut output = BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let line = line?;
        let address = u64::from_str_radix(line.trim_start_matches("0x"), 16)?;
        let symbol = || symbols.get(address).map_or("??", |each| each.name());
        let mut frames = context.find_frames(address)?;
        let mut count = 0;
        while let Some(frame) = frames.next()? {
            count += 1;
            match &frame.function {
                Some(function) => writeln!(output, "{}", function.raw_name()?)?,
                None => writeln!(output, "{}", symbol())?,
            }
            let place = frame.location.as_ref();
            let path = place.and_then(|each| each.file).unwrap_or("??");
            let number = place.and_then(|each| each.line).unwrap_or(0);
            writeln!(output, "{path}:{number}")?;
        }
        if count == 0 {
            writeln!(output, "{}\n??:0", symbol())?;
        }
    }
    Ok(())
}
