fn main() {
    capnpc::CompilerCommand::new().file("bench.capnp").run().expect("capnp compiles bench.capnp");
}
