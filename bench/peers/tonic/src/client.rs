use crate::proto::bench_client::BenchClient;
use crate::proto::{Count, Data, Factors, Nothing, Pause};
use quicrpc_bench_peer as peer;
use quicrpc_bench_peer::{Failure, Outcome, Task, timed};
use std::cell::RefCell;
use tokio_stream::StreamExt;
use tonic::Status;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};

type Connection = BenchClient<Channel>;

pub struct Client {
    endpoint: Endpoint,
    open: RefCell<Vec<Connection>>,
}

impl Client {
    pub fn new(host: &str, port: &str, cert: &str) -> Result<Client, Failure> {
        let trusted = Certificate::from_pem(std::fs::read(cert)?);
        let endpoint = Endpoint::from_shared(format!("https://{host}:{port}"))?
            .tls_config(ClientTlsConfig::new().ca_certificate(trusted).domain_name("localhost"))?
            .tcp_nodelay(true)
            .http2_adaptive_window(true);
        Ok(Client { endpoint, open: RefCell::default() })
    }

    fn first(&self) -> Connection {
        self.open.borrow()[0].clone()
    }
}

impl peer::Client for Client {
    type Connection = Connection;

    fn kept(&self) -> &RefCell<Vec<Connection>> {
        &self.open
    }

    async fn connect(&self) -> Result<Connection, Failure> {
        let mut bench = BenchClient::new(self.endpoint.connect().await?)
            .max_decoding_message_size(usize::MAX)
            .max_encoding_message_size(usize::MAX);
        bench.empty(Nothing {}).await?;
        Ok(bench)
    }

    async fn run(&self, task: &Task, amount: usize) -> Result<Outcome, Failure> {
        let all = self.open.borrow().clone();
        match *task {
            Task::Multiply { in_flight } => peer::calls(&all, in_flight, amount, multiply).await,
            Task::Empty { in_flight } => peer::calls(&all, in_flight, amount, empty).await,
            Task::Wait { in_flight, ms } => peer::calls(&all, in_flight, amount, move |bench, _| wait(bench, ms)).await,
            Task::Echo { in_flight, bytes } => {
                peer::calls(&all, in_flight, amount, move |bench, _| echo(bench, bytes)).await
            }
            Task::Paced { every_ms } => {
                peer::paced(every_ms, |begun| begun < amount, |index| multiply(self.first(), index)).await
            }
            Task::Beside { every_ms, chunk } => {
                let transfer = upload(self.first(), chunk, amount);
                peer::beside(every_ms, transfer, |index| multiply(self.first(), index)).await
            }
            Task::Items => timed(items(self.first(), amount)).await,
            Task::Upload { chunk } => timed(upload(self.first(), chunk, amount)).await,
            Task::Connect { .. } => peer::connects(amount, async || self.connect().await, drop).await,
            Task::Idle => timed(self.keep(all.len() + amount)).await,
            Task::Notify | Task::Pipe { .. } | Task::Message { .. } => Err("it cannot".into()),
        }
    }
}

async fn multiply(mut bench: Connection, index: usize) -> Result<(), Status> {
    let a = (index & 0xff) as i32;
    let answer = bench.multiply(Factors { a, b: 3 }).await?;
    expect(answer.into_inner().pro == a * 3)
}

async fn empty(mut bench: Connection, _: usize) -> Result<(), Status> {
    bench.empty(Nothing {}).await.map(drop)
}

async fn wait(mut bench: Connection, ms: u32) -> Result<(), Status> {
    bench.wait(Pause { ms: ms as i32 }).await.map(drop)
}

async fn echo(mut bench: Connection, bytes: usize) -> Result<(), Status> {
    let back = bench.echo(Data { data: vec![7; bytes] }).await?.into_inner().data;
    expect(back.len() == bytes && back.last() == Some(&7))
}

async fn items(mut bench: Connection, amount: usize) -> Result<(), Failure> {
    let mut stream = bench.items(Count { count: amount as i32 }).await?.into_inner();
    let mut received = 0;
    while stream.next().await.transpose()?.is_some() {
        received += 1;
    }
    Ok(expect(received == amount)?)
}

async fn upload(mut bench: Connection, chunk: usize, megabytes: usize) -> Result<(), Failure> {
    let count = (megabytes * 1_000_000).div_ceil(chunk);
    let chunks = tokio_stream::iter(0..count).map(move |_| Data { data: vec![0; chunk] });
    let total = bench.upload(chunks).await?.into_inner();
    Ok(expect(total.bytes as usize == count * chunk)?)
}

fn expect(holds: bool) -> Result<(), Status> {
    if holds { Ok(()) } else { Err(Status::internal("a wrong answer")) }
}
