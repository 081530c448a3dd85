//! Says how a library is linked whose symbols come from the Node that loads it.

fn main() {
    napi_build::setup();
}
