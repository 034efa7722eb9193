// Generics, traits, closures and a module.
use std::sync::atomic::{AtomicI32, Ordering};

static STATE: AtomicI32 = AtomicI32::new(3);

mod inner {
    pub trait Shape {
        fn area(&self, side: i32) -> i32;
    }

    pub struct Square<T>(pub T);

    impl<T: Copy + Into<i32>> Shape for Square<T> {
        fn area(&self, side: i32) -> i32 {
            super::mix(side) * self.0.into()
        }
    }
}

#[inline(always)]
fn clamp<T: PartialOrd>(value: T, low: T, high: T) -> T {
    if value < low {
        low
    } else if value > high {
        high
    } else {
        value
    }
}

fn mix(value: i32) -> i32 {
    let more = |factor: i32| clamp(value, -1000, 1000) * factor;
    more(31).wrapping_add(value >> 3)
}

#[inline(never)]
fn through(shape: &dyn inner::Shape, count: i32) -> i32 {
    (0..count).map(|side| shape.area(side)).sum()
}

fn main() {
    let count = STATE.load(Ordering::Relaxed);
    println!("{}", through(&inner::Square(7i16), count + 4));
}
