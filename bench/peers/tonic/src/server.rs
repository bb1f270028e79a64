use crate::proto::bench_server::{Bench, BenchServer};
use crate::proto::{Count, Data, Factors, Item, Nothing, Pause, Product, Total};
use quicrpc_bench_peer::Failure;
use std::pin::Pin;
use std::time::Duration;
use tokio_stream::wrappers::TcpListenerStream;
use tokio_stream::{Stream, StreamExt};
use tonic::transport::{Identity, Server, ServerTlsConfig};
use tonic::{Request, Response, Status, Streaming};

struct Service;

#[tonic::async_trait]
impl Bench for Service {
    async fn multiply(&self, request: Request<Factors>) -> Result<Response<Product>, Status> {
        let Factors { a, b } = request.into_inner();
        Ok(Response::new(Product { pro: a.wrapping_mul(b) }))
    }

    async fn empty(&self, _: Request<Nothing>) -> Result<Response<Nothing>, Status> {
        Ok(Response::new(Nothing {}))
    }

    async fn echo(&self, request: Request<Data>) -> Result<Response<Data>, Status> {
        Ok(Response::new(request.into_inner()))
    }

    async fn wait(&self, request: Request<Pause>) -> Result<Response<Nothing>, Status> {
        tokio::time::sleep(Duration::from_millis(request.into_inner().ms as u64)).await;
        Ok(Response::new(Nothing {}))
    }

    type ItemsStream = Pin<Box<dyn Stream<Item = Result<Item, Status>> + Send>>;

    async fn items(&self, request: Request<Count>) -> Result<Response<Self::ItemsStream>, Status> {
        let items = (0..request.into_inner().count).map(|i| Ok(Item { i }));
        Ok(Response::new(Box::pin(tokio_stream::iter(items))))
    }

    async fn upload(&self, request: Request<Streaming<Data>>) -> Result<Response<Total>, Status> {
        let mut chunks = request.into_inner();
        let mut bytes = 0;
        while let Some(chunk) = chunks.next().await {
            bytes += chunk?.data.len();
        }
        Ok(Response::new(Total { bytes: bytes as f64 }))
    }
}

/// Returns the port.
pub async fn serve(host: &str, cert: &str, key: &str) -> Result<u16, Failure> {
    let identity = Identity::from_pem(std::fs::read(cert)?, std::fs::read(key)?);
    let listener = tokio::net::TcpListener::bind((host, 0)).await?;
    let port = listener.local_addr()?.port();
    let sockets = TcpListenerStream::new(listener).map(|socket| {
        let socket = socket?;
        socket.set_nodelay(true)?;
        Ok::<_, std::io::Error>(socket)
    });
    let service = BenchServer::new(Service).max_decoding_message_size(usize::MAX).max_encoding_message_size(usize::MAX);
    let router = Server::builder()
        .tls_config(ServerTlsConfig::new().identity(identity))?
        .http2_adaptive_window(Some(true))
        .add_service(service);
    tokio::task::spawn_local(async move {
        if let Err(error) = router.serve_with_incoming(sockets).await {
            eprintln!("{error}");
        }
    });
    Ok(port)
}
