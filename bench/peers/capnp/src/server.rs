use crate::bench_capnp::bench::{self, upload};
use crate::{ALPN, network};
use capnp_rpc::{RpcSystem, new_client, rpc_twoparty_capnp::Side};
use quicrpc_bench_peer::Failure;
use quinn::crypto::rustls::QuicServerConfig;
use quinn::rustls;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

struct Bench;

impl bench::Server for Bench {
    async fn multiply(
        self: Rc<Self>,
        params: bench::MultiplyParams,
        mut results: bench::MultiplyResults,
    ) -> Result<(), capnp::Error> {
        let params = params.get()?;
        results.get().set_pro(params.get_a().wrapping_mul(params.get_b()));
        Ok(())
    }

    async fn empty(self: Rc<Self>, _: bench::EmptyParams, _: bench::EmptyResults) -> Result<(), capnp::Error> {
        Ok(())
    }

    async fn echo(
        self: Rc<Self>,
        params: bench::EchoParams,
        mut results: bench::EchoResults,
    ) -> Result<(), capnp::Error> {
        results.get().set_data(params.get()?.get_data()?);
        Ok(())
    }

    async fn wait(self: Rc<Self>, params: bench::WaitParams, _: bench::WaitResults) -> Result<(), capnp::Error> {
        tokio::time::sleep(Duration::from_millis(params.get()?.get_ms().into())).await;
        Ok(())
    }

    async fn items(self: Rc<Self>, params: bench::ItemsParams, _: bench::ItemsResults) -> Result<(), capnp::Error> {
        let params = params.get()?;
        let sink = params.get_sink()?;
        for i in 0..params.get_count() {
            let mut item = sink.item_request();
            item.get().set_i(i);
            item.send().await?;
        }
        Ok(())
    }

    async fn upload(
        self: Rc<Self>,
        _: bench::UploadParams,
        mut results: bench::UploadResults,
    ) -> Result<(), capnp::Error> {
        results.get().set_to(new_client(Upload::default()));
        Ok(())
    }
}

#[derive(Default)]
struct Upload {
    bytes: Cell<u64>,
}

impl upload::Server for Upload {
    async fn chunk(self: Rc<Self>, params: upload::ChunkParams) -> Result<(), capnp::Error> {
        let received = params.get()?.get_data()?.len() as u64;
        self.bytes.set(self.bytes.get() + received);
        Ok(())
    }

    async fn done(self: Rc<Self>, _: upload::DoneParams, mut results: upload::DoneResults) -> Result<(), capnp::Error> {
        results.get().set_bytes(self.bytes.get());
        Ok(())
    }
}

/// Returns the port.
pub fn serve(host: &str, cert: &str, key: &str) -> Result<u16, Failure> {
    let mut tls = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from_pem_file(cert)?], PrivateKeyDer::from_pem_file(key)?)?;
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let config = quinn::ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    let endpoint = quinn::Endpoint::server(config, SocketAddr::new(host.parse()?, 0))?;
    let port = endpoint.local_addr()?.port();
    let bench: bench::Client = new_client(Bench);
    tokio::task::spawn_local(async move {
        while let Some(incoming) = endpoint.accept().await {
            let bench = bench.clone();
            tokio::task::spawn_local(async move {
                let connection = incoming.await?;
                let (send, receive) = connection.accept_bi().await?;
                RpcSystem::new(network(receive, send, Side::Server), Some(bench.client)).await?;
                Ok::<(), Failure>(())
            });
        }
    });
    Ok(port)
}
