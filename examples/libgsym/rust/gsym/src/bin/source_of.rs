//! The same as c/source_of.c: `source_of convert|lookup|find|list FILE ...`
use std::error::Error;
use std::ffi::CString;
use std::process::ExitCode;

use gsym::{Frame, Symbol};

fn print_frame(frame: &Frame) {
    print!("  {}+{:#x}", frame.function.to_string_lossy(), frame.offset);
    if !frame.filename.to_bytes().is_empty() {
        let directory = frame.directory.to_string_lossy();
        let slash = if directory.is_empty() { "" } else { "/" };
        let name = frame.filename.to_string_lossy();
        print!(" {directory}{slash}{name}:{}", frame.line);
    }
    println!("{}", if frame.inlined { " (inlined)" } else { "" });
}

fn print_symbols(symbols: Vec<Symbol>) {
    for symbol in symbols {
        let name = symbol.name.to_string_lossy();
        println!("{:#x} {} {name}", symbol.address, symbol.size);
    }
}

fn run(words: &[String]) -> Result<(), Box<dyn Error>> {
    let (verb, path, rest) = match words {
        [verb, path, rest @ ..] => (verb, path, rest),
        _ => return Err("usage: source_of convert|lookup|find|list FILE ...".into()),
    };
    if verb == "convert" {
        let report = gsym::convert(path, rest.first().ok_or("no output")?)?;
        println!("{} functions, {} bytes", report.functions, report.file_size);
        return Ok(());
    }
    let file = gsym::File::open(path)?;
    if verb == "list" {
        for entry in 0..file.entry_count() {
            print_symbols(file.symbols(entry)?);
        }
    }
    for word in rest {
        if verb == "find" {
            print_symbols(file.find(&CString::new(word.as_str())?)?);
            continue;
        }
        let address = u64::from_str_radix(word.trim_start_matches("0x"), 16)?;
        println!("{address:#x}");
        let frames = file.lookup(address)?;
        if frames.is_empty() {
            println!("  ??");
        }
        frames.iter().for_each(print_frame);
    }
    Ok(())
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("source_of: {error}");
            ExitCode::FAILURE
        }
    }
}
