use crate::bench_capnp::bench::{self, sink};
use crate::{ALPN, network};
use capnp_rpc::{RpcSystem, rpc_twoparty_capnp::Side};
use quinn::crypto::rustls::QuicClientConfig;
use quicrpc_bench_peer as peer;
use quicrpc_bench_peer::{Failure, Outcome, Task, timed};
use quinn::rustls;
use rustls_pki_types::{CertificateDer, pem::PemObject};
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

pub struct Client {
    endpoint: quinn::Endpoint,
    address: SocketAddr,
    open: RefCell<Vec<Connection>>,
}

#[derive(Clone)]
pub struct Connection {
    quic: quinn::Connection,
    bench: bench::Client,
}

impl Client {
    pub fn new(host: &str, port: &str, cert: &str) -> Result<Client, Failure> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(cert)?)?;
        let mut tls = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_root_certificates(roots)
            .with_no_client_auth();
        tls.alpn_protocols = vec![ALPN.to_vec()];
        // Every connection is cold.
        tls.resumption = rustls::client::Resumption::disabled();
        let address = SocketAddr::new(host.parse()?, port.parse()?);
        let mut endpoint = quinn::Endpoint::client(SocketAddr::new([0, 0, 0, 0].into(), 0))?;
        endpoint.set_default_client_config(quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?)));
        Ok(Client { endpoint, address, open: RefCell::default() })
    }

    fn first(&self) -> bench::Client {
        self.open.borrow()[0].bench.clone()
    }

    fn all(&self) -> Vec<bench::Client> {
        self.open.borrow().iter().map(|connection| connection.bench.clone()).collect()
    }
}

impl peer::Client for Client {
    type Connection = Connection;

    fn kept(&self) -> &RefCell<Vec<Connection>> {
        &self.open
    }

    /// Waits for the reply to the first call: only that makes the server see the stream.
    async fn connect(&self) -> Result<Connection, Failure> {
        let quic = self.endpoint.connect(self.address, "localhost")?.await?;
        let (send, receive) = quic.open_bi().await?;
        let mut system = RpcSystem::new(network(receive, send, Side::Client), None);
        let bench: bench::Client = system.bootstrap(Side::Server);
        tokio::task::spawn_local(system);
        bench.empty_request().send().promise.await?;
        Ok(Connection { quic, bench })
    }

    async fn run(&self, task: &Task, amount: usize) -> Result<Outcome, Failure> {
        let all = self.all();
        match *task {
            Task::Multiply { in_flight } => peer::calls(&all, in_flight, amount, multiply).await,
            Task::Empty { in_flight } => peer::calls(&all, in_flight, amount, empty).await,
            Task::Wait { in_flight, ms } => peer::calls(&all, in_flight, amount, move |bench, _| wait(bench, ms)).await,
            Task::Echo { in_flight, bytes } => {
                let data: Rc<[u8]> = vec![7; bytes].into();
                peer::calls(&all, in_flight, amount, move |bench, _| echo(bench, data.clone())).await
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
            Task::Connect { .. } => {
                peer::connects(amount, async || self.connect().await, |one| one.quic.close(0u8.into(), b"")).await
            }
            Task::Idle => timed(self.keep(all.len() + amount)).await,
            Task::Notify | Task::Pipe { .. } | Task::Message { .. } => Err("it cannot".into()),
        }
    }
}

async fn multiply(bench: bench::Client, index: usize) -> Result<(), capnp::Error> {
    let a = (index & 0xff) as i32;
    let mut request = bench.multiply_request();
    request.get().set_a(a);
    request.get().set_b(3);
    expect(request.send().promise.await?.get()?.get_pro() == a * 3)
}

async fn empty(bench: bench::Client, _: usize) -> Result<(), capnp::Error> {
    bench.empty_request().send().promise.await.map(drop)
}

async fn wait(bench: bench::Client, ms: u32) -> Result<(), capnp::Error> {
    let mut request = bench.wait_request();
    request.get().set_ms(ms);
    request.send().promise.await.map(drop)
}

async fn echo(bench: bench::Client, data: Rc<[u8]>) -> Result<(), capnp::Error> {
    let mut request = bench.echo_request();
    request.get().set_data(&data);
    let response = request.send().promise.await?;
    let back = response.get()?.get_data()?;
    expect(back.len() == data.len() && back.last() == data.last())
}

#[derive(Default)]
struct Sink {
    received: Cell<usize>,
}

impl sink::Server for Sink {
    async fn item(self: Rc<Self>, params: sink::ItemParams) -> Result<(), capnp::Error> {
        params.get()?.get_i();
        self.received.set(self.received.get() + 1);
        Ok(())
    }
}

async fn items(bench: bench::Client, amount: usize) -> Result<(), Failure> {
    let sink = Rc::new(Sink::default());
    let mut request = bench.items_request();
    request.get().set_count(amount as u32);
    request.get().set_sink(capnp_rpc::new_client_from_rc(sink.clone()));
    request.send().promise.await?;
    Ok(expect(sink.received.get() == amount)?)
}

async fn upload(bench: bench::Client, chunk: usize, megabytes: usize) -> Result<(), Failure> {
    let to = bench.upload_request().send().pipeline.get_to();
    let count = (megabytes * 1_000_000).div_ceil(chunk);
    let data = vec![0; chunk];
    for _ in 0..count {
        let mut request = to.chunk_request();
        request.get().set_data(&data);
        request.send().await?;
    }
    let response = to.done_request().send().promise.await?;
    Ok(expect(response.get()?.get_bytes() == (count * chunk) as u64)?)
}

fn expect(holds: bool) -> Result<(), capnp::Error> {
    if holds { Ok(()) } else { Err(capnp::Error::failed("a wrong answer".into())) }
}
