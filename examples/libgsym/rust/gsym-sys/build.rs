//! Finds libgsym by pkg-config; LIBGSYM_LIB_DIR names its folder instead.
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=LIBGSYM_LIB_DIR");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    let folder = std::env::var("LIBGSYM_LIB_DIR").unwrap_or_else(|_| {
        let done = Command::new("pkg-config")
            .args(["--variable=libdir", "libgsym"])
            .output()
            .expect("neither LIBGSYM_LIB_DIR nor pkg-config");
        assert!(done.status.success(), "pkg-config does not find libgsym");
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    });
    println!("cargo:rustc-link-search=native={folder}");
    println!("cargo:rustc-link-lib=gsym");
}
