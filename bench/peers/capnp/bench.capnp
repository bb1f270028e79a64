@0xb3e1a9d1c7f40a52;

interface Bench {
  multiply @0 (a :Int32, b :Int32) -> (pro :Int32);
  empty @1 () -> ();
  echo @2 (data :Data) -> (data :Data);
  wait @3 (ms :UInt32) -> ();
  items @4 (count :UInt32, sink :Sink) -> ();
  upload @5 () -> (to :Upload);

  interface Sink {
    item @0 (i :UInt32) -> stream;
  }

  interface Upload {
    chunk @0 (data :Data) -> stream;
    done @1 () -> (bytes :UInt64);
  }
}
