#![feature(no_core, lang_items, rustc_attrs, intrinsics, auto_traits, arbitrary_self_types)]
#![no_core]
#![allow(internal_features, dead_code)]
#![crate_type = "lib"]
#[lang = "pointee_sized"] pub trait PointeeSized {}
#[lang = "meta_sized"] pub trait MetaSized: PointeeSized {}
#[lang = "sized"] pub trait Sized: MetaSized {}
#[lang = "copy"] pub trait Copy {}
#[lang = "freeze"] unsafe auto trait Freeze {}
#[lang = "legacy_receiver"] pub trait LegacyReceiver {}
impl<T: PointeeSized> LegacyReceiver for &T {}
impl Copy for u32 {} impl Copy for i32 {} impl Copy for bool {}
impl<'a, T: PointeeSized> Copy for &'a T {}
pub mod shapes {
    use super::*;
    pub struct Square { pub side: u32 }
    pub trait Area { fn area(&self) -> u32; fn twice(&self) -> u32; }
    impl Area for Square {
        #[inline(always)] fn area(&self) -> u32 { self.side }
        #[inline(never)] fn twice(&self) -> u32 { pick(self.area(), self.side) }
    }
    #[inline(never)] pub fn pick<T: Copy>(a: T, b: T) -> T { let c = a; let _d = b; c }
}
#[no_mangle] pub extern "C" fn mainCRTStartup() -> u32 {
    let s = shapes::Square { side: 7 };
    let t = shapes::Area::twice(&s);
    shapes::pick(t, 4)
}
