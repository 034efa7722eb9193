//! Ways to die, each at the end of a chain of calls: deaths WAY.

#[inline(never)]
#[no_mangle]
fn leaf(p: *const i32) -> i32 {
    unsafe { std::ptr::read_volatile(p) + 1 }
}

#[inline(never)]
#[no_mangle]
fn deep(n: u64) -> u64 {
    let some = std::hint::black_box([n; 64]);
    deep(n + 1) + some[0]
}

#[inline(never)]
#[no_mangle]
fn work(way: &str) -> i32 {
    match way {
        "leaf" => leaf(std::hint::black_box(std::ptr::null())) + 1,
        "panic" => panic!("no"),
        "abort" => std::process::abort(),
        "overflow" => deep(0) as i32 + 1,
        "thread" => std::thread::spawn(|| leaf(std::hint::black_box(std::ptr::null())))
            .join()
            .unwrap(),
        _ => 0,
    }
}

#[inline(never)]
#[no_mangle]
fn outer(way: &str) -> i32 {
    work(way) + std::hint::black_box(1)
}

fn main() {
    std::process::exit(outer(&std::env::args().nth(1).unwrap()))
}
