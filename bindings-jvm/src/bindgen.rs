//! Writes the Kotlin half of the binding: `uniffi-bindgen generate --library LIBRARY --language kotlin --out-dir FOLDER`.

fn main() {
    uniffi::uniffi_bindgen_main();
}
