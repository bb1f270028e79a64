fn main() {
    // Compiled by protox, so that no `protoc` is needed.
    println!("cargo::rerun-if-changed=../../bench.proto");
    let files = protox::compile(["../../bench.proto"], ["../.."]).expect("protox compiles bench.proto");
    tonic_prost_build::configure().compile_fds(files).expect("tonic generates its code");
}
